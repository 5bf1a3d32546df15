/* gp.h - Gaussian process regression over the indices of the parameters' values (Rasmussen,
 * Williams, Gaussian Processes for Machine Learning, 2006, algorithms 2.1 and 5.1).
 *
 * The process predicts the times of a pool of points that is chosen beforehand, so that one more
 * observation costs time proportional to observations times pool.  gt_gp_new takes all memory; no
 * later call fails. */
#ifndef GT_GP_H
#define GT_GP_H

#include "search/space.h"

#define GT_GP_SEEN   224  /* observations at most */
#define GT_GP_POOL   1024 /* points of the pool at most */
#define GT_GP_PRIORS 8    /* prior means at most */

struct gt_gp;

/* A prior mean: a number known for every point beforehand that may predict the point's time, such
 * as the logarithm of the time on another device. */
typedef float gt_gp_prior(void *context, size_t prior, size_t point);

/* priors: the number of prior means; if 0, `prior` may be NULL. */
int gt_gp_new(struct gt_gp **gp, const struct gt_space *space, size_t priors, gt_gp_prior *prior,
              void *context, struct gt_err *err);
void gt_gp_free(struct gt_gp *gp); /* NULL accepted */

/* Forgets everything, then takes the points of the pool, and the observations with y, the
 * logarithms of their times.  Counts beyond the limits above are cut.  learn: chooses length
 * scales, noise and the other numbers of the covariance by marginal likelihood; otherwise these
 * numbers do not change. */
void gt_gp_fit(struct gt_gp *gp, const size_t *pool, size_t pools, const size_t *seen,
               const float *y, size_t count, bool learn);

/* Adds an observation of point `at` of the pool; false: GT_GP_SEEN are kept already. */
bool gt_gp_add(struct gt_gp *gp, size_t at, float y);

/* Replaces the value of an observation.  Observations are numbered from 0 in the order in which
 * they were added. */
void gt_gp_correct(struct gt_gp *gp, size_t number, float y);

size_t gt_gp_count(const struct gt_gp *gp); /* observations */

/* Mean and standard deviation of every point of the pool, valid until the next call of a function
 * above. */
void gt_gp_predict(struct gt_gp *gp, const float **mean, const float **sd);

/* The mean of any point of the space. */
float gt_gp_mean(struct gt_gp *gp, size_t point);

#endif
