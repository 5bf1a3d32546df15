/* ready.c - what is compiled and not tried when a race closes: points that were drawn ahead of it,
 * and at its end candidates that waited for the device.  Trying one costs milliseconds, compiling
 * it has cost a good part of a second; so those whose cubin is in the cache are tried, the one
 * expected to be fastest first, as far as the time goes. */
#include "sweep/sweep_parts.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* What the arm's strategy expects of the point or, before it knows anything, the predictor. */
static float expect(struct gt_arm *arm, size_t point)
{
    const float us = gt_strategy_expect(arm->strategy, point);

    return us > 0 ? us : expf(gt_sweep_expect(arm, point));
}

/* Adds the point if its cubin is in the cache. */
static int add(struct gt_race *race, struct gt_arm *arm, struct gt_retry what, bool *added,
               struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_candidate candidate = {
        .kernel = arm->kernel, .problem = race->problem, .device = &evaluator->device};
    int rc;

    gt_space_point(&arm->space, what.point, &candidate.point);
    *added = evaluator->ops->at_hand && evaluator->ops->at_hand(evaluator, &candidate);
    if (!*added)
        return GT_OK;
    rc = GT_ARRAY_RESERVE(&race->ready, race->readies + 1, &race->ready_capacity, err);
    if (rc)
        return rc;
    race->ready[race->readies++] = (struct gt_ready){.arm = arm, .what = what};
    arm->flying--; /* submitting it counts it again */
    return GT_OK;
}

/* The fastest last; those of which nothing is expected come first. */
static int by_time(const void *x, const void *y)
{
    const struct gt_ready *a = x, *b = y;
    const float of_a = isnan(a->expected) ? INFINITY : a->expected;
    const float of_b = isnan(b->expected) ? INFINITY : b->expected;

    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return (a->what.point < b->what.point) - (a->what.point > b->what.point);
}

static void sort(struct gt_race *race)
{
    for (size_t i = 0; i < race->readies; i++)
        race->ready[i].expected = expect(race->ready[i].arm, race->ready[i].what.point);
    if (race->readies)
        qsort(race->ready, race->readies, sizeof(*race->ready), by_time);
}

int gt_sweep_find_ready(struct gt_race *race, struct gt_err *err)
{
    size_t kept = race->drawn;
    bool added;
    int rc = GT_OK;

    for (size_t i = race->drawn; i < race->draws && !rc; i++) {
        added = false;
        if (!gt_sweep_is_awaited(race, &race->draw[i]))
            rc = add(race, race->draw[i].arm, race->draw[i].what, &added, err);
        if (!added)
            race->draw[kept++] = race->draw[i];
    }
    if (!rc)
        race->draws = kept;
    sort(race);
    return rc;
}

int gt_sweep_find_dropped(struct gt_race *race, struct gt_err *err)
{
    bool added;
    int rc = GT_OK;

    for (size_t i = 0; i < race->flights && !rc; i++)
        rc = add(race, race->flight[i].arm, race->flight[i].what, &added, err);
    race->flights = 0;
    return rc ? rc : gt_sweep_find_ready(race, err);
}

bool gt_sweep_ready(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    if (race->incumbent_due || !race->readies) /* the incumbent comes first */
        return false;
    *arm = race->ready[--race->readies].arm;
    *what = race->ready[race->readies].what;
    return true;
}
