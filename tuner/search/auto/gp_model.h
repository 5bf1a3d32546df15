/* gp_model.h - the Gaussian process (gp.h) of the times that a strategy was told, kept up to date
 * with the points in flight; for `auto`. */
#ifndef GT_GP_MODEL_H
#define GT_GP_MODEL_H

#include "search/auto/elites.h"
#include "search/auto/gp.h"
#include "search/auto/prior_mean.h"

#define GT_GP_MODEL_FLYING 48 /* points in flight that the model takes into account */

/* A model's prediction for a pool: mean and standard deviation of each point, and the best known
 * value, all on the model's scale. */
struct gt_prediction {
    const float *mean, *sd;
    double best;
};

struct gt_gp_model {
    const struct gt_strategy *strategy;
    const struct gt_prior_means *priors;
    struct gt_gp *gp;
    struct {
        size_t point, number; /* number: the gp's observation of the point, SIZE_MAX: none */
        float expected;
    } flight[GT_GP_MODEL_FLYING];
    size_t flights;
    size_t fit_at, learn_at; /* values of elites.told at which to fit next, and to learn next */
    size_t fit_best;         /* the best point at the last fit; SIZE_MAX: not fitted yet */
    double gap;              /* share of the best time between the floor and the best */
    double level;            /* the best time at the last fit */
};

/* strategy and priors must outlive the model. */
int gt_gp_model_init(struct gt_gp_model *model, const struct gt_strategy *strategy,
                     const struct gt_prior_means *priors, double gap, struct gt_err *err);
void gt_gp_model_release(struct gt_gp_model *model); /* a zeroed one is accepted */

/* Whether, since the last fit, enough points were told or a new best point was told. */
bool gt_gp_model_is_stale(const struct gt_gp_model *model, const struct gt_elites *elites);
bool gt_gp_model_is_fitted(const struct gt_gp_model *model);

/* Fits the model to a choice of the known points, and to the points in flight with their expected
 * values. */
void gt_gp_model_fit(struct gt_gp_model *model, const struct gt_elites *elites,
                     const struct gt_pool *pool);

/* The value of a point that was told, on the model's scale, see gp_model.c.  `model` is a struct
 * gt_gp_model that was fitted at least once. */
float gt_gp_model_target(const void *model, size_t point);

/* The prediction for the pool of the last fit, valid until a point is told or given out.  A small
 * improvement on the model's scale, times `gap`, is a share of the best time. */
struct gt_prediction gt_gp_model_predict(struct gt_gp_model *model);

/* The mean of any point of the space, on the model's scale. */
float gt_gp_model_mean(struct gt_gp_model *model, size_t point);
/* The mean of any point of the space as a time, in microseconds. */
float gt_gp_model_us(struct gt_gp_model *model, size_t point);

/* Notes that point `at` of the pool was given out.  Until the point is told, it counts as observed
 * with the value `expected`, its predicted mean.  Points beyond GT_GP_MODEL_FLYING are ignored. */
void gt_gp_model_pending(struct gt_gp_model *model, const struct gt_pool *pool, size_t at,
                         float expected);
void gt_gp_model_tell(struct gt_gp_model *model, size_t point);

#endif
