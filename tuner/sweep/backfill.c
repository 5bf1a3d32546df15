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

int gt_sweep_backfill_note(struct gt_race *race, struct gt_arm *arm, size_t point,
                           struct gt_err *err)
{
    int rc = GT_ARRAY_RESERVE(&race->backfill, race->backfills + 1, &race->backfill_capacity, err);

    if (!rc)
        race->backfill[race->backfills++] = (struct gt_recent){arm, point};
    return rc;
}

/* The point's time; INFINITY: a later measurement of it was not ok. */
static double us_of(const struct gt_recent *tried)
{
    const float known = tried->arm->strategy->known[tried->point];

    return known > 0 ? (double)known : (double)INFINITY;
}

/* A point not yet tried that differs from `point` in one launch parameter, or SIZE_MAX. */
static size_t relaunched(const struct gt_arm *arm, size_t point)
{
    const struct gt_kernel *kernel = arm->kernel;
    uint8_t index[GT_MAX_PARAMS];

    memcpy(index, arm->space.index + point * kernel->params, kernel->params);
    for (size_t p = 0; p < kernel->params; p++) {
        const uint8_t was = index[p];

        for (size_t v = 0; kernel->param[p].launch && v < kernel->param[p].count; v++) {
            size_t found;

            index[p] = (uint8_t)v;
            found = gt_space_find_index(&arm->space, index);
            if (found != SIZE_MAX && arm->strategy->known[found] == GT_POINT_NEW)
                return found;
        }
        index[p] = was;
    }
    return SIZE_MAX;
}

bool gt_sweep_backfill(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    while (race->backfills) {
        size_t best = 0, found;

        for (size_t i = 1; i < race->backfills; i++)
            if (us_of(&race->backfill[i]) < us_of(&race->backfill[best]))
                best = i;
        if (us_of(&race->backfill[best]) > CUTOFF * race->best_us)
            return false;
        *arm = race->backfill[best].arm;
        found = relaunched(*arm, race->backfill[best].point);
        if (found != SIZE_MAX) {
            gt_strategy_claim((*arm)->strategy, found);
            (*arm)->backfilled++;
            *what = (struct gt_retry){.point = found};
            return true;
        }
        /* All points that differ from it in one launch parameter were tried. */
        race->backfill[best] = race->backfill[--race->backfills];
    }
    return false;
}
