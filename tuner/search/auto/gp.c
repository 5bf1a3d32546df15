/* gp.c - Gaussian process regression over a space.
 *
 * The covariance of two points mixes a product over the parameters (points that are alike in all
 * parameters) and a sum over the parameters (each parameter's own effect, which few points can
 * show).  Each factor is a Matern 5/2 function of the distance between the indices of the values.
 * A prior mean enters linearly, with a coefficient that is one more unknown and has a normal prior.
 *
 *     seen x seen   K = L L'          triangular[i][j]
 *     seen x pool   V = L^-1 K        cross[i][c], kept up to date row by row
 *     mean(c) = trend + V' z,   z = L^-1 (y - trend);    variance(c) = k(c,c) - |V(c)|^2 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/auto/gp.h"

/* Where learning of the covariance begins, and medians of its priors. */
#define LENGTH       0.7  /* length scale, a parameter's range being 1 */
#define NOISE        1e-3 /* variance, as a share of the variance of the times */
#define SCALE        0.1  /* prior variance of the logarithms of times; */
#define SCALE_WEIGHT 2    /* SCALE counts as so many observations */
#define TINY         1e-9
#define SEEN         GT_GP_SEEN
#define POOL         GT_GP_POOL

struct gt_gp {
    const struct gt_space *space;
    size_t active[GT_MAX_PARAMS], actives; /* parameters with a choice */
    double length[GT_MAX_PARAMS];          /* for active parameters */
    double noise, additive;                /* variance; share of the sum in the covariance */
    double prior_variance;                 /* variance of a prior's coefficient  */
    double scale, trend;                   /* variance of the times; their mean */
    float *table[GT_MAX_PARAMS];           /* for active parameters: similarity of values, count x
                                              count */
    size_t priors;
    gt_gp_prior *prior;
    void *context;
    float offset[GT_GP_PRIORS];      /* for each prior, the prior's mean over the points seen */
    const uint8_t *seen[GT_GP_SEEN]; /* indices of the values */
    size_t count, pools;
    double y[GT_GP_SEEN];           /* logarithms of times, less prior_sum */
    float *seen_prior, *pool_prior; /* priors of each seen point; of each point of the pool */
    uint8_t *column[GT_MAX_PARAMS]; /* for active parameters: the value of each point of the pool */
    size_t pool[GT_GP_POOL];
    double *triangular; /* GT_GP_SEEN x GT_GP_SEEN */
    float *cross;       /* GT_GP_SEEN x GT_GP_POOL */
    float mean[GT_GP_POOL], sd[GT_GP_POOL];
    float rest[GT_GP_POOL];                /* variance left, as a share of scale */
    double one[GT_GP_SEEN], z[GT_GP_SEEN]; /* L^-1 1, L^-1 y */
    double weight[GT_GP_SEEN];             /* K^-1 (y - trend), for single points */
    bool weighed;
};

/* Learning the numbers of the covariance: length scales, noise, share of the sum, variance of the
 * priors, one after the other, by marginal likelihood times a prior. */
#define LEARN         96  /* most observations from which the covariance is learned */
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

static double similarity(const struct gt_gp *gp, const uint8_t *x, const uint8_t *y)
{
    float product = 1, sum = 0;

    for (size_t a = 0; a < gp->actives; a++) {
        size_t p = gp->active[a];
        float t = gp->table[a][x[p] * gp->space->kernel->param[p].count + y[p]];

        product *= t;
        sum += t;
    }
    return (1 - gp->additive) * (double)product + gp->additive * (double)sum / (double)gp->actives;
}

static double prior_covariance(const struct gt_gp *gp, const float *x, const float *y)
{
    double sum = 0;

    for (size_t h = 0; h < gp->priors; h++)
        sum += (double)x[h] * (double)y[h];
    return gp->prior_variance * sum;
}

static double covariance(const struct gt_gp *gp, size_t i, size_t j)
{
    return similarity(gp, gp->seen[i], gp->seen[j]) +
           prior_covariance(gp, gp->seen_prior + i * gp->priors, gp->seen_prior + j * gp->priors);
}

/* Row i of L, and the i-th elements of z and one. */
static void extend(struct gt_gp *gp, size_t i)
{
    double *row = gp->triangular + i * SEEN;
    double own, one = 1, z = gp->y[i];

    for (size_t j = 0; j <= i; j++)
        row[j] = covariance(gp, i, j);
    own = row[i] + gp->noise;
    for (size_t j = 0; j < i; j++) {
        const double *other = gp->triangular + j * SEEN;
        double t = row[j];

        for (size_t k = 0; k < j; k++)
            t -= row[k] * other[k];
        t /= other[j];
        row[j] = t;
        own -= t * t;
        one -= t * gp->one[j];
        z -= t * gp->z[j];
    }
    row[i] = sqrt(fmax(own, TINY));
    gp->one[i] = one / row[i];
    gp->z[i] = z / row[i];
}

/* Solves for the first n observations; returns half the logarithm of the determinant of K. */
static double solve(struct gt_gp *gp, size_t n)
{
    double volume = 0;

    for (size_t i = 0; i < n; i++) {
        extend(gp, i);
        volume += log(gp->triangular[i * SEEN + i]);
    }
    return volume;
}

/* Computes trend and scale from the solution; returns the scale. */
static double fit_trend(struct gt_gp *gp, size_t n)
{
    double one = TINY, cross = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        one += gp->one[i] * gp->one[i];
        cross += gp->one[i] * gp->z[i];
        square += gp->z[i] * gp->z[i];
    }
    gp->trend = cross / one;
    gp->scale =
        (fmax(square - cross * cross / one, 0) + SCALE_WEIGHT * SCALE) / (double)(n + SCALE_WEIGHT);
    return gp->scale;
}

/* How well the present covariance explains the first n observations: the logarithm of its
 * posterior, less a constant. */
static double log_likelihood(struct gt_gp *gp, size_t n)
{
    double sum = -solve(gp, n);

    sum -= 0.5 * (double)(n + SCALE_WEIGHT) * log(fit_trend(gp, n));
    sum += log_prior(gp->noise, NOISE, NOISE_SPREAD);
    for (size_t a = 0; a < gp->actives; a++)
        sum += log_prior(gp->length[a], LENGTH * sqrt((double)gp->actives), LENGTH_SPREAD);
    return sum;
}

/* Matern 5/2. */
static void fill_table(struct gt_gp *gp, size_t a)
{
    size_t values = gp->space->kernel->param[gp->active[a]].count;

    for (size_t i = 0; i < values; i++)
        for (size_t j = 0; j < values; j++) {
            double far = fabs((double)i - (double)j) / (double)(values - 1) / gp->length[a];
            double r = sqrt(5) * far;

            gp->table[a][i * values + j] = (float)((1 + r + r * r / 3) * exp(-r));
        }
}

static void set(struct gt_gp *gp, double *number, double value)
{
    *number = value;
    if (number >= gp->length && number < gp->length + gp->actives)
        fill_table(gp, (size_t)(number - gp->length));
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

/* Chooses the numbers of the covariance by the observations. */
static void learn(struct gt_gp *gp)
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

/* ---- covariance ---- */

/* Covariance of one point with every point of the pool. */
static void cover_pool(const struct gt_gp *gp, const uint8_t *x, const float *prior,
                       float *restrict row)
{
    float sum[POOL] = {0};
    float share = gp->actives ? (float)gp->additive / (float)gp->actives : 0;

    for (size_t c = 0; c < gp->pools; c++)
        row[c] = 1 - (float)gp->additive;
    for (size_t a = 0; a < gp->actives; a++) {
        size_t p = gp->active[a];
        const float *table = gp->table[a] + x[p] * gp->space->kernel->param[p].count;
        const uint8_t *column = gp->column[a];

        for (size_t c = 0; c < gp->pools; c++) {
            float t = table[column[c]];

            row[c] *= t;
            sum[c] += t;
        }
    }
    for (size_t c = 0; c < gp->pools; c++)
        row[c] += share * sum[c];
    for (size_t c = 0; gp->priors && c < gp->pools; c++)
        row[c] += (float)prior_covariance(gp, prior, gp->pool_prior + c * gp->priors);
}

/* ---- regression ---- */

/* Row i of cross, from row i of the triangle and the covariances with the pool. */
static void extend_pool(struct gt_gp *gp, size_t i)
{
    const double *row = gp->triangular + i * SEEN;
    float *restrict v = gp->cross + i * POOL;
    float over = (float)(1 / row[i]);

    cover_pool(gp, gp->seen[i], gp->seen_prior + i * gp->priors, v);
    for (size_t j = 0; j < i; j++) {
        const float *restrict u = gp->cross + j * POOL;
        float t = (float)row[j];

        for (size_t c = 0; c < gp->pools; c++)
            v[c] -= t * u[c];
    }
    for (size_t c = 0; c < gp->pools; c++) {
        v[c] *= over;
        gp->rest[c] -= v[c] * v[c];
    }
}

/* ---- the interface ---- */

static void read_priors(struct gt_gp *gp, size_t point, float *prior)
{
    for (size_t h = 0; h < gp->priors; h++)
        prior[h] = gp->prior(gp->context, h, point) - gp->offset[h];
}

/* Each prior is taken relative to its mean, because a large number that all points share would hide
 * the differences in single precision. */
static void find_offsets(struct gt_gp *gp, const size_t *seen, size_t count)
{
    for (size_t h = 0; h < gp->priors; h++) {
        double sum = 0;

        for (size_t i = 0; i < count; i++)
            sum += (double)gp->prior(gp->context, h, seen[i]);
        gp->offset[h] = count ? (float)(sum / (double)count) : 0;
    }
}

static double prior_sum(const struct gt_gp *gp, const float *prior)
{
    double sum = 0;

    for (size_t h = 0; h < gp->priors; h++)
        sum += (double)prior[h];
    return gp->priors ? sum / (double)gp->priors : 0;
}

static void observe(struct gt_gp *gp, size_t point, float y)
{
    gp->seen[gp->count] = gp->space->index + point * gp->space->kernel->params;
    read_priors(gp, point, gp->seen_prior + gp->count * gp->priors);
    gp->y[gp->count] = (double)y - prior_sum(gp, gp->seen_prior + gp->count * gp->priors);
    gp->count++;
    gp->weighed = false;
}

void gt_gp_fit(struct gt_gp *gp, const size_t *pool, size_t pools, const size_t *seen,
               const float *y, size_t count, bool learn_too)
{
    gp->count = 0;
    gp->weighed = false;
    find_offsets(gp, seen, count < SEEN ? count : SEEN);
    for (size_t i = 0; i < count && i < SEEN; i++)
        observe(gp, seen[i], y[i]);
    if (learn_too && gp->count > 2)
        learn(gp);
    gp->pools = pools < POOL ? pools : POOL;
    for (size_t c = 0; c < gp->pools; c++) {
        const uint8_t *index = gp->space->index + pool[c] * gp->space->kernel->params;
        float *prior = gp->pool_prior + c * gp->priors;

        gp->pool[c] = pool[c];
        for (size_t a = 0; a < gp->actives; a++)
            gp->column[a][c] = index[gp->active[a]];
        read_priors(gp, pool[c], prior);
        gp->rest[c] = (float)(1 + prior_covariance(gp, prior, prior));
    }
    solve(gp, gp->count);
    for (size_t i = 0; i < gp->count; i++)
        extend_pool(gp, i);
}

bool gt_gp_add(struct gt_gp *gp, size_t at, float y)
{
    const size_t i = gp->count;

    if (i == SEEN)
        return false;
    observe(gp, gp->pool[at], y);
    extend(gp, i);
    extend_pool(gp, i);
    return true;
}

void gt_gp_correct(struct gt_gp *gp, size_t number, float y)
{
    gp->y[number] = (double)y - prior_sum(gp, gp->seen_prior + number * gp->priors);
    gp->weighed = false;
    for (size_t i = number; i < gp->count; i++) {
        const double *row = gp->triangular + i * SEEN;
        double z = gp->y[i];

        for (size_t j = 0; j < i; j++)
            z -= row[j] * gp->z[j];
        gp->z[i] = z / row[i];
    }
}

size_t gt_gp_count(const struct gt_gp *gp)
{
    return gp->count;
}

void gt_gp_predict(struct gt_gp *gp, const float **mean, const float **sd)
{
    fit_trend(gp, gp->count);
    for (size_t c = 0; c < gp->pools; c++) {
        gp->mean[c] = (float)(gp->trend + prior_sum(gp, gp->pool_prior + c * gp->priors));
        gp->sd[c] = sqrtf((float)gp->scale * fmaxf(gp->rest[c], (float)TINY));
    }
    for (size_t i = 0; i < gp->count; i++) {
        const float *restrict v = gp->cross + i * POOL;
        float z = (float)(gp->z[i] - gp->trend * gp->one[i]);

        for (size_t c = 0; c < gp->pools; c++)
            gp->mean[c] += z * v[c];
    }
    *mean = gp->mean;
    *sd = gp->sd;
}

/* Solves L' weight = z - trend one. */
static void solve_weights(struct gt_gp *gp)
{
    fit_trend(gp, gp->count);
    for (size_t i = gp->count; i-- > 0;) {
        double t = gp->z[i] - gp->trend * gp->one[i];

        for (size_t k = i + 1; k < gp->count; k++)
            t -= gp->triangular[k * SEEN + i] * gp->weight[k];
        gp->weight[i] = t / gp->triangular[i * SEEN + i];
    }
    gp->weighed = true;
}

float gt_gp_mean(struct gt_gp *gp, size_t point)
{
    const uint8_t *index = gp->space->index + point * gp->space->kernel->params;
    float prior[GT_GP_PRIORS];
    double mean;

    if (!gp->weighed)
        solve_weights(gp);
    read_priors(gp, point, prior);
    mean = gp->trend + prior_sum(gp, prior);
    for (size_t i = 0; i < gp->count; i++)
        mean += gp->weight[i] * (similarity(gp, index, gp->seen[i]) +
                                 prior_covariance(gp, prior, gp->seen_prior + i * gp->priors));
    return (float)mean;
}

static bool take_memory(struct gt_gp *gp)
{
    size_t priors = gp->priors + 1; /* an empty request may give NULL */

    for (size_t a = 0; a < gp->actives; a++) {
        size_t values = gp->space->kernel->param[gp->active[a]].count;

        gp->table[a] = calloc(values * values, sizeof(*gp->table[a]));
        gp->column[a] = calloc(POOL, 1);
        if (!gp->table[a] || !gp->column[a])
            return false;
    }
    gp->triangular = calloc(SEEN * SEEN, sizeof(*gp->triangular));
    gp->cross = calloc(SEEN * POOL, sizeof(*gp->cross));
    gp->seen_prior = calloc(SEEN * priors, sizeof(*gp->seen_prior));
    gp->pool_prior = calloc(POOL * priors, sizeof(*gp->pool_prior));
    return gp->triangular && gp->cross && gp->seen_prior && gp->pool_prior;
}

int gt_gp_new(struct gt_gp **made, const struct gt_space *space, size_t priors, gt_gp_prior *prior,
              void *context, struct gt_err *err)
{
    struct gt_gp *gp = calloc(1, sizeof(*gp));

    if (!gp)
        return gt_err_nomem(err);
    gp->space = space;
    for (size_t p = 0; p < space->kernel->params; p++)
        if (space->kernel->param[p].count > 1)
            gp->active[gp->actives++] = p;
    for (size_t a = 0; a < gp->actives; a++)
        gp->length[a] = LENGTH * sqrt((double)gp->actives);
    gp->noise = NOISE;
    gp->additive = gp->actives ? 0.5 : 0;
    gp->prior_variance = priors ? 0.5 : 0;
    gp->priors = priors;
    gp->prior = prior;
    gp->context = context;
    if (!take_memory(gp)) {
        gt_gp_free(gp);
        return gt_err_nomem(err);
    }
    for (size_t a = 0; a < gp->actives; a++)
        fill_table(gp, a);
    *made = gp;
    return GT_OK;
}

void gt_gp_free(struct gt_gp *gp)
{
    if (!gp)
        return;
    for (size_t a = 0; a < gp->actives; a++) {
        free(gp->table[a]);
        free(gp->column[a]);
    }
    free(gp->triangular);
    free(gp->cross);
    free(gp->seen_prior);
    free(gp->pool_prior);
    free(gp);
}
