/* cmd_bench.c - tune bench FILE: the stored winner of each problem of a set against cuBLAS, timed
 * side by side; with --budget each problem is tuned first. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "problem/problem.h"
#include "base/strbuf.h"
#include "commands/cmd_bench_report.h"
#include "commands/commands.h"
#include "sweep/progress.h"

static const struct gt_rounds default_rounds = {41, 200, 2e6};

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv;
    int64_t rounds;
    bool list;
};

static const struct gt_option option_table[] = {
    {"kernels", 'k', GT_OPTION_TEXT, offsetof(struct options, session.kernels), "KERNELS",
     "kernels to tune with --budget, joined by commas (default: those in production)", NULL, 0, 0},
    {"budget", 'b', GT_OPTION_TEXT, offsetof(struct options, session.budget), "BUDGET",
     "tune each problem first, for that long or that many trials: 60s, 500 (default: not at all)",
     NULL, 0, 0},
    {"rounds", 0, GT_OPTION_INTEGER, offsetof(struct options, rounds), "N",
     "paired rounds of winner and cuBLAS (default: as many as take about 2 s, 41 to 200)", NULL, 5,
     GT_MAX_SAMPLES},
    {"csv", 0, GT_OPTION_TEXT, offsetof(struct options, csv), "FILE", "write the table there too",
     NULL, 0, 0},
    {"list", 0, GT_OPTION_FLAG, offsetof(struct options, list), NULL,
     "only print the problems, a file for --shapes", NULL, 0, 0},
    GT_OPTIONS_END,
};

/* One benchmark run: what is open, and what it found so far. */
struct bench {
    struct gt_session session;
    const struct gt_kernel **kernel;
    size_t kernels;
    struct gt_bench_report report;
    struct gt_budget budget;
    bool tune;
    int rounds; /* 0: default_rounds */
};

/* The stored winner of a problem on this device. */
struct winner {
    const struct bench *bench;
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
};

static int take_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct winner *winner = context;
    const struct gt_session *session = &winner->bench->session;
    const struct gt_kernel *kernel;

    if (winner->kernel || row->warm_l2 != winner->bench->report.warm ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->provenance != session->evaluator->ops->provenance)
        return GT_OK;
    kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);
    if (!kernel || strcmp(kernel->signature, row->signature) != 0)
        return GT_OK; /* of another text of the template: it says nothing about this one */
    winner->kernel = kernel;
    winner->trial = (struct gt_trial){.status = row->status,
                                      .provenance = row->provenance,
                                      .us = row->us,
                                      .lo_us = row->lo_us,
                                      .hi_us = row->hi_us,
                                      .err_u = row->err_u};
    return gt_point_parse(&winner->point, kernel, row->point, err);
}

static int find_winner(struct winner *winner, const struct gt_problem *problem, struct gt_err *err)
{
    const struct gt_session *session = &winner->bench->session;
    char text[GT_PROBLEM_TEXT_MAX];
    const struct gt_row_filter filter = {
        .winners_only = true, .problem = text, .cc = session->evaluator->device.cc};

    gt_problem_format(problem, text);
    return gt_store_rows(session->store, &filter, take_winner, winner, err);
}

/* Times the winner and cuBLASLt's best answer in alternation; *have: whether there is a baseline.
 * Before them, what memory alone takes. */
static int compare(const struct bench *bench, struct winner *winner,
                   const struct gt_problem *problem, struct gt_trial *baseline, bool *have,
                   struct gt_move *move, struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    const struct gt_candidate candidate = {.kernel = winner->kernel,
                                           .problem = problem,
                                           .device = &evaluator->device,
                                           .point = winner->point};
    struct gt_baseline best;
    int rounds, rc = evaluator->ops->open_problem(evaluator, problem, err);

    if (!rc && !bench->report.warm)
        rc = evaluator->ops->move(evaluator, move, err);
    if (rc)
        return rc;
    rc = evaluator->ops->baseline(evaluator, &best, err);
    *have = rc == GT_OK;
    if (rc && rc != GT_ENOLIB && rc != GT_ENOTFOUND)
        return rc;
    if (rc && err)
        gt_progress_note(bench->session.progress, err->msg); /* no baseline, and why */
    rounds =
        bench->rounds ? bench->rounds : gt_rounds_for(&default_rounds, 2, 2 * winner->trial.us);
    return evaluator->ops->final(evaluator, &candidate, 1, rounds, &winner->trial, baseline, err);
}

/* Bytes that must move at the bandwidth of a copy, where operands come from memory at all. */
static double bound_us(const struct bench *bench, const struct gt_problem *problem)
{
    return bench->report.copy_gbps > 0 && !bench->report.warm
               ? gt_problem_traffic(problem) / (bench->report.copy_gbps * 1e3)
               : 0;
}

/* Keeps the figures in the database: `tune export --format bench` makes the same table of it. */
static int remember(const struct bench *bench, const struct winner *winner,
                    const struct gt_problem *problem, double baseline_us, double move_us,
                    struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    const struct gt_trial *trial = &winner->trial;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key = {.warm_l2 = bench->report.warm};
    int rc = gt_store_device(session->store, &session->evaluator->device, &key.device, err);

    gt_point_format(&point, winner->kernel, &winner->point);
    key.point = point.text;
    if (!rc)
        rc = gt_strbuf_check(&point, err);
    if (!rc)
        rc = gt_store_toolchain(session->store, session->evaluator->nvrtc_version, &key.toolchain,
                                err);
    if (!rc)
        rc = gt_store_kernel(session->store, winner->kernel, &key.kernel, err);
    if (!rc)
        rc = gt_store_problem(session->store, problem, &key.problem, err);
    if (!rc)
        rc = gt_store_put_comparison(session->store, &key,
                                     &(struct gt_comparison){trial->us, trial->lo_us, trial->hi_us,
                                                             trial->err_u, baseline_us,
                                                             bench->report.copy_gbps, move_us},
                                     err);
    gt_strbuf_release(&point);
    return rc;
}

static int tune_problem(struct bench *bench, const struct gt_problem *problem, struct gt_err *err)
{
    struct gt_sweep_result result = {0};
    int rc = gt_session_sweep(&bench->session, problem, 1, bench->kernel, bench->kernels,
                              &bench->budget, &result, err);

    gt_sweep_result_release(&result);
    return rc;
}

/* Whether the rest of the set can still be compared: the problem is too big for this GPU, or no
 * kernel serves it. */
static bool only_this_problem(int rc)
{
    return rc == GT_ETOOBIG || rc == GT_ENOTFOUND || rc == GT_ERANGE || rc == GT_ECONFIG;
}

static int bench_problem(struct bench *bench, const struct gt_problem *problem, double weight,
                         struct gt_err *err)
{
    struct winner winner = {.bench = bench};
    struct gt_trial baseline = {0};
    struct gt_move move = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_err why = {0};
    bool have = false;
    int rc = bench->tune ? tune_problem(bench, problem, &why) : GT_OK;

    gt_problem_format(problem, text);
    if (!rc)
        rc = find_winner(&winner, problem, &why);
    if (rc)
        goto out;
    if (!winner.kernel) {
        gt_bench_report_nothing(&bench->report, text,
                                "has no winner here; tune it, or give --budget");
        return GT_OK;
    }
    if (bench->session.measures) {
        gt_progress_title(bench->session.progress, text);
        rc = compare(bench, &winner, problem, &baseline, &have, &move, &why);
    }
    if (!rc && winner.trial.status != GT_STATUS_OK) {
        gt_bench_report_nothing(&bench->report, text, "winner failed: %s %s",
                                gt_status_name(winner.trial.status), winner.trial.detail);
        return GT_OK;
    }
    if (!rc && bench->session.measures)
        rc = remember(bench, &winner, problem, have ? baseline.us : 0, move.us, &why);
    if (!rc)
        gt_bench_report_row(&bench->report,
                            &(struct gt_bench_row){problem, weight, winner.kernel, &winner.point,
                                                   &winner.trial, have ? baseline.us : 0,
                                                   bound_us(bench, problem), move.us});
out:
    if (only_this_problem(rc)) {
        gt_bench_report_nothing(&bench->report, text, "not compared: %s", why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

static int bench_all(struct bench *bench, const struct gt_problem *problem, const double *weight,
                     size_t problems, struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    int rc = GT_OK;

    for (size_t i = 0; i < problems && !rc; i++) {
        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu problems", i,
                            problems);
        else
            rc = bench_problem(bench, &problem[i], weight[i], err);
    }
    return rc;
}

static int measure_copy(struct bench *bench, struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    struct gt_calibration calibration;
    int rc = evaluator->ops->calibrate(evaluator, true, &calibration, err);

    if (!rc)
        bench->report.copy_gbps = calibration.value[GT_CALIBRATION_MEMORY_COPY];
    return rc;
}

/* The set as a file that --shapes takes. */
static int list(const struct gt_cli *cli, const struct gt_problem *problem, size_t problems,
                struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];

    for (size_t i = 0; i < problems; i++) {
        gt_problem_format(&problem[i], text);
        fprintf(cli->out, "%s\n", text);
    }
    return ferror(cli->out) ? gt_err_set(err, GT_EIO, "cannot write the list") : GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_problem_options asked = options->problem;
    struct gt_problem *problem = NULL;
    struct bench bench = {
        .rounds = (int)options->rounds,
        .tune = options->session.budget != NULL,
    };
    double *weight = NULL;
    size_t problems = 0;
    int rc;

    bench.report.session = &bench.session;
    bench.report.warm = options->session.l2 && strcmp(options->session.l2, "warm") == 0;
    if (argc)
        asked.shapes = argv[0];
    asked.data_dir = cli->data_dir;
    asked.seed = options->session.seed;
    rc = gt_session_problems(NULL, &problem, &weight, &problems, &asked, err);
    if (options->list) {
        rc = rc ? rc : list(cli, problem, problems, err);
        free(weight);
        free(problem);
        return rc;
    }
    if (!rc && bench.tune)
        rc = gt_budget_parse(&bench.budget, options->session.budget, err);
    if (!rc)
        rc = gt_session_no_replay(&options->session, err);
    if (!rc)
        rc = gt_session_open(&bench.session, cli, &options->session, err);
    if (!rc && bench.tune)
        rc = gt_session_kernels(&bench.kernel, &bench.kernels, &bench.session.kernels,
                                options->session.kernels, err);
    bench.session.fallbacks = !options->session.kernels;
    if (!rc && bench.session.measures)
        rc = measure_copy(&bench, err);
    if (!rc)
        rc = gt_bench_report_open(&bench.report, options->csv, err);
    if (!rc)
        rc = bench_all(&bench, problem, weight, problems, err);
    rc = gt_bench_report_close(&bench.report, rc, err);
    gt_session_close(&bench.session);
    free(bench.kernel);
    free(weight);
    free(problem);
    if (!rc && !bench.report.done)
        rc = gt_err_set(err, GT_EXIT_NOTHING,
                        "no problem has a winner for this device; tune them, or give --budget");
    return rc;
}

const struct gt_command gt_command_bench = {
    .name = "bench",
    .doc = "stored winners against cuBLAS over a set of problems, paired",
    .usage = "bench [FILE] [--shape MxNxK]... [OPTION]...",
    .about =
        "Times the winner of each problem (of FILE, of --shape) and cuBLASLt's best answer in\n"
        "alternation and prints their ratio; above 1 the winner is faster. The column memory is\n"
        "what reading A and B (and C) and writing D takes at the bandwidth of a copy, measured\n"
        "in the same run, over the winner's time: thin products cannot get far above 1. A copy\n"
        "of a few megabytes does not reach that bandwidth, so the column moved has what a kernel\n"
        "takes that only reads A and B (and C) and writes D, the best of several. With --budget\n"
        "each problem is tuned first. --dtype and --accuracy replace those of FILE's "
        "problems.\n"
        "\n"
        "  tune bench configs/problems/bench.json --csv h200-f32.csv\n"
        "  tune bench configs/problems/bench.json --dtype bf16 --csv h200-bf16.csv\n"
        "  tune bench configs/problems/bench.json --budget 60s\n"
        "  tune bench --random 200 --seed 1 --list >problems.txt\n",
    .group = {{gt_problem_option_table, offsetof(struct options, problem)},
              {gt_draw_option_table, offsetof(struct options, problem)},
              {gt_session_option_table, offsetof(struct options, session)},
              {gt_search_option_table, offsetof(struct options, session)},
              {option_table, 0}},
    .argument = "FILE",
    .size = sizeof(struct options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
