/* cmd_recheck.c - tune recheck: are the stored winners still the fastest?  Each measured winner is
 * timed again against the best other candidates of its problem, in a process that shares nothing
 * with the run that chose it. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "console/commands.h"
#include "console/options.h"
#include "console/terminal.h"
#include "evaluate/evaluator.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "problem/trial.h"
#include "recheck/cmd_recheck.h"
#include "session/cmd_report.h"
#include "sweep/progress.h"

/* A stored winner against its runners-up, timed again. */

#define RUNNERS   16   /* most candidates that a winner is timed against */
#define TOLERANCE 0.01 /* times of the same kernel in two runs differ by so much */

/* The verdict on a winner: it is still the fastest; it is not; it failed; or it was alone, with
 * nothing to time it against. */
enum verdict { HELD, LOST, FAILED, ALONE, VERDICTS };

/* A problem whose winner is timed again: its candidates, the winner first. */
struct contest {
    const struct recheck *recheck;
    struct gt_problem problem;
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_candidate candidate[1 + RUNNERS];
    struct gt_trial trial[1 + RUNNERS];
    size_t count, wanted;
    size_t best; /* the fastest of the other candidates; 0: none could be timed */
    double stored_us;
    /* How much longer candidate `best` takes than the winner, as a share of the winner's time: the
     * median of the paired ratios and its 95 % interval, in the last contest.  Only set if the
     * verdict is held or lost. */
    double margin, margin_lo, margin_hi;
    int contests; /* number of contests: a winner that loses the first contest gets a second
                     contest */
    enum verdict verdict;
};

/* ---- timing ---- */

#define CONTESTS 2

static const struct gt_rounds default_rounds = {61, GT_MAX_SAMPLES, 2e6};

/* Compares the candidates with the winner in pairs.  doubtful[i]: whether candidate i may have
 * beaten the winner.  A candidate stays doubtful if it is faster by more than the tolerance and its
 * interval excludes a tie. */
static void judge(struct contest *contest, bool *doubtful)
{
    const struct gt_trial *trial = contest->trial;
    bool lost = false;

    contest->best = 0;
    for (size_t i = 1; i < contest->count && trial[0].status == GT_STATUS_OK; i++) {
        int samples = trial[0].samples < trial[i].samples ? trial[0].samples : trial[i].samples;
        double ratio, lo, hi;

        if (trial[i].status != GT_STATUS_OK) {
            doubtful[i] = false;
            continue;
        }
        ratio = gt_paired_ratio(trial[i].sample, trial[0].sample, samples);
        gt_paired_interval(trial[i].sample, trial[0].sample, samples, &lo, &hi);
        doubtful[i] = doubtful[i] && ratio < 1 - TOLERANCE && hi < 1;
        if (contest->best &&
            (lost > doubtful[i] || (lost == doubtful[i] && ratio - 1 >= contest->margin)))
            continue;
        lost = doubtful[i];
        contest->best = i;
        contest->margin = ratio - 1;
        contest->margin_lo = lo - 1;
        contest->margin_hi = hi - 1;
    }
    contest->verdict = trial[0].status != GT_STATUS_OK ? FAILED
                       : !contest->best                ? ALONE
                       : lost                          ? LOST
                                                       : HELD;
}

/* Times the candidates of the contest and judges them.  rounds: 0 for as many rounds as take about
 * 2 s.  Among several candidates that are as fast as the winner, the best will sometimes look
 * faster than the winner.  So a winner has lost only if the same candidate beats it again, in a new
 * process and new memory. */
static int hold_contest(struct contest *contest, struct gt_evaluator *evaluator, int rounds,
                        struct gt_err *err)
{
    bool doubtful[1 + RUNNERS];
    int rc = GT_OK;

    if (!rounds)
        rounds = gt_rounds_for(&default_rounds, contest->count,
                               (double)contest->count * contest->stored_us);
    memset(doubtful, true, sizeof(doubtful));
    do {
        if (contest->contests)
            rc = evaluator->ops->renew(evaluator, err);
        GT_STEP(rc, evaluator->ops->open_problem(evaluator, &contest->problem, err));
        GT_STEP(rc, evaluator->ops->final(evaluator, contest->candidate, contest->count, rounds,
                                          contest->trial, NULL, err));
        if (rc)
            return rc;
        judge(contest, doubtful);
        contest->contests++;
    } while (contest->verdict == LOST && contest->contests < CONTESTS);
    return GT_OK;
}

/* ---- the report ---- */

static const char *const verdict_names[VERDICTS] = {"held", "lost", "failed", "alone"};

static const struct gt_column figures[] = {
    {"stored us", 11, 3}, {"now us", 11, 0}, {"next us", 11, 2}, {"margin", 10, 1}};

static const struct gt_recheck_form form = {
    .format = "gemmtune recheck 1",
    .title = "stored winners and the best others, timed side by side",
    .csv_heading = "device,problem,verdict,margin,kernel,point,stored_us,us,lo_us,hi_us,"
                   "runner_kernel,runner_point,runner_us,detail,margin_lo,margin_hi,contests",
    .winner = "       winner",
    .column = figures,
    .columns = sizeof(figures) / sizeof(*figures),
    .dated = true,
};

struct recheck {
    struct gt_session session;
    const struct gt_recheck_options *options;
    struct gt_recheck_report report;
    size_t tally[VERDICTS];
    double worst;                         /* the least margin */
    char (*problem)[GT_PROBLEM_TEXT_MAX]; /* problems with a winner, in the order of an export */
    size_t problems, capacity;
};

static void print_line(const struct gt_recheck_report *report, const struct contest *contest)
{
    FILE *out = report->session->cli->out;
    const struct gt_trial *trial = contest->trial;
    const bool ok = contest->verdict != FAILED, judged = contest->verdict <= LOST;
    struct gt_strbuf winner = GT_STRBUF_INIT;
    char margin[32];

    gt_strbuf_addf(&winner, "%-6s %s ", verdict_names[contest->verdict],
                   contest->candidate[0].kernel->name);
    gt_report_point(&winner, NULL, contest->candidate[0].kernel, &contest->candidate[0].point);
    snprintf(margin, sizeof(margin), "%+.2f %%", 100 * contest->margin);
    gt_columns_print(&report->columns, out, contest->text, winner.text, "%.2f|%.2f|%.2f|%s",
                     contest->stored_us, gt_if(ok, trial[0].us),
                     gt_if(contest->best > 0, trial[contest->best].us), gt_text_if(judged, margin));
    if (!ok)
        fprintf(out, "%*s %s: %s\n", report->columns.below ? 1 : report->columns.lead, "",
                gt_status_name(trial[0].status), trial[0].detail);
    fflush(out);
    gt_strbuf_release(&winner);
}

/* Adds the row of the file and of the document, which has the runner-up as an object. */
static void record_row(const struct gt_records *records, const struct contest *contest,
                       const char *device, const char *point, const char *runner)
{
    const struct gt_record row = {records->list ? cJSON_CreateObject() : NULL, records->csv};
    const struct gt_trial *trial = contest->trial;
    const bool ok = contest->verdict != FAILED, judged = contest->verdict <= LOST;
    const bool beside = contest->best > 0;
    struct gt_record next = {NULL, records->csv};

    if (row.json)
        cJSON_AddItemToArray(records->list, row.json);
    gt_csv_text(row.csv, device);
    gt_record_add(&row,
                  "problem=%s verdict=%s margin=%.5f kernel=%s point=%s stored_us=%.3f us=%.3f "
                  "lo_us=%.3f hi_us=%.3f",
                  contest->text, verdict_names[contest->verdict], gt_if(judged, contest->margin),
                  contest->candidate[0].kernel->name, point, contest->stored_us,
                  gt_if(ok, trial[0].us), gt_if(ok, trial[0].lo_us), gt_if(ok, trial[0].hi_us));
    if (beside && row.json)
        next.json = cJSON_AddObjectToObject(row.json, "runner_up");
    gt_record_add(&next, "kernel=%s point=%s us=%.3f",
                  gt_text_if(beside, contest->candidate[contest->best].kernel->name),
                  gt_text_if(beside, runner), gt_if(beside, trial[contest->best].us));
    gt_record_add(&row, "detail=%s margin_lo=%.5f margin_hi=%.5f contests=%d",
                  gt_text_if(!ok, trial[0].detail), gt_if(judged, contest->margin_lo),
                  gt_if(judged, contest->margin_hi), contest->contests);
    if (row.json && !ok)
        gt_json_add(row.json, "status=%s", gt_status_name(trial[0].status));
    gt_csv_end(row.csv);
}

static int report_row(struct recheck *recheck, const struct contest *contest, struct gt_err *err)
{
    const struct gt_candidate *next = &contest->candidate[contest->best];
    struct gt_strbuf point = GT_STRBUF_INIT, runner = GT_STRBUF_INIT;
    size_t *tally = recheck->tally;
    int rc;

    gt_point_format(&point, contest->candidate[0].kernel, &contest->candidate[0].point);
    gt_point_format(&runner, next->kernel, &next->point);
    rc = gt_strbuf_check(&point, err);
    GT_STEP(rc, gt_strbuf_check(&runner, err));
    if (!rc) {
        if (!recheck->report.records.list)
            print_line(&recheck->report, contest);
        record_row(&recheck->report.records, contest, recheck->session.evaluator->device.name,
                   point.text, runner.text);
        if (contest->verdict <= LOST &&
            (tally[HELD] + tally[LOST] == 0 || contest->margin < recheck->worst))
            recheck->worst = contest->margin;
        tally[contest->verdict]++;
    }
    gt_strbuf_release(&runner);
    gt_strbuf_release(&point);
    return rc;
}

#define DEFAULT_LIMIT   50
#define DEFAULT_RUNNERS 3

static const struct gt_option option_table[] = {
    GT_ARCH(gt_recheck_options, session.arch,
            "GPU architecture that the GPU must have, e.g. sm_86"),
    GT_TEXT(gt_recheck_options, session.device, "device", 'd', "DEVICE",
            "cuda or cuda:N: the GPU to measure on (default: cuda)"),
    GT_INTEGER(gt_recheck_options, limit, "limit", 'n', "N", 1, 100000,
               "winners timed again, spread over the list if there are more (default: 50; with "
               "--adopt: all)"),
    GT_INTEGER(gt_recheck_options, runners, "runners-up", 0, "N", 1, RUNNERS,
               "others timed beside each winner (default: 3)"),
    GT_INTEGER(gt_recheck_options, rounds, "rounds", 0, "N", 5, GT_MAX_SAMPLES,
               "paired rounds of a contest (default: as many as take about 2 s, 61 to 512; with "
               "--adopt 0.3 s, 21 to 101)"),
    GT_TEXT(gt_recheck_options, csv, "csv", 0, "FILE", "write the table there too"),
    GT_FLAG(gt_recheck_options, adopt, "adopt", 0,
            "prove and time winners of older texts of their kernels with today's, and store them"),
    GT_TEXT(gt_recheck_options, system_db, "system-db", 0, "FILE",
            "with --adopt: a table or database whose winners are adopted too, of whatever text"),
    GT_TEXT(
        gt_recheck_options, same_code, "same-code", 0, "DIR",
        "with --adopt, without a GPU: take over the winners whose machine code and launches are "
        "those of the templates/ and configs/ in this folder"),
    GT_TEXT(gt_recheck_options, output, "output", 'o', "FILE",
            "with --same-code: where the table of --system-db goes, rows that stay included"),
    GT_OPTIONS_END,
};

/* ---- stored winners ---- */

/* The row's kernel if the row belongs to this session's device and L2 mode and to today's text of
 * the template; else NULL. */
static const struct gt_kernel *kernel_of(const struct recheck *recheck, const struct gt_row *row)
{
    const struct gt_session *session = &recheck->session;
    const struct gt_kernel *kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);

    if (!kernel || strcmp(kernel->signature, row->signature) != 0 ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->timing != recheck->report.timing || row->status != GT_STATUS_OK)
        return NULL;
    return kernel;
}

static int take_problem(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct recheck *recheck = context;

    if (!kernel_of(recheck, row))
        return GT_OK;
    if (GT_ARRAY_RESERVE(&recheck->problem, recheck->problems + 1, &recheck->capacity, err))
        return GT_ENOMEM;
    snprintf(recheck->problem[recheck->problems++], GT_PROBLEM_TEXT_MAX, "%s", row->problem);
    return GT_OK;
}

/* Lists the problems with winners: the problems asked for, or all. */
static int find_problems(struct recheck *recheck, struct gt_err *err)
{
    const struct gt_problem_options *asked = &recheck->options->problem;
    struct gt_row_filter filter = {.winners_only = true, .provenance = 1u << GT_MEASURED};
    struct gt_problem *problem = NULL;
    char text[GT_PROBLEM_TEXT_MAX];
    size_t count = 0;
    int rc;

    filter.cc = recheck->session.evaluator->device.cc;
    if (!gt_problems_named(asked) && asked->shard)
        return gt_err_set(err, GT_ESYNTAX, "--shard takes a part of a list: name it with --shapes");
    if (!gt_problems_named(asked))
        return gt_store_rows(recheck->session.store, &filter, take_problem, recheck, err);
    rc = gt_session_problems(recheck->session.cli, &recheck->session, &problem, NULL, &count, asked,
                             err);
    for (size_t i = 0; i < count && !rc; i++) {
        gt_problem_format(&problem[i], text);
        filter.problem = text;
        rc = gt_store_rows(recheck->session.store, &filter, take_problem, recheck, err);
    }
    free(problem);
    return rc;
}

/* Rows come best first; a point may have a row for each driver with which it was timed. */
static int take_candidate(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct contest *contest = context;
    const struct gt_kernel *kernel = kernel_of(contest->recheck, row);
    struct gt_candidate *to = &contest->candidate[contest->count];
    int rc;

    if (!kernel || contest->count == contest->wanted)
        return GT_OK;
    *to = (struct gt_candidate){.kernel = kernel,
                                .problem = &contest->problem,
                                .device = &contest->recheck->session.evaluator->device};
    rc = gt_point_parse(&to->point, kernel, row->point, err);
    for (size_t i = 0; i < contest->count && !rc; i++)
        if (contest->candidate[i].kernel == kernel &&
            !memcmp(&contest->candidate[i].point, &to->point, sizeof(to->point)))
            return GT_OK;
    if (rc)
        return rc;
    if (!contest->count)
        contest->stored_us = row->us;
    contest->count++;
    return GT_OK;
}

/* ---- the command ---- */

static int recheck_problem(struct recheck *recheck, const char *text, struct gt_err *err)
{
    const struct gt_recheck_options *options = recheck->options;
    struct contest *contest = calloc(1, sizeof(*contest));
    const struct gt_row_filter filter = {.problem = text,
                                         .provenance = 1u << GT_MEASURED,
                                         .cc = recheck->session.evaluator->device.cc};
    struct gt_err why = {0};
    int rc;

    if (!contest)
        return gt_err_nomem(err);
    contest->recheck = recheck;
    snprintf(contest->text, sizeof(contest->text), "%s", text);
    contest->wanted = 1 + (size_t)(options->runners ? options->runners : DEFAULT_RUNNERS);
    gt_progress_now(recheck->session.progress, text);
    rc = gt_problem_parse(&contest->problem, text, err);
    GT_STEP(rc, gt_store_rows(recheck->session.store, &filter, take_candidate, contest, err));
    GT_STEP(rc, hold_contest(contest, recheck->session.evaluator, (int)options->rounds, &why));
    gt_progress_clear(recheck->session.progress);
    GT_STEP(rc, report_row(recheck, contest, err));
    free(contest);
    if (why.code == GT_ETOOBIG) { /* another program holds the memory; other problems may fit */
        fprintf(recheck->session.cli->log, "%s: not timed: %s\n", text, why.msg);
        return GT_OK;
    }
    if (why.code && err)
        *err = why;
    return rc;
}

static int recheck_all(struct recheck *recheck, struct gt_err *err)
{
    const struct gt_session *session = &recheck->session;
    size_t limit = (size_t)(recheck->options->limit ? recheck->options->limit : DEFAULT_LIMIT);
    size_t count = recheck->problems < limit ? recheck->problems : limit;
    int rc = GT_OK;

    for (size_t i = 0; i < count && !rc; i++) {
        const char *text = recheck->problem[i * recheck->problems / count];

        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu winners", i, count);
        else
            rc = recheck_problem(recheck, text, err);
    }
    return rc;
}

/* Exit codes 4 and 8. */
static int conclude(const struct recheck *recheck, struct gt_err *err)
{
    const char *named = recheck->options->session.db;

    if (!recheck->problems)
        return gt_err_set(err, GT_EXIT_NOTHING, "%s has no measured winner of this device%s",
                          named ? named : recheck->session.cli->database,
                          recheck->options->problem.shape.count ? " for these problems" : "");
    return gt_recheck_bad(recheck->tally[LOST] + recheck->tally[FAILED], "not the fastest any more",
                          err);
}

/* Rechecks the stored winners; the session is open. */
static int recheck_stored(struct recheck *recheck, struct gt_cli *cli, struct gt_err *err)
{
    const size_t *tally = recheck->tally;
    int rc;

    if (recheck->options->system_db)
        return gt_err_set(err, GT_ESYNTAX, "--system-db goes with --adopt only");
    rc = find_problems(recheck, err);
    if (!rc && recheck->problems)
        rc = gt_recheck_report_open(&recheck->report, &form, recheck->options->csv, err);
    GT_STEP(rc, recheck_all(recheck, err));
    rc = gt_recheck_report_close(&recheck->report, verdict_names, tally, 0, VERDICTS, rc, err);
    if (!rc && recheck->problems && !cli->json)
        fprintf(cli->out,
                "%zu held, %zu lost by more than %.0f %%, %zu failed, %zu alone; worst margin "
                "%+.2f %%\n",
                tally[HELD], tally[LOST], 100 * TOLERANCE, tally[FAILED], tally[ALONE],
                100 * recheck->worst);
    return rc ? rc : conclude(recheck, err);
}

/* Carries rows over without timing anything. */
static int carry(struct gt_cli *cli, const struct gt_recheck_options *options, struct gt_err *err)
{
    const struct gt_problem_options *problem = &options->problem;

    if (!options->adopt)
        return gt_err_set(err, GT_ESYNTAX, "--same-code goes with --adopt only");
    if (gt_problems_named(problem) || options->csv || options->limit || options->rounds ||
        options->runners)
        return gt_err_set(err, GT_ESYNTAX,
                          "--same-code takes every winner over that it can and times none: not "
                          "with --shape, --shapes, --csv, --limit, --rounds or --runners-up");
    return gt_carry(cli, options, err);
}

/* A mistake in the problems is reported before a GPU is looked for. */
static int check_problems(const struct gt_cli *cli, const struct gt_problem_options *asked,
                          struct gt_err *err)
{
    struct gt_problem *problem = NULL;
    size_t count;
    int rc = GT_OK;

    if (gt_problems_named(asked))
        rc = gt_session_problems(cli, NULL, &problem, NULL, &count, asked, err);
    free(problem);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct gt_recheck_options *options = fields;
    struct recheck recheck = {
        .options = options,
        .report = {.session = &recheck.session, .timing = gt_session_timing(&options->session)},
    };
    struct gt_session_options session = options->session;
    int rc;

    if (options->same_code)
        return carry(cli, options, err);
    if (options->output)
        return gt_err_set(err, GT_ESYNTAX, "--output goes with --same-code only");
    session.measure = true;
    session.stored = !options->adopt;
    rc = gt_session_no_replay(&options->session, err);
    GT_STEP(rc, check_problems(cli, &options->problem, err));
    GT_STEP(rc, gt_session_open(&recheck.session, cli, &session, err));
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        gt_err_prefix(err, rc, "recheck times winners again, which takes a GPU");
    if (!rc && !recheck.session.measures)
        rc = gt_err_set(err, GT_ENOGPU,
                        "recheck times winners again, which takes a GPU; --device %s "
                        "only predicts",
                        options->session.device);
    if (!rc && options->adopt && options->runners)
        rc = gt_err_set(err, GT_ESYNTAX, "--runners-up does not go with --adopt");
    GT_STEP(rc, options->adopt ? gt_adopt(&recheck.session, options, err)
                               : recheck_stored(&recheck, cli, err));
    gt_session_close(&recheck.session);
    free(recheck.problem);
    return rc;
}

const struct gt_command gt_command_recheck = {
    .name = "recheck",
    .doc = "stored winners against their runners-up, timed again",
    .usage = "recheck [--adopt] [--shape MxNxK]... [OPTION]...",
    .about =
        "Times each measured winner of this device and the best others of its problem against\n"
        "each other again, and proves them again. The margin is what the best other takes longer\n"
        "than the winner, the median over the rounds. Where that is below -1 % and its 95 %\n"
        "interval below 0, the pair is timed once more in a new process: a winner has lost if\n"
        "the same other beats it so again. The database is not changed. Exit code 8: a winner\n"
        "has lost, or its proof fails.\n"
        "\n"
        "With --adopt, winners that hang on an older text of their kernel, and those of\n"
        "--system-db that the database has no trial of today's text of (an empty one: all), are\n"
        "compiled, proved and timed with today's text, beside cuBLASLt's best answer where there\n"
        "is one, and stored as measured trials; older rows stay. The same command again goes on\n"
        "where it stopped. What is not possible today (a parameter that is gone, a constraint),\n"
        "or not right, is listed with the reason (exit code 8).\n"
        "\n"
        "With --same-code, a winner of an older text is taken over without a GPU if it compiles "
        "to\n"
        "the same machine code by both texts, and has the same launches; all others stay as they\n"
        "are and are listed (exit code 8). DIR holds the templates/ and configs/ of the older "
        "text.\n"
        "\n"
        "  tune recheck --limit 50 --csv recheck.csv\n"
        "  tune recheck --shape 4096x4096x4096 --runners-up 8\n"
        "  tune recheck --adopt --system-db db/shipped/h200.csv --db adopted.db\n"
        "  tune recheck --adopt --same-code older --db mine.db\n"
        "  tune recheck --adopt --same-code older --system-db table.csv -o table.csv\n",
    .group = {{gt_problem_option_table, offsetof(struct gt_recheck_options, problem), NULL},
              {gt_session_option_table + GT_SESSION_DEVICE_OPTIONS,
               offsetof(struct gt_recheck_options, session), NULL},
              {option_table, 0, NULL}},
    .size = sizeof(struct gt_recheck_options),
    .finishes = true,
    .run = run,
};
