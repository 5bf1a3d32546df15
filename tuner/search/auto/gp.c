/* gp.c - stage "choose": Gaussian process regression over a space.
 *
 * The covariance of two points is a mixture of a product over the parameters (points alike in all
 * of them) and a sum over them (each parameter's own effect, learned from few points), each factor
 * a Matern 5/2 of the distance between the indices of the values.  Hints enter linearly: each is
 * one more coefficient with a normal prior.
 *
 *     seen x seen   K = L L'          triangular[i][j]
 *     seen x pool   V = L^-1 K        across[i][c], kept up to date row by row
 *     mean(c) = trend + V' z,   z = L^-1 (y - trend);    variance(c) = k(c,c) - |V(c)|^2  */
#include "search/auto/gp.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEEN         GT_GP_SEEN
#define POOL         GT_GP_POOL
#define LEARN        96  /* observations that choose reach and noise */
#define REACH        0.7 /* of a parameter, its whole range being 1: median of its prior ... */
#define REACH_SPREAD 0.7 /* ... and deviation of its logarithm */
#define REACH_LEAST  0.1
#define REACH_MOST   8.0
#define NOISE        1e-3 /* variance, as a share of that of the times: the same three */
#define NOISE_SPREAD 1.5
#define NOISE_LEAST  1e-5
#define SCALE        0.1 /* variance of logarithms of times before anything is known ... */
#define SCALE_WEIGHT 2   /* ... and the observations that knowledge is worth */
#define TINY         1e-9

struct gt_gp {
    const struct gt_space *space;
    size_t active[GT_MAX_PARAMS], actives; /* parameters with a choice */
    double reach[GT_MAX_PARAMS];           /* of active ones */
    double noise, additive;                /* variance; share of the sum in the covariance */
    double liking;                         /* variance of a hint's coefficient */
    double scale, trend;                   /* variance of the times; their mean */
    float *table[GT_MAX_PARAMS];           /* of active ones: similarity of values, count x count */
    size_t hints;
    gt_gp_prior *hint;
    void *context;
    float usual[GT_GP_PRIORS]; /* what each hint says of the points seen, on average */
    const uint8_t *seen[SEEN]; /* indices of the values */
    size_t count, pools;
    double y[SEEN];                 /* less what the hints expect */
    float *seen_hint, *pool_hint;   /* hints of each */
    uint8_t *column[GT_MAX_PARAMS]; /* of active ones: the value of each point of the pool */
    size_t pool[POOL];
    double *triangular; /* SEEN x SEEN */
    float *across;      /* SEEN x POOL */
    float mean[POOL], sd[POOL];
    float rest[POOL];          /* variance left, as a share of scale */
    double one[SEEN], z[SEEN]; /* L^-1 1, L^-1 y */
    double weight[SEEN];       /* K^-1 (y - trend), for single points */
    bool weighed;
};

/* ---- covariance ---- */

/* Matern 5/2. */
static void fill_table(struct gt_gp *s, size_t a)
{
    size_t values = s->space->kernel->param[s->active[a]].count;

    for (size_t i = 0; i < values; i++)
        for (size_t j = 0; j < values; j++) {
            double far = fabs((double)i - (double)j) / (double)(values - 1) / s->reach[a];
            double r = sqrt(5) * far;

            s->table[a][i * values + j] = (float)((1 + r + r * r / 3) * exp(-r));
        }
}

static double similar(const struct gt_gp *s, const uint8_t *x, const uint8_t *y)
{
    float product = 1, sum = 0;

    for (size_t a = 0; a < s->actives; a++) {
        size_t p = s->active[a];
        float t = s->table[a][x[p] * s->space->kernel->param[p].count + y[p]];

        product *= t;
        sum += t;
    }
    return (1 - s->additive) * (double)product + s->additive * (double)sum / (double)s->actives;
}

static double liked(const struct gt_gp *s, const float *x, const float *y)
{
    double sum = 0;

    for (size_t h = 0; h < s->hints; h++)
        sum += (double)x[h] * (double)y[h];
    return s->liking * sum;
}

static double covariance(const struct gt_gp *s, size_t i, size_t j)
{
    return similar(s, s->seen[i], s->seen[j]) +
           liked(s, s->seen_hint + i * s->hints, s->seen_hint + j * s->hints);
}

/* Covariance of one point with every point of the pool. */
static void cover_pool(const struct gt_gp *s, const uint8_t *x, const float *hint,
                       float *restrict row)
{
    float sum[POOL] = {0};
    float share = s->actives ? (float)s->additive / (float)s->actives : 0;

    for (size_t c = 0; c < s->pools; c++)
        row[c] = 1 - (float)s->additive;
    for (size_t a = 0; a < s->actives; a++) {
        size_t p = s->active[a];
        const float *table = s->table[a] + x[p] * s->space->kernel->param[p].count;
        const uint8_t *column = s->column[a];

        for (size_t c = 0; c < s->pools; c++) {
            float t = table[column[c]];

            row[c] *= t;
            sum[c] += t;
        }
    }
    for (size_t c = 0; c < s->pools; c++)
        row[c] += share * sum[c];
    for (size_t c = 0; s->hints && c < s->pools; c++)
        row[c] += (float)liked(s, hint, s->pool_hint + c * s->hints);
}

/* ---- regression ---- */

/* Row i of L and the i-th of z and one; l: the covariances of observation i with those before it
 * and, last, itself. */
static void extend(struct gt_gp *s, size_t i)
{
    double *row = s->triangular + i * SEEN;
    double own = row[i], one = 1, z = s->y[i];

    for (size_t j = 0; j < i; j++) {
        const double *other = s->triangular + j * SEEN;
        double t = row[j];

        for (size_t k = 0; k < j; k++)
            t -= row[k] * other[k];
        t /= other[j];
        row[j] = t;
        own -= t * t;
        one -= t * s->one[j];
        z -= t * s->z[j];
    }
    row[i] = sqrt(fmax(own, TINY));
    s->one[i] = one / row[i];
    s->z[i] = z / row[i];
}

/* Solves for the first n observations; returns the logarithm of the likelihood, less a constant. */
static double solve(struct gt_gp *s, size_t n)
{
    double volume = 0;

    for (size_t i = 0; i < n; i++) {
        double *row = s->triangular + i * SEEN;

        for (size_t j = 0; j <= i; j++)
            row[j] = covariance(s, i, j);
        row[i] += s->noise;
        extend(s, i);
        volume += log(row[i]);
    }
    return volume;
}

/* Trend and scale from what is solved. */
static double settle(struct gt_gp *s, size_t n)
{
    double one = TINY, cross = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        one += s->one[i] * s->one[i];
        cross += s->one[i] * s->z[i];
        square += s->z[i] * s->z[i];
    }
    s->trend = cross / one;
    s->scale =
        (fmax(square - cross * cross / one, 0) + SCALE_WEIGHT * SCALE) / (double)(n + SCALE_WEIGHT);
    return s->scale;
}

static double bell(double x, double middle, double spread)
{
    double z = log(x / middle) / spread;

    return -0.5 * z * z;
}

/* How well the present reach and noise explain the first n observations. */
static double evidence(struct gt_gp *s, size_t n)
{
    double sum = -solve(s, n);

    sum -= 0.5 * (double)(n + SCALE_WEIGHT) * log(settle(s, n));
    sum += bell(s->noise, NOISE, NOISE_SPREAD);
    for (size_t a = 0; a < s->actives; a++)
        sum += bell(s->reach[a], REACH * sqrt((double)s->actives), REACH_SPREAD);
    return sum;
}

static void set(struct gt_gp *s, double *number, double value)
{
    *number = value;
    if (number >= s->reach && number < s->reach + s->actives)
        fill_table(s, (size_t)(number - s->reach));
}

/* Tries other values for one of the numbers above, keeps the best. */
static void improve(struct gt_gp *s, size_t n, double *number, const double *trial, size_t trials,
                    double *best)
{
    double kept = *number;

    for (size_t t = 0; t < trials; t++) {
        double sum;

        set(s, number, trial[t]);
        sum = evidence(s, n);
        if (sum > *best) {
            *best = sum;
            kept = trial[t];
        }
    }
    set(s, number, kept);
}

static void learn(struct gt_gp *s)
{
    static const double additive[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    static const double liking[] = {0.1, 0.5, 2, 10};
    size_t n = s->count < LEARN ? s->count : LEARN;
    double best = evidence(s, n);

    for (size_t a = 0; a < s->actives; a++) {
        const double trial[] = {fmax(REACH_LEAST, s->reach[a] * 0.6),
                                fmin(REACH_MOST, s->reach[a] * 1.67)};

        improve(s, n, &s->reach[a], trial, 2, &best);
    }
    const double noise[] = {fmax(NOISE_LEAST, s->noise / 3), s->noise * 3};
    improve(s, n, &s->noise, noise, 2, &best);
    improve(s, n, &s->additive, additive, 5, &best);
    if (s->hints)
        improve(s, n, &s->liking, liking, 4, &best);
}

/* Row i of across, from row i of the triangle and the covariances with the pool. */
static void extend_pool(struct gt_gp *s, size_t i)
{
    const double *row = s->triangular + i * SEEN;
    float *restrict v = s->across + i * POOL;
    float over = (float)(1 / row[i]);

    cover_pool(s, s->seen[i], s->seen_hint + i * s->hints, v);
    for (size_t j = 0; j < i; j++) {
        const float *restrict u = s->across + j * POOL;
        float t = (float)row[j];

        for (size_t c = 0; c < s->pools; c++)
            v[c] -= t * u[c];
    }
    for (size_t c = 0; c < s->pools; c++) {
        v[c] *= over;
        s->rest[c] -= v[c] * v[c];
    }
}

/* ---- the interface ---- */

static void note_hints(struct gt_gp *s, size_t point, float *hint)
{
    for (size_t h = 0; h < s->hints; h++)
        hint[h] = s->hint(s->context, h, point) - s->usual[h];
}

/* What hints usually say is taken off them: a large number that all points share would swamp the
 * differences in single precision. */
static void find_usual(struct gt_gp *s, const size_t *seen, size_t count)
{
    for (size_t h = 0; h < s->hints; h++) {
        double sum = 0;

        for (size_t i = 0; i < count; i++)
            sum += (double)s->hint(s->context, h, seen[i]);
        s->usual[h] = count ? (float)(sum / (double)count) : 0;
    }
}

static double expected(const struct gt_gp *s, const float *hint)
{
    double sum = 0;

    for (size_t h = 0; h < s->hints; h++)
        sum += (double)hint[h];
    return s->hints ? sum / (double)s->hints : 0;
}

static void take(struct gt_gp *s, size_t point, float y)
{
    s->seen[s->count] = s->space->index + point * s->space->kernel->params;
    note_hints(s, point, s->seen_hint + s->count * s->hints);
    s->y[s->count] = (double)y - expected(s, s->seen_hint + s->count * s->hints);
    s->count++;
    s->weighed = false;
}

void gt_gp_fit(struct gt_gp *s, const size_t *pool, size_t pools, const size_t *seen,
               const float *y, size_t count, bool learn_too)
{
    s->count = 0;
    s->weighed = false;
    find_usual(s, seen, count < SEEN ? count : SEEN);
    for (size_t i = 0; i < count && i < SEEN; i++)
        take(s, seen[i], y[i]);
    if (learn_too && s->count > 2)
        learn(s);
    s->pools = pools < POOL ? pools : POOL;
    for (size_t c = 0; c < s->pools; c++) {
        const uint8_t *index = s->space->index + pool[c] * s->space->kernel->params;
        float *hint = s->pool_hint + c * s->hints;

        s->pool[c] = pool[c];
        for (size_t a = 0; a < s->actives; a++)
            s->column[a][c] = index[s->active[a]];
        note_hints(s, pool[c], hint);
        s->rest[c] = (float)(1 + liked(s, hint, hint));
    }
    solve(s, s->count);
    for (size_t i = 0; i < s->count; i++)
        extend_pool(s, i);
}

bool gt_gp_add(struct gt_gp *s, size_t at, float y)
{
    size_t i = s->count;
    double *row = s->triangular + i * SEEN;

    if (i == SEEN)
        return false;
    take(s, s->pool[at], y);
    for (size_t j = 0; j <= i; j++)
        row[j] = covariance(s, i, j);
    row[i] += s->noise;
    extend(s, i);
    extend_pool(s, i);
    return true;
}

void gt_gp_correct(struct gt_gp *s, size_t number, float y)
{
    s->y[number] = (double)y - expected(s, s->seen_hint + number * s->hints);
    s->weighed = false;
    for (size_t i = number; i < s->count; i++) {
        const double *row = s->triangular + i * SEEN;
        double z = s->y[i];

        for (size_t j = 0; j < i; j++)
            z -= row[j] * s->z[j];
        s->z[i] = z / row[i];
    }
}

size_t gt_gp_count(const struct gt_gp *s)
{
    return s->count;
}

void gt_gp_predict(struct gt_gp *s, const float **mean, const float **sd)
{
    settle(s, s->count);
    for (size_t c = 0; c < s->pools; c++) {
        s->mean[c] = (float)(s->trend + expected(s, s->pool_hint + c * s->hints));
        s->sd[c] = sqrtf((float)s->scale * fmaxf(s->rest[c], (float)TINY));
    }
    for (size_t i = 0; i < s->count; i++) {
        const float *restrict v = s->across + i * POOL;
        float z = (float)(s->z[i] - s->trend * s->one[i]);

        for (size_t c = 0; c < s->pools; c++)
            s->mean[c] += z * v[c];
    }
    *mean = s->mean;
    *sd = s->sd;
}

/* Solves L' weight = z - trend one. */
static void weigh(struct gt_gp *s)
{
    settle(s, s->count);
    for (size_t i = s->count; i-- > 0;) {
        double t = s->z[i] - s->trend * s->one[i];

        for (size_t k = i + 1; k < s->count; k++)
            t -= s->triangular[k * SEEN + i] * s->weight[k];
        s->weight[i] = t / s->triangular[i * SEEN + i];
    }
    s->weighed = true;
}

float gt_gp_mean(struct gt_gp *s, size_t point)
{
    const uint8_t *index = s->space->index + point * s->space->kernel->params;
    float hint[GT_GP_PRIORS];
    double mean;

    if (!s->weighed)
        weigh(s);
    note_hints(s, point, hint);
    mean = s->trend + expected(s, hint);
    for (size_t i = 0; i < s->count; i++)
        mean += s->weight[i] *
                (similar(s, index, s->seen[i]) + liked(s, hint, s->seen_hint + i * s->hints));
    return (float)mean;
}

static bool take_memory(struct gt_gp *s)
{
    size_t hints = s->hints + 1; /* no empty request */

    for (size_t a = 0; a < s->actives; a++) {
        size_t values = s->space->kernel->param[s->active[a]].count;

        s->table[a] = calloc(values * values, sizeof(*s->table[a]));
        s->column[a] = calloc(POOL, 1);
        if (!s->table[a] || !s->column[a])
            return false;
    }
    s->triangular = calloc(SEEN * SEEN, sizeof(*s->triangular));
    s->across = calloc(SEEN * POOL, sizeof(*s->across));
    s->seen_hint = calloc(SEEN * hints, sizeof(*s->seen_hint));
    s->pool_hint = calloc(POOL * hints, sizeof(*s->pool_hint));
    return s->triangular && s->across && s->seen_hint && s->pool_hint;
}

int gt_gp_new(struct gt_gp **surrogate, const struct gt_space *space, size_t hints,
              gt_gp_prior *hint, void *context, struct gt_err *err)
{
    struct gt_gp *s = calloc(1, sizeof(*s));

    if (!s)
        return gt_err_nomem(err);
    s->space = space;
    for (size_t p = 0; p < space->kernel->params; p++)
        if (space->kernel->param[p].count > 1)
            s->active[s->actives++] = p;
    for (size_t a = 0; a < s->actives; a++)
        s->reach[a] = REACH * sqrt((double)s->actives);
    s->noise = NOISE;
    s->additive = s->actives ? 0.5 : 0;
    s->liking = hints ? 0.5 : 0;
    s->hints = hints;
    s->hint = hint;
    s->context = context;
    if (!take_memory(s)) {
        gt_gp_free(s);
        return gt_err_nomem(err);
    }
    for (size_t a = 0; a < s->actives; a++)
        fill_table(s, a);
    *surrogate = s;
    return GT_OK;
}

void gt_gp_free(struct gt_gp *s)
{
    if (!s)
        return;
    for (size_t a = 0; a < s->actives; a++) {
        free(s->table[a]);
        free(s->column[a]);
    }
    free(s->triangular);
    free(s->across);
    free(s->seen_hint);
    free(s->pool_hint);
    free(s);
}
