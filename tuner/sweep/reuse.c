/* reuse.c - what a starved device tries beside backfill: points of which other problems have left a
 * cubin in the cache.  A cubin serves every problem of its types, layout and epilogue (render.h),
 * so that such a point costs a launch and no compiler. */
#include "sweep/sweep_parts.h"

#include "base/array.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT       400 /* points of an arm; ranking them takes about 10 ms */
#define PROBES     8   /* cubins of a set of transfer data that are looked for; none: left out */
#define RANK_EVERY 32  /* trials of a race after which the points are ranked again */
/* A point is left out if its expected time is more than this times the best: most of those left
 * would not come among the 32 that are timed again. */
#define CUTOFF 1.3
/* The same where trials are so short that a cubin which comes meanwhile hardly waits.  Nothing else
 * would use the device, and the models learn from slow points, too. */
#define CUTOFF_SHORT 2.0
#define SHORT_S      0.02

static bool is_at_hand(const struct gt_arm *arm, size_t point)
{
    struct gt_evaluator *evaluator = arm->race->evaluator;
    struct gt_candidate candidate = {
        .kernel = arm->kernel, .problem = arm->race->problem, .device = &evaluator->device};

    gt_space_point(&arm->space, point, &candidate.point);
    return evaluator->ops->at_hand(evaluator, &candidate);
}

static int by_point(const void *x, const void *y)
{
    const struct gt_reuse *a = x, *b = y;

    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    return (a->set > b->set) - (a->set < b->set);
}

/* The fastest last. */
static int by_time(const void *x, const void *y)
{
    const struct gt_reuse *a = x, *b = y;

    if (a->expected != b->expected)
        return a->expected < b->expected ? 1 : -1;
    return (a->point < b->point) - (a->point > b->point);
}

/* Leaves of each point the one of the nearest set, and of all of them the fastest. */
static void tidy(struct gt_arm *arm)
{
    struct gt_reuse *list = arm->reuse;
    size_t kept = 0;

    qsort(list, arm->reuses, sizeof(*list), by_point);
    for (size_t i = 0; i < arm->reuses; i++)
        if (!kept || list[kept - 1].point != list[i].point)
            list[kept++] = list[i];
    qsort(list, kept, sizeof(*list), by_time);
    arm->reuses = kept < KEPT ? kept : KEPT;
    memmove(list, list + kept - arm->reuses, arm->reuses * sizeof(*list));
}

/* Whether one of the set's fastest points has a cubin here: problems of other types and layouts
 * need cubins of their own. */
static bool serves(const struct gt_arm *arm, const struct gt_reuse *set, size_t count)
{
    for (size_t i = 0; i < count && i < PROBES; i++)
        if (is_at_hand(arm, set[count - 1 - i].point))
            return true;
    return false;
}

int gt_sweep_reuse_note(struct gt_arm *arm, const struct gt_transfers *transfers,
                        struct gt_err *err)
{
    size_t capacity = 0;

    if (!arm->race->evaluator->ops->at_hand)
        return GT_OK;
    for (size_t t = 0; t < transfers->count; t++) {
        const struct gt_transfer *from = &transfers->transfer[t];
        struct gt_reuse *set;
        float best = INFINITY;

        if (GT_ARRAY_RESERVE(&arm->reuse, arm->reuses + from->count, &capacity, err))
            return GT_ENOMEM;
        set = arm->reuse + arm->reuses;
        for (size_t i = 0; i < from->count; i++)
            best = fminf(best, from->us[i]);
        for (size_t i = 0; i < from->count; i++)
            set[i] = (struct gt_reuse){.point = from->point[i],
                                       .set = t,
                                       .slower = from->us[i] / best,
                                       .expected = from->us[i] / best};
        qsort(set, from->count, sizeof(*set), by_time);
        if (serves(arm, set, from->count))
            arm->reuses += from->count;
    }
    if (arm->reuses)
        tidy(arm);
    return GT_OK;
}

/* Ranks the points by what the arm's strategy expects of them or, before it knows anything, by
 * their times for the other problems. */
static void rank(struct gt_race *race, struct gt_arm *arm)
{
    for (size_t i = 0; i < arm->reuses; i++) {
        struct gt_reuse *reuse = &arm->reuse[i];
        const float us = gt_strategy_expect(arm->strategy, reuse->point);

        reuse->expected = us > 0 && race->best_us > 0 ? us / (float)race->best_us : reuse->slower;
    }
    qsort(arm->reuse, arm->reuses, sizeof(*arm->reuse), by_time);
}

/* The arm whose next point is expected to be the fastest; NULL: none is worth a trial. */
static struct gt_arm *next_arm(struct gt_race *race)
{
    const double timed = (double)race->result->timed;
    const bool brief = race->evaluator->stats.busy_s < SHORT_S * timed;
    const float cutoff = brief ? (float)CUTOFF_SHORT : (float)CUTOFF;
    struct gt_arm *best = NULL;

    for (size_t i = 0; i < race->arms; i++) {
        struct gt_arm *arm = &race->arm[i];
        float expected;

        if (!arm->reuses)
            continue;
        expected = arm->reuse[arm->reuses - 1].expected;
        if (expected <= cutoff && (!best || expected < best->reuse[best->reuses - 1].expected))
            best = arm;
    }
    return best;
}

bool gt_sweep_reuse(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    if (race->incumbent_due) /* it comes first */
        return false;
    for (size_t i = 0; race->tried >= race->reuse_due && i < race->arms; i++)
        if (race->arm[i].reuses)
            rank(race, &race->arm[i]);
    if (race->tried >= race->reuse_due)
        race->reuse_due = race->tried + RANK_EVERY;
    while ((*arm = next_arm(race)) != NULL) {
        const size_t point = (*arm)->reuse[--(*arm)->reuses].point;

        if ((*arm)->strategy->known[point] != GT_POINT_NEW || !is_at_hand(*arm, point))
            continue;
        gt_strategy_claim((*arm)->strategy, point);
        (*arm)->backfilled++;
        *what = (struct gt_retry){.point = point};
        return true;
    }
    return false;
}
