/* choose.c - which point a race tries next, and when its clock or its budget leaves none. */
#include "sweep/sweep_parts.h"

/* Limits of a problem that has no time yet when its deadline has passed. */
#define LATE_FLIGHTS 4  /* candidates in flight, because the next problem waits */
#define LATE_TRIALS  16 /* of a turn; after so many failures the others would probably fail too */

static bool time_is_up(const struct gt_race *race)
{
    return race->deadline_s > 0 && gt_evaluator_now(race->evaluator) >= race->deadline_s;
}

bool gt_sweep_clock_ends(const struct gt_race *race)
{
    return time_is_up(race) && race->best_us > 0 && !race->incumbent_due;
}

/* Candidates whose status may change when they are tried again. */
static int64_t retries(const struct gt_race *race)
{
    int64_t sum = 0;

    for (size_t i = 0; i < race->arms; i++)
        sum += (int64_t)race->arm[i].retries;
    return sum;
}

bool gt_sweep_is_late(const struct gt_race *race)
{
    return time_is_up(race) &&
           (race->best_us > 0 || race->flights >= LATE_FLIGHTS ||
            race->result->fresh + (int64_t)race->flights + retries(race) >= LATE_TRIALS);
}

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

static bool has_urgent(const struct gt_arm *arm)
{
    return arm->retries && arm->retry[arm->retries - 1].urgent;
}

/* Whether the incumbent is the next point of its arm, at first or after an attempt that another
 * cause ended. */
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
    const struct gt_lead *lead;

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
    lead = gt_sweep_next_lead(race);
    return lead ? lead->arm : gt_sweep_choose_arm(race);
}

/* Takes the next point of an arm.  An urgent point comes first, then a near winner's, one that is
 * due, the strategy's, and while the strategy waits, any point to be tried again. */
static enum gt_next next_of(struct gt_race *race, struct gt_arm *arm, struct gt_retry *what)
{
    const struct gt_lead *lead = gt_sweep_next_lead(race);
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

bool gt_sweep_choose_point(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    while ((*arm = next_arm(race)) != NULL) {
        enum gt_next answer = next_of(race, *arm, what);

        (*arm)->waiting = answer == GT_NEXT_WAIT;
        (*arm)->done = answer == GT_NEXT_DONE;
        if (answer == GT_NEXT_POINT)
            return true;
    }
    return false;
}

bool gt_sweep_is_awaited(const struct gt_race *race, const struct gt_draw *draw)
{
    return race->incumbent_due && draw->arm == race->incumbent_arm &&
           draw->what.point == race->incumbent_point;
}
