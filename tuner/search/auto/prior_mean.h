/* prior_mean.h - what is known of points before they are tried: the expectation of a model, and
 * times of the same kernel's points in other circumstances, as hints for a surrogate. */
#ifndef GT_PRIOR_MEAN_H
#define GT_PRIOR_MEAN_H

#include "search/auto/elites.h"
#include "search/auto/gp.h"

struct gt_prior_mean; /* one prior, and a surrogate of it for the points it does not know */

struct gt_prior_means {
    size_t count;
    struct gt_prior_mean *hint[GT_GP_PRIORS];
    float (*expect)(void *context, size_t point); /* the last hint, if not NULL */
    void *context;
    float level;  /* of expect, so that it is about 0 where it is best */
    size_t *best; /* points with the best hints, best first */
    size_t bests, next;
};

/* given: may be NULL.  Of more priors than there is room for the first are taken. */
int gt_prior_mean_init(struct gt_prior_means *hints, const struct gt_space *space,
                       const struct gt_seeds *given, struct gt_err *err);
void gt_prior_mean_release(struct gt_prior_means *hints); /* a zeroed one is accepted */

/* The logarithm of how much slower than the best a point was, or is thought to be, there. */
float gt_prior_mean_of(const struct gt_prior_means *hints, size_t hint, size_t point);

/* The NEW point with the best hints, each once; SIZE_MAX: no more. */
size_t gt_prior_mean_next(struct gt_prior_means *hints, const struct gt_strategy *strategy);

/* Adds points with the best hints to a pool, up to that many in it. */
void gt_prior_mean_fill(const struct gt_prior_means *hints, const struct gt_strategy *strategy,
                        struct gt_pool *pool, size_t count);

#endif
