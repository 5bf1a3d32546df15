/* prior_mean.h - prior means for a Gaussian process, known before points are tried: transfer data
 * (times of the same kernel's points in other circumstances) and the times that a model expects. */
#ifndef GT_PRIOR_MEAN_H
#define GT_PRIOR_MEAN_H

#include "search/auto/elites.h"
#include "search/auto/gp.h"

struct gt_prior_mean; /* one set of transfer data, with a gp for the points that the set does not
                         hold */

struct gt_prior_means {
    size_t count;
    struct gt_prior_mean *prior[GT_GP_PRIORS];
    float (*expect)(void *context, size_t point); /* the last prior mean, if not NULL */
    void *context;
    float level;  /* subtracted from `expect`, so that the best expected points are about 0 */
    size_t *best; /* points with the lowest means of the priors, lowest first */
    size_t bests, next;
};

/* given: may be NULL.  If there are more sets of transfer data than prior means, the first sets are
 * taken. */
int gt_prior_mean_init(struct gt_prior_means *priors, const struct gt_space *space,
                       const struct gt_seeds *given, struct gt_err *err);
void gt_prior_mean_release(struct gt_prior_means *priors); /* a zeroed one is accepted */

/* The logarithm of a point's time, measured or expected in the circumstances of the prior, over the
 * best time there. */
float gt_prior_mean_of(const struct gt_prior_means *priors, size_t prior, size_t point);

/* The next NEW point by the mean of the priors, lowest first; each point once.  SIZE_MAX: no
 * more. */
size_t gt_prior_mean_next(struct gt_prior_means *priors, const struct gt_strategy *strategy);

/* Adds points with the lowest means to a pool until the pool has `count` points. */
void gt_prior_mean_fill(const struct gt_prior_means *priors, const struct gt_strategy *strategy,
                        struct gt_pool *pool, size_t count);

#endif
