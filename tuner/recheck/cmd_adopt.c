/* cmd_adopt.c - tune recheck --adopt: treats each winner like any other candidate.  It is compiled,
 * proved and timed once, then timed in a final with cuBLASLt's best answer, and stored.  One
 * problem is open at a time, and the compilers work ahead of it.  See cmd_adopt.h. */
#include "recheck/cmd_adopt.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "problem/problem.h"
#include "sweep/progress.h"

#define MAX_GROUP  16   /* winners of a problem in one final */
#define COLLECT_MS 1000 /* longest single wait for a trial */

/* Half a minute of rounds for a hundred problems: the medians are certain to about 1 %. */
static const struct gt_rounds modest = {21, 101, 3e5};

/* Winners of one problem that are tried together. */
struct group {
    struct gt_adopting *adopting;
    struct gt_adoptee *item[MAX_GROUP]; /* those that have not failed */
    size_t count;
    struct gt_trial trial[MAX_GROUP], baseline_trial;
    struct gt_baseline baseline;
    bool have_baseline;
};

/* ---- the store ---- */

/* Sets the item's key; *point receives its text, which the caller releases. */
static int key_of(const struct gt_adopting *adopting, const struct gt_adoptee *item,
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

/* Stores a trial of the item or, if trial is NULL, the fact that the item is about to be launched.
 */
static int put(const struct gt_adopting *adopting, const struct gt_adoptee *item,
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

/* ---- what the evaluator says ---- */

static int on_launching(void *context, uint64_t id, struct gt_err *err)
{
    const struct gt_adopting *adopting = context;

    return put(adopting, &adopting->item[id], NULL, err);
}

static void on_notice(void *context, const char *sentence)
{
    const struct gt_adopting *adopting = context;

    gt_progress_note(adopting->session->progress, sentence);
}

/* ---- one problem ---- */

static void fail(struct gt_adoptee *item, const char *status, const char *detail)
{
    item->verdict = GT_ADOPT_FAILED;
    snprintf(item->detail, sizeof(item->detail), "%s: %s", status, detail);
}

/* Compiles winners of the next problems while this one is on the GPU. */
static int compile_ahead(const struct group *group, struct gt_err *err)
{
    const struct gt_adopting *adopting = group->adopting;
    struct gt_evaluator *evaluator = adopting->session->evaluator;
    size_t next = (size_t)(group->item[group->count - 1] - adopting->item) + 1;
    int left = 2 * evaluator->jobs, rc = GT_OK;

    for (; next < adopting->items && left > 0 && !rc && evaluator->ops->ahead; next++)
        if (adopting->item[next].verdict == GT_ADOPT_OPEN) {
            rc = evaluator->ops->ahead(evaluator, &adopting->item[next].candidate, err);
            left--;
        }
    return rc;
}

/* Proves all members of the group and times each once; those that fail leave the group. */
static int prove(struct group *group, struct gt_err *err)
{
    const struct gt_adopting *adopting = group->adopting;
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
        struct gt_adoptee *item;
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
    const struct gt_adopting *adopting = group->adopting;
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
    rounds = adopting->options->rounds ? adopting->options->rounds
                                       : gt_rounds_for(&modest, group->count, round_us);
    GT_STEP(rc, evaluator->ops->final(evaluator, candidate, group->count, rounds, group->trial,
                                      group->have_baseline ? &group->baseline_trial : NULL, err));
    if (!rc && group->have_baseline)
        rc = put_baseline(group, err);
    for (size_t i = 0; i < group->count && !rc; i++) {
        const struct gt_trial *trial = &group->trial[i];
        struct gt_adoptee *item = group->item[i];

        rc = put(adopting, item, trial, err);
        if (trial->status != GT_STATUS_OK) {
            fail(item, gt_status_name(trial->status), trial->detail);
            continue;
        }
        item->verdict = GT_ADOPT_DONE;
        item->us = trial->us;
        item->lo_us = trial->lo_us;
        item->hi_us = trial->hi_us;
        item->baseline_us = group->have_baseline ? group->baseline.us : 0;
    }
    return rc;
}

static int adopt_group(struct group *group, struct gt_err *err)
{
    struct gt_evaluator *evaluator = group->adopting->session->evaluator;
    struct gt_err why = {0};
    int rc;

    gt_progress_now(group->adopting->session->progress, group->item[0]->text);
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
 * them. */
static size_t gather(struct group *group, size_t first)
{
    struct gt_adopting *adopting = group->adopting;
    size_t i = first;

    group->count = 0;
    for (; i < adopting->items && !strcmp(adopting->item[i].text, adopting->item[first].text) &&
           group->count < MAX_GROUP;
         i++)
        if (adopting->item[i].verdict == GT_ADOPT_OPEN)
            group->item[group->count++] = &adopting->item[i];
    return i;
}

static int adopt_all(struct gt_adopting *adopting, struct gt_err *err)
{
    struct group *group = malloc(sizeof(*group));
    size_t problems = 0;
    int rc = group ? GT_OK : gt_err_nomem(err);

    for (size_t first = 0, next; first < adopting->items && !rc; first = next) {
        *group = (struct group){.adopting = adopting};
        next = gather(group, first);
        if (*adopting->session->cli->signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        else if (group->count && adopting->options->limit && problems == adopting->options->limit)
            break;
        else if (group->count)
            rc = adopt_group(group, err);
        problems += !rc && group->item[0];
        for (size_t i = first; i < next && !rc; i++)
            gt_adopt_report_row(adopting, &adopting->item[i]);
    }
    free(group);
    return rc;
}

/* Runs as a sweep of its own, so that the database records where its trials come from. */
static int run_sweep(struct gt_adopting *adopting, struct gt_err *err)
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
    sums.trials = (int64_t)(adopting->tally[GT_ADOPT_DONE] + adopting->tally[GT_ADOPT_FAILED]);
    code = gt_store_sweep_end(session->store, adopting->key.sweep,
                              !rc                     ? "finished"
                              : rc == GT_EINTERRUPTED ? "interrupted"
                                                      : "failed",
                              &sums, rc ? NULL : err);
    return rc ? rc : code;
}

/* Exit codes 4 and 8. */
static int conclude(const struct gt_adopting *adopting, struct gt_err *err)
{
    size_t bad = adopting->tally[GT_ADOPT_UNFIT] + adopting->tally[GT_ADOPT_FAILED];

    if (!adopting->items)
        return gt_err_set(err, GT_EXIT_NOTHING,
                          "there is no winner of this device to adopt: no older one in the "
                          "database%s",
                          adopting->options->table ? ", none in the table" : "");
    if (bad)
        return gt_err_set(err, GT_EXIT_LOST, "%zu of the winners %s not adopted", bad,
                          bad > 1 ? "are" : "is");
    return GT_OK;
}

int gt_adopt(struct gt_session *session, const struct gt_adopt_options *options, struct gt_err *err)
{
    struct gt_adopting adopting = {.session = session, .options = options};
    const struct gt_evaluator *evaluator = session->evaluator;
    int rc;

    adopting.key.timing = options->timing;
    rc = gt_store_device(session->store, &evaluator->device, &adopting.key.device, err);
    GT_STEP(rc, gt_store_toolchain(session->store, evaluator->nvrtc_version,
                                   &adopting.key.toolchain, err));
    GT_STEP(rc, gt_adopt_take(&adopting, err));
    if (!rc && adopting.items)
        rc = gt_adopt_report_open(&adopting, err);
    if (!rc && adopting.items)
        rc = run_sweep(&adopting, err);
    rc = gt_adopt_report_close(&adopting, rc, err);
    GT_STEP(rc, conclude(&adopting, err));
    gt_adopt_release(&adopting);
    return rc;
}
