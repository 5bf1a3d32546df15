/* cmd_tune.c - the sweep: tune --arch sm_86 --shape 4096x4096x4096. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cluster/devices.h"
#include "cluster/queue.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "db/store.h"
#include "measure/cmd_energy.h"
#include "problem/problem.h"
#include "session/cmd_report.h"
#include "session/cmd_session.h"
#include "session/coverage.h"
#include "session/older.h"

#define DEFAULT_ROWS 10

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    int64_t rows;
    const char *devices, *objective;
    int64_t silence;
    bool missing;
    struct gt_queue_options queue;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, session.kernels, "kernels", 'k', "KERNELS",
            "names or patterns such as 'simt*', joined by commas (default: every kernel with role "
            "production, and those of the "
            "ladder for a problem that none of them has a valid point for); what look-up hands out "
            "today is timed beside them, whichever kernel it is"),
    GT_TEXT(options, session.budget, "budget", 'b', "BUDGET",
            "how long: 90s, 30m, 8h are a time of the whole run (no problem begins after it), "
            "10s/problem is a time of each problem, 500 is trials per problem, patience=200 trials "
            "of a problem without a gain of 0.5 %; several: 30m,2000 (default: 120s with a GPU, "
            "120 trials per problem without)"),
    GT_CHOICE(options, session.baseline, "baseline", 0, "WHICH", "cublas|none",
              "cublas (default): cuBLASLt's best answer is timed in the same run; none"),
    GT_TEXT(options, session.values, "values", 0, "LIST",
            "search only these values of the parameters named: TM=4|8,STAGES=2"),
    GT_FLAG(options, session.no_bets, "no-bets", 0,
            "search without the constraints that only guess at what is slow (see tune show)"),
    GT_TEXT(
        options, session.space, "space", 0, "FILE",
        "with --device replay: the kernel's space, described in T1 (default: the recorded points)"),
    GT_REAL(options, session.slow, "slow", 0, "FACTOR", 1, 1000000,
            "give a candidate up if its first run takes more than FACTOR times the best (default: "
            "1.5); 1000 gives none up, for recordings"),
    GT_CHOICE(
        options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
        "energy or edp (energy times time): after the finals, which go by time, the energy of "
        "the fastest is measured as by tune energy, on the same GPU, and the best by that is "
        "marked; programs are handed the best by time all the same (default: time)"),
    GT_TEXT(options, devices, "devices", 0, "LIST",
            "several GPUs of this machine: all, 0-3 or 0,2; they share the problems, and several "
            "search one problem where there are fewer problems than GPUs (tuner/CLUSTER.md)"),
    GT_INTEGER(options, silence, "silence", 0, "SECONDS", 1, 86400,
               "with --devices: a GPU's process that says nothing for that long is replaced "
               "(default: 300)"),
    GT_TEXT(options, queue.address, "queue", 0, "ADDRESS",
            "work off the problems of `tune queue submit`, with their budgets: "
            "postgresql://HOST/DATABASE"),
    GT_INTEGER(options, queue.lease_s, "lease", 0, "SECONDS", 1, 86400,
               "with --queue: a job is free for others when its worker was silent for so long "
               "(default: 120)"),
    GT_FLAG(options, queue.predict, "predict", 0,
            "with --queue: take jobs also without a GPU of the --arch; their results are "
            "predictions, and marked as such"),
    GT_FLAG(options, queue.stay, "stay", 0, "with --queue: wait for more jobs when all have ended"),
    GT_FLAG(options, queue.compile, "compile-only", 0,
            "with --queue, on a machine without a GPU: compile what the workers with GPUs will try "
            "first into the cache that they share with this one (GEMMTUNE_CACHE); --arch says "
            "which GPUs will come"),
    GT_INTEGER(options, queue.ahead, "ahead", 0, "N", 1, 10000,
               "with --compile-only: candidates of each problem (default: 64)"),
    GT_FLAG(options, missing, "missing", 0,
            "leave out the problems that have a winner in the database, timed as --l2 and --timing "
            "say: a second pass after `tune merge`"),
    GT_INTEGER(options, rows, "candidates", 'n', "N", 1, GT_SWEEP_ROWS,
               "candidates to print of each problem (default: 10)"),
    GT_OPTIONS_END,
};

static int nothing_valid(const struct gt_session *session, const struct gt_sweep_result *result,
                         size_t count, struct gt_err *err)
{
    struct gt_strbuf sentence = GT_STRBUF_INIT;
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(result->problem, text);
    gt_report_nothing(&sentence, session, result);
    gt_err_set(err, GT_EXIT_NOTHING, "%s: %s%s", text, sentence.text,
               count > 1 ? " (and the same of every other problem)" : "");
    gt_strbuf_release(&sentence);
    return GT_EXIT_NOTHING;
}

/* Whether the sweep ended before the problem had a turn. */
static bool is_missing(const struct gt_sweep_result *result)
{
    return !result->nothing.code && result->fresh + result->resumed == 0;
}

#define NAMED_MOST 8 /* a set may have thousands of problems */

/* Names the first NAMED_MOST problems that had no turn and have no earlier trials. */
static void name_missing(const struct gt_session *session, const struct gt_sweep_result *result,
                         size_t count)
{
    char text[GT_PROBLEM_TEXT_MAX];
    size_t missing = 0, named = 0;

    for (size_t i = 0; i < count; i++)
        missing += is_missing(&result[i]);
    if (!missing || count == 1 || session->cli->quiet)
        return;
    fprintf(session->cli->log, "%zu of %zu problems had no turn:", missing, count);
    for (size_t i = 0; i < count && named < NAMED_MOST; i++) {
        if (!is_missing(&result[i]))
            continue;
        gt_problem_format(result[i].problem, text);
        fprintf(session->cli->log, " %s", text);
        named++;
    }
    if (named < missing)
        fprintf(session->cli->log, " and %zu more", missing - named);
    fputs("; the same command goes on with them\n", session->cli->log);
}

/* Prints the results, or begins their document.  The exit code is 4 if no problem has a valid
 * candidate, but not after an interrupted sweep, which did not show that there is none. */
static int report(const struct gt_session *session, const struct gt_sweep_result *result,
                  size_t count, size_t rows, bool interrupted, cJSON **document, struct gt_err *err)
{
    size_t valid = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_missing(&result[i]))
            continue;
        valid += result[i].rows > 0;
        if (!session->cli->json)
            gt_report_result(session, &result[i], rows);
        gt_report_summary(session, &result[i]);
    }
    name_missing(session, result, count);
    if (count > 1)
        gt_report_totals(session);
    if (session->cli->json)
        *document = gt_report_document(session, result, count);
    return valid || interrupted ? GT_OK : nothing_valid(session, result, count, err);
}

/* Whether the command line has to name the problems; a recording can supply its own. */
static bool problems_given(const struct options *options, const struct gt_problem_options *asked)
{
    return gt_problems_named(asked) || gt_session_no_replay(&options->session, NULL) == GT_OK;
}

static bool by_energy(const struct options *options)
{
    return gt_objective_parse(options->objective) != GT_BY_TIME;
}

/* Measures for --objective after a problem's finals. */
static int weigh(const struct gt_session_after *after, struct gt_session *session,
                 const struct gt_problem *problem, FILE *out, FILE *brief, cJSON *json,
                 struct gt_err *err)
{
    const struct gt_energy_report report = {out, brief, json, "costs"};

    if (json && !cJSON_HasObjectItem(json, "objective"))
        cJSON_AddStringToObject(json, "objective", after->objective);
    return gt_energy_after_sweep(session, problem, NULL, 1, after->objective, &report, err);
}

/* Measures for --objective after a sweep's finals, on this GPU and for all problems.  A document is
 * printed also after a failure. */
static int weigh_all(struct gt_session *session, const struct options *options,
                     const struct gt_problem *problem, const double *weight, size_t problems,
                     cJSON *document, struct gt_err *err)
{
    const struct gt_energy_report report = {document ? NULL : session->cli->out, NULL, document,
                                            "costs"};

    if (document)
        cJSON_AddStringToObject(document, "objective", options->objective);
    return gt_energy_after_sweep(session, problem, weight, problems, options->objective, &report,
                                 err);
}

static int run_devices(struct gt_cli *cli, const struct options *options,
                       const struct gt_problem_options *asked, struct gt_err *err)
{
    struct gt_devices_options several = {
        .devices = options->devices,
        .session = options->session,
        .budget = gt_budget_default(true),
        .rows = options->rows ? (size_t)options->rows : DEFAULT_ROWS,
        .silence_s = options->silence,
        .missing = options->missing,
        .after = {by_energy(options) ? weigh : NULL, options->objective},
    };
    struct gt_problem *problem = NULL;
    double *weight = NULL;
    int rc;

    if (options->session.device)
        return gt_err_set(err, GT_ESYNTAX, "--devices and --device exclude each other");
    rc = gt_session_problems(cli, NULL, &problem, &weight, &several.problems, asked, err);
    if (!rc && options->session.budget)
        rc = gt_budget_parse(&several.budget, options->session.budget, err);
    several.problem = problem;
    several.weight = weight;
    GT_STEP(rc, gt_devices_run(cli, &several, err));
    free(problem);
    free(weight);
    return rc;
}

static int check_objective(const struct gt_session *session, const struct options *options,
                           struct gt_err *err)
{
    if (!by_energy(options) || session->evaluator->ops->energy)
        return GT_OK;
    return gt_err_set(err, GT_ENOGPU, "--objective %s is measured on a GPU; there is none here",
                      options->objective);
}

/* Refuses options whose values the jobs of a queue have themselves, and options for output that no
 * job has. */
static int check_queue(const struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    const char *given = gt_options_given(gt_problem_option_table, &options->problem);

    if (gt_problems_named(&options->problem) || cli->arguments || options->devices ||
        options->session.budget)
        return gt_err_set(err, GT_ESYNTAX,
                          "--queue brings problems and budgets: it excludes --shape, --shapes, "
                          "--model, --random, --budget and --devices");
    if (options->missing)
        given = "missing";
    if (given)
        return gt_err_set(err, GT_ESYNTAX,
                          "--queue excludes --%s: its jobs say what is tuned, as `tune queue "
                          "submit` was told",
                          given);
    if (options->rows)
        return gt_err_set(
            err, GT_ESYNTAX,
            "--queue excludes --candidates: a line is printed of each job, and no table");
    return GT_OK;
}

/* Opens the session of a worker.  A worker without a GPU would end all jobs with predictions, so it
 * takes no job unless --predict or --device predict:NAME tells it to. */
static int open_worker(struct gt_session *session, struct gt_cli *cli,
                       struct gt_session_options *chosen, const struct gt_queue_options *queue,
                       struct gt_err *err)
{
    int rc = gt_session_no_replay(chosen, err);

    chosen->measure = !queue->predict;
    GT_STEP(rc, gt_session_open(session, cli, chosen, err));
    if (rc && !queue->predict && !chosen->device && gt_session_lacks_gpu(err))
        gt_err_prefix(err, rc,
                      "without a GPU this worker takes no jobs, because it would end them with "
                      "predictions (--predict: take them all the same; --compile-only: compile "
                      "for the workers that have one)");
    return rc;
}

static int run_queue(struct gt_cli *cli, const struct options *options, struct gt_err *err)
{
    const struct gt_kernel **kernel = NULL;
    struct gt_session_options chosen = options->session;
    struct gt_queue_options queue = options->queue;
    struct gt_session session = {0};
    size_t kernels = 0;
    int rc = check_queue(cli, options, err);

    queue.after = (struct gt_session_after){by_energy(options) ? weigh : NULL, options->objective};
    if (rc)
        return rc;
    if (options->queue.compile && by_energy(options))
        return gt_err_set(err, GT_ESYNTAX,
                          "--objective %s is measured on a GPU, after the finals: not with "
                          "--compile-only",
                          options->objective);
    rc = gt_pq_check_address(options->queue.address, err); /* before a GPU is looked for */
    if (rc)
        return rc;
    if (options->queue.compile)
        return gt_queue_compile(cli, &options->session, &options->queue, err);
    rc = gt_session_database(&chosen.db, cli, options->session.db, true, err);
    GT_STEP(rc, open_worker(&session, cli, &chosen, &queue, err));
    GT_STEP(rc, check_objective(&session, options, err));
    GT_STEP(rc, gt_session_kernels(&kernel, &kernels, &session.kernels, chosen.kernels, err));
    if (!rc) {
        session.fallbacks = !chosen.kernels;
        rc = gt_queue_work(&session, kernel, kernels, chosen.db, &queue, err);
    }
    gt_session_close(&session);
    free(kernel);
    return rc;
}

static const struct gt_option_pair pairs[] = {{"compile-only", "queue", NULL},
                                              {"lease", "queue", NULL},
                                              {"stay", "queue", NULL},
                                              {"predict", "queue", NULL},
                                              {"ahead", "compile-only", NULL},
                                              {"silence", "devices", NULL},
                                              {NULL, NULL, NULL}};

/* Shows the results of a sweep, as tables or as one JSON document, and their energies if these are
 * the objective.  rc: the sweep's. */
static int show(struct gt_session *session, const struct options *options,
                const struct gt_problem *problem, size_t problems,
                const struct gt_sweep_result *result, int rc, struct gt_err *err)
{
    const size_t rows = options->rows ? (size_t)options->rows : DEFAULT_ROWS;
    struct gt_coverage coverage;
    cJSON *document = NULL;
    int printed;

    if (rc == GT_OK || rc == GT_EINTERRUPTED) {
        printed = report(session, result, problems, rows, rc == GT_EINTERRUPTED, &document,
                         rc ? NULL : err);
        if (session->measures && !session->replays &&
            !gt_coverage_find(&coverage, session, session->store, problem, session->weight,
                              problems, NULL)) {
            if (problems > 1 && !session->cli->quiet)
                gt_coverage_print(&coverage, session->cli->log);
            if (document)
                cJSON_AddNumberToObject(document, "coverage", coverage.share);
        }
        rc = rc ? rc : printed;
    }
    if (!rc && by_energy(options))
        rc = weigh_all(session, options, problem, session->weight, problems, document, err);
    if (document) {
        printed = gt_cmd_print_json(session->cli, document, rc ? NULL : err);
        rc = rc ? rc : printed;
    }
    return rc;
}

static int sweep(struct gt_session *session, const struct options *options,
                 const struct gt_problem *problem, size_t problems, const struct gt_budget *budget,
                 struct gt_err *err)
{
    struct gt_sweep_result *result = calloc(problems, sizeof(*result));
    const struct gt_kernel **kernel = NULL;
    size_t kernels;
    int rc = result ? gt_session_kernels(&kernel, &kernels, &session->kernels,
                                         options->session.kernels, err)
                    : gt_err_nomem(err);

    session->fallbacks = !options->session.kernels;
    if (!rc)
        gt_older_tell_session(session, problem, problems);
    GT_STEP(rc, gt_session_sweep(session, problem, problems, kernel, kernels, budget, result, err));
    if (rc && rc != GT_ECONFIG && result && result[0].nothing.code == rc)
        rc = GT_OK; /* no kernel serves the only problem: this is shown below, with exit code 4 */
    rc = show(session, options, problem, problems, result, rc, err);
    for (size_t i = 0; i < problems && result; i++)
        gt_sweep_result_release(&result[i]);
    free(result);
    free(kernel);
    return rc;
}

static int show_nothing_missing(const struct gt_session *session, struct gt_err *err)
{
    const struct gt_cli *cli = session->cli;

    if (!cli->quiet)
        fprintf(cli->log, "nothing is missing: every problem has a winner\n");
    return cli->json ? gt_cmd_print_json(cli, gt_report_document(session, NULL, 0), err) : GT_OK;
}

/* Tunes on one GPU, by the model, or from a recording. */
static int run_one(struct gt_cli *cli, const struct options *options,
                   const struct gt_problem_options *asked, struct gt_err *err)
{
    struct gt_problem *problem = NULL;
    struct gt_session session = {0};
    struct gt_budget budget = {0};
    double *weight = NULL;
    size_t problems = 0;
    int rc = problems_given(options, asked)
                 ? gt_session_problems(cli, NULL, &problem, &weight, &problems, asked, err)
                 : GT_OK;

    if (!rc && options->session.budget)
        rc = gt_budget_parse(&budget, options->session.budget, err);
    GT_STEP(rc, gt_session_open(&session, cli, &options->session, err));
    GT_STEP(rc, check_objective(&session, options, err));
    if (!rc && !problem)
        rc = gt_session_problems(cli, &session, &problem, &weight, &problems, asked, err);
    if (!rc && options->missing)
        rc = gt_session_leave_out(&session, problem, weight, &problems, err);
    if (!rc && !problems) {
        rc = show_nothing_missing(&session, err);
    } else if (!rc) {
        session.weight = weight;
        if (!options->session.budget)
            budget = gt_budget_default(session.measures);
        rc = sweep(&session, options, problem, problems, &budget, err);
    }
    gt_session_close(&session);
    free(problem);
    free(weight);
    return rc;
}

/* --rows without --model is what --candidates is: its name before there was --model. */
static int take_rows(struct options *options, struct gt_err *err)
{
    const char *text = options->problem.model ? NULL : options->problem.rows;
    int length = 0;

    if (!text)
        return GT_OK;
    if (options->rows || sscanf(text, "%4" SCNd64 "%n", &options->rows, &length) != 1 ||
        text[length] || options->rows < 1 || options->rows > GT_SWEEP_ROWS)
        return gt_err_set(err, GT_ESYNTAX,
                          "--rows \"%.60s\": without --model it is --candidates, of which 1 to %d "
                          "are printed; with --model, rows of the activations",
                          text, GT_SWEEP_ROWS);
    options->problem.rows = NULL;
    return GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct options given = *(const struct options *)fields;
    const struct options *options = &given;
    int rc = take_rows(&given, err);
    struct gt_problem_options asked = options->problem;

    if (rc)
        return rc;
    if (cli->arguments > (int)(GT_MAX_TEXTS - asked.shape.count))
        return gt_err_set(err, GT_ERANGE, "more than %d shapes; --shapes FILE takes any number",
                          GT_MAX_TEXTS);
    for (int i = 0; i < cli->arguments; i++) /* `tune 64x64x64` means `tune --shape 64x64x64` */
        asked.shape.text[asked.shape.count++] = cli->argument[i];
    asked.seed = options->session.seed;
    if (options->queue.address)
        return run_queue(cli, options, err);
    return options->devices ? run_devices(cli, options, &asked, err)
                            : run_one(cli, options, &asked, err);
}

const struct gt_command gt_command_tune = {
    .name = "",
    .doc = "tune shapes",
    .usage = "[--shape] MxNxK... [--arch sm_86] [OPTION]...",
    .about =
        "Finds, proves and times the fastest kernel for each shape and remembers every trial in a\n"
        "database. The same command again resumes. Where no GPU of the --arch is present, kernels\n"
        "are compiled for it and a model predicts their times: nothing is measured then.\n"
        "\n"
        "The first candidate of a shape is what `tune lookup` answers for it, from any kernel. It "
        "is\n"
        "timed in turns with the best in the finals, so a sweep of any length makes no answer "
        "slower.\n"
        "It counts as a trial of the budget if its kernel is searched.\n"
        "\n"
        "  tune --arch sm_86 --shape 4096x4096x4096\n"
        "  tune --shapes bench --budget 2h\n"
        "  tune --shapes bench --devices all --budget 30m\n"
        "  tune --shape 512x512x64:f32:nt:batch=8 --epilogue bias+relu\n"
        "  tune --device replay:space.json.gz --strategy local --budget 500\n",
    .group = {{gt_problem_option_table, offsetof(struct options, problem), NULL},
              {gt_draw_option_table, offsetof(struct options, problem), NULL},
              {gt_session_option_table, offsetof(struct options, session), NULL},
              {gt_search_option_table, offsetof(struct options, session), NULL},
              {option_table, 0, pairs}},
    .size = sizeof(struct options),
    .max_args = GT_MAX_TEXTS,
    .finishes = true,
    .run = run,
};
