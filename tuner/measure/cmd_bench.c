/* cmd_bench.c - tune bench FILE: times the stored winner of each problem of a set side by side with
 * the untuned answer and cuBLAS; with --budget it tunes the problems first. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "lookup/table.h"
#include "measure/cmd_bench_report.h"
#include "problem/problem.h"
#include "session/cmd_report.h"
#include "session/cmd_session.h"
#include "sweep/progress.h"

/* What tune bench times of a problem: its stored winner, the answer that a
 * program gets without it, and cuBLASLt's best one. */

/* A benchmark run: what it has opened, and what it has found so far. */
struct gt_bench_run {
    struct gt_session session;
    const struct gt_kernel **kernel; /* what is tuned */
    size_t kernels;
    bool named; /* --kernels names those: only their winners are timed, others as incumbents */
    struct gt_bench_report report;
    struct gt_snapshot untuned; /* answers look-ups as a program without this database gets them */
    int rounds;                 /* 0: as many as take about 2 s */
};

/* The stored winner of a problem on this device, and the answer that a program gets without it. */
struct gt_bench_winner {
    const struct gt_bench_run *bench;
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
    bool vendor; /* the sweep found cuBLASLt's answer faster, and it is a candidate */
    struct gt_resolved untuned;
    struct gt_bench_incumbent incumbent;
};

/* Tune bench: the stored winner of a problem in turns with the untuned answer
 * and with cuBLASLt; see cmd_bench.c. */

static const struct gt_rounds default_rounds = {41, 200, 2e6};

/* A winner counts as slower than the untuned answer if the 95 % interval of the paired ratio lies
 * above this: gaps scatter by 0.2 to 0.6 % from contest to contest (db/measured/README.md). */
#define NOISE 1.01

static int take_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_bench_winner *winner = context;
    const struct gt_session *session = &winner->bench->session;
    const struct gt_kernel *kernel;

    if (winner->kernel || row->timing != winner->bench->report.timing ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->provenance != session->evaluator->ops->provenance)
        return GT_OK;
    kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);
    if (!kernel || strcmp(kernel->signature, row->signature) != 0)
        return GT_OK; /* measured with another text of the template */
    winner->kernel = kernel;
    winner->vendor = *row->algo && row->baseline_us > 0 && row->baseline_us < row->us;
    winner->trial = (struct gt_trial){.status = row->status,
                                      .provenance = row->provenance,
                                      .us = row->us,
                                      .lo_us = row->lo_us,
                                      .hi_us = row->hi_us,
                                      .err_u = row->err_u};
    return gt_point_parse(&winner->point, kernel, row->point, err);
}

static bool is_named(const struct gt_bench_run *bench, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < bench->kernels; i++)
        if (bench->kernel[i] == kernel)
            return true;
    return false;
}

/* Finds the winner of all kernels, unless that is of one of those that are named. */
static int find_incumbent(struct gt_bench_winner *winner, const struct gt_row_filter *filter,
                          struct gt_err *err)
{
    const struct gt_bench_run *bench = winner->bench;
    struct gt_bench_winner best = {.bench = bench};
    int rc = gt_store_rows(bench->session.store, filter, take_winner, &best, err);

    if (!rc && best.kernel && !is_named(bench, best.kernel))
        winner->incumbent = (struct gt_bench_incumbent){best.kernel, best.point, best.trial.us};
    return rc;
}

/* Finds the winner and, where times are measured, the untuned answer; winner->bench is set, the
 * rest zeroed.  winner->kernel stays NULL if there is none of today's text of a kernel. */
static int gt_bench_find_winner(struct gt_bench_winner *winner, const struct gt_problem *problem,
                                struct gt_err *err)
{
    const struct gt_session *session = &winner->bench->session;
    const struct gt_bench_run *bench = winner->bench;
    const struct gt_kernels named = {(struct gt_kernel **)bench->kernel, bench->kernels};
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_row_filter filter = {.winners_only = true,
                                   .problem = text,
                                   .cc = session->evaluator->device.cc,
                                   .kernels = bench->named ? &named : NULL};
    int rc;

    gt_problem_format(problem, text);
    rc = gt_store_rows(session->store, &filter, take_winner, winner, err);
    filter.kernels = NULL;
    if (!rc && winner->kernel && bench->named)
        rc = find_incumbent(winner, &filter, err);
    if (!rc && winner->kernel && session->measures)
        rc = gt_snapshot_lookup(&winner->bench->untuned, &session->evaluator->device, problem,
                                &winner->untuned, err);
    return rc;
}

/* Whether the untuned answer is the winner itself. */
static bool same_answer(const struct gt_bench_winner *winner)
{
    const struct gt_kernel *kernel = winner->kernel;

    return winner->untuned.kernel == kernel &&
           memcmp(winner->untuned.point.value, winner->point.value,
                  kernel->params * sizeof(winner->point.value[0])) == 0;
}

/* Judges the untuned answer by the rounds of the contest. */
static void judge_untuned(const struct gt_bench_winner *winner, const struct gt_trial *untuned,
                          struct gt_comparison *with)
{
    const struct gt_trial *tuned = &winner->trial;
    double lo, hi;

    with->untuned_us = untuned->us;
    if (untuned == tuned)
        return;
    gt_paired_interval(tuned->sample, untuned->sample,
                       tuned->samples < untuned->samples ? tuned->samples : untuned->samples, &lo,
                       &hi);
    with->worse = lo > NOISE;
}

/* Says why a candidate has no time in a contest, which the table shows as an empty field. */
static void note_lost(const struct gt_bench_run *bench, const char *who,
                      const struct gt_candidate *candidate, const struct gt_trial *trial)
{
    char problem[GT_PROBLEM_TEXT_MAX];
    struct gt_strbuf sentence = GT_STRBUF_INIT;

    gt_problem_format(candidate->problem, problem);
    gt_strbuf_addf(&sentence, "%s: %s, %s ", problem, who, candidate->kernel->name);
    gt_point_format(&sentence, candidate->kernel, &candidate->point);
    gt_strbuf_addf(&sentence, ", has no time: %s%s%s", gt_status_name(trial->status),
                   *trial->detail ? ": " : "", trial->detail);
    gt_progress_note(bench->session.progress, sentence.text);
    gt_strbuf_release(&sentence);
}

/* Adds a candidate to a contest of so many. */
static void enter(struct gt_candidate *candidate, size_t *count, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_candidate *like)
{
    candidate[*count] = *like;
    candidate[*count].kernel = kernel;
    candidate[(*count)++].point = *point;
}

/* Times the winner, the untuned answer, the incumbent and cuBLASLt's best one in turns. */
static int hold_contest(const struct gt_bench_run *bench, struct gt_bench_winner *winner,
                        const struct gt_problem *problem, bool baseline, struct gt_comparison *with,
                        struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    const bool both = winner->untuned.kernel && !same_answer(winner);
    struct gt_bench_incumbent *incumbent = &winner->incumbent;
    struct gt_candidate candidate[3] = {
        {winner->kernel, problem, &evaluator->device, winner->point}};
    struct gt_trial trial[3] = {winner->trial}, vendor = {0};
    size_t count = 1;
    double round_us;
    int rounds, rc;

    if (both)
        enter(candidate, &count, winner->untuned.kernel, &winner->untuned.point, candidate);
    if (incumbent->kernel)
        enter(candidate, &count, incumbent->kernel, &incumbent->point, candidate);
    round_us = (double)(count + baseline) * winner->trial.us;
    rounds = bench->rounds ? bench->rounds : gt_rounds_for(&default_rounds, 2, round_us);
    rc = evaluator->ops->final(evaluator, candidate, count, rounds, trial,
                               baseline ? &vendor : NULL, err);
    if (rc)
        return rc;
    if (incumbent->kernel)
        incumbent->us = trial[count - 1].status == GT_STATUS_OK ? trial[count - 1].us : 0;
    if (incumbent->kernel && !(incumbent->us > 0))
        note_lost(bench, "the incumbent", &candidate[count - 1], &trial[count - 1]);
    winner->trial = trial[0];
    if (trial[0].status != GT_STATUS_OK) {
        note_lost(bench, "the winner", &candidate[0], &trial[0]);
        return GT_OK;
    }
    if (both && trial[1].status == GT_STATUS_OK)
        judge_untuned(winner, &trial[1], with);
    else if (both)
        note_lost(bench, "the untuned answer", &candidate[1], &trial[1]);
    else if (winner->untuned.kernel)
        judge_untuned(winner, &winner->trial, with);
    if (vendor.status == GT_STATUS_OK && vendor.us > 0) {
        with->baseline_us = vendor.us;
        with->baseline_err_u = vendor.err_u;
        with->best_us = winner->vendor ? vendor.us : trial[0].us;
    }
    return GT_OK;
}

/* Compares the winner with the other answers, after measuring what moving the data alone takes. */
static int gt_bench_compare(const struct gt_bench_run *bench, struct gt_bench_winner *winner,
                            const struct gt_problem *problem, struct gt_comparison *with,
                            struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    struct gt_move move = {0};
    struct gt_baseline best;
    int rc = evaluator->ops->open_problem(evaluator, problem, err);

    if (!rc && bench->report.timing == GT_TIMING_COLD)
        rc = evaluator->ops->move(evaluator, &move, err);
    if (rc)
        return rc;
    with->move_us = move.us;
    rc = evaluator->ops->baseline(evaluator, &best, err);
    if (rc && rc != GT_ENOLIB && rc != GT_ENOTFOUND)
        return rc;
    if (rc && err)
        gt_progress_note(bench->session.progress, err->msg); /* says why there is no baseline */
    rc = hold_contest(bench, winner, problem, !rc, with, err);
    with->us = winner->trial.us;
    with->lo_us = winner->trial.lo_us;
    with->hi_us = winner->trial.hi_us;
    with->err_u = winner->trial.err_u;
    return rc;
}

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv;
    int64_t rounds;
    bool list;
};

/* A line as --shapes reads it; the weight, if it is not 1, so that it is read as the same number.
 */
static void list_line(FILE *out, const char *text, double weight)
{
    char number[32];

    snprintf(number, sizeof(number), "%.15g", weight);
    if (strtod(number, NULL) < weight || strtod(number, NULL) > weight)
        snprintf(number, sizeof(number), "%.17g", weight);
    if (strcmp(number, "1") == 0)
        fprintf(out, "%s\n", text);
    else
        fprintf(out, "%s weight=%s\n", text, number);
}

/* Prints the set in the two forms that --shapes reads: lines, or a list in JSON. */
static int list(const struct gt_cli *cli, const struct gt_problem *problem, const double *weight,
                size_t problems, struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];
    cJSON *json = NULL;

    if (cli->json) {
        gt_cmd_json_watch();
        json = cJSON_CreateArray();
    }
    for (size_t i = 0; i < problems; i++) {
        gt_problem_format(&problem[i], text);
        if (cli->json) {
            cJSON *one = cJSON_CreateObject();

            cJSON_AddStringToObject(one, "problem", text);
            cJSON_AddNumberToObject(one, "weight", weight[i]);
            cJSON_AddItemToArray(json, one);
        } else {
            list_line(cli->out, text, weight[i]);
        }
    }
    if (cli->json)
        return gt_cmd_print_json(cli, json, err);
    return ferror(cli->out) ? gt_err_set(err, GT_EIO, "cannot write the list") : GT_OK;
}

static const struct gt_option option_table[] = {
    GT_TEXT(
        options, session.kernels, "kernels", 'k', "KERNELS",
        "kernels whose winners are timed, with the winner of all beside them, and which --budget "
        "tunes, names or patterns joined by commas (default: the winner of all is timed, and "
        "those in production are tuned)"),
    GT_TEXT(options, session.budget, "budget", 'b', "BUDGET",
            "tune first, that long or that many trials for each problem, in one sweep over all of "
            "them: 10s, 500 (default: not at all)"),
    GT_INTEGER(
        options, rounds, "rounds", 0, "N", 5, GT_MAX_SAMPLES,
        "paired rounds of winner and cuBLAS (default: as many as take about 2 s, 41 to 200)"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_FLAG(options, list, "list", 0, "only print the problems, a file for --shapes"),
    GT_OPTIONS_END,
};

/* Stores the figures in the database, from which `tune export --format bench` makes the same table.
 */
static int remember(const struct gt_bench_run *bench, const struct gt_bench_winner *winner,
                    const struct gt_problem *problem, const struct gt_comparison *with,
                    struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key = {.timing = bench->report.timing};
    int rc = gt_store_device(session->store, &session->evaluator->device, &key.device, err);

    gt_point_format(&point, winner->kernel, &winner->point);
    key.point = point.text;
    GT_STEP(rc, gt_strbuf_check(&point, err));
    GT_STEP(rc, gt_store_toolchain(session->store, session->evaluator->nvrtc_version,
                                   &key.toolchain, err));
    GT_STEP(rc, gt_store_kernel(session->store, winner->kernel, &key.kernel, err));
    GT_STEP(rc, gt_store_problem(session->store, problem, &key.problem, err));
    GT_STEP(rc, gt_store_put_comparison(session->store, &key, with, err));
    gt_strbuf_release(&point);
    return rc;
}

/* Measures the winner's row and adds it to the report. */
static int report_winner(struct gt_bench_run *bench, struct gt_bench_winner *winner,
                         const struct gt_problem *problem, double weight, struct gt_err *err)
{
    struct gt_strbuf untuned = GT_STRBUF_INIT;
    struct gt_comparison with = {.copy_gbps = bench->report.copy_gbps};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = GT_OK;

    gt_problem_format(problem, text);
    if (winner->untuned.kernel)
        gt_strbuf_addf(&untuned, "%s %s", winner->untuned.kernel->name,
                       winner->untuned.answer.point);
    rc = gt_strbuf_check(&untuned, err);
    if (!rc && bench->session.measures) {
        gt_progress_now(bench->session.progress, text);
        rc = gt_bench_compare(bench, winner, problem, &with, err);
    }
    if (with.untuned_us > 0)
        with.untuned = untuned.text;
    if (!rc && winner->trial.status != GT_STATUS_OK) {
        gt_bench_report_nothing(&bench->report, text, "winner failed: %s %s",
                                gt_status_name(winner->trial.status), winner->trial.detail);
    } else if (!rc) {
        if (bench->session.measures && !winner->incumbent.kernel) /* else it is not the winner */
            rc = remember(bench, winner, problem, &with, err);
        GT_STEP(rc, gt_bench_report_row(&bench->report,
                                        &(struct gt_bench_row){problem, weight, winner->kernel,
                                                               &winner->point, &winner->trial,
                                                               &with, &winner->incumbent},
                                        err));
    }
    gt_strbuf_release(&untuned);
    return rc;
}

/* Whether the rest of the set can still be compared: the problem is too big for this GPU, or no
 * kernel serves it. */
static bool only_this_problem(int rc)
{
    return rc == GT_ETOOBIG || rc == GT_ENOTFOUND || rc == GT_ERANGE || rc == GT_ECONFIG;
}

/* swept: the sweep's result for the problem; NULL if there was no sweep. */
static int bench_problem(struct gt_bench_run *bench, const struct gt_problem *problem,
                         double weight, const struct gt_sweep_result *swept, struct gt_err *err)
{
    struct gt_bench_winner winner = {.bench = bench};
    char text[GT_PROBLEM_TEXT_MAX], unserved[GT_UNSERVED_MAX];
    struct gt_err why = {0};
    int rc = GT_OK;

    gt_problem_format(problem, text);
    if (swept && swept->nothing.code) {
        why = swept->nothing;
        rc = why.code;
    }
    GT_STEP(rc, gt_bench_find_winner(&winner, problem, &why));
    if (!rc && winner.kernel)
        rc = report_winner(bench, &winner, problem, weight, &why);
    else if (!rc &&
             gt_unserved(unserved, NULL,
                         (const struct gt_kernel *const *)bench->session.kernels.kernel,
                         bench->session.kernels.count, problem, &bench->session.evaluator->device))
        gt_bench_report_nothing(&bench->report, text, "no kernel serves it: %s", unserved);
    else if (!rc)
        gt_bench_report_nothing(&bench->report, text,
                                "has no winner%s here; tune it, or give --budget",
                                bench->named ? " of these kernels" : "");
    gt_resolved_release(&winner.untuned);
    if (only_this_problem(rc)) {
        gt_bench_report_nothing(&bench->report, text, "not compared: %s", why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* Tunes all problems in one sweep, so that the compilers work for the next ones while one is timed.
 */
static int tune_all(struct gt_bench_run *bench, const struct gt_problem *problem,
                    const double *weight, size_t problems, const char *budget_text,
                    struct gt_sweep_result *result, struct gt_err *err)
{
    struct gt_budget budget;
    int rc = gt_budget_parse(&budget, budget_text, err);

    if (rc)
        return rc;
    budget.each = true;
    bench->session.weight = weight;
    rc = gt_session_sweep(&bench->session, problem, problems, bench->kernel, bench->kernels,
                          &budget, result, err);
    return problems == 1 && result[0].nothing.code ? GT_OK : rc; /* reported with its row */
}

static int bench_all(struct gt_bench_run *bench, const struct gt_problem *problem,
                     const double *weight, size_t problems, const char *budget, struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    struct gt_sweep_result *result = calloc(problems, sizeof(*result));
    int rc = result ? GT_OK : gt_err_nomem(err);

    if (!rc && budget)
        rc = tune_all(bench, problem, weight, problems, budget, result, err);
    for (size_t i = 0; i < problems && !rc; i++) {
        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu problems", i,
                            problems);
        else
            rc = bench_problem(bench, &problem[i], weight[i], &result[i], err);
    }
    if (!rc && budget)
        gt_report_failures(session, result, problems);
    for (size_t i = 0; i < problems && result; i++)
        gt_sweep_result_release(&result[i]);
    free(result);
    return rc;
}

static int measure_copy(struct gt_bench_run *bench, struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    struct gt_calibration calibration;
    int rc = evaluator->ops->calibrate(evaluator, true, &calibration, err);

    if (!rc)
        bench->report.copy_gbps = calibration.value[GT_CALIBRATION_MEMORY_COPY];
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_session_options session = options->session;
    struct gt_problem_options asked = options->problem;
    struct gt_problem *problem = NULL;
    const char *budget = options->session.budget;
    struct gt_bench_run bench = {.rounds = (int)options->rounds};
    struct gt_budget checked;
    double *weight = NULL;
    size_t problems = 0;
    int rc = GT_OK;

    bench.report.session = &bench.session;
    bench.report.timing = gt_session_timing(&options->session);
    if (cli->arguments)
        rc = gt_session_argument(&asked, cli->argument[0], err);
    asked.seed = options->session.seed;
    GT_STEP(rc, gt_session_problems(cli, NULL, &problem, &weight, &problems, &asked, err));
    if (options->list) {
        rc = rc ? rc : list(cli, problem, weight, problems, err);
        free(weight);
        free(problem);
        return rc;
    }
    if (!rc && budget)
        rc = gt_budget_parse(&checked, budget, err); /* reported before any work */
    GT_STEP(rc, gt_session_no_replay(&options->session, err));
    session.stored = !budget;
    GT_STEP(rc, gt_session_open(&bench.session, cli, &session, err));
    bench.named = session.kernels != NULL;
    if (!rc && (budget || bench.named))
        rc = gt_session_kernels(&bench.kernel, &bench.kernels, &bench.session.kernels,
                                options->session.kernels, err);
    bench.session.fallbacks = !options->session.kernels;
    if (!rc && bench.session.measures)
        rc = measure_copy(&bench, err);
    GT_STEP(rc, gt_snapshot_take(&bench.untuned, &bench.session.kernels, NULL,
                                 &bench.session.shipped, err));
    GT_STEP(rc, gt_bench_report_open(&bench.report, options->csv, err));
    GT_STEP(rc, bench_all(&bench, problem, weight, problems, budget, err));
    rc = gt_bench_report_close(&bench.report, rc, err);
    gt_snapshot_release(&bench.untuned);
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
    .usage = "bench [FILE|MxNxK] [--shape MxNxK]... [OPTION]...",
    .about =
        "Times the winner of each problem (of FILE, of --shape, drawn by --random), what look-up\n"
        "hands out to a program without this database (untuned), and cuBLASLt's best answer in\n"
        "alternation. Ratios are cuBLASLt's time over another one: above 1 the other is faster.\n"
        "Best is the faster of winner and cuBLASLt's answer, as the sweep chose. Errors stand\n"
        "beside cuBLASLt's, and one above 1.25 times that is flagged. The column memory is\n"
        "what reading A and B (and C) and writing D takes at the bandwidth of a copy, measured\n"
        "in the same run, over the winner's time: thin products cannot get far above 1. A copy\n"
        "of a few megabytes does not reach that bandwidth, so the column moved has what a kernel\n"
        "takes that only reads A and B (and C) and writes D, the best of several. With --budget\n"
        "the problems are tuned first, in one sweep that has so much time for each of them.\n"
        "--dtype and --accuracy replace those of FILE's problems. With --kernels the row is the "
        "best\n"
        "of those, and the winner of all kernels stands below it.\n"
        "\n"
        "  tune bench bench.json --csv h200-f32.csv\n"
        "  tune bench bench.json --dtype bf16 --csv h200-bf16.csv\n"
        "  tune bench bench.json --budget 60s\n"
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
