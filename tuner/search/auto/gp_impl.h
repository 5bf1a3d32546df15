/* gp_impl.h - what gp.c and gp_learn.c share; nobody else includes it. */
#ifndef GT_GP_IMPL_H
#define GT_GP_IMPL_H

#include "search/auto/gp.h"

/* Where learning of the covariance begins, and medians of its priors. */
#define GT_GP_LENGTH 0.7  /* length scale, a parameter's range being 1 */
#define GT_GP_NOISE  1e-3 /* variance, as a share of that of the times */

#define GT_GP_SCALE_WEIGHT 2 /* observations that the first guess of the scale counts as */

struct gt_gp {
    const struct gt_space *space;
    size_t active[GT_MAX_PARAMS], actives; /* parameters with a choice */
    double length[GT_MAX_PARAMS];          /* of active ones */
    double noise, additive;                /* variance; share of the sum in the covariance */
    double prior_variance;                 /* variance of a prior's coefficient  */
    double scale, trend;                   /* variance of the times; their mean */
    float *table[GT_MAX_PARAMS];           /* of active ones: similarity of values, count x count */
    size_t priors;
    gt_gp_prior *prior;
    void *context;
    float offset[GT_GP_PRIORS];      /* of each prior, its mean over the points seen */
    const uint8_t *seen[GT_GP_SEEN]; /* indices of the values */
    size_t count, pools;
    double y[GT_GP_SEEN];           /* less prior_sum */
    float *seen_prior, *pool_prior; /* priors of each */
    uint8_t *column[GT_MAX_PARAMS]; /* of active ones: the value of each point of the pool */
    size_t pool[GT_GP_POOL];
    double *triangular; /* GT_GP_SEEN x GT_GP_SEEN */
    float *cross;       /* GT_GP_SEEN x GT_GP_POOL */
    float mean[GT_GP_POOL], sd[GT_GP_POOL];
    float rest[GT_GP_POOL];                /* variance left, as a share of scale */
    double one[GT_GP_SEEN], z[GT_GP_SEEN]; /* L^-1 1, L^-1 y */
    double weight[GT_GP_SEEN];             /* K^-1 (y - trend), for single points */
    bool weighed;
};

/* Length scale a was changed: fills its table of similarities. */
void gt_gp_fill_table(struct gt_gp *gp, size_t a);

/* Solves for the first n observations; returns half the logarithm of the determinant of K. */
double gt_gp_solve(struct gt_gp *gp, size_t n);

/* Trend and scale from what is solved; returns the scale. */
double gt_gp_fit_trend(struct gt_gp *gp, size_t n);

/* Chooses the numbers of the covariance by the observations. */
void gt_gp_learn(struct gt_gp *gp);

#endif
