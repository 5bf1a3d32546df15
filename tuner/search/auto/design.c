/* design.c - the first points of a search that has no seeds. */
#include "search/auto/design.h"

#include <math.h>

#define DRAWS       20   /* points from which each one of the design is chosen */
#define FIRST_DRAWS 4096 /* the same for the first */

/* Distance of two points, or of a point from the middle (other: SIZE_MAX), a parameter's range
 * being 1. */
static double distance(const struct gt_space *space, size_t point, size_t other)
{
    const struct gt_kernel *kernel = space->kernel;
    const uint8_t *x = space->index + point * kernel->params;
    double sum = 0;

    for (size_t p = 0; p < kernel->params; p++) {
        double range = (double)kernel->param[p].count - 1;
        double y = range / 2;

        if (other != SIZE_MAX)
            y = space->index[other * kernel->params + p];
        if (range > 0)
            sum += fabs(x[p] - y) / range;
    }
    return sum;
}

size_t gt_spread(struct gt_strategy *strategy, const size_t *start, size_t starts)
{
    size_t draws = starts ? DRAWS : FIRST_DRAWS, best = SIZE_MAX;
    double most = 0;

    for (size_t t = 0; t < draws; t++) {
        size_t point = gt_strategy_draw(strategy);
        double far = starts ? distance(strategy->space, point, start[0]) : 0, worth;

        for (size_t i = 1; i < starts; i++)
            far = fmin(far, distance(strategy->space, point, start[i]));
        worth = far - distance(strategy->space, point, SIZE_MAX);
        if (best == SIZE_MAX || worth > most) {
            most = worth;
            best = point;
        }
    }
    return best;
}
