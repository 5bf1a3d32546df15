/* gp_learn.c - chooses the numbers of a Gaussian process's covariance: length scales, noise, share
 * of the sum, variance of the priors, one after the other, by marginal likelihood times a prior. */
#include "search/auto/gp_impl.h"

#include <math.h>

#define LEARN         96  /* observations that are learned from, at most */
#define LENGTH_SPREAD 0.7 /* standard deviation of a length scale's logarithm */
#define LENGTH_LEAST  0.1
#define LENGTH_MOST   8.0
#define NOISE_SPREAD  1.5
#define NOISE_LEAST   1e-5

static double log_prior(double x, double middle, double spread)
{
    double z = log(x / middle) / spread;

    return -0.5 * z * z;
}

/* How well the present covariance explains the first n observations: the logarithm of its
 * posterior, less a constant. */
static double log_likelihood(struct gt_gp *gp, size_t n)
{
    double sum = -gt_gp_solve(gp, n);

    sum -= 0.5 * (double)(n + GT_GP_SCALE_WEIGHT) * log(gt_gp_fit_trend(gp, n));
    sum += log_prior(gp->noise, GT_GP_NOISE, NOISE_SPREAD);
    for (size_t a = 0; a < gp->actives; a++)
        sum += log_prior(gp->length[a], GT_GP_LENGTH * sqrt((double)gp->actives), LENGTH_SPREAD);
    return sum;
}

static void set(struct gt_gp *gp, double *number, double value)
{
    *number = value;
    if (number >= gp->length && number < gp->length + gp->actives)
        gt_gp_fill_table(gp, (size_t)(number - gp->length));
}

/* Tries other values for one number of the covariance and keeps the best. */
static void refine(struct gt_gp *gp, size_t n, double *number, const double *trial, size_t trials,
                   double *best)
{
    double kept = *number;

    for (size_t t = 0; t < trials; t++) {
        double sum;

        set(gp, number, trial[t]);
        sum = log_likelihood(gp, n);
        if (sum > *best) {
            *best = sum;
            kept = trial[t];
        }
    }
    set(gp, number, kept);
}

void gt_gp_learn(struct gt_gp *gp)
{
    static const double additive[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    static const double prior_variance[] = {0.1, 0.5, 2, 10};
    size_t n = gp->count < LEARN ? gp->count : LEARN;
    double best = log_likelihood(gp, n);

    for (size_t a = 0; a < gp->actives; a++) {
        const double trial[] = {fmax(LENGTH_LEAST, gp->length[a] * 0.6),
                                fmin(LENGTH_MOST, gp->length[a] * 1.67)};

        refine(gp, n, &gp->length[a], trial, 2, &best);
    }
    const double noise[] = {fmax(NOISE_LEAST, gp->noise / 3), gp->noise * 3};
    refine(gp, n, &gp->noise, noise, 2, &best);
    refine(gp, n, &gp->additive, additive, 5, &best);
    if (gp->priors)
        refine(gp, n, &gp->prior_variance, prior_variance, 4, &best);
}
