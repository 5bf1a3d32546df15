/* at_hand.c - points that need no compiler, because their cubins are in the cache.  A trial costs
 * milliseconds; compiling a cubin costs a good part of a second. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/sweep_parts.h"

/* Whether the cubin of an arm's point is in the cache. */
static bool is_at_hand(const struct gt_arm *arm, size_t point)
{
    struct gt_evaluator *evaluator = arm->race->evaluator;
    const struct gt_candidate candidate = gt_arm_candidate(arm, point);

    return evaluator->ops->at_hand && evaluator->ops->at_hand(evaluator, &candidate);
}

/* Claims a point so that the strategy does not give it out. */
static void claim(struct gt_arm *arm, size_t point, struct gt_proposal *next)
{
    gt_strategy_claim(arm->strategy, point);
    arm->backfilled++;
    *next = (struct gt_proposal){.arm = arm, .what.point = point};
}

/* ---- backfill: a starved device tries points that differ from a good point only in launch
 * parameters ---- */

/* A good point's time is at most this times the best, because launch parameters rarely change a
 * time by more.  On an H200, launch parameters changed the time of one cubin in ten by at least 0.5
 * % (simt, 4096^3), 8 to 13 % (hopper) and 19 to 39 % (simt, 2048^3). */
#define BACKFILL_CUTOFF 1.2

/* The limit if the points differ in two launch parameters. */
#define BACKFILL_CUTOFF_TWO 1.05

/* The point's time; INFINITY: a later measurement of it was not ok. */
static double us_of(const struct gt_recent *tried)
{
    const float known = tried->arm->strategy->known[tried->point];

    return known > 0 ? (double)known : (double)INFINITY;
}

/* A point not yet tried that differs from `index` in at most `changes` launch parameters from
 * number `from` on, or SIZE_MAX. */
static size_t relaunched(const struct gt_arm *arm, uint8_t *index, size_t from, int changes)
{
    const struct gt_kernel *kernel = arm->kernel;

    for (size_t p = from; p < kernel->params; p++) {
        const uint8_t was = index[p];

        for (size_t v = 0; kernel->param[p].launch && v < kernel->param[p].count; v++) {
            size_t found;

            index[p] = (uint8_t)v;
            found = gt_space_find_index(&arm->space, index);
            if (found != SIZE_MAX && arm->strategy->known[found] == GT_POINT_NEW)
                return found;
            if (changes > 1)
                found = relaunched(arm, index, p + 1, changes - 1);
            if (changes > 1 && found != SIZE_MAX)
                return found;
        }
        index[p] = was;
    }
    return SIZE_MAX;
}

/* The next good point for backfill.  Points that are not `spent` come before spent points, and the
 * fastest comes first.  SIZE_MAX: no point is worth a trial. */
static size_t next_backfill(const struct gt_race *race)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < race->backfills; i++) {
        const struct gt_recent *recent = &race->backfill[i];
        const struct gt_recent *other = best == SIZE_MAX ? recent : &race->backfill[best];

        if (us_of(recent) > (recent->spent ? BACKFILL_CUTOFF_TWO : BACKFILL_CUTOFF) * race->best_us)
            continue;
        if (best == SIZE_MAX || recent->spent < other->spent ||
            (recent->spent == other->spent && us_of(recent) < us_of(other)))
            best = i;
    }
    return best;
}

bool gt_sweep_backfill(struct gt_race *race, struct gt_proposal *proposal)
{
    size_t next;

    while ((next = next_backfill(race)) != SIZE_MAX) {
        struct gt_recent *recent = &race->backfill[next];
        const size_t params = recent->arm->kernel->params;
        uint8_t index[GT_MAX_PARAMS];
        size_t found;

        memcpy(index, recent->arm->space.index + recent->point * params, params);
        found = relaunched(recent->arm, index, 0, recent->spent ? 2 : 1);
        if (found != SIZE_MAX) {
            claim(recent->arm, found, proposal);
            return true;
        }
        if (recent->spent)
            race->backfill[next] = race->backfill[--race->backfills];
        else
            recent->spent = true;
    }
    return false;
}

/* ---- reuse: a starved device tries points whose cubins other problems have left; a cubin serves
 * every problem of its types, layout and epilogue (render.h) ---- */

#define KEPT       400 /* points kept for an arm; ranking 400 points takes about 10 ms */
#define PROBES     8   /* points of a set looked for; if no cubin is there, the set is left out */
#define RANK_EVERY 32  /* trials of a race after which the points are ranked again */
/* A point is left out if its expected time is more than this times the best: most such points would
 * not be among the 32 that are sampled. */
#define REUSE_CUTOFF 1.3
/* The cutoff where trials are so short that a cubin that is ready meanwhile hardly waits.  Nothing
 * else would use the device, and the models learn from slow points, too. */
#define REUSE_CUTOFF_SHORT 2.0
#define SHORT_S            0.02

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

/* Keeps each point only once, from the nearest set, and then only the KEPT fastest points. */
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

/* Whether one of the set's fastest points has a cubin in the cache.  Problems of other types and
 * layouts need other cubins. */
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

/* Ranks the points by the time that the arm's strategy expects or, before the strategy knows
 * anything, by their times for the other problems. */
static void rank(struct gt_race *race, struct gt_arm *arm)
{
    for (size_t i = 0; i < arm->reuses; i++) {
        struct gt_reuse *reuse = &arm->reuse[i];
        const float us = gt_strategy_expect(arm->strategy, reuse->point);

        reuse->expected = us > 0 && race->best_us > 0 ? us / (float)race->best_us : reuse->slower;
    }
    qsort(arm->reuse, arm->reuses, sizeof(*arm->reuse), by_time);
}

/* The arm whose next point is expected to be fastest; NULL: no point is worth a trial. */
static struct gt_arm *next_reuse(struct gt_race *race)
{
    const double timed = (double)race->result->timed;
    const bool brief = race->evaluator->stats.busy_s < SHORT_S * timed;
    const float cutoff = brief ? (float)REUSE_CUTOFF_SHORT : (float)REUSE_CUTOFF;
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

bool gt_sweep_reuse(struct gt_race *race, struct gt_proposal *next)
{
    struct gt_arm *arm;

    if (race->incumbent_due) /* the incumbent comes first */
        return false;
    for (size_t i = 0; race->tried >= race->reuse_due && i < race->arms; i++)
        if (race->arm[i].reuses)
            rank(race, &race->arm[i]);
    if (race->tried >= race->reuse_due)
        race->reuse_due = race->tried + RANK_EVERY;
    while ((arm = next_reuse(race)) != NULL) {
        const size_t point = arm->reuse[--arm->reuses].point;

        if (arm->strategy->known[point] != GT_POINT_NEW || !is_at_hand(arm, point))
            continue;
        claim(arm, point, next);
        return true;
    }
    return false;
}

/* ---- ready: points that are compiled but not tried: when a race closes, points drawn ahead of the
 * race; at its end, candidates that waited for the device.  The point expected to be fastest is
 * tried first, as long as there is time ---- */

/* The time that the arm's strategy expects of the point or, before the strategy knows anything, the
 * predicted time. */
static float expect(struct gt_arm *arm, size_t point)
{
    const float us = gt_strategy_expect(arm->strategy, point);
    const float predicted = us > 0 ? us : expf(gt_sweep_expect(arm, point));

    return isnan(predicted) ? INFINITY : predicted;
}

/* Adds the point if its cubin is in the cache. */
static int add(struct gt_race *race, const struct gt_proposal *proposal, bool *added,
               struct gt_err *err)
{
    int rc;

    *added = is_at_hand(proposal->arm, proposal->what.point);
    if (!*added)
        return GT_OK;
    rc = GT_ARRAY_RESERVE(&race->ready, race->readies + 1, &race->ready_capacity, err);
    if (rc)
        return rc;
    race->ready[race->readies++] = *proposal;
    proposal->arm->flying--; /* submitting the point counts it again */
    return GT_OK;
}

/* The fastest expected time last; points without an expected time first. */
static int by_expectation(const void *x, const void *y)
{
    const struct gt_proposal *a = x, *b = y;

    if (a->expected != b->expected)
        return a->expected < b->expected ? 1 : -1;
    return (a->what.point < b->what.point) - (a->what.point > b->what.point);
}

int gt_sweep_find_ready(struct gt_race *race, struct gt_err *err)
{
    size_t kept = race->drawn;
    bool added;
    int rc = GT_OK;

    for (size_t i = race->drawn; i < race->draws && !rc; i++) {
        added = false;
        if (!gt_sweep_is_awaited(race, &race->draw[i]))
            rc = add(race, &race->draw[i], &added, err);
        if (!added)
            race->draw[kept++] = race->draw[i];
    }
    if (!rc)
        race->draws = kept;
    for (size_t i = 0; i < race->readies; i++)
        race->ready[i].expected = expect(race->ready[i].arm, race->ready[i].what.point);
    if (race->readies)
        qsort(race->ready, race->readies, sizeof(*race->ready), by_expectation);
    return rc;
}

int gt_sweep_find_dropped(struct gt_race *race, struct gt_err *err)
{
    bool added;
    int rc = GT_OK;

    for (size_t i = 0; i < race->flights && !rc; i++)
        rc = add(race, &(struct gt_proposal){race->flight[i].arm, race->flight[i].what, 0}, &added,
                 err);
    race->flights = 0;
    return rc ? rc : gt_sweep_find_ready(race, err);
}

bool gt_sweep_ready(struct gt_race *race, struct gt_proposal *next)
{
    if (race->incumbent_due || !race->readies) /* the incumbent comes first */
        return false;
    *next = race->ready[--race->readies];
    return true;
}
