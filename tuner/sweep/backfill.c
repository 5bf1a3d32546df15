/* backfill.c - what a starved device tries while it waits for the compilers: points whose cubin is
 * in the cache, because a point that differs only in launch parameters was tried and was good. */
#include "sweep/sweep_parts.h"

#include "base/array.h"
#include <math.h>
#include <string.h>

/* A point is left out if its time is more than this times the best, because launch parameters
 * rarely change a time by more.  On an H200 they changed one cubin in ten by 0.5 % (simt, 4096^3),
 * 8 to 13 % (hopper), 19 to 39 % (simt, 2048^3) and more. */
#define CUTOFF 1.2

/* The same for points that differ in two launch parameters. */
#define CUTOFF_TWO 1.05

int gt_sweep_backfill_note(struct gt_race *race, struct gt_arm *arm, size_t point,
                           struct gt_err *err)
{
    int rc = GT_ARRAY_RESERVE(&race->backfill, race->backfills + 1, &race->backfill_capacity, err);

    if (!rc)
        race->backfill[race->backfills++] = (struct gt_recent){.arm = arm, .point = point};
    return rc;
}

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

/* The next of the list: one of which not all points that differ in one launch parameter were tried
 * comes before the others, and the faster one first.  SIZE_MAX: none is worth a trial. */
static size_t next_of(const struct gt_race *race)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < race->backfills; i++) {
        const struct gt_recent *recent = &race->backfill[i];
        const struct gt_recent *other = best == SIZE_MAX ? recent : &race->backfill[best];

        if (us_of(recent) > (recent->spent ? CUTOFF_TWO : CUTOFF) * race->best_us)
            continue;
        if (best == SIZE_MAX || recent->spent < other->spent ||
            (recent->spent == other->spent && us_of(recent) < us_of(other)))
            best = i;
    }
    return best;
}

bool gt_sweep_backfill(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    size_t next;

    while ((next = next_of(race)) != SIZE_MAX) {
        struct gt_recent *recent = &race->backfill[next];
        const size_t params = recent->arm->kernel->params;
        uint8_t index[GT_MAX_PARAMS];
        size_t found;

        memcpy(index, recent->arm->space.index + recent->point * params, params);
        found = relaunched(recent->arm, index, 0, recent->spent ? 2 : 1);
        if (found != SIZE_MAX) {
            *arm = recent->arm;
            gt_strategy_claim((*arm)->strategy, found);
            (*arm)->backfilled++;
            *what = (struct gt_retry){.point = found};
            return true;
        }
        if (recent->spent)
            race->backfill[next] = race->backfill[--race->backfills];
        else
            recent->spent = true;
    }
    return false;
}
