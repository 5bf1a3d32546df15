/* cmd_adopt.c - tune recheck --adopt: treats each winner like any other candidate.  A winner is
 * compiled, proved and timed once, then timed in a final with cuBLASLt's best answer, and stored.
 * One problem is open at a time, and the compilers work for the next problems. */
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "recheck/cmd_recheck.h"
#include "sweep/progress.h"

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
    struct gt_trial_key key; /* sweep, device, toolchain and L2 mode */
    size_t tally[VERDICTS];
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

static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct adopting *adopting = context;
    const struct gt_device *device = &adopting->session->evaluator->device;

    return row->cc == device->cc && row->timing == adopting->key.timing &&
                   !strcmp(row->device, device->name)
               ? take(adopting, row, err)
               : GT_OK;
}

static int take_table(struct adopting *adopting, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, adopting->options->system_db, err);

    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_row row = gt_recheck_row(&table.row[i]);

        if (!table.row[i].predicted)
            rc = take_row(adopting, &row, err);
    }
    gt_table_release(&table);
    return rc;
}

/* ---- fitting ---- */

static void set_times(struct adoptee *item, const struct gt_trial *trial)
{
    item->us = trial->us;
    item->lo_us = trial->lo_us;
    item->hi_us = trial->hi_us;
}

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
};

/* Takes a trial of today's text that an earlier run has stored. */
static int find_trial(void *context, const char *point, const struct gt_trial *trial, int attempts,
                      struct gt_err *err)
{
    const struct finding *finding = context;
    struct adoptee *item = finding->item;

    (void)err;
    if (strcmp(point, finding->point) != 0)
        return GT_OK;
    if (trial->status == GT_STATUS_OK && trial->stage == 3 && !attempts) {
        item->verdict = KNOWN;
        set_times(item, trial);
    } else if (trial->status != GT_STATUS_OK &&
               (gt_status_final(trial->status) || attempts >= GT_MAX_ATTEMPTS)) {
        fail(item, trial->status ? gt_status_name(trial->status) : "fault",
             trial->status ? trial->detail
                           : "each time the tuner itself ended before the launch did");
    }
    return GT_OK;
}

static int find_known(const struct adopting *adopting, struct adoptee *item, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key;
    int rc = key_of(adopting, item, &key, &point, err);
    struct finding finding = {item, point.text};

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

/* Drops items whose problems were not asked for. */
static int keep_asked(struct adopting *adopting, struct gt_err *err)
{
    const struct gt_problem_options *asked = &adopting->options->problem;
    struct gt_problem *problem = NULL;
    size_t problems = 0, kept = 0;
    int rc;

    if (!asked->shape.count && !asked->shapes)
        return GT_OK;
    rc = gt_session_problems(adopting->session->cli, adopting->session, &problem, NULL, &problems,
                             asked, err);
    for (size_t i = 0; i < adopting->items && !rc; i++) {
        struct adoptee item = adopting->item[i];
        bool found = false;

        for (size_t j = 0; j < problems && !found; j++) {
            char text[GT_PROBLEM_TEXT_MAX];

            gt_problem_format(&problem[j], text);
            found = !strcmp(text, item.stored.problem);
        }
        adopting->item[i] = adopting->item[kept]; /* dropped items are freed with the rest */
        adopting->item[kept] = item;
        kept += found;
    }
    for (size_t i = kept; i < adopting->items && !rc; i++)
        free(adopting->item[i].memory);
    if (!rc)
        adopting->items = kept;
    free(problem);
    return rc;
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
    int rc = gt_store_rows(session->store, &filter, take_row, adopting, err);

    if (!rc && adopting->options->system_db)
        rc = take_table(adopting, err);
    GT_STEP(rc, keep_asked(adopting, err));
    if (!rc && adopting->items)
        qsort(adopting->item, adopting->items, sizeof(*adopting->item), by_problem);
    for (size_t i = 0; i < adopting->items && !rc; i++) {
        struct adoptee *item = &adopting->item[i];

        rc = gt_problem_parse(&item->problem, item->stored.problem, err);
        if (!rc)
            fit(adopting, item);
        if (!rc && item->verdict == OPEN)
            rc = find_known(adopting, item, err);
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
    FILE *out = adopting->session->cli->out;
    struct gt_strbuf winner = GT_STRBUF_INIT;
    char stored[32], now[32] = "-", baseline[32] = "-";

    snprintf(stored, sizeof(stored), "%.2f", item->stored.us);
    if (item->us > 0)
        snprintf(now, sizeof(now), "%.2f", item->us);
    if (item->baseline_us > 0)
        snprintf(baseline, sizeof(baseline), "%.2f", item->baseline_us);
    gt_strbuf_addf(&winner, "%-7s %s %s", verdict_names[item->verdict], item->stored.kernel,
                   item->stored.point);
    gt_progress_clear(adopting->session->progress);
    gt_columns_row(&adopting->report.columns, out, item->stored.problem,
                   (const char *const[]){stored, now, baseline}, winner.text);
    if (*item->detail) {
        fprintf(out, "%*s ", adopting->report.columns.below ? 1 : adopting->report.columns.lead,
                "");
        gt_columns_put(out, item->detail);
        fputc('\n', out);
    }
    fflush(out);
    gt_strbuf_release(&winner);
}

static void report_row(struct adopting *adopting, const struct adoptee *item)
{
    const struct gt_recheck_report *report = &adopting->report;
    const struct gt_record row = {report->json ? cJSON_CreateObject() : NULL, report->csv};
    bool timed = item->us > 0;

    adopting->tally[item->verdict]++;
    if (report->json)
        cJSON_AddItemToArray(report->rows, row.json);
    else
        print_line(adopting, item);
    gt_csv_text(row.csv, adopting->session->evaluator->device.name);
    gt_record_text(&row, "problem", item->stored.problem);
    gt_record_text(&row, "verdict", verdict_names[item->verdict]);
    gt_record_text(&row, "kernel", item->stored.kernel);
    gt_record_text(&row, "point", item->stored.point);
    gt_record_real(&row, "stored_us", item->stored.us, 3, true);
    gt_record_real(&row, "us", item->us, 3, timed);
    gt_record_real(&row, "lo_us", item->lo_us, 3, timed);
    gt_record_real(&row, "hi_us", item->hi_us, 3, timed);
    gt_record_real(&row, "cublas_us", item->baseline_us, 3, item->baseline_us > 0);
    gt_record_text(&row, "detail", *item->detail ? item->detail : NULL);
    gt_csv_end(row.csv);
}

#define MAX_GROUP  16   /* winners of a problem in one final */
#define COLLECT_MS 1000 /* longest single wait for a trial */

/* Half a minute of rounds for a hundred problems: the medians are certain to about 1 %. */
static const struct gt_rounds modest = {21, 101, 3e5};

/* Winners of one problem that are tried together. */
struct group {
    struct adopting *adopting;
    struct adoptee *item[MAX_GROUP]; /* items that have not failed */
    size_t count;
    struct gt_trial trial[MAX_GROUP], baseline_trial;
    struct gt_baseline baseline;
    bool have_baseline;
};

/* ---- the store ---- */

/* Stores a trial of the item or, if trial is NULL, the fact that the item is about to be launched.
 */
static int put(const struct adopting *adopting, const struct adoptee *item,
               const struct gt_trial *trial, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key;
    int rc = key_of(adopting, item, &key, &point, err);

    if (!rc && trial)
        rc = gt_store_trial(adopting->session->store, &key, trial, err);
    else if (!rc)
        rc = gt_store_attempt(adopting->session->store, &key, err);
    gt_strbuf_release(&point);
    return rc;
}

static int put_baseline(struct group *group, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_trial_key key;
    int rc = key_of(group->adopting, group->item[0], &key, &point, err);

    gt_baseline_take(&group->baseline, &group->baseline_trial);
    GT_STEP(rc, gt_store_baseline(group->adopting->session->store, &key, &group->baseline, err));
    gt_strbuf_release(&point);
    return rc;
}

/* ---- the evaluator's notices ---- */

static int on_launching(void *context, uint64_t id, struct gt_err *err)
{
    const struct adopting *adopting = context;

    return put(adopting, &adopting->item[id], NULL, err);
}

static void on_notice(void *context, const char *sentence)
{
    const struct adopting *adopting = context;

    gt_progress_note(adopting->session->progress, sentence);
}

/* ---- one problem ---- */

/* Compiles winners of the next problems while the present problem is on the GPU. */
static int compile_ahead(const struct group *group, struct gt_err *err)
{
    const struct adopting *adopting = group->adopting;
    struct gt_evaluator *evaluator = adopting->session->evaluator;
    size_t next = (size_t)(group->item[group->count - 1] - adopting->item) + 1;
    int left = 2 * evaluator->jobs, rc = GT_OK;

    for (; next < adopting->items && left > 0 && !rc && evaluator->ops->ahead; next++)
        if (adopting->item[next].verdict == OPEN) {
            rc = evaluator->ops->ahead(evaluator, &adopting->item[next].candidate, err);
            left--;
        }
    return rc;
}

/* Proves all members of the group and times each once; members that fail leave the group. */
static int prove(struct group *group, struct gt_err *err)
{
    const struct adopting *adopting = group->adopting;
    struct gt_evaluator *evaluator = adopting->session->evaluator;
    size_t waiting = group->count;
    int rc = GT_OK;

    for (size_t i = 0; i < group->count && !rc; i++)
        rc = evaluator->ops->submit(evaluator, (uint64_t)(group->item[i] - adopting->item),
                                    &group->item[i]->candidate, err);
    GT_STEP(rc, compile_ahead(group, err));
    group->count = 0;
    while (waiting && !rc) {
        struct gt_trial *trial = &group->trial[group->count];
        struct adoptee *item;
        uint64_t id;
        int got = evaluator->ops->collect(evaluator, COLLECT_MS, &id, trial, err);

        if (got < 0)
            return got;
        if (*adopting->session->cli->signals > 1)
            return gt_err_set(err, GT_EINTERRUPTED, "stopped at once; the same command resumes");
        if (!got)
            continue;
        item = &adopting->item[id];
        waiting--;
        rc = put(adopting, item, trial, err);
        if (trial->status == GT_STATUS_OK)
            group->item[group->count++] = item;
        else
            fail(item, gt_status_name(trial->status), trial->detail);
    }
    return rc;
}

static int open_baseline(struct group *group, struct gt_err *err)
{
    const struct gt_session *session = group->adopting->session;
    struct gt_evaluator *evaluator = session->evaluator;
    struct gt_err why = {0};
    int rc;

    if (!evaluator->options.baseline || !evaluator->ops->baseline)
        return GT_OK;
    rc = evaluator->ops->baseline(evaluator, &group->baseline, &why);
    group->have_baseline = rc == GT_OK;
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND) {
        gt_progress_note(session->progress, why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* Times the remaining members in turns with cuBLASLt's best answer. */
static int time_all(struct group *group, struct gt_err *err)
{
    const struct adopting *adopting = group->adopting;
    struct gt_evaluator *evaluator = adopting->session->evaluator;
    struct gt_candidate candidate[MAX_GROUP];
    double round_us = 0;
    int rounds, rc = GT_OK;

    for (size_t i = 0; i < group->count && !rc; i++) {
        candidate[i] = group->item[i]->candidate;
        round_us += group->trial[i].us;
        rc = put(adopting, group->item[i], NULL, err);
    }
    GT_STEP(rc, open_baseline(group, err));
    if (group->have_baseline)
        round_us += group->baseline.us;
    rounds = adopting->options->rounds ? (int)adopting->options->rounds
                                       : gt_rounds_for(&modest, group->count, round_us);
    GT_STEP(rc, evaluator->ops->final(evaluator, candidate, group->count, rounds, group->trial,
                                      group->have_baseline ? &group->baseline_trial : NULL, err));
    if (!rc && group->have_baseline)
        rc = put_baseline(group, err);
    for (size_t i = 0; i < group->count && !rc; i++) {
        const struct gt_trial *trial = &group->trial[i];
        struct adoptee *item = group->item[i];

        rc = put(adopting, item, trial, err);
        if (trial->status != GT_STATUS_OK) {
            fail(item, gt_status_name(trial->status), trial->detail);
            continue;
        }
        item->verdict = DONE;
        set_times(item, trial);
        item->baseline_us = group->have_baseline ? group->baseline.us : 0;
    }
    return rc;
}

static int adopt_group(struct group *group, struct gt_err *err)
{
    struct gt_evaluator *evaluator = group->adopting->session->evaluator;
    struct gt_err why = {0};
    int rc;

    gt_progress_now(group->adopting->session->progress, group->item[0]->stored.problem);
    rc = evaluator->ops->open_problem(evaluator, &group->item[0]->problem, &why);
    for (size_t i = 0; i < group->count && rc == GT_ETOOBIG; i++)
        fail(group->item[i], "not tried", why.msg); /* another program may hold the memory */
    if (rc == GT_ETOOBIG)
        return GT_OK;
    if (rc && err)
        *err = why;
    GT_STEP(rc, prove(group, err));
    if (!rc && group->count)
        rc = time_all(group, err);
    return rc;
}

/* ---- the command ---- */

/* Collects the open items of one problem, from `first` on, into a group; returns the index after
 * these items. */
static size_t gather(struct group *group, size_t first)
{
    struct adopting *adopting = group->adopting;
    size_t i = first;

    group->count = 0;
    for (; i < adopting->items &&
           !strcmp(adopting->item[i].stored.problem, adopting->item[first].stored.problem) &&
           group->count < MAX_GROUP;
         i++)
        if (adopting->item[i].verdict == OPEN)
            group->item[group->count++] = &adopting->item[i];
    return i;
}

static int adopt_all(struct adopting *adopting, struct gt_err *err)
{
    struct group *group = malloc(sizeof(*group));
    size_t problems = 0;
    int rc = group ? GT_OK : gt_err_nomem(err);

    for (size_t first = 0, next; first < adopting->items && !rc; first = next) {
        *group = (struct group){.adopting = adopting};
        next = gather(group, first);
        if (*adopting->session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        else if (group->count && adopting->options->limit &&
                 problems == (size_t)adopting->options->limit)
            break;
        else if (group->count)
            rc = adopt_group(group, err);
        problems += !rc && group->item[0];
        for (size_t i = first; i < next && !rc; i++)
            report_row(adopting, &adopting->item[i]);
    }
    free(group);
    return rc;
}

/* Runs as a sweep of its own, so that the database records where its trials come from. */
static int run_sweep(struct adopting *adopting, struct gt_err *err)
{
    const struct gt_session *session = adopting->session;
    struct gt_evaluator *evaluator = session->evaluator;
    const struct gt_evaluator_events before = evaluator->options.events;
    struct gt_store_sweep_stats sums = {0};
    double begin_s = gt_evaluator_now(evaluator);
    int code,
        rc = gt_store_sweep_begin(session->store, session->cli->words, &adopting->key.sweep, err);

    if (rc)
        return rc;
    evaluator->options.events = (struct gt_evaluator_events){
        .context = adopting, .launching = on_launching, .notice = on_notice};
    evaluator->options.signals = session->cli->signals;
    rc = adopt_all(adopting, err);
    evaluator->options.events = before;
    evaluator->options.signals = NULL;
    sums.wall_s = gt_evaluator_now(evaluator) - begin_s;
    sums.trials = (int64_t)(adopting->tally[DONE] + adopting->tally[FAILED]);
    code = gt_store_sweep_end(session->store, adopting->key.sweep,
                              !rc                     ? "finished"
                              : rc == GT_EINTERRUPTED ? "interrupted"
                                                      : "failed",
                              &sums, rc ? NULL : err);
    return rc ? rc : code;
}

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
    return rc;
}
