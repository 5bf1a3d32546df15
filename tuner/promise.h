/* promise.h - stage "choose": how much a point may gain for what trying it costs. */
#ifndef GT_PROMISE_H
#define GT_PROMISE_H

#include "costs.h"
#include "leaders.h"

/* What a model says of a pool: means and deviations of logarithms of times, one of each per point
 * of the pool, and the best of what is known, on a scale of its own. */
struct gt_outlook {
    const float *mean, *sd;
    double best;
    double bold;  /* deviations that count as one */
    double doubt; /* added to them: of a model that may be sure */
    double unit;  /* a little gain on its scale times this is a share of the best time */
    double trust; /* probability that it is right */
};

/* The NEW point of the pool with the greatest expected improvement (Jones, Schonlau, Welch, Journal
 * of Global Optimization 13, 1998) for its cost, under the mixture of the models: its place in the
 * pool, SIZE_MAX if none is NEW.  hope: the greatest improvement that the first model expects of
 * any of them, a share of the best time. */
size_t gt_promising(const struct gt_strategy *strategy, const struct gt_pool *pool,
                    const struct gt_costs *costs, const struct gt_outlook *outlook, size_t outlooks,
                    double *hope);

#endif
