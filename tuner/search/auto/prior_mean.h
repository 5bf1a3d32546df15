/* prior_mean.h - what is known of points before they are tried, as prior means for a Gaussian
 * process: transfer data (times of the same kernel's points in other circumstances) and the
 * expectation of a model. */
#ifndef GT_PRIOR_MEAN_H
#define GT_PRIOR_MEAN_H

#include "search/auto/elites.h"
#include "search/auto/gp.h"

struct gt_prior_mean; /* of one set of transfer data, with a gp for the points it does not hold */

struct gt_prior_means {
    size_t count;
    struct gt_prior_mean *prior[GT_GP_PRIORS];
    float (*expect)(void *context, size_t point); /* the last prior mean, if not NULL */
    void *context;
    float level;  /* of expect, so that it is about 0 where it is best */
    size_t *best; /* points with the lowest means of the priors, lowest first */
    size_t bests, next;
};

/* given: may be NULL.  Of more transfer data than there is space for, the first are taken. */
int gt_prior_mean_init(struct gt_prior_means *priors, const struct gt_space *space,
                       const struct gt_seeds *given, struct gt_err *err);
void gt_prior_mean_release(struct gt_prior_means *priors); /* a zeroed one is accepted */

/* The logarithm of how much slower than the best a point was, or is expected to be, there. */
float gt_prior_mean_of(const struct gt_prior_means *priors, size_t prior, size_t point);

/* The NEW point with the lowest mean of the priors, each once; SIZE_MAX: no more. */
size_t gt_prior_mean_next(struct gt_prior_means *priors, const struct gt_strategy *strategy);

/* Adds points with the lowest means to a pool until it has that many. */
void gt_prior_mean_fill(const struct gt_prior_means *priors, const struct gt_strategy *strategy,
                        struct gt_pool *pool, size_t count);

#endif
