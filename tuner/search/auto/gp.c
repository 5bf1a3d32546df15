/* gp.c - Gaussian process regression over a space.
 *
 * The covariance of two points mixes a product over the parameters (points that are alike in all of
 * them) and a sum over them (each parameter's own effect, which few points can show).  Each factor
 * is a Matern 5/2 function of the distance between the indices of the values.  A prior mean enters
 * linearly: its coefficient is one more unknown, with a normal prior.
 *
 *     seen x seen   K = L L'          triangular[i][j]
 *     seen x pool   V = L^-1 K        cross[i][c], kept up to date row by row
 *     mean(c) = trend + V' z,   z = L^-1 (y - trend);    variance(c) = k(c,c) - |V(c)|^2
 *
 * gp_learn.c chooses the numbers of the covariance. */
#include "search/auto/gp_impl.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEEN  GT_GP_SEEN
#define POOL  GT_GP_POOL
#define SCALE 0.1 /* variance of logarithms of times before anything is known */
#define TINY  1e-9

/* ---- covariance ---- */

/* Matern 5/2. */
void gt_gp_fill_table(struct gt_gp *gp, size_t a)
{
    size_t values = gp->space->kernel->param[gp->active[a]].count;

    for (size_t i = 0; i < values; i++)
        for (size_t j = 0; j < values; j++) {
            double far = fabs((double)i - (double)j) / (double)(values - 1) / gp->length[a];
            double r = sqrt(5) * far;

            gp->table[a][i * values + j] = (float)((1 + r + r * r / 3) * exp(-r));
        }
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

/* Row i of L, and the i-th elements of z and one.  The row holds the covariances of observation i
 * with those before it and, last, with itself. */
static void extend(struct gt_gp *gp, size_t i)
{
    double *row = gp->triangular + i * SEEN;
    double own = row[i], one = 1, z = gp->y[i];

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

double gt_gp_solve(struct gt_gp *gp, size_t n)
{
    double volume = 0;

    for (size_t i = 0; i < n; i++) {
        double *row = gp->triangular + i * SEEN;

        for (size_t j = 0; j <= i; j++)
            row[j] = covariance(gp, i, j);
        row[i] += gp->noise;
        extend(gp, i);
        volume += log(row[i]);
    }
    return volume;
}

double gt_gp_fit_trend(struct gt_gp *gp, size_t n)
{
    double one = TINY, cross = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        one += gp->one[i] * gp->one[i];
        cross += gp->one[i] * gp->z[i];
        square += gp->z[i] * gp->z[i];
    }
    gp->trend = cross / one;
    gp->scale = (fmax(square - cross * cross / one, 0) + GT_GP_SCALE_WEIGHT * SCALE) /
                (double)(n + GT_GP_SCALE_WEIGHT);
    return gp->scale;
}

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

/* Each prior is taken relative to its mean: a large number that all points share would hide the
 * differences in single precision. */
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
        gt_gp_learn(gp);
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
    gt_gp_solve(gp, gp->count);
    for (size_t i = 0; i < gp->count; i++)
        extend_pool(gp, i);
}

bool gt_gp_add(struct gt_gp *gp, size_t at, float y)
{
    size_t i = gp->count;
    double *row = gp->triangular + i * SEEN;

    if (i == SEEN)
        return false;
    observe(gp, gp->pool[at], y);
    for (size_t j = 0; j <= i; j++)
        row[j] = covariance(gp, i, j);
    row[i] += gp->noise;
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
    gt_gp_fit_trend(gp, gp->count);
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
    gt_gp_fit_trend(gp, gp->count);
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
        gp->length[a] = GT_GP_LENGTH * sqrt((double)gp->actives);
    gp->noise = GT_GP_NOISE;
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
        gt_gp_fill_table(gp, a);
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
