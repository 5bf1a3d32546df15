/* race.c - the race of a problem: points of its arms go to the evaluator, and trials come back,
 * until the budget or a signal ends the race. */
#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/progress.h"
#include "sweep/sweep_parts.h"

#define COLLECT_MS 200 /* between two checks of the signals and the clock */
#define LEAD_MOST  0.3 /* part of a race's time, before its end, in which it may be closed */
#define READY_MOST 0.5 /* part of a race's time that trials of ready points may add */

#define EVERY_S 60.0
#define ALLOWED 0.02 /* change of the reference kernel's time */
#define CUTOFF  1.1  /* times the best: slower points lose even if the device drifts */

/* ---- events of the evaluator ---- */

static struct gt_flight *find_flight(struct gt_race *race, uint64_t id)
{
    for (size_t i = 0; i < race->flights; i++)
        if (race->flight[i].id == id)
            return &race->flight[i];
    return NULL;
}

/* Makes the attempt durable before the launch, so that the right candidate is blamed if the launch
 * ends the program. */
static int on_launching(void *context, uint64_t id, struct gt_err *err)
{
    struct gt_race *race = context;
    struct gt_flight *flight = find_flight(race, id);
    int rc;

    if (!flight || flight->launched)
        return GT_OK;
    rc = gt_sweep_attempt(race, flight->arm, &flight->candidate.point, false, err);
    flight->launched = rc == GT_OK;
    return rc;
}

static bool on_in_doubt(void *context, uint64_t id)
{
    const struct gt_flight *flight = find_flight(context, id);

    return flight && flight->what.attempts > 0;
}

static void on_notice(void *context, const char *sentence)
{
    gt_sweep_note(context, sentence);
}

static void on_waiting(void *context, double seconds)
{
    struct gt_race *race = context;

    if (race->opened)
        gt_sweep_show(race, *race->phase ? race->phase : NULL, false);
    else
        gt_progress_wait(race->options->progress, "the GPU's worker prepares proof and timing",
                         seconds);
}

struct gt_evaluator_events gt_sweep_events(struct gt_race *race)
{
    return (struct gt_evaluator_events){race, on_launching, on_in_doubt, on_notice, on_waiting};
}

/* ---- candidates go to the evaluator ---- */

static int submit(struct gt_race *race, const struct gt_proposal *next, bool backfill,
                  struct gt_err *err)
{
    struct gt_flight *flight;
    int rc;

    rc = GT_ARRAY_RESERVE(&race->flight, race->flights + 1, &race->flight_capacity, err);
    if (rc)
        return rc;
    flight = &race->flight[race->flights];
    *flight = (struct gt_flight){.id = ++*race->next_id,
                                 .arm = next->arm,
                                 .what = next->what,
                                 .candidate = gt_arm_candidate(next->arm, next->what.point),
                                 .backfill = backfill};
    rc = race->evaluator->ops->submit(race->evaluator, flight->id, &flight->candidate, err);
    if (rc)
        return rc;
    race->flights++;
    next->arm->flying++;
    return GT_OK;
}

/* Takes the next point that was drawn before the race. */
static bool take_draw(struct gt_race *race, struct gt_proposal *next)
{
    if (race->drawn == race->draws || ((gt_sweep_is_late(race) || race->closing) &&
                                       !gt_sweep_is_awaited(race, &race->draw[race->drawn])))
        return false;
    *next = race->draw[race->drawn++];
    next->arm->flying--; /* submit counts the point again */
    return true;
}

/* Submits candidates until the evaluator has no room for more. */
static int submit_all(struct gt_race *race, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < race->arms; i++)
        race->arm[i].waiting = false;
    while (!rc && race->evaluator->ops->room(race->evaluator) > 0) {
        struct gt_proposal next;

        if (!take_draw(race, &next) && !gt_sweep_choose_point(race, &next))
            break;
        rc = submit(race, &next, false, err);
    }
    return rc;
}

/* Whether a point that a strategy chose is in flight.  Backfill alone must not keep a race going,
 * because the race of a strategy that is done would then not end. */
static bool strategies_wait(const struct gt_race *race)
{
    for (size_t i = 0; i < race->flights; i++)
        if (!race->flight[i].backfill)
            return true;
    return false;
}

/* Chooses a point that needs no compiler: first the ready points, then backfill and reuse, which
 * alternate. */
static bool choose_at_hand(struct gt_race *race, struct gt_proposal *next)
{
    if (gt_sweep_ready(race, next))
        return true;
    if (race->at_hand++ % 2)
        return gt_sweep_backfill(race, next) || gt_sweep_reuse(race, next);
    return gt_sweep_reuse(race, next) || gt_sweep_backfill(race, next);
}

/* Submits points that need no compiler if the device would wait for the compilers: one to run and
 * one to follow.  This is done only if the clock ends the race, because other budgets count
 * trials. */
static int submit_backfill(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;
    const struct gt_budget *budget = &race->options->budget;
    struct gt_proposal next;
    int rc = GT_OK;

    for (int i = 0; !rc && i < 2 && (race->readies || strategies_wait(race)); i++) {
        if (!evaluator->ops->starved || !evaluator->ops->starved(evaluator) ||
            gt_sweep_is_late(race) || !(budget->seconds > 0) || budget->patience ||
            gt_sweep_trials_spent(race) || !choose_at_hand(race, &next))
            break;
        rc = submit(race, &next, true, err);
    }
    return rc;
}

/* Closes the race if a candidate submitted now would be compiled too late.  The compilers then work
 * for the next problem, and the device tries the ready points. */
static int check_closing(struct gt_race *race, struct gt_err *err)
{
    double now, lead = fmin(race->evaluator->stats.lead_s, LEAD_MOST * race->search_s);
    int rc;

    if (race->closing)
        return gt_sweep_prepare_next(race->run, false, err);
    if (!race->run->next || !(race->deadline_s > 0) || !(race->best_us > 0))
        return GT_OK;
    now = gt_evaluator_now(race->evaluator);
    if (now < race->deadline_s - lead)
        return GT_OK;
    race->closing = true;
    rc = gt_sweep_find_ready(race, err);
    return rc ? rc : gt_sweep_prepare_next(race->run, false, err);
}

/* Times the baseline while the device would wait for the compilers, if the clock ends the race; the
 * finals are then shorter. */
static int fill_with_baseline(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;

    if (!race->measures || !(race->deadline_s > 0) || !(race->best_us > 0) ||
        !evaluator->ops->starved || !evaluator->ops->starved(evaluator) || gt_sweep_is_late(race))
        return GT_OK;
    return gt_sweep_open_baseline(race, err);
}

/* ---- trials come back ---- */

/* Records a finished trial, or puts it back if another try may change its status. */
static int finish(struct gt_race *race, uint64_t id, const struct gt_trial *trial,
                  struct gt_err *err)
{
    struct gt_flight *found = find_flight(race, id), flight;
    bool first = !race->result->fresh;
    int rc;

    if (!found)
        return gt_err_set(err, GT_ERANGE, "the evaluator answered for the unknown candidate %llu",
                          (unsigned long long)id);
    flight = *found;
    *found = race->flight[--race->flights];
    flight.arm->flying--;
    rc = gt_sweep_record(race, &flight, trial, err);
    if (!first || !race->result->fresh)
        return rc;
    /* The clock of a turn starts at its first trial; the compilers start before it. */
    race->first_s = gt_evaluator_now(race->evaluator);
    if (race->deadline_s > 0)
        race->deadline_s = fmin(race->deadline_s, race->first_s + race->search_s);
    return rc;
}

/* Waits for a trial and records it; *taken: 1 if a trial came, else 0.  While the GPU works, the
 * trials recorded before become durable. */
static int take_trial(struct gt_race *race, size_t *taken, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_trial trial;
    uint64_t id;
    int got = evaluator->ops->collect(evaluator, 0, &id, &trial, err);

    if (!got)
        got = gt_store_settle(race->options->store, err);
    if (!got)
        got = evaluator->ops->collect(evaluator, COLLECT_MS, &id, &trial, err);
    *taken = got > 0;
    return got > 0 ? finish(race, id, &trial, err) : got;
}

/* ---- drift: whether the speed of the device has changed ---- */

/* A reference kernel is timed at regular intervals; if its time has changed, the candidates' times
 * since the last check are not trusted. */

/* Puts back the *count points that were measured since the last check and may still win. */
static int measure_again(struct gt_race *race, double drift, size_t *count, struct gt_err *err)
{
    double limit = race->best_us * (CUTOFF + 2 * fabs(drift));
    int rc = GT_OK;

    *count = 0;
    for (size_t i = 0; i < race->recents && !rc; i++) {
        struct gt_arm *arm = race->recent[i].arm;
        size_t point = race->recent[i].point;
        struct gt_retry what;

        if (arm->strategy->known[point] > limit)
            continue;
        what = (struct gt_retry){.point = point, .urgent = true, .remeasure = true};
        rc = gt_sweep_retry(arm, what, err);
        ++*count;
    }
    return rc;
}

/* Times the reference kernel if the last check is long enough ago.  If the device has drifted, the
 * points that were measured since that check and may still win are measured again. */
static int check_drift(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    double us, drift;
    double every = race->options->drift_check_s > 0 ? race->options->drift_check_s : EVERY_S;
    char sentence[160];
    int rc;

    if (!evaluator->ops->reference || gt_evaluator_now(evaluator) - race->reference_s < every)
        return GT_OK;
    rc = evaluator->ops->reference(evaluator, &us, err);
    if (rc)
        return rc;
    drift = race->reference_us > 0 ? us / race->reference_us - 1 : 0;
    race->reference_us = us;
    race->reference_s = gt_evaluator_now(evaluator);
    if (fabs(drift) > ALLOWED) {
        size_t count;

        rc = measure_again(race, drift, &count, err);
        snprintf(sentence, sizeof(sentence),
                 "the reference kernel's time changed by %+.1f %%: %zu candidates are timed again",
                 100 * drift, count);
        gt_sweep_note(race, sentence);
    }
    race->recents = 0;
    return rc;
}

/* ---- the race ---- */

/* Mean seconds of a trial: of the trials since begin_s or, before there is one, of all trials of
 * the race. */
static double trial_s(const struct gt_race *race, double begin_s, int64_t before)
{
    const int64_t timed = race->result->timed;

    if (timed > before)
        return (gt_evaluator_now(race->evaluator) - begin_s) / (double)(timed - before);
    return timed ? race->evaluator->stats.busy_s / (double)timed : 0;
}

/* Tries the ready points when the clock has ended the search, for a part of the search's time. */
static int try_ready(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    const double begin_s = race->searched_s, most_s = READY_MOST * race->search_s;
    const double end_s = fmin(race->latest_s, begin_s + most_s);
    const int64_t before = race->result->timed;
    int rc = gt_sweep_find_dropped(race, err);

    while (!rc) {
        struct gt_proposal next;
        size_t taken;

        while (!rc && !gt_sweep_signals(race) && race->flights < 2 &&
               gt_evaluator_now(evaluator) +
                       trial_s(race, begin_s, before) * (double)(race->flights + 1) <=
                   end_s &&
               gt_sweep_ready(race, &next))
            rc = submit(race, &next, false, err);
        if (rc || !race->flights || gt_sweep_signals(race) > 1)
            break;
        rc = take_trial(race, &taken, err);
        gt_sweep_show(race, NULL, false);
    }
    return rc;
}

int gt_sweep_race(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    bool stopping = false, timed;
    size_t left = 1; /* trials still to come after the race was stopped */
    int rc = GT_OK;

    while (!rc) {
        size_t taken;

        if (gt_sweep_signals(race) > 1)
            return gt_err_set(err, GT_EINTERRUPTED, "stopped at once; the same command resumes");
        if (!stopping && (gt_sweep_signals(race) || gt_sweep_clock_ends(race))) {
            stopping = true;
            left = evaluator->ops->drop(evaluator);
        }
        if (!stopping) {
            rc = check_closing(race, err);
            GT_STEP(rc, submit_all(race, err));
            GT_STEP(rc, fill_with_baseline(race, err));
            GT_STEP(rc, submit_backfill(race, err));
        }
        if (rc || !race->flights || !left)
            break;
        rc = take_trial(race, &taken, err);
        left -= stopping && taken;
        if (!rc && !stopping)
            rc = check_drift(race, err);
        timed = race->tried || (race->incumbent_arm && !race->incumbent_due);
        gt_sweep_show(race, stopping ? "stopping" : timed ? NULL : "compiling", false);
    }
    race->searched_s = gt_evaluator_now(evaluator);
    if (!rc && stopping && !gt_sweep_signals(race))
        rc = try_ready(race, err);
    if (!rc && stopping && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return rc;
}
