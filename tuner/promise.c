/* promise.c - stage "choose": how much a point may gain for what trying it costs. */
#include "promise.h"

#include <math.h>

/* Of a gain below `best`, a logarithm, at a point of that mean and deviation. */
static double improvement(double best, double mean, double sd)
{
    double z = (best - mean) / sd;

    return sd * (z * 0.5 * erfc(-z * M_SQRT1_2) + exp(-0.5 * z * z) / sqrt(2 * M_PI));
}

size_t gt_promising(const struct gt_strategy *strategy, const struct gt_pool *pool,
                    const struct gt_costs *costs, const struct gt_outlook *outlook, double *gain)
{
    size_t found = SIZE_MAX;
    double most = -1;

    for (size_t c = 0; c < pool->count; c++) {
        double g, worth;

        if (strategy->known[pool->point[c]] != GT_POINT_NEW)
            continue;
        g = improvement(outlook->best, (double)outlook->mean[c],
                        outlook->bold * (double)outlook->sd[c] + outlook->doubt);
        worth = g / gt_costs_of(costs, pool->point[c]);
        if (worth > most) {
            most = worth;
            *gain = g;
            found = c;
        }
    }
    return found;
}
