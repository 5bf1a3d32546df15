/* gp_model.h - stage "choose": the Gaussian process (gp.h) of what a strategy was told, kept up
 * to date with what is in flight; for `auto`. */
#ifndef GT_GP_MODEL_H
#define GT_GP_MODEL_H

#include "search/auto/prior_mean.h"
#include "search/auto/elites.h"
#include "search/auto/acquisition.h"
#include "search/auto/gp.h"

#define GT_GP_MODEL_FLYING 48 /* points in flight that it takes into account */

struct gt_gp_model {
    const struct gt_strategy *strategy;
    const struct gt_prior_means *hints;
    struct gt_gp *surrogate;
    struct {
        size_t point, number; /* observation of the surrogate, SIZE_MAX: none */
        float expected;
    } flight[GT_GP_MODEL_FLYING];
    size_t flights;
    size_t fit_at, learn_at; /* elites.told when to fit, to learn next */
    size_t fit_best;         /* the best point when it was fitted; SIZE_MAX: not yet */
    double room;             /* share by which the best may be beaten, at most */
    double level;            /* the best time when it was fitted */
};

/* strategy and hints must outlive it. */
int gt_gp_model_init(struct gt_gp_model *gauss, const struct gt_strategy *strategy,
                     const struct gt_prior_means *hints, double room, struct gt_err *err);
void gt_gp_model_release(struct gt_gp_model *gauss); /* a zeroed one is accepted */

/* Enough was told since the last fit, or something better than all before. */
bool gt_gp_model_is_stale(const struct gt_gp_model *gauss, const struct gt_elites *elites);
bool gt_gp_model_is_fitted(const struct gt_gp_model *gauss);

/* Fits it to a choice of what is known, and to what is in flight as it was expected to be. */
void gt_gp_model_fit(struct gt_gp_model *gauss, const struct gt_elites *elites,
                     const struct gt_pool *pool);

/* What a point told counts for: see gp_model.c; `gauss` is a struct gt_gp_model, fitted once at
 * least. */
float gt_gp_model_target(const void *gauss, size_t point);

/* Of the pool it was fitted with; valid until something is told or given out.  A little gain on its
 * scale times `room` is a share of the best time. */
struct gt_prediction gt_gp_model_predict(struct gt_gp_model *gauss);

/* The mean of any point, on the scale of the prediction; the logarithm of the time a mean stands
 * for.
 */
float gt_gp_model_mean(struct gt_gp_model *gauss, size_t point);
double gt_gp_model_log_time(const struct gt_gp_model *gauss, float mean);

/* The point at that place of the pool is given out, of which the prediction expects that mean.
 * Until told it counts as observed with it; what does not fit in is not known to be in flight. */
void gt_gp_model_pending(struct gt_gp_model *gauss, const struct gt_pool *pool, size_t at,
                         float expected);
void gt_gp_model_tell(struct gt_gp_model *gauss, size_t point);

#endif
