/* record.c - hands a finished trial to store, strategy and ranking, and resumes from the trials
 * that earlier runs stored. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/sweep_parts.h"

#define IMPROVEMENT 0.995 /* a new best time below this times the last best resets patience */
#define RETRY_AFTER 16    /* trials before a candidate whose status may change is tried again */
#define MAX_KILLED  20 /* attempts in one run that something else may end before the point fails */

/* ---- the store ---- */

int gt_sweep_make_key(struct gt_race *race, struct gt_arm *arm, struct gt_err *err)
{
    arm->key = (struct gt_trial_key){
        .sweep = race->run->sweep,
        .device = race->run->device,
        .toolchain = race->run->toolchain,
        .problem = race->problem_id,
        .timing = race->evaluator->options.bench.timing,
    };
    return gt_store_kernel(race->options->store, arm->kernel, &arm->key.kernel, err);
}

/* Makes the store's key of a point; *text holds the point and is to be released after use. */
static int point_key(struct gt_trial_key *key, struct gt_strbuf *text, const struct gt_arm *arm,
                     const struct gt_point *point, struct gt_err *err)
{
    gt_strbuf_init(text);
    gt_point_format(text, arm->kernel, point);
    *key = arm->key;
    key->point = text->text;
    return gt_strbuf_check(text, err);
}

int gt_sweep_attempt(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                     bool later, struct gt_err *err)
{
    struct gt_strbuf text;
    struct gt_trial_key key;
    int rc = point_key(&key, &text, arm, point, err);

    GT_STEP(rc, later ? gt_store_attempt_later(race->options->store, &key, err)
                      : gt_store_attempt(race->options->store, &key, err));
    gt_strbuf_release(&text);
    return rc;
}

int gt_sweep_store(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                   const struct gt_trial *trial, bool later, struct gt_err *err)
{
    struct gt_strbuf text;
    struct gt_trial_key key;
    int rc = point_key(&key, &text, arm, point, err);

    GT_STEP(rc, later ? gt_store_trial_later(race->options->store, &key, trial, err)
                      : gt_store_trial(race->options->store, &key, trial, err));
    gt_strbuf_release(&text);
    if (rc == GT_ERANGE) { /* an impossible time: the sweep goes on without this trial, and says
                              so */
        gt_sweep_note(race, err->msg);
        rc = GT_OK;
    }
    return rc;
}

/* Stores that the candidate's earlier attempts no longer count, because something other than the
 * candidate ended them. */
static int forgive(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                   bool doubtful, struct gt_err *err)
{
    struct gt_strbuf text;
    struct gt_trial_key key;
    int rc = point_key(&key, &text, arm, point, err);

    GT_STEP(rc, gt_store_forgive(race->options->store, &key, doubtful, err));
    gt_strbuf_release(&text);
    return rc;
}

/* ---- a finished trial ---- */

/* Says that a trial of the incumbent, which is not searched, ended without a time, and why. */
static void note_guest(struct gt_race *race, const struct gt_trial *trial)
{
    struct gt_strbuf sentence = GT_STRBUF_INIT;

    gt_strbuf_addf(&sentence, "what look-up hands out, %s ", race->incumbent->kernel->name);
    gt_point_format(&sentence, race->incumbent->kernel, &race->incumbent->point);
    gt_strbuf_addf(&sentence, ", could not be timed here: %s%s%.*s", gt_status_name(trial->status),
                   *trial->detail ? ": " : "", (int)strcspn(trial->detail, "\n"), trial->detail);
    if (!gt_strbuf_check(&sentence, NULL))
        gt_sweep_note(race, sentence.text);
    gt_strbuf_release(&sentence);
}

/* Counts a trial and records a better best time.  The trial of an incumbent that is not searched
 * does not count for the budget, and its time is no best time beside which others are slow. */
static int count(struct gt_race *race, struct gt_arm *arm, const struct gt_trial *trial,
                 bool resumed, struct gt_err *err)
{
    int rc;

    arm->tried++;
    if (arm->guest) {
        if (!resumed && trial->status != GT_STATUS_OK)
            note_guest(race, trial);
        return GT_OK;
    }
    race->tried++;
    race->result->status[trial->status]++;
    if (resumed)
        race->result->resumed++;
    else
        race->result->fresh++;
    if (!resumed && (trial->status == GT_STATUS_OK || trial->status == GT_STATUS_SLOW))
        race->result->timed++;
    if (trial->us > 0 && (!arm->reached_us || trial->us < arm->reached_us))
        arm->reached_us = trial->us;
    if (trial->status != GT_STATUS_OK)
        return GT_OK;
    if (!arm->best_us || trial->us < arm->best_us)
        arm->best_us = trial->us;
    if (race->best_us > 0 && trial->us >= race->best_us)
        return GT_OK;
    race->best_us = trial->us;
    if (!race->anchor_us || trial->us < IMPROVEMENT * race->anchor_us) {
        race->anchor_us = trial->us;
        race->improved_at = race->tried;
    }
    if (resumed)
        return GT_OK;
    rc = GT_ARRAY_RESERVE(&race->history, race->bests + 1, &race->history_capacity, err);
    if (!rc)
        race->history[race->bests++] = (struct gt_improvement){
            gt_evaluator_now(race->evaluator) - race->begin_s, trial->us, race->result->fresh};
    return rc;
}

/* Finds the best time again after a point was measured again, because the replaced time may have
 * been the best. */
static void find_best_again(struct gt_race *race, struct gt_arm *arm)
{
    const struct gt_strategy *strategy = arm->strategy;

    if (arm->guest)
        return;
    arm->best_us = strategy->best == SIZE_MAX ? 0 : (double)strategy->known[strategy->best];
    race->best_us = gt_sweep_best_us(race);
    if (race->anchor_us < race->best_us)
        race->anchor_us = race->best_us;
}

void gt_sweep_tell_best(const struct gt_race *race)
{
    if (race->best_us > 0 && !race->incumbent_due && !race->options->given &&
        race->evaluator->ops->set_best)
        race->evaluator->ops->set_best(race->evaluator, race->best_us);
}

/* The time that the strategy is told; 0: the trial failed.  A slow trial has a time too, the time
 * of its first run. */
static double told(const struct gt_trial *trial)
{
    return trial->status == GT_STATUS_OK || trial->status == GT_STATUS_SLOW ? trial->us : 0;
}

/* Adds a point to one of the race's lists of points that were tried. */
static int remember(struct gt_recent **list, size_t *count, size_t *capacity, struct gt_arm *arm,
                    size_t point, struct gt_err *err)
{
    int rc = GT_ARRAY_RESERVE(list, *count + 1, capacity, err);

    if (!rc)
        (*list)[(*count)++] = (struct gt_recent){.arm = arm, .point = point};
    return rc;
}

int gt_sweep_record(struct gt_race *race, const struct gt_flight *flight,
                    const struct gt_trial *trial, struct gt_err *err)
{
    struct gt_arm *arm = flight->arm;
    struct gt_retry what = flight->what;
    bool incumbent = arm == race->incumbent_arm && what.point == race->incumbent_point;
    bool ok = trial->status == GT_STATUS_OK;
    int rc = gt_sweep_store(race, arm, &flight->candidate.point, trial, race->measures, err);

    if (rc)
        return rc;
    what.urgent = incumbent;
    what.due = race->tried + RETRY_AFTER;
    if (trial->status == GT_STATUS_KILLED) {
        rc = forgive(race, arm, &flight->candidate.point, false, err);
        if (rc || ++what.killed < MAX_KILLED)
            return rc ? rc : gt_sweep_retry(arm, what, err);
    } else if (!gt_status_final(trial->status) && ++what.attempts < GT_MAX_ATTEMPTS) {
        return gt_sweep_retry(arm, what, err);
    }
    gt_strategy_tell(arm->strategy, what.point, told(trial));
    /* Neither status is the fault of the candidate. */
    if (incumbent && trial->status != GT_STATUS_KILLED && trial->status != GT_STATUS_DEVICE_LOST)
        race->incumbent_due = false;
    rc = gt_sweep_rank(race, arm->kernel, &flight->candidate.point, trial, false, err);
    if (what.remeasure)
        find_best_again(race, arm);
    else if (!rc)
        rc = count(race, arm, trial, false, err);
    if (!rc)
        gt_sweep_tell_best(race);
    if (rc || !ok || !race->measures || what.remeasure)
        return rc;
    rc = remember(&race->recent, &race->recents, &race->recent_capacity, arm, what.point, err);
    return rc ? rc
              : remember(&race->backfill, &race->backfills, &race->backfill_capacity, arm,
                         what.point, err);
}

/* ---- earlier runs ---- */

/* Whether a stored failure to compile may be the machine's fault and not the candidate's; such a
 * candidate is tried anew.  Earlier, a machine without memory, or a compiler without its second
 * library, made every candidate fail for good.  The compile pool now compiles a known source first
 * (workers/compile_pool.c), and a failure of the candidate says "this source". */
static bool is_doubtful(const struct gt_trial *trial)
{
    /* Words of the compiler about itself; if a source is at fault, the words name a place in the
     * source. */
    static const char *const words[] = {"nvrtc: error",          "nvrtc fatal",
                                        "libnvrtc-builtins",     "out of memory",
                                        "Memory allocation",     "NVRTC failed with result",
                                        "internal error",        "No space left",
                                        "the compiler failed: ", "Internal error",
                                        "cannot open temporary", "the compiler ran out of the "};

    if (trial->status == GT_STATUS_COMPILE_CRASH)
        return !strstr(trial->detail, "this source");
    if (trial->status != GT_STATUS_COMPILE_ERROR)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strstr(trial->detail, words[i]))
            return true;
    return false;
}

/* Notes a candidate that an earlier run gave up as slow, perhaps beside kernels that are not
 * searched now.  Beside the kernels searched now it may be fast, so the fastest slow candidates are
 * tried once more. */
static void note_slow(struct gt_race *race, struct gt_arm *arm, size_t point, double us)
{
    if (!arm->guest && race->measures && us > 0)
        GT_SWEEP_INSERT(race->slow, &race->slows, GT_SWEEP_SLOW, &(struct gt_hint){us, arm, point});
}

/* A run of the same kernels retries no candidate, because a slow candidate took 1.5 times the best
 * time. */
int gt_sweep_retry_slow(struct gt_race *race, struct gt_err *err)
{
    const double best = race->best_us > 0 ? race->best_us : INFINITY;
    int rc = GT_OK;

    for (size_t i = 0; i < race->slows && !rc; i++) {
        const struct gt_hint *slow = &race->slow[i];

        if (slow->order > GT_SWEEP_TOO_SLOW * fmin(best, race->slow[0].order))
            break;
        race->tried--; /* the candidate has no trial in this run until it is tried again */
        slow->arm->tried--;
        race->result->resumed--;
        race->result->status[GT_STATUS_SLOW]--;
        rc = gt_sweep_retry(slow->arm, (struct gt_retry){.point = slow->point}, err);
    }
    return rc;
}

struct resume {
    struct gt_race *race;
    struct gt_arm *arm;
    struct blamed { /* candidates without an attempt left; their trials are stored after the store
                       was read */
        struct gt_point point;
        size_t index;
        struct gt_trial trial;
        bool sound; /* the candidate has an ok trial, which is kept */
    } * blamed;
    size_t blames, capacity;
};

/* Handles a candidate whose launch never ended, or whose status is not final.  The candidate is
 * tried again unless it has had all its attempts.  A candidate without an attempt left has its
 * trial stored, also if there is an older trial, because the last attempt may never have ended.
 * That the tuner died each time proves nothing against a candidate: somebody may have stopped the
 * tuner each time.  A candidate without a trial becomes `killed`, so that a candidate that takes
 * the machine down cannot do so in every run.  A candidate with an ok trial keeps the trial, takes
 * no part in this run's finals, and is sampled again in the next run. */
static int resume_attempt(struct resume *resume, const struct gt_point *point, size_t index,
                          const struct gt_trial *trial, int attempts, struct gt_err *err)
{
    struct blamed *blamed;
    int rc;

    if (attempts < GT_MAX_ATTEMPTS) {
        if (index == SIZE_MAX)
            return GT_OK;
        gt_strategy_claim(resume->arm->strategy, index);
        return gt_sweep_retry(
            resume->arm, (struct gt_retry){.point = index, .attempts = attempts, .urgent = true},
            err);
    }
    rc = GT_ARRAY_RESERVE(&resume->blamed, resume->blames + 1, &resume->capacity, err);
    if (rc)
        return rc;
    blamed = &resume->blamed[resume->blames++];
    *blamed = (struct blamed){*point, index, *trial, trial->status == GT_STATUS_OK};
    if (trial->status == GT_STATUS_NONE) {
        blamed->trial.status = GT_STATUS_KILLED;
        snprintf(blamed->trial.detail, sizeof(blamed->trial.detail),
                 "launched %d times, and each time the tuner itself ended before the launch did",
                 attempts);
    }
    return GT_OK;
}

static int on_resume(void *context, const char *text, const struct gt_trial *trial, int attempts,
                     struct gt_err *err)
{
    struct resume *resume = context;
    struct gt_race *race = resume->race;
    struct gt_arm *arm = resume->arm;
    struct gt_point point;
    size_t index;
    int rc;

    if (gt_point_parse(&point, arm->kernel, text, NULL) != GT_OK)
        return GT_OK; /* the description's values have changed, and the point no longer exists */
    index = gt_space_find(&arm->space, &point);
    if ((arm->guest || race->options->given) && index == SIZE_MAX)
        return GT_OK; /* the arm has the listed points alone */
    if (is_doubtful(trial))
        return GT_OK; /* the machine may have failed and not the candidate, which is tried anew */
    if (!gt_status_final(trial->status) ||
        (trial->status == GT_STATUS_OK && attempts >= GT_MAX_ATTEMPTS))
        return resume_attempt(resume, &point, index, trial, attempts, err);
    if (index != SIZE_MAX)
        gt_strategy_tell(arm->strategy, index, told(trial));
    if (index != SIZE_MAX && trial->status == GT_STATUS_SLOW)
        note_slow(race, arm, index, trial->us);
    rc = gt_sweep_rank(race, arm->kernel, &point, trial, true, err);
    if (!rc && attempts)
        gt_sweep_blame(race->result, arm->kernel, &point);
    return rc ? rc : count(race, arm, trial, true, err);
}

int gt_sweep_resume(struct gt_race *race, struct gt_arm *arm, struct gt_err *err)
{
    struct resume resume = {.race = race, .arm = arm};
    int rc = gt_store_resume(race->options->store, &arm->key, race->evaluator->ops->provenance,
                             on_resume, &resume, err);

    for (size_t i = 0; i < resume.blames && !rc; i++) {
        const struct blamed *blamed = &resume.blamed[i];

        rc = blamed->sound ? forgive(race, arm, &blamed->point, true, err)
                           : gt_sweep_store(race, arm, &blamed->point, &blamed->trial, false, err);
        if (!rc && blamed->index != SIZE_MAX)
            gt_strategy_tell(arm->strategy, blamed->index, told(&blamed->trial));
        GT_STEP(rc, count(race, arm, &blamed->trial, true, err));
    }
    free(resume.blamed);
    return rc;
}
