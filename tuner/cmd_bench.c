/* cmd_bench.c - tune bench FILE: the stored winner of each problem of a set against cuBLAS, timed
 * side by side; with --budget each problem is tuned first. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/err.h"
#include "../src/problem.h"
#include "../src/strbuf.h"
#include "cmd_csv.h"
#include "cmd_json.h"
#include "cmd_report.h"
#include "cmd_session.h"
#include "commands.h"
#include "progress.h"

#define DEFAULT_ROUNDS 41

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv;
    int64_t rounds;
};

static const struct gt_option option_table[] = {
    GT_PROBLEM_OPTIONS(struct options),
    GT_SESSION_OPTIONS(struct options),
    {"kernels", 'k', GT_OPTION_TEXT, offsetof(struct options, session.kernels), "LIST",
     "kernels to tune with --budget, joined by commas (default: those in production)", NULL, 0, 0},
    {"budget", 'b', GT_OPTION_TEXT, offsetof(struct options, session.budget), "BUDGET",
     "tune each problem first, for that long or that many trials: 60s, 500 (default: not at all)",
     NULL, 0, 0},
    {"rounds", 0, GT_OPTION_INTEGER, offsetof(struct options, rounds), "N",
     "paired rounds of winner and cuBLAS (default: 41)", NULL, 5, GT_MAX_SAMPLES},
    {"csv", 0, GT_OPTION_TEXT, offsetof(struct options, csv), "FILE", "write the table there too",
     NULL, 0, 0},
    GT_OPTIONS_END,
};

static const char csv_heading[] =
    "device,dtype,accuracy,layout,m,n,k,batch,kernel,point,us,lo_us,hi_us,cublas_us,ratio,err_u,"
    "l2,driver,nvrtc,date";

/* One benchmark run: what is open, and what it found so far. */
struct bench {
    struct gt_session session;
    const struct gt_kernel **kernel;
    size_t kernels;
    struct gt_csv *csv;
    cJSON *json, *rows; /* the document and its list; NULL: a table is printed instead */
    struct gt_budget budget;
    bool tune, warm;
    int rounds;
    size_t done, compared;
    double log_sum, weights, worst; /* of the ratios: weighted sum of logarithms, least */
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

    if (winner->kernel || row->warm_l2 != winner->bench->warm ||
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
 */
static int compare(const struct bench *bench, struct winner *winner,
                   const struct gt_problem *problem, struct gt_trial *baseline, bool *have,
                   struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    const struct gt_candidate candidate = {.kernel = winner->kernel,
                                           .problem = problem,
                                           .device = &evaluator->device,
                                           .point = winner->point};
    struct gt_baseline best;
    int rc = evaluator->ops->open_problem(evaluator, problem, err);

    if (rc)
        return rc;
    rc = evaluator->ops->baseline(evaluator, &best, err);
    *have = rc == GT_OK;
    if (rc && rc != GT_ENOLIB && rc != GT_ENOTFOUND)
        return rc;
    if (rc && err)
        gt_progress_note(bench->session.progress, err->msg); /* no baseline, and why */
    return evaluator->ops->final(evaluator, &candidate, 1, bench->rounds, &winner->trial, baseline,
                                 err);
}

static void csv_row(const struct bench *bench, const struct gt_problem *problem,
                    const struct winner *winner, const struct gt_trial *baseline, bool have,
                    const char *point)
{
    const struct gt_evaluator *evaluator = bench->session.evaluator;
    const struct gt_trial *trial = &winner->trial;
    struct gt_csv *csv = bench->csv;
    time_t now = time(NULL);
    char date[32];
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    gt_csv_text(csv, evaluator->device.name);
    gt_csv_text(csv, gt_dtype_name(problem->type));
    gt_csv_text(csv, gt_accuracy_name(problem->accuracy));
    gt_csv_text(csv, gt_layout_name(gt_problem_layout(problem)));
    gt_csv_format(csv, "%lld", (long long)problem->m);
    gt_csv_format(csv, "%lld", (long long)problem->n);
    gt_csv_format(csv, "%lld", (long long)problem->k);
    gt_csv_format(csv, "%lld", (long long)problem->batch);
    gt_csv_text(csv, winner->kernel->name);
    gt_csv_text(csv, point);
    gt_csv_real(csv, trial->us, 3, true);
    gt_csv_real(csv, trial->lo_us, 3, true);
    gt_csv_real(csv, trial->hi_us, 3, true);
    gt_csv_real(csv, baseline->us, 3, have);
    gt_csv_real(csv, baseline->us / trial->us, 4, have);
    gt_csv_real(csv, trial->err_u, 2, true);
    gt_csv_text(csv, bench->warm ? "warm" : "cold");
    gt_csv_format(csv, "%d.%d", evaluator->device.driver / 1000,
                  evaluator->device.driver % 1000 / 10);
    gt_csv_format(csv, "%d.%d", evaluator->nvrtc_version / 1000,
                  evaluator->nvrtc_version % 1000 / 10);
    gt_csv_text(csv, date);
    gt_csv_end(csv);
}

static void json_row(const struct bench *bench, const char *problem, double weight,
                     const struct winner *winner, const struct gt_trial *baseline, bool have,
                     const char *point)
{
    const struct gt_trial *trial = &winner->trial;
    cJSON *row = cJSON_CreateObject();

    cJSON_AddItemToArray(bench->rows, row);
    cJSON_AddStringToObject(row, "problem", problem);
    cJSON_AddNumberToObject(row, "weight", weight);
    cJSON_AddStringToObject(row, "kernel", winner->kernel->name);
    cJSON_AddStringToObject(row, "point", point);
    cJSON_AddNumberToObject(row, "us", trial->us);
    if (trial->provenance == GT_MEASURED) {
        cJSON_AddNumberToObject(row, "lo_us", trial->lo_us);
        cJSON_AddNumberToObject(row, "hi_us", trial->hi_us);
        cJSON_AddNumberToObject(row, "err_u", trial->err_u);
    }
    if (have) {
        cJSON_AddNumberToObject(row, "baseline_us", baseline->us);
        cJSON_AddNumberToObject(row, "ratio", baseline->us / trial->us);
    }
}

/* A problem without figures, and why. */
__attribute__((format(printf, 3, 4))) static void
print_nothing(const struct bench *bench, const char *problem, const char *format, ...)
{
    char why[1100];
    va_list args;
    cJSON *row;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (!bench->json) {
        fprintf(bench->session.cli->out, "%-34s %s\n", problem, why);
        return;
    }
    row = cJSON_CreateObject();
    cJSON_AddItemToArray(bench->rows, row);
    cJSON_AddStringToObject(row, "problem", problem);
    cJSON_AddStringToObject(row, "nothing", why);
}

static void print_line(const struct bench *bench, const struct gt_problem *problem,
                       const char *text, const struct winner *winner,
                       const struct gt_trial *baseline, bool have)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    char against[64] = "-", ratio[32] = "-";

    if (have) {
        snprintf(against, sizeof(against), "%.2f", baseline->us);
        snprintf(ratio, sizeof(ratio), "%.3f", baseline->us / winner->trial.us);
    }
    gt_report_point(&point, winner->kernel, &winner->point);
    fprintf(bench->session.cli->out, "%-34s %11.2f %9.2f %11s %8s  %s %s\n", text, winner->trial.us,
            gt_problem_flops(problem) / winner->trial.us * 1e-6, against, ratio,
            winner->kernel->name, point.text);
    fflush(bench->session.cli->out);
    gt_strbuf_release(&point);
}

static void print_row(struct bench *bench, const struct gt_problem *problem, double weight,
                      const struct winner *winner, const struct gt_trial *baseline, bool have)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    char text[GT_PROBLEM_TEXT_MAX];
    double times = have ? baseline->us / winner->trial.us : 0;

    if (have) {
        bench->log_sum += weight * log(times);
        bench->weights += weight;
        bench->worst = bench->compared && bench->worst < times ? bench->worst : times;
        bench->compared++;
    }
    gt_problem_format(problem, text);
    gt_point_format(&point, winner->kernel, &winner->point);
    if (bench->json)
        json_row(bench, text, weight, winner, baseline, have, point.text);
    else
        print_line(bench, problem, text, winner, baseline, have);
    csv_row(bench, problem, winner, baseline, have, point.text);
    bench->done++;
    gt_strbuf_release(&point);
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
        print_nothing(bench, text, "has no winner here; tune it, or give --budget");
        return GT_OK;
    }
    if (bench->session.measures) {
        gt_progress_title(bench->session.progress, text);
        rc = compare(bench, &winner, problem, &baseline, &have, &why);
    }
    if (!rc && winner.trial.status != GT_STATUS_OK) {
        print_nothing(bench, text, "winner failed: %s %s", gt_status_name(winner.trial.status),
                      winner.trial.detail);
        return GT_OK;
    }
    if (!rc)
        print_row(bench, problem, weight, &winner, &baseline, have);
out:
    if (only_this_problem(rc)) {
        print_nothing(bench, text, "not compared: %s", why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* The document without its rows. */
static int begin_json(struct bench *bench, struct gt_err *err)
{
    const struct gt_device *device = &bench->session.evaluator->device;

    bench->json = cJSON_CreateObject();
    cJSON_AddStringToObject(bench->json, "format", "gemmtune bench 1");
    cJSON_AddStringToObject(bench->json, "device", device->name);
    cJSON_AddNumberToObject(bench->json, "cc", device->cc);
    cJSON_AddStringToObject(bench->json, "l2", bench->warm ? "warm" : "cold");
    cJSON_AddBoolToObject(bench->json, "predicted", !bench->session.measures);
    bench->rows = cJSON_AddArrayToObject(bench->json, "problems");
    return bench->rows ? GT_OK : gt_err_nomem(err);
}

static int end_json(const struct bench *bench, struct gt_err *err)
{
    if (bench->compared && bench->weights > 0) {
        cJSON_AddNumberToObject(bench->json, "mean_ratio", exp(bench->log_sum / bench->weights));
        cJSON_AddNumberToObject(bench->json, "worst_ratio", bench->worst);
    }
    return gt_cmd_print_json(bench->session.cli, bench->json, err);
}

static void print_heading(const struct bench *bench)
{
    const struct gt_session *session = &bench->session;
    FILE *out = session->cli->out;

    fprintf(out, "%s (sm_%d), L2 %s: %s\n", session->evaluator->device.name,
            session->evaluator->device.cc, bench->warm ? "warm" : "cold",
            session->measures ? "measured, paired with cuBLASLt"
                              : "PREDICTED by a model, nothing was measured");
    fprintf(out, "%-34s %11s %9s %11s %8s  winner\n", "problem",
            session->measures ? "measured us" : "predict. us", "TFLOP/s", "cuBLAS us", "x cuBLAS");
}

static int bench_all(struct bench *bench, const struct gt_problem *problem, const double *weight,
                     size_t problems, struct gt_err *err)
{
    const struct gt_session *session = &bench->session;
    int rc = GT_OK;

    if (!bench->json)
        print_heading(bench);
    for (size_t i = 0; i < problems && !rc; i++) {
        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu problems", i,
                            problems);
        else
            rc = bench_problem(bench, &problem[i], weight[i], err);
    }
    if (!bench->json && bench->compared && bench->weights > 0)
        fprintf(session->cli->out, "%zu compared: geometric mean %.3f x cuBLAS, worst %.3f\n",
                bench->compared, exp(bench->log_sum / bench->weights), bench->worst);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_problem_options asked = options->problem;
    struct gt_problem *problem = NULL;
    struct bench bench = {
        .rounds = options->rounds ? (int)options->rounds : DEFAULT_ROUNDS,
        .tune = options->session.budget != NULL,
        .warm = options->session.l2 && strcmp(options->session.l2, "warm") == 0,
    };
    double *weight = NULL;
    size_t problems = 0;
    int rc, closed;

    if (argc)
        asked.shapes = argv[0];
    rc = gt_session_problems(NULL, &problem, &weight, &problems, &asked, err);
    if (!rc && bench.tune)
        rc = gt_budget_parse(&bench.budget, options->session.budget, err);
    if (!rc)
        rc = gt_session_no_replay(&options->session, err);
    if (!rc)
        rc = gt_session_open(&bench.session, cli, &options->session, err);
    if (!rc && bench.tune)
        rc = gt_session_kernels(&bench.kernel, &bench.kernels, &bench.session.kernels,
                                options->session.kernels, err);
    bench.session.spares = !options->session.kernels;
    if (!rc && options->csv && bench.session.measures)
        rc = gt_csv_new(&bench.csv, options->csv, csv_heading, err);
    else if (!rc && options->csv)
        rc = gt_err_set(err, GT_ENOGPU, "--csv holds measured times, but there is no GPU here");
    if (!rc && cli->json)
        rc = begin_json(&bench, err);
    if (!rc)
        rc = bench_all(&bench, problem, weight, problems, err);
    closed = gt_csv_close(bench.csv, rc ? NULL : err);
    if (bench.json && !rc)
        rc = end_json(&bench, err);
    else
        cJSON_Delete(bench.json);
    gt_session_close(&bench.session);
    free(bench.kernel);
    free(weight);
    free(problem);
    rc = rc ? rc : closed;
    if (!rc && !bench.done)
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
        "alternation and prints their ratio; above 1 the winner is faster. With --budget each\n"
        "problem is tuned first. --dtype and --accuracy replace those of FILE's problems.\n"
        "\n"
        "  tune bench configs/problems/bench.json --csv h200-f32.csv\n"
        "  tune bench configs/problems/bench.json --dtype bf16 --csv h200-bf16.csv\n"
        "  tune bench configs/problems/bench.json --budget 60s\n",
    .option = option_table,
    .size = sizeof(struct options),
    .max_args = 1,
    .finishes = true,
    .run = run,
};
