/* gauss.h - stage "choose": the Gaussian process (surrogate.h) of what a strategy was told, kept up
 * to date with what is in flight; for `auto`. */
#ifndef GT_GAUSS_H
#define GT_GAUSS_H

#include "search/auto/hints.h"
#include "search/auto/leaders.h"
#include "search/auto/promise.h"
#include "search/auto/surrogate.h"

#define GT_GAUSS_FLYING 48 /* points in flight that it takes into account */

struct gt_gauss {
    const struct gt_strategy *strategy;
    const struct gt_hints *hints;
    struct gt_surrogate *surrogate;
    struct {
        size_t point, number; /* observation of the surrogate, SIZE_MAX: none */
        float expected;
    } flight[GT_GAUSS_FLYING];
    size_t flights;
    size_t fit_at, learn_at; /* leaders.told when to fit, to learn next */
    size_t fit_best;         /* the best point when it was fitted; SIZE_MAX: not yet */
    double room;             /* share by which the best may be beaten, at most */
    double level;            /* the best time when it was fitted */
};

/* strategy and hints must outlive it. */
int gt_gauss_init(struct gt_gauss *gauss, const struct gt_strategy *strategy,
                  const struct gt_hints *hints, double room, struct gt_err *err);
void gt_gauss_release(struct gt_gauss *gauss); /* a zeroed one is accepted */

/* Enough was told since the last fit, or something better than all before. */
bool gt_gauss_is_stale(const struct gt_gauss *gauss, const struct gt_leaders *leaders);
bool gt_gauss_is_fitted(const struct gt_gauss *gauss);

/* Fits it to a choice of what is known, and to what is in flight as it was expected to be. */
void gt_gauss_fit(struct gt_gauss *gauss, const struct gt_leaders *leaders,
                  const struct gt_pool *pool);

/* What a point told counts for: see gauss.c; `gauss` is a struct gt_gauss, fitted once at least. */
float gt_gauss_worth(const void *gauss, size_t point);

/* Of the pool it was fitted with; valid until something is told or given out.  A little gain on its
 * scale times `room` is a share of the best time. */
struct gt_outlook gt_gauss_outlook(struct gt_gauss *gauss);

/* The mean of any point, on the scale of the outlook; the logarithm of the time a mean stands for.
 */
float gt_gauss_mean(struct gt_gauss *gauss, size_t point);
double gt_gauss_expects(const struct gt_gauss *gauss, float mean);

/* The point at that place of the pool is given out, of which the outlook expects that mean.  Until
 * told it counts as observed with it; what does not fit in is not known to be in flight. */
void gt_gauss_take_off(struct gt_gauss *gauss, const struct gt_pool *pool, size_t at,
                       float expected);
void gt_gauss_tell(struct gt_gauss *gauss, size_t point);

#endif
