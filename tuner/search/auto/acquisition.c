/* acquisition.c - stage "choose": how much a point may gain for what trying it costs. */
#include "search/auto/acquisition.h"

#include <math.h>

/* Expected of the point at place c of the pool. */
static double gain_of(const struct gt_prediction *prediction, size_t c)
{
    double sd = (double)prediction->sd[c],
           z = (prediction->best - (double)prediction->mean[c]) / sd;

    return sd * (z * 0.5 * erfc(-z * M_SQRT1_2) + exp(-0.5 * z * z) / sqrt(2 * M_PI));
}

size_t gt_acquisition_best(const struct gt_strategy *strategy, const struct gt_pool *pool,
                           const struct gt_costs *costs, const struct gt_prediction *prediction)
{
    size_t found = SIZE_MAX;
    double most = -1;

    for (size_t c = 0; c < pool->count; c++) {
        double worth;

        if (strategy->known[pool->point[c]] != GT_POINT_NEW)
            continue;
        worth = gain_of(prediction, c) / gt_costs_of(costs, pool->point[c]);
        if (worth > most) {
            most = worth;
            found = c;
        }
    }
    return found;
}

double gt_expected_improvement(const struct gt_strategy *strategy, const struct gt_pool *pool,
                               const struct gt_prediction *prediction)
{
    double most = 0;

    for (size_t c = 0; c < pool->count; c++)
        if (strategy->known[pool->point[c]] == GT_POINT_NEW)
            most = fmax(most, gain_of(prediction, c));
    return most;
}
