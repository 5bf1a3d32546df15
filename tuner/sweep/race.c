/* race.c - the race of a problem: points of its arms go to the evaluator, trials come back, until
 * the budget or a signal ends it. */
#include "base/array.h"
#include "base/err.h"
#include "sweep/progress.h"
#include "sweep/sweep_parts.h"

#include <math.h>

#define COLLECT_MS 200 /* between two checks of the signals and the clock */
#define LEAD_MOST  0.3 /* of a race's time: how much before its end it may close */
#define READY_MOST 0.5 /* of a race's time: how much after it what is ready may be tried */

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

/* ---- the race ---- */

static int submit(struct gt_race *race, struct gt_arm *arm, struct gt_retry what,
                  struct gt_err *err)
{
    struct gt_flight *flight;
    int rc;

    rc = GT_ARRAY_RESERVE(&race->flight, race->flights + 1, &race->flight_capacity, err);
    if (rc)
        return rc;
    flight = &race->flight[race->flights];
    *flight = (struct gt_flight){.id = ++*race->next_id, .arm = arm, .what = what};
    flight->candidate.kernel = arm->kernel;
    flight->candidate.problem = race->problem;
    flight->candidate.device = &race->evaluator->device;
    gt_space_point(&arm->space, what.point, &flight->candidate.point);
    rc = race->evaluator->ops->submit(race->evaluator, flight->id, &flight->candidate, err);
    if (rc)
        return rc;
    race->flights++;
    arm->flying++;
    return GT_OK;
}

/* Takes the next of the points that were drawn before the race. */
static bool take_draw(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    const struct gt_draw *next = &race->draw[race->drawn];

    if (race->drawn == race->draws)
        return false;
    if ((gt_sweep_is_late(race) || race->closing) && !gt_sweep_is_awaited(race, next))
        return false;
    *arm = race->draw[race->drawn].arm;
    *what = race->draw[race->drawn++].what;
    (*arm)->flying--; /* submit counts it again */
    return true;
}

/* Submits candidates until the evaluator has no room for more. */
static int submit_all(struct gt_race *race, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < race->arms; i++)
        race->arm[i].waiting = false;
    while (!rc && race->evaluator->ops->room(race->evaluator) > 0) {
        struct gt_arm *arm;
        struct gt_retry what;

        if (!take_draw(race, &arm, &what) && !gt_sweep_choose_point(race, &arm, &what))
            break;
        rc = submit(race, arm, what, err);
    }
    return rc;
}

/* Whether a point that a strategy chose is in flight.  Backfill alone must not keep a race going,
 * because a strategy that is done would then never see its end. */
static bool strategies_wait(const struct gt_race *race)
{
    for (size_t i = 0; i < race->flights; i++)
        if (!race->flight[i].backfill)
            return true;
    return false;
}

/* Chooses a point that needs no compiler: one drawn ahead, then of this problem and of others in
 * turn. */
static bool choose_at_hand(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    if (gt_sweep_ready(race, arm, what))
        return true;
    if (race->at_hand++ % 2)
        return gt_sweep_backfill(race, arm, what) || gt_sweep_reuse(race, arm, what);
    return gt_sweep_reuse(race, arm, what) || gt_sweep_backfill(race, arm, what);
}

/* Submits points that need no compiler if the device would wait for one: one to work at and one to
 * follow.  It does so only if the clock ends the race, because other budgets count trials. */
static int submit_backfill(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;
    const struct gt_budget *budget = &race->options->budget;
    struct gt_arm *arm;
    struct gt_retry what;
    int rc = GT_OK;

    for (int i = 0; !rc && i < 2 && (race->readies || strategies_wait(race)); i++) {
        if (!evaluator->ops->starved || !evaluator->ops->starved(evaluator) ||
            gt_sweep_is_late(race) || !(budget->seconds > 0) || budget->patience ||
            gt_sweep_trials_spent(race) || !choose_at_hand(race, &arm, &what))
            break;
        rc = submit(race, arm, what, err);
        if (!rc)
            race->flight[race->flights - 1].backfill = true;
    }
    return rc;
}

/* Whether the race closes: what would be submitted now were ready too late.  The compilers then
 * work for the next problem, and the device tries what is ready. */
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
 * finals then need not. */
static int fill_with_baseline(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;

    if (!race->measures || !(race->deadline_s > 0) || !(race->best_us > 0) ||
        !evaluator->ops->starved || !evaluator->ops->starved(evaluator) || gt_sweep_is_late(race))
        return GT_OK;
    return gt_sweep_open_baseline(race, err);
}

/* Starts the clock of a turn at its first trial; the compilers start before it. */
static void start_clock(struct gt_race *race)
{
    race->first_s = gt_evaluator_now(race->evaluator);
    if (race->deadline_s > 0)
        race->deadline_s = fmin(race->deadline_s, race->first_s + race->search_s);
}

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
    if (first && race->result->fresh)
        start_clock(race);
    return rc;
}

/* Waits for a trial.  Meanwhile, while the GPU works, the recorded trials become durable. */
static int collect(struct gt_race *race, uint64_t *id, struct gt_trial *trial, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int got = evaluator->ops->collect(evaluator, 0, id, trial, err);

    if (got == 0)
        got = gt_store_settle(race->options->store, err);
    return got ? got : evaluator->ops->collect(evaluator, COLLECT_MS, id, trial, err);
}

/* Seconds of a trial: of those since begin_s or, before there is one, of the whole race. */
static double trial_s(const struct gt_race *race, double begin_s, int64_t before)
{
    const int64_t timed = race->result->timed;

    if (timed > before)
        return (gt_evaluator_now(race->evaluator) - begin_s) / (double)(timed - before);
    return timed ? race->evaluator->stats.busy_s / (double)timed : 0;
}

/* Tries what is ready when the clock has ended the search, for a part of the search's time. */
static int try_ready(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    const double begin_s = race->searched_s, most_s = READY_MOST * race->search_s;
    const double end_s = fmin(race->latest_s, begin_s + most_s);
    const int64_t before = race->result->timed;
    int rc = gt_sweep_find_dropped(race, err);

    while (!rc) {
        struct gt_trial trial;
        struct gt_retry what;
        struct gt_arm *arm;
        uint64_t id;
        int got;

        while (!rc && !gt_sweep_signals(race) && race->flights < 2 &&
               gt_evaluator_now(evaluator) +
                       trial_s(race, begin_s, before) * (double)(race->flights + 1) <=
                   end_s &&
               gt_sweep_ready(race, &arm, &what))
            rc = submit(race, arm, what, err);
        if (rc || !race->flights || gt_sweep_signals(race) > 1)
            break;
        got = collect(race, &id, &trial, err);
        if (got < 0)
            return got;
        if (got > 0)
            rc = finish(race, id, &trial, err);
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
        struct gt_trial trial;
        uint64_t id;
        int got;

        if (gt_sweep_signals(race) > 1)
            return gt_err_set(err, GT_EINTERRUPTED, "stopped at once; the same command resumes");
        if (!stopping && (gt_sweep_signals(race) || gt_sweep_clock_ends(race))) {
            stopping = true;
            left = evaluator->ops->drop(evaluator);
        }
        if (!stopping)
            rc = check_closing(race, err);
        if (!rc && !stopping)
            rc = submit_all(race, err);
        if (!rc && !stopping)
            rc = fill_with_baseline(race, err);
        if (!rc && !stopping)
            rc = submit_backfill(race, err);
        if (rc || !race->flights || !left)
            break;
        got = collect(race, &id, &trial, err);
        if (got < 0)
            return got;
        if (got > 0)
            rc = finish(race, id, &trial, err);
        left -= stopping && got > 0;
        if (!rc && !stopping)
            rc = gt_sweep_check_drift(race, err);
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
