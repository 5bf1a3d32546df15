/* promise.c - stage "choose": how much a point may gain for what trying it costs. */
#include "promise.h"

#include <math.h>

/* Of a gain below `best`, a logarithm, at a point of that mean and deviation. */
static double improvement(double best, double mean, double sd)
{
    double z = (best - mean) / sd;

    return sd * (z * 0.5 * erfc(-z * M_SQRT1_2) + exp(-0.5 * z * z) / sqrt(2 * M_PI));
}

/* Of the point at place c of the pool, a share of the best time. */
static double gain_of(const struct gt_outlook *outlook, size_t c)
{
    double sd = outlook->bold * (double)outlook->sd[c] + outlook->doubt;

    return outlook->unit * improvement(outlook->best, (double)outlook->mean[c], sd);
}

size_t gt_promising(const struct gt_strategy *strategy, const struct gt_pool *pool,
                    const struct gt_costs *costs, const struct gt_outlook *outlook, size_t outlooks,
                    double *hope)
{
    size_t found = SIZE_MAX;
    double most = -1;

    *hope = 0;
    for (size_t c = 0; c < pool->count; c++) {
        double first, gain, worth;

        if (strategy->known[pool->point[c]] != GT_POINT_NEW)
            continue;
        first = gain_of(outlook, c);
        *hope = fmax(*hope, first);
        gain = outlook->trust * first;
        for (size_t o = 1; o < outlooks; o++)
            gain += outlook[o].trust * gain_of(&outlook[o], c);
        worth = gain / gt_costs_of(costs, pool->point[c]);
        if (worth > most) {
            most = worth;
            found = c;
        }
    }
    return found;
}
