/* stats.c - vocabulary: order statistics of samples, and the one random generator. */
#include "base/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 4096

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void sort_into(float *sorted, const float *value, int n)
{
    assert(n >= 1 && n <= MAX_VALUES);
    memcpy(sorted, value, (size_t)n * sizeof(*value));
    qsort(sorted, (size_t)n, sizeof(*sorted), compare_floats);
}

double gt_median(const float *value, int n)
{
    float sorted[MAX_VALUES];

    sort_into(sorted, value, n);
    return n % 2 ? (double)sorted[n / 2] : ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2;
}

/* Probability that exactly k of n values lie below the median of their distribution. */
static double binomial_half(int n, int k)
{
    int sign;

    return exp(lgamma_r(n + 1.0, &sign) - lgamma_r(k + 1.0, &sign) - lgamma_r(n - k + 1.0, &sign) -
               n * M_LN2);
}

void gt_median_interval(const float *value, int n, double *lo, double *hi)
{
    float sorted[MAX_VALUES];
    double below = 0; /* probability that the median lies below sorted[rank] */
    int rank = 0;

    sort_into(sorted, value, n);
    /* The interval [sorted[rank], sorted[n-1-rank]] misses the median with probability 2 * below;
     * the largest rank that keeps this within 5 %.  With n < 6 even rank 0 misses it more often. */
    below = binomial_half(n, 0);
    while (2 * (rank + 1) < n) {
        double next = below + binomial_half(n, rank + 1);

        if (next > 0.025)
            break;
        below = next;
        rank++;
    }
    *lo = sorted[rank];
    *hi = sorted[n - 1 - rank];
}

static void divide(float *ratio, const float *x, const float *y, int n)
{
    assert(n >= 1 && n <= MAX_VALUES);
    for (int i = 0; i < n; i++)
        ratio[i] = x[i] / y[i];
}

void gt_paired_interval(const float *x, const float *y, int n, double *lo, double *hi)
{
    float ratio[MAX_VALUES];

    divide(ratio, x, y, n);
    gt_median_interval(ratio, n, lo, hi);
}

int gt_paired_compare(const float *x, const float *y, int n)
{
    double lo, hi;

    gt_paired_interval(x, y, n, &lo, &hi);
    return hi < 1 ? -1 : lo > 1 ? 1 : 0;
}

double gt_paired_ratio(const float *x, const float *y, int n)
{
    float ratio[MAX_VALUES];

    divide(ratio, x, y, n);
    return gt_median(ratio, n);
}

uint64_t gt_random_next(struct gt_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t gt_random_below(struct gt_random *random, uint64_t bound)
{
    /* Draws below 2^64 mod bound would make the small results more frequent: draw again. */
    uint64_t threshold, draw;

    assert(bound);
    threshold = -bound % bound;
    do
        draw = gt_random_next(random);
    while (draw < threshold);
    return draw % bound;
}

double gt_random_unit(struct gt_random *random)
{
    return (double)(gt_random_next(random) >> 11) * 0x1p-53;
}
