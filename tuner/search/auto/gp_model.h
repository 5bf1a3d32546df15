/* gp_model.h - the Gaussian process (gp.h) of what a strategy was told, kept up to date with the
 * points in flight; for `auto`. */
#ifndef GT_GP_MODEL_H
#define GT_GP_MODEL_H

#include "search/auto/elites.h"
#include "search/auto/gp.h"
#include "search/auto/prior_mean.h"

#define GT_GP_MODEL_FLYING 48 /* points in flight that it takes into account */

/* What a model says of a pool: mean and standard deviation for each point, on the model's scale,
 * and the best of what is known on that scale. */
struct gt_prediction {
    const float *mean, *sd;
    double best;
};

struct gt_gp_model {
    const struct gt_strategy *strategy;
    const struct gt_prior_means *priors;
    struct gt_gp *gp;
    struct {
        size_t point, number; /* observation of the gp, SIZE_MAX: none */
        float expected;
    } flight[GT_GP_MODEL_FLYING];
    size_t flights;
    size_t fit_at, learn_at; /* elites.told when to fit, to learn next */
    size_t fit_best;         /* the best point when it was fitted; SIZE_MAX: not yet */
    double gap;              /* share of the best time between the floor and the best */
    double level;            /* the best time when it was fitted */
};

/* strategy and priors must outlive it. */
int gt_gp_model_init(struct gt_gp_model *model, const struct gt_strategy *strategy,
                     const struct gt_prior_means *priors, double gap, struct gt_err *err);
void gt_gp_model_release(struct gt_gp_model *model); /* a zeroed one is accepted */

/* Whether enough was told since the last fit, or something better than everything before. */
bool gt_gp_model_is_stale(const struct gt_gp_model *model, const struct gt_elites *elites);
bool gt_gp_model_is_fitted(const struct gt_gp_model *model);

/* Fits it to a choice of what is known, and to the points in flight with their expected values. */
void gt_gp_model_fit(struct gt_gp_model *model, const struct gt_elites *elites,
                     const struct gt_pool *pool);

/* The value of a point that was told, on the model's scale, see gp_model.c.  `model` is a struct
 * gt_gp_model that was fitted at least once. */
float gt_gp_model_target(const void *model, size_t point);

/* Of the pool with which it was fitted; valid until something is told or given out.  A small
 * improvement on its scale times `gap` is a share of the best time. */
struct gt_prediction gt_gp_model_predict(struct gt_gp_model *model);

/* The mean of any point of the space, on the model's scale. */
float gt_gp_model_mean(struct gt_gp_model *model, size_t point);
/* The same as a time, microseconds. */
float gt_gp_model_us(struct gt_gp_model *model, size_t point);

/* The point at that place of the pool is given out, with that predicted mean.  It counts as
 * observed with this value until it is told.  Points beyond GT_GP_MODEL_FLYING are ignored. */
void gt_gp_model_pending(struct gt_gp_model *model, const struct gt_pool *pool, size_t at,
                         float expected);
void gt_gp_model_tell(struct gt_gp_model *model, size_t point);

#endif
