/* choose.c - which point a race tries next, and when its clock or its budget leaves none. */
#include <math.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/shares.h"
#include "sweep/sweep_parts.h"

/* Limits of a problem that has no time yet when its deadline has passed. */
#define LATE_FLIGHTS 4  /* candidates in flight, because the next problem waits */
#define LATE_TRIALS  16 /* of a turn; after so many failures other points would probably fail */

struct gt_arm *gt_sweep_arm_of(const struct gt_race *race, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].kernel == kernel)
            return &race->arm[i];
    return NULL;
}

struct gt_candidate gt_sweep_candidate(const struct gt_race *race, const struct gt_kernel *kernel,
                                       const struct gt_point *point)
{
    return (struct gt_candidate){kernel, race->problem, &race->evaluator->device, *point};
}

struct gt_candidate gt_arm_candidate(const struct gt_arm *arm, size_t point)
{
    struct gt_point values;

    gt_space_point(&arm->space, point, &values);
    return gt_sweep_candidate(arm->race, arm->kernel, &values);
}

/* ---- points that are tried before the strategies choose ---- */

int gt_sweep_retry(struct gt_arm *arm, struct gt_retry retry, struct gt_err *err)
{
    int rc = GT_ARRAY_RESERVE(&arm->retry, arm->retries + 1, &arm->retry_capacity, err);
    const size_t at = retry.urgent ? arm->retries : 0;

    if (rc)
        return rc;
    GT_ARRAY_OPEN(arm->retry, at, arm->retries);
    arm->retry[at] = retry;
    arm->retries++;
    arm->done = false;
    return GT_OK;
}

/* The next lead that was not tried yet; NULL: there is none. */
static const struct gt_hint *next_lead(struct gt_race *race)
{
    for (; race->next_lead < race->leads; race->next_lead++) {
        const struct gt_hint *lead = &race->lead[race->next_lead];

        if (lead->arm->strategy->known[lead->point] == GT_POINT_NEW)
            return lead;
    }
    return NULL;
}

/* ---- the clock and the budget ---- */

static bool time_is_up(const struct gt_race *race)
{
    return race->deadline_s > 0 && gt_evaluator_now(race->evaluator) >= race->deadline_s;
}

/* Whether the clock ends the race.  The clock does so only if the problem has a time, because a
 * slow compiler must not leave a problem without a winner, and not before the incumbent has a time,
 * because nothing could replace an untimed incumbent.  Until then the race waits for candidates in
 * flight and submits few more. */
bool gt_sweep_clock_ends(const struct gt_race *race)
{
    return time_is_up(race) && race->best_us > 0 && !race->incumbent_due;
}

/* The number of points to be tried again, whose status may change. */
static int64_t retries(const struct gt_race *race)
{
    int64_t sum = 0;

    for (size_t i = 0; i < race->arms; i++)
        sum += (int64_t)race->arm[i].retries;
    return sum;
}

/* Whether the clock forbids to submit more candidates. */
bool gt_sweep_is_late(const struct gt_race *race)
{
    return time_is_up(race) &&
           (race->best_us > 0 || race->flights >= LATE_FLIGHTS ||
            race->result->fresh + (int64_t)race->flights + retries(race) >= LATE_TRIALS);
}

/* Whether the budget allows no new point.  Points to be tried again count; otherwise a device that
 * hangs at every point would have the whole space tried.  A guest's incumbent does not count. */
bool gt_sweep_trials_spent(const struct gt_race *race)
{
    const struct gt_budget *budget = &race->options->budget;
    const struct gt_arm *last = race->arms ? &race->arm[race->arms - 1] : NULL;
    int64_t tried =
        race->tried + (int64_t)(race->flights + race->draws - race->drawn) + retries(race);

    if (last && last->guest)
        tried -= last->flying + (int64_t)last->retries;
    return (budget->trials && tried >= budget->trials) ||
           (budget->patience && race->best_us > 0 &&
            race->tried - race->improved_at >= budget->patience);
}

/* ---- the arm that is next ---- */

/* The share of the candidates that an arm deserves.  The incumbent's arm is known to be good,
 * whatever is predicted. */
static double share_of(const struct gt_race *race, const struct gt_arm *arm, double least_predicted)
{
    const struct gt_arm_record record = {
        .drawn = arm->tried + arm->flying - arm->backfilled,
        .reached_us = arm->best_us > 0 ? arm->best_us : arm->reached_us,
        .predicted_us = arm->predicted_us,
        .trusted = arm == race->incumbent_arm,
    };

    return gt_arm_share(&record, race->best_us, least_predicted, GT_SHARE_POWER);
}

/* The arm that may try a point next: the arm with the fewest trials in relation to its share, which
 * falls as its best time grows beyond the best of all arms.  NULL: no arm has a point. */
static struct gt_arm *choose_arm(struct gt_race *race)
{
    struct gt_arm *chosen = NULL;
    double least = 0, least_predicted = INFINITY;

    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].predicted_us > 0)
            least_predicted = fmin(least_predicted, race->arm[i].predicted_us);
    for (size_t i = 0; i < race->arms; i++) {
        struct gt_arm *arm = &race->arm[i];
        double weighted;

        if (arm->done || arm->waiting)
            continue;
        weighted = (double)(arm->tried + arm->flying - arm->backfilled) /
                   share_of(race, arm, least_predicted);
        if (!chosen || weighted < least) {
            chosen = arm;
            least = weighted;
        }
    }
    return chosen;
}

static bool has_urgent(const struct gt_arm *arm)
{
    return arm->retries && arm->retry[arm->retries - 1].urgent;
}

/* Whether the incumbent is the next point of its arm: at first, or after an attempt that something
 * else ended. */
static bool incumbent_waits(const struct gt_race *race)
{
    const struct gt_arm *arm = race->incumbent_arm;

    return race->incumbent_due && has_urgent(arm) &&
           arm->retry[arm->retries - 1].point == race->incumbent_point;
}

/* An arm with a point to be tried again, or NULL. */
static struct gt_arm *arm_to_retry(struct gt_race *race)
{
    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].retries)
            return &race->arm[i];
    return NULL;
}

/* The arm that may submit next, or NULL. */
static struct gt_arm *next_arm(struct gt_race *race)
{
    const struct gt_hint *lead;

    if (incumbent_waits(race))
        return race->incumbent_arm;
    if (gt_sweep_is_late(race))
        return NULL;
    for (size_t i = 0; i < race->arms; i++)
        if (has_urgent(&race->arm[i]))
            return &race->arm[i];
    if (race->closing)
        return NULL;
    if (gt_sweep_trials_spent(race))
        return arm_to_retry(race);
    lead = next_lead(race);
    return lead ? lead->arm : choose_arm(race);
}

/* ---- its point ---- */

/* Takes the next point of an arm.  The order: an urgent point, a lead, a point that is due to be
 * tried again, the strategy's next point, and while the strategy waits, any point to be tried
 * again. */
static enum gt_next next_of(struct gt_race *race, struct gt_arm *arm, struct gt_retry *what)
{
    const struct gt_hint *lead = next_lead(race);
    bool due = arm->retries && arm->retry[arm->retries - 1].due <= race->tried;
    enum gt_next answer;

    *what = (struct gt_retry){0};
    if (arm->retries && gt_sweep_trials_spent(race)) {
        *what = arm->retry[--arm->retries];
        return GT_NEXT_POINT;
    }
    if (!has_urgent(arm) && lead && lead->arm == arm) {
        what->point = lead->point;
        gt_strategy_claim(arm->strategy, lead->point);
        return GT_NEXT_POINT;
    }
    if (!has_urgent(arm) && !due) {
        answer = gt_strategy_next(arm->strategy, &what->point);
        if (answer == GT_NEXT_POINT || !arm->retries)
            return answer;
    }
    *what = arm->retry[--arm->retries];
    return GT_NEXT_POINT;
}

bool gt_sweep_choose_point(struct gt_race *race, struct gt_proposal *next)
{
    while ((next->arm = next_arm(race)) != NULL) {
        const enum gt_next answer = next_of(race, next->arm, &next->what);

        next->arm->waiting = answer == GT_NEXT_WAIT;
        next->arm->done = answer == GT_NEXT_DONE;
        if (answer == GT_NEXT_POINT)
            return true;
    }
    return false;
}

bool gt_sweep_is_awaited(const struct gt_race *race, const struct gt_proposal *proposal)
{
    return race->incumbent_due && proposal->arm == race->incumbent_arm &&
           proposal->what.point == race->incumbent_point;
}
