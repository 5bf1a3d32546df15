/* spare.c - what a device tries that would otherwise wait for the compilers: points whose
 * cubin is at hand, because one that differs only in launch parameters was tried and was good. */
#include "sweep/sweep_parts.h"

#include <math.h>
#include <string.h>

/* Times the best: launch parameters do not make up for more.  On an H200 they changed one cubin in
 * ten by 0.5 % (simt, 4096^3), 8 to 13 % (hopper), 19 to 39 % (simt, 2048^3) and more. */
#define HOPEFUL 1.2

int gt_sweep_spare_note(struct gt_race *race, struct gt_lane *lane, size_t point,
                        struct gt_err *err)
{
    int rc = gt_sweep_reserve((void **)&race->spare, race->spares, &race->spare_capacity,
                              sizeof(*race->spare), err);

    if (!rc)
        race->spare[race->spares++] = (struct gt_recent){lane, point};
    return rc;
}

/* INFINITY: measured again, it was no good. */
static double us_of(const struct gt_recent *tried)
{
    const float known = tried->lane->strategy->known[tried->point];

    return known > 0 ? (double)known : (double)INFINITY;
}

/* A NEW point that differs from `point` in one launch parameter, or SIZE_MAX. */
static size_t relaunched(const struct gt_lane *lane, size_t point)
{
    const struct gt_kernel *kernel = lane->kernel;
    uint8_t index[GT_MAX_PARAMS];

    memcpy(index, lane->space.index + point * kernel->params, kernel->params);
    for (size_t p = 0; p < kernel->params; p++) {
        const uint8_t was = index[p];

        for (size_t v = 0; kernel->param[p].launch && v < kernel->param[p].count; v++) {
            size_t found;

            index[p] = (uint8_t)v;
            found = gt_space_find_index(&lane->space, index);
            if (found != SIZE_MAX && lane->strategy->known[found] == GT_POINT_NEW)
                return found;
        }
        index[p] = was;
    }
    return SIZE_MAX;
}

bool gt_sweep_spare(struct gt_race *race, struct gt_lane **lane, struct gt_retry *what)
{
    while (race->spares) {
        size_t best = 0, found;

        for (size_t i = 1; i < race->spares; i++)
            if (us_of(&race->spare[i]) < us_of(&race->spare[best]))
                best = i;
        if (us_of(&race->spare[best]) > HOPEFUL * race->best_us)
            return false;
        *lane = race->spare[best].lane;
        found = relaunched(*lane, race->spare[best].point);
        if (found != SIZE_MAX) {
            gt_strategy_claim((*lane)->strategy, found);
            (*lane)->spared++;
            *what = (struct gt_retry){.point = found};
            return true;
        }
        race->spare[best] = race->spare[--race->spares]; /* all its kin were tried */
    }
    return false;
}
