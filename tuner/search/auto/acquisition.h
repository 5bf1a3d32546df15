/* acquisition.h - stage "choose": how much a point may gain for what trying it costs. */
#ifndef GT_ACQUISITION_H
#define GT_ACQUISITION_H

#include "search/auto/costs.h"
#include "search/auto/elites.h"

/* What a model says of a pool: means and deviations of logarithms of times (or of another scale),
 * one of each per point of the pool, and the best of what is known on that scale. */
struct gt_prediction {
    const float *mean, *sd;
    double best;
};

/* The NEW point of the pool with the greatest expected improvement (Jones, Schonlau, Welch, Journal
 * of Global Optimization 13, 1998) for its cost: its place in the pool, SIZE_MAX if none is NEW. */
size_t gt_acquisition_best(const struct gt_strategy *strategy, const struct gt_pool *pool,
                           const struct gt_costs *costs, const struct gt_prediction *prediction);

/* The greatest expected improvement of any NEW point of the pool, 0 if there is none. */
double gt_expected_improvement(const struct gt_strategy *strategy, const struct gt_pool *pool,
                               const struct gt_prediction *prediction);

#endif
