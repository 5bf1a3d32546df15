/* cmd_adopt.c - tune recheck --adopt: a sweep whose only candidates are winners of older texts or
 * of another table.  Like any other candidate, a winner is compiled, proved and timed once, then
 * timed in a final with cuBLASLt's best answer, and stored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "recheck/cmd_recheck.h"
#include "sweep/progress.h"
#include "sweep/sweep.h"

/* The verdict on a winner: stored as a trial of today's text; stored so by an earlier run; its
 * kernel or point is not possible today; tried, but its trial is not ok. */
enum verdict { OPEN, DONE, KNOWN, UNFIT, FAILED, VERDICTS };

static const char *const verdict_names[VERDICTS] = {"open", "adopted", "known", "unfit", "failed"};

/* A winner that is being adopted. */
struct adoptee {
    struct gt_row stored;
    char *memory; /* of the texts of the stored row, malloc'ed */
    struct gt_problem problem;
    struct gt_candidate candidate; /* the candidate of today's text, unless the verdict is that
                                      there is none */
    enum verdict verdict;
    double us, lo_us, hi_us, baseline_us; /* times of the final; 0: not timed */
    char detail[512];                     /* why the winner was not adopted */
};

struct adopting {
    struct gt_session *session;
    const struct gt_recheck_options *options;
    struct adoptee *item; /* winners; those of one problem are adjacent */
    size_t items, capacity;
    struct gt_problem *asked; /* problems that the options name; NULL: all */
    size_t asks;
    struct gt_trial_key key; /* device, toolchain and L2 mode */
    size_t tally[VERDICTS];
    /* The sweep: a problem for each group of items that are tried, which are its given candidates.
     * end: the item after the group's last one. */
    struct gt_problem *problem;
    struct gt_sweep_given *given;
    struct gt_candidate *candidate;
    struct gt_sweep_result *result;
    size_t *end;
    size_t groups;
    size_t reported, reports; /* items that are reported; that are to be reported in all */
    struct gt_recheck_report report;
};

/* ---- listing ---- */

/* Adds a row, unless the list has the same candidate. */
static int take(struct adopting *adopting, const struct gt_row *row, struct gt_err *err)
{
    struct adoptee *item;

    for (size_t i = 0; i < adopting->items; i++) {
        const struct gt_row *taken = &adopting->item[i].stored;

        if (!strcmp(taken->problem, row->problem) && !strcmp(taken->kernel, row->kernel) &&
            !strcmp(taken->point, row->point))
            return GT_OK;
    }
    if (GT_ARRAY_RESERVE(&adopting->item, adopting->items + 1, &adopting->capacity, err))
        return GT_ENOMEM;
    item = &adopting->item[adopting->items++];
    *item = (struct adoptee){.memory = NULL};
    return gt_recheck_keep(&item->stored, &item->memory, row, err);
}

/* Whether the options name the problem, or name none. */
static bool is_asked(const struct adopting *adopting, const char *problem)
{
    char text[GT_PROBLEM_TEXT_MAX];

    for (size_t i = 0; i < adopting->asks; i++) {
        gt_problem_format(&adopting->asked[i], text);
        if (strcmp(text, problem) == 0)
            return true;
    }
    return !adopting->asked;
}

static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct adopting *adopting = context;
    const struct gt_device *device = &adopting->session->evaluator->device;

    return row->cc == device->cc && row->timing == adopting->key.timing &&
                   !strcmp(row->device, device->name) && is_asked(adopting, row->problem)
               ? take(adopting, row, err)
               : GT_OK;
}

static int take_table(struct adopting *adopting, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, adopting->options->system_db, err);

    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_row row = gt_table_line(&table.row[i]);

        if (!table.row[i].predicted)
            rc = take_row(adopting, &row, err);
    }
    gt_table_release(&table);
    return rc;
}

/* ---- fitting ---- */

static void fail(struct adoptee *item, const char *status, const char *detail)
{
    item->verdict = FAILED;
    snprintf(item->detail, sizeof(item->detail), "%s: %s", status, detail);
}

/* Makes a candidate of today's kernel from the item's texts. */
static void fit(const struct adopting *adopting, struct adoptee *item)
{
    struct gt_geometry geometry;
    struct gt_err why = {0};
    int rc;

    item->candidate.problem = &item->problem;
    item->candidate.device = &adopting->session->evaluator->device;
    rc = gt_recheck_fit(&item->candidate, &adopting->session->kernels, item->stored.kernel,
                        item->stored.point, &geometry, &why);
    if (!rc)
        return;
    item->verdict = UNFIT;
    if (rc > 0)
        snprintf(item->detail, sizeof(item->detail), "kernel %s: %s", item->stored.kernel, why.msg);
    else
        snprintf(item->detail, sizeof(item->detail), "%s", why.msg);
}

/* Sets the item's key; *point receives its text, which the caller releases. */
static int key_of(const struct adopting *adopting, const struct adoptee *item,
                  struct gt_trial_key *key, struct gt_strbuf *point, struct gt_err *err)
{
    struct gt_store *store = adopting->session->store;
    int rc;

    *key = adopting->key;
    gt_point_format(point, item->candidate.kernel, &item->candidate.point);
    key->point = point->text;
    rc = gt_strbuf_check(point, err);
    GT_STEP(rc, gt_store_kernel(store, item->candidate.kernel, &key->kernel, err));
    return rc ? rc : gt_store_problem(store, &item->problem, &key->problem, err);
}

struct finding {
    struct adoptee *item;
    const char *point;
    bool tried; /* by this run */
};

/* Takes the trial of today's text that an earlier run or this one has stored. */
static int find_trial(void *context, const char *point, const struct gt_trial *trial, int attempts,
                      struct gt_err *err)
{
    const struct finding *finding = context;
    struct adoptee *item = finding->item;

    (void)err;
    if (strcmp(point, finding->point) != 0)
        return GT_OK;
    if (trial->status == GT_STATUS_OK && trial->stage == 3 && !attempts) {
        item->verdict = finding->tried ? DONE : KNOWN;
        item->us = trial->us;
        item->lo_us = trial->lo_us;
        item->hi_us = trial->hi_us;
    } else if (trial->status != GT_STATUS_OK &&
               (finding->tried || gt_status_final(trial->status) || attempts >= GT_MAX_ATTEMPTS)) {
        fail(item, trial->status ? gt_status_name(trial->status) : "fault",
             trial->status ? trial->detail
                           : "each time the tuner itself ended before the launch did");
    }
    return GT_OK;
}

static int find_stored(const struct adopting *adopting, struct adoptee *item, bool tried,
                       struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key;
    int rc = key_of(adopting, item, &key, &point, err);
    struct finding finding = {item, point.text, tried};

    GT_STEP(rc, gt_store_resume(adopting->session->store, &key, GT_MEASURED, find_trial, &finding,
                                err));
    gt_strbuf_release(&point);
    return rc;
}

/* ---- all winners ---- */

static int by_problem(const void *x, const void *y)
{
    const struct adoptee *a = x, *b = y;
    int order = strcmp(a->stored.problem, b->stored.problem);

    return order ? order
           : a->stored.us != b->stored.us
               ? (a->stored.us > b->stored.us) - (a->stored.us < b->stored.us)
               : strcmp(a->stored.point, b->stored.point);
}

/* Fills the items, and judges the items that need no GPU. */
static int take_all(struct adopting *adopting, struct gt_err *err)
{
    const struct gt_session *session = adopting->session;
    const struct gt_row_filter filter = {.older = true,
                                         .kernels = &session->kernels,
                                         .provenance = 1u << GT_MEASURED,
                                         .cc = session->evaluator->device.cc,
                                         .limit = 1};
    const struct gt_problem_options *asked = &adopting->options->problem;
    int rc = GT_OK;

    if (gt_problems_named(asked))
        rc = gt_session_problems(session->cli, session, &adopting->asked, NULL, &adopting->asks,
                                 asked, err);
    GT_STEP(rc, gt_store_rows(session->store, &filter, take_row, adopting, err));
    if (!rc && adopting->options->system_db)
        rc = take_table(adopting, err);
    if (!rc && adopting->items)
        qsort(adopting->item, adopting->items, sizeof(*adopting->item), by_problem);
    for (size_t i = 0; i < adopting->items && !rc; i++) {
        struct adoptee *item = &adopting->item[i];

        rc = gt_problem_parse(&item->problem, item->stored.problem, err);
        if (!rc)
            fit(adopting, item);
        if (!rc && item->verdict == OPEN)
            rc = find_stored(adopting, item, false, err);
    }
    return rc;
}

/* ---- the report ---- */

static const struct gt_column figures[] = {
    {"stored us", 11, 1}, {"now us", 11, 0}, {"cuBLAS us", 11, 2}};

static const struct gt_recheck_form form = {
    .format = "gemmtune adopt 1",
    .title = "winners proved and timed with today's kernels",
    .csv_heading = "device,problem,verdict,kernel,point,stored_us,us,lo_us,hi_us,cublas_us,detail",
    .winner = "        winner",
    .column = figures,
    .columns = sizeof(figures) / sizeof(*figures),
};

static void print_line(const struct adopting *adopting, const struct adoptee *item)
{
    const struct gt_columns *columns = &adopting->report.columns;
    FILE *out = adopting->session->cli->out;
    struct gt_strbuf winner = GT_STRBUF_INIT;

    gt_strbuf_addf(&winner, "%-7s %s %s", verdict_names[item->verdict], item->stored.kernel,
                   item->stored.point);
    gt_progress_clear(adopting->session->progress);
    gt_columns_print(columns, out, item->stored.problem, winner.text, "%.2f|%+.2f|%+.2f",
                     item->stored.us, item->us, item->baseline_us);
    if (*item->detail) {
        fprintf(out, "%*s ", columns->below ? 1 : columns->lead, "");
        gt_columns_put(out, item->detail);
        fputc('\n', out);
    }
    fflush(out);
    gt_strbuf_release(&winner);
}

static void report_row(struct adopting *adopting, const struct adoptee *item)
{
    const struct gt_records *records = &adopting->report.records;
    const bool timed = item->us > 0;

    adopting->tally[item->verdict]++;
    if (!records->list)
        print_line(adopting, item);
    gt_csv_text(records->csv, adopting->session->evaluator->device.name);
    gt_records_add(records,
                   "problem=%s verdict=%s kernel=%s point=%s stored_us=%.3f us=%+.3f lo_us=%.3f "
                   "hi_us=%.3f cublas_us=%+.3f detail=%s",
                   item->stored.problem, verdict_names[item->verdict], item->stored.kernel,
                   item->stored.point, item->stored.us, item->us, gt_if(timed, item->lo_us),
                   gt_if(timed, item->hi_us), item->baseline_us,
                   *item->detail ? item->detail : NULL);
}

/* ---- the sweep ---- */

static int allocate(struct adopting *adopting, struct gt_err *err)
{
    const size_t most = adopting->items;

    adopting->problem = calloc(most, sizeof(*adopting->problem));
    adopting->given = calloc(most, sizeof(*adopting->given));
    adopting->candidate = calloc(most, sizeof(*adopting->candidate));
    adopting->result = calloc(most, sizeof(*adopting->result));
    adopting->end = calloc(most, sizeof(*adopting->end));
    return adopting->problem && adopting->given && adopting->candidate && adopting->result &&
                   adopting->end
               ? GT_OK
               : gt_err_nomem(err);
}

/* Groups the open items by their problems, of which at most `limit` are tried and reported. */
static int plan(struct adopting *adopting, struct gt_err *err)
{
    const size_t limit = (size_t)adopting->options->limit;
    struct gt_candidate *candidate;
    size_t first = 0; /* item of the present problem */
    int rc = allocate(adopting, err);

    adopting->reports = adopting->items;
    candidate = adopting->candidate;
    for (size_t i = 0, begun = SIZE_MAX; i < adopting->items && !rc; i++) {
        const struct adoptee *item = &adopting->item[i];
        struct gt_sweep_given *given = &adopting->given[adopting->groups - (adopting->groups > 0)];

        if (strcmp(item->stored.problem, adopting->item[first].stored.problem) != 0)
            first = i;
        if (item->verdict != OPEN)
            continue;
        if (begun != first || given->count == GT_SWEEP_GIVEN) {
            if (limit && adopting->groups == limit) {
                adopting->reports = first;
                break;
            }
            begun = first;
            given = &adopting->given[adopting->groups];
            given->candidate = candidate;
            adopting->problem[adopting->groups++] = item->problem;
        }
        given->count++;
        *candidate++ = item->candidate;
        adopting->end[adopting->groups - 1] = i + 1;
    }
    return rc;
}

/* Gives an item that was tried its verdict. */
static int judge(const struct adopting *adopting, struct adoptee *item,
                 const struct gt_sweep_result *result, struct gt_err *err)
{
    int rc = find_stored(adopting, item, true, err);

    if (item->verdict == DONE && result->have_baseline)
        item->baseline_us = result->baseline.us;
    if (item->verdict == OPEN) /* another program may hold the memory */
        fail(item, "not tried", result->nothing.code ? result->nothing.msg : "no trial is stored");
    return rc;
}

static int report_until(struct adopting *adopting, size_t end, const struct gt_sweep_result *result,
                        struct gt_err *err)
{
    int rc = GT_OK;

    for (; adopting->reported < end && !rc; adopting->reported++) {
        struct adoptee *item = &adopting->item[adopting->reported];

        if (item->verdict == OPEN)
            rc = judge(adopting, item, result, err);
        if (!rc)
            report_row(adopting, item);
    }
    return rc;
}

static int on_ended(void *context, size_t group, struct gt_sweep_result *result, struct gt_err *err)
{
    struct adopting *adopting = context;
    int rc = report_until(adopting, adopting->end[group], result, err);

    gt_sweep_result_release(result);
    return rc;
}

static int run_sweep(struct adopting *adopting, struct gt_err *err)
{
    const struct gt_session *session = adopting->session;
    int rc = plan(adopting, err);
    const struct gt_sweep_options options = {
        .problem = adopting->problem,
        .problems = adopting->groups,
        .given = adopting->given,
        .rounds = (int)adopting->options->rounds,
        .ended = on_ended,
        .context = adopting,
        .evaluator = session->evaluator,
        .store = session->store,
        .vendor = true,
        .drift_check_s = INFINITY,
        .command = session->cli->words,
        .progress = session->progress,
        .signals = session->cli->signals,
    };

    if (!rc && adopting->groups)
        rc = gt_sweep_run(&options, adopting->result, err);
    for (size_t i = 0; i < adopting->groups && adopting->result; i++)
        gt_sweep_result_release(&adopting->result[i]);
    return rc ? rc : report_until(adopting, adopting->reports, NULL, err);
}

/* ---- the command ---- */

/* Exit codes 4 and 8. */
static int conclude(const struct adopting *adopting, struct gt_err *err)
{
    size_t bad = adopting->tally[UNFIT] + adopting->tally[FAILED];

    if (!adopting->items)
        return gt_err_set(err, GT_EXIT_NOTHING,
                          "there is no winner of this device to adopt: no older one in the "
                          "database%s",
                          adopting->options->system_db ? ", none in the table" : "");
    return gt_recheck_bad(bad, "not adopted", err);
}

int gt_adopt(struct gt_session *session, const struct gt_recheck_options *options,
             struct gt_err *err)
{
    const int timing = gt_session_timing(&options->session);
    struct adopting adopting = {.session = session,
                                .options = options,
                                .key = {.timing = timing},
                                .report = {.session = session, .timing = timing}};
    const struct gt_evaluator *evaluator = session->evaluator;
    const size_t *tally = adopting.tally;
    int rc = gt_store_device(session->store, &evaluator->device, &adopting.key.device, err);

    GT_STEP(rc, gt_store_toolchain(session->store, evaluator->nvrtc_version,
                                   &adopting.key.toolchain, err));
    GT_STEP(rc, take_all(&adopting, err));
    if (!rc && adopting.items)
        rc = gt_recheck_report_open(&adopting.report, &form, options->csv, err);
    if (!rc && adopting.items)
        rc = run_sweep(&adopting, err);
    rc = gt_recheck_report_close(&adopting.report, verdict_names, tally, DONE, VERDICTS, rc, err);
    if (!rc && !session->cli->json && adopting.items)
        fprintf(session->cli->out,
                "%zu adopted, %zu known from earlier runs, %zu unfit, %zu failed\n", tally[DONE],
                tally[KNOWN], tally[UNFIT], tally[FAILED]);
    GT_STEP(rc, conclude(&adopting, err));
    for (size_t i = 0; i < adopting.items; i++)
        free(adopting.item[i].memory);
    free(adopting.item);
    free(adopting.asked);
    free(adopting.problem);
    free(adopting.given);
    free(adopting.candidate);
    free(adopting.result);
    free(adopting.end);
    return rc;
}
