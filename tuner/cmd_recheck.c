/* cmd_recheck.c - tune recheck: are the stored winners still the fastest?  Each measured winner and
 * the best others of its problem run against each other anew, in a process that knows nothing of
 * the run that chose it. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "../src/err.h"
#include "../src/problem.h"
#include "../src/stats.h"
#include "../src/strbuf.h"
#include "cmd_csv.h"
#include "cmd_json.h"
#include "cmd_report.h"
#include "cmd_session.h"
#include "commands.h"
#include "progress.h"

#define DEFAULT_LIMIT   50
#define DEFAULT_RUNNERS 3
#define MAX_RUNNERS     16
#define DEFAULT_ROUNDS  61
#define TOLERANCE       0.01 /* the times of two runs agree no better than that */

struct options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv;
    int64_t limit, runners, rounds;
};

static const struct gt_option option_table[] = {
    GT_PROBLEM_OPTIONS(struct options),
    GT_SESSION_OPTIONS(struct options),
    {"limit", 'n', GT_OPTION_INTEGER, offsetof(struct options, limit), "N",
     "winners timed again, spread over the list if there are more (default: 50)", NULL, 1, 100000},
    {"runners-up", 0, GT_OPTION_INTEGER, offsetof(struct options, runners), "N",
     "others timed beside each winner (default: 3)", NULL, 1, MAX_RUNNERS},
    {"rounds", 0, GT_OPTION_INTEGER, offsetof(struct options, rounds), "N",
     "paired rounds (default: 61)", NULL, 5, GT_MAX_SAMPLES},
    {"csv", 0, GT_OPTION_TEXT, offsetof(struct options, csv), "FILE", "write the table there too",
     NULL, 0, 0},
    GT_OPTIONS_END,
};

static const char csv_heading[] =
    "device,problem,verdict,margin,kernel,point,stored_us,us,lo_us,hi_"
    "us,runner_kernel,runner_point,runner_us,detail";

/* What became of a winner.  The margin is what the best runner-up takes longer than the winner, as
 * a share: the median over the rounds, in which both ran. */
enum verdict { HELD, LOST, FAILED, ALONE };
static const char *const verdict_names[] = {"held", "lost", "failed", "alone"};

/* A problem whose winner is to be timed again: its candidates, the winner first. */
struct contest {
    struct gt_problem problem;
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_candidate candidate[1 + MAX_RUNNERS];
    struct gt_trial trial[1 + MAX_RUNNERS];
    size_t count, wanted;
    double stored_us, margin;
    size_t best; /* the fastest runner-up; 0: none could be timed */
    enum verdict verdict;
};

struct recheck {
    struct gt_session session;
    const struct options *options;
    struct gt_csv *csv;
    cJSON *json; /* rows; NULL: a table is printed instead */
    bool warm;
    char (*problem)[GT_PROBLEM_TEXT_MAX]; /* those with a winner, in the order of an export */
    size_t problems, capacity;
    size_t tally[4]; /* by verdict */
    double worst;    /* margin of those that were timed */
};

/* ---- what is stored ---- */

/* The row's kernel, if row and kernel are of this session: same device, L2 mode, template text. */
static const struct gt_kernel *kernel_of(const struct recheck *recheck, const struct gt_row *row)
{
    const struct gt_session *session = &recheck->session;
    const struct gt_kernel *kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);

    if (!kernel || strcmp(kernel->signature, row->signature) != 0 ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->warm_l2 != recheck->warm || row->status != GT_STATUS_OK)
        return NULL;
    return kernel;
}

static int take_problem(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct recheck *recheck = context;
    char(*grown)[GT_PROBLEM_TEXT_MAX];

    if (!kernel_of(recheck, row))
        return GT_OK;
    if (recheck->problems == recheck->capacity) {
        recheck->capacity = recheck->capacity ? 2 * recheck->capacity : 64;
        grown = realloc(recheck->problem, recheck->capacity * sizeof(*grown));
        if (!grown)
            return gt_err_nomem(err);
        recheck->problem = grown;
    }
    snprintf(recheck->problem[recheck->problems++], GT_PROBLEM_TEXT_MAX, "%s", row->problem);
    return GT_OK;
}

/* Winners of the problems asked for, or all of them. */
static int find_problems(struct recheck *recheck, struct gt_err *err)
{
    const struct gt_problem_options *asked = &recheck->options->problem;
    struct gt_row_filter filter = {.winners_only = true, .provenance = 1u << GT_MEASURED};
    struct gt_problem *problem = NULL;
    char text[GT_PROBLEM_TEXT_MAX];
    size_t count = 0;
    int rc;

    filter.cc = recheck->session.evaluator->device.cc;
    if (!asked->shape.count && !asked->shapes)
        return gt_store_rows(recheck->session.store, &filter, take_problem, recheck, err);
    rc = gt_session_problems(&recheck->session, &problem, NULL, &count, asked, err);
    for (size_t i = 0; i < count && !rc; i++) {
        gt_problem_format(&problem[i], text);
        filter.problem = text;
        rc = gt_store_rows(recheck->session.store, &filter, take_problem, recheck, err);
    }
    free(problem);
    return rc;
}

struct collecting {
    const struct recheck *recheck;
    struct contest *contest;
};

/* Rows come best first; one point may have a row for each driver it was timed with. */
static int take_candidate(void *context, const struct gt_row *row, struct gt_err *err)
{
    const struct collecting *collecting = context;
    struct contest *contest = collecting->contest;
    const struct gt_kernel *kernel = kernel_of(collecting->recheck, row);
    struct gt_candidate *to = &contest->candidate[contest->count];
    int rc;

    if (!kernel || contest->count == contest->wanted)
        return GT_OK;
    *to = (struct gt_candidate){.kernel = kernel,
                                .problem = &contest->problem,
                                .device = &collecting->recheck->session.evaluator->device};
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

static int find_candidates(const struct recheck *recheck, struct contest *contest,
                           struct gt_err *err)
{
    const struct gt_row_filter filter = {.problem = contest->text,
                                         .provenance = 1u << GT_MEASURED,
                                         .cc = recheck->session.evaluator->device.cc};
    struct collecting collecting = {recheck, contest};

    return gt_store_rows(recheck->session.store, &filter, take_candidate, &collecting, err);
}

/* ---- timing ---- */

/* Median over the rounds of y's time / x's time, minus 1. */
static double margin_of(const struct gt_trial *x, const struct gt_trial *y)
{
    float ratio[GT_MAX_SAMPLES];
    int count = x->samples < y->samples ? x->samples : y->samples;

    for (int i = 0; i < count; i++)
        ratio[i] = y->sample[i] / x->sample[i];
    return count ? gt_median(ratio, count) - 1 : 0;
}

static void judge(struct contest *contest)
{
    const struct gt_trial *trial = contest->trial;

    for (size_t i = 1; i < contest->count; i++)
        if (trial[i].status == GT_STATUS_OK &&
            (!contest->best || trial[i].us < trial[contest->best].us))
            contest->best = i;
    if (trial[0].status != GT_STATUS_OK) {
        contest->verdict = FAILED;
    } else if (!contest->best) {
        contest->verdict = ALONE;
    } else {
        contest->margin = margin_of(&trial[0], &trial[contest->best]);
        contest->verdict = contest->margin < -TOLERANCE ? LOST : HELD;
    }
}

static int hold_contest(struct recheck *recheck, struct contest *contest, struct gt_err *err)
{
    struct gt_evaluator *evaluator = recheck->session.evaluator;
    int rounds = recheck->options->rounds ? (int)recheck->options->rounds : DEFAULT_ROUNDS;
    int rc = evaluator->ops->open_problem(evaluator, &contest->problem, err);

    if (!rc)
        rc = evaluator->ops->final(evaluator, contest->candidate, contest->count, rounds,
                                   contest->trial, NULL, err);
    if (!rc)
        judge(contest);
    return rc;
}

/* ---- what is shown ---- */

static void print_line(const struct recheck *recheck, const struct contest *contest)
{
    FILE *out = recheck->session.cli->out;
    const struct gt_trial *trial = contest->trial;
    struct gt_strbuf point = GT_STRBUF_INIT;
    char now[32] = "-", next[32] = "-", margin[32] = "-";

    gt_report_point(&point, contest->candidate[0].kernel, &contest->candidate[0].point);
    if (contest->verdict != FAILED)
        snprintf(now, sizeof(now), "%.2f", trial[0].us);
    if (contest->best)
        snprintf(next, sizeof(next), "%.2f", trial[contest->best].us);
    if (contest->verdict <= LOST)
        snprintf(margin, sizeof(margin), "%+.2f %%", 100 * contest->margin);
    fprintf(out, "%-34s %11.2f %11s %11s %10s  %-6s %s %s\n", contest->text, contest->stored_us,
            now, next, margin, verdict_names[contest->verdict], contest->candidate[0].kernel->name,
            point.text);
    if (contest->verdict == FAILED)
        fprintf(out, "%-34s %s: %s\n", "", gt_status_name(trial[0].status), trial[0].detail);
    fflush(out);
    gt_strbuf_release(&point);
}

static void csv_row(const struct recheck *recheck, const struct contest *contest, const char *point,
                    const char *runner)
{
    const struct gt_trial *trial = contest->trial, *next = &trial[contest->best];
    const struct gt_kernel *other = contest->candidate[contest->best].kernel;
    bool ok = contest->verdict != FAILED;
    struct gt_csv *csv = recheck->csv;

    gt_csv_text(csv, recheck->session.evaluator->device.name);
    gt_csv_text(csv, contest->text);
    gt_csv_text(csv, verdict_names[contest->verdict]);
    gt_csv_real(csv, contest->margin, 5, contest->verdict <= LOST);
    gt_csv_text(csv, contest->candidate[0].kernel->name);
    gt_csv_text(csv, point);
    gt_csv_real(csv, contest->stored_us, 3, true);
    gt_csv_real(csv, trial[0].us, 3, ok);
    gt_csv_real(csv, trial[0].lo_us, 3, ok);
    gt_csv_real(csv, trial[0].hi_us, 3, ok);
    gt_csv_text(csv, contest->best ? other->name : "");
    gt_csv_text(csv, contest->best ? runner : "");
    gt_csv_real(csv, next->us, 3, contest->best > 0);
    gt_csv_text(csv, ok ? "" : trial[0].detail);
    gt_csv_end(csv);
}

static void json_row(const struct recheck *recheck, const struct contest *contest,
                     const char *point, const char *runner)
{
    const struct gt_trial *trial = contest->trial;
    cJSON *row = cJSON_CreateObject(), *other;

    cJSON_AddItemToArray(recheck->json, row);
    cJSON_AddStringToObject(row, "problem", contest->text);
    cJSON_AddStringToObject(row, "verdict", verdict_names[contest->verdict]);
    if (contest->verdict <= LOST)
        cJSON_AddNumberToObject(row, "margin", contest->margin);
    cJSON_AddStringToObject(row, "kernel", contest->candidate[0].kernel->name);
    cJSON_AddStringToObject(row, "point", point);
    cJSON_AddNumberToObject(row, "stored_us", contest->stored_us);
    if (contest->verdict == FAILED) {
        cJSON_AddStringToObject(row, "status", gt_status_name(trial[0].status));
        cJSON_AddStringToObject(row, "detail", trial[0].detail);
    } else {
        cJSON_AddNumberToObject(row, "us", trial[0].us);
        cJSON_AddNumberToObject(row, "lo_us", trial[0].lo_us);
        cJSON_AddNumberToObject(row, "hi_us", trial[0].hi_us);
    }
    if (!contest->best)
        return;
    other = cJSON_AddObjectToObject(row, "runner_up");
    cJSON_AddStringToObject(other, "kernel", contest->candidate[contest->best].kernel->name);
    cJSON_AddStringToObject(other, "point", runner);
    cJSON_AddNumberToObject(other, "us", trial[contest->best].us);
}

static int show(struct recheck *recheck, const struct contest *contest, struct gt_err *err)
{
    const struct gt_candidate *next = &contest->candidate[contest->best];
    struct gt_strbuf point = GT_STRBUF_INIT, runner = GT_STRBUF_INIT;
    int rc;

    gt_point_format(&point, contest->candidate[0].kernel, &contest->candidate[0].point);
    gt_point_format(&runner, next->kernel, &next->point);
    rc = gt_strbuf_check(&point, err);
    if (!rc)
        rc = gt_strbuf_check(&runner, err);
    if (!rc) {
        if (recheck->json)
            json_row(recheck, contest, point.text, runner.text);
        else
            print_line(recheck, contest);
        csv_row(recheck, contest, point.text, runner.text);
        if (contest->verdict <= LOST &&
            (recheck->tally[HELD] + recheck->tally[LOST] == 0 || contest->margin < recheck->worst))
            recheck->worst = contest->margin;
        recheck->tally[contest->verdict]++;
    }
    gt_strbuf_release(&runner);
    gt_strbuf_release(&point);
    return rc;
}

/* ---- the command ---- */

static int recheck_problem(struct recheck *recheck, const char *text, struct gt_err *err)
{
    const struct options *options = recheck->options;
    struct contest *contest = calloc(1, sizeof(*contest));
    struct gt_err why = {0};
    int rc;

    if (!contest)
        return gt_err_nomem(err);
    snprintf(contest->text, sizeof(contest->text), "%s", text);
    contest->wanted = 1 + (size_t)(options->runners ? options->runners : DEFAULT_RUNNERS);
    gt_progress_title(recheck->session.progress, text);
    rc = gt_problem_parse(&contest->problem, text, err);
    if (!rc)
        rc = find_candidates(recheck, contest, err);
    if (!rc)
        rc = hold_contest(recheck, contest, &why);
    if (!rc)
        rc = show(recheck, contest, err);
    free(contest);
    if (why.code == GT_ETOOBIG) { /* another program has the memory; the rest may fit */
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

    if (count && !recheck->json) {
        fprintf(session->cli->out,
                "%s (sm_%d), L2 %s: stored winners and the best others, timed side by side\n",
                session->evaluator->device.name, session->evaluator->device.cc,
                recheck->warm ? "warm" : "cold");
        fprintf(session->cli->out, "%-34s %11s %11s %11s %10s  %-6s winner\n", "problem",
                "stored us", "now us", "next us", "margin", "");
    }
    for (size_t i = 0; i < count && !rc; i++) {
        const char *text = recheck->problem[i * recheck->problems / count];

        if (*session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted after %zu of %zu winners", i, count);
        else
            rc = recheck_problem(recheck, text, err);
    }
    if (count && !recheck->json)
        fprintf(session->cli->out,
                "%zu held, %zu lost by more than %.0f %%, %zu failed, %zu alone; worst margin "
                "%+.2f %%\n",
                recheck->tally[HELD], recheck->tally[LOST], 100 * TOLERANCE, recheck->tally[FAILED],
                recheck->tally[ALONE], 100 * recheck->worst);
    return rc;
}

/* Exit codes 4 and 8. */
static int conclude(const struct recheck *recheck, struct gt_err *err)
{
    size_t bad = recheck->tally[LOST] + recheck->tally[FAILED];

    if (!recheck->problems)
        return gt_err_set(err, GT_EXIT_NOTHING,
                          "the database has no measured winner of this device%s",
                          recheck->options->problem.shape.count ? " for these problems" : "");
    if (bad)
        return gt_err_set(err, GT_EXIT_LOST, "%zu of the winners %s not the fastest any more", bad,
                          bad > 1 ? "are" : "is");
    return GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    const struct options *options = fields;
    struct recheck recheck = {
        .options = options,
        .warm = options->session.l2 && strcmp(options->session.l2, "warm") == 0,
    };
    int rc, closed;

    (void)argc;
    (void)argv;
    rc = gt_session_no_replay(&options->session, err);
    if (!rc)
        rc = gt_session_open(&recheck.session, cli, &options->session, err);
    if (!rc && !recheck.session.measures)
        rc = gt_err_set(err, GT_ENOGPU, "recheck measures, but there is no GPU here to do it");
    if (!rc && cli->json && !(recheck.json = cJSON_CreateArray()))
        rc = gt_err_nomem(err);
    if (!rc)
        rc = find_problems(&recheck, err);
    if (!rc && options->csv)
        rc = gt_csv_new(&recheck.csv, options->csv, csv_heading, err);
    if (!rc)
        rc = recheck_all(&recheck, err);
    closed = gt_csv_close(recheck.csv, rc ? NULL : err);
    rc = rc ? rc : closed;
    if (recheck.json && !rc)
        rc = gt_cmd_print_json(cli, recheck.json, err);
    else
        cJSON_Delete(recheck.json);
    if (!rc)
        rc = conclude(&recheck, err);
    gt_session_close(&recheck.session);
    free(recheck.problem);
    return rc;
}

const struct gt_command gt_command_recheck = {
    .name = "recheck",
    .doc = "stored winners against their runners-up, timed anew",
    .usage = "recheck [--shape MxNxK]... [OPTION]...",
    .about =
        "Times each measured winner of this device and the best others of its problem against\n"
        "each other again, and proves them again. The margin is what the best other takes longer\n"
        "than the winner; a winner has lost where that is below -1 %. The database is not\n"
        "changed. Exit code 8: a winner has lost or fails.\n"
        "\n"
        "  tune recheck --limit 50 --csv recheck.csv\n"
        "  tune recheck --shape 4096x4096x4096 --runners-up 8\n",
    .option = option_table,
    .size = sizeof(struct options),
    .max_args = 0,
    .json = true,
    .finishes = true,
    .run = run,
};
