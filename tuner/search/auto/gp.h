/* gp.h - a model of the time of points nobody tried, learned from those that were: Gaussian
 * process regression over the indices of the parameters' values (Rasmussen, Williams, Gaussian
 * Processes for Machine Learning, 2006, algorithms 2.1 and 5.1).
 *
 * It predicts for a pool of points chosen beforehand, so that one more observation costs time
 * proportional to observations times pool.  All memory is taken when it is made; nothing after that
 * fails. */
#ifndef GT_GP_H
#define GT_GP_H

#include "search/space.h"

#define GT_GP_SEEN   224  /* observations at most */
#define GT_GP_POOL   1024 /* points of the pool at most */
#define GT_GP_PRIORS 8    /* hints per point at most */

struct gt_gp;

/* A number known of every point beforehand that may tell something of its time, such as the
 * logarithm of its time on another device. */
typedef float gt_gp_prior(void *context, size_t hint, size_t point);

/* hints: how many there are for each point (0: none; hint may be NULL). */
int gt_gp_new(struct gt_gp **surrogate, const struct gt_space *space, size_t hints,
              gt_gp_prior *hint, void *context, struct gt_err *err);
void gt_gp_free(struct gt_gp *surrogate); /* NULL accepted */

/* Forgets all, then takes the points of the pool, and observations with logarithms of their times;
 * counts beyond the limits above are cut.  learn: choose how far parameters reach, and the noise,
 * by marginal likelihood; else as they were. */
void gt_gp_fit(struct gt_gp *surrogate, const size_t *pool, size_t pools, const size_t *seen,
               const float *y, size_t count, bool learn);

/* One more observation, of point `at` of the pool; false: no more fit in. */
bool gt_gp_add(struct gt_gp *surrogate, size_t at, float y);

/* Another value for the observation of that number, counted from 0 in the order they came. */
void gt_gp_correct(struct gt_gp *surrogate, size_t number, float y);

size_t gt_gp_count(const struct gt_gp *surrogate); /* observations */

/* Mean and standard deviation for every point of the pool, valid until the next call of any of the
 * above. */
void gt_gp_predict(struct gt_gp *surrogate, const float **mean, const float **sd);

/* The mean for any point of the space; of a surrogate without hints, between two fits. */
float gt_gp_mean(struct gt_gp *surrogate, size_t point);

#endif
