/* stats.h - vocabulary: medians and their distribution-free intervals.  Arrays are not modified. */
#ifndef GT_STATS_H
#define GT_STATS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The value if it is known, else NAN. */
static inline double gt_if(bool known, double value)
{
    return known ? value : NAN;
}

/* The text if it is known, else NULL, for fields that may be empty.  A compiler that saw which
 * would warn of formats with a NULL. */
static inline const char *gt_text_if(bool known, const char *text)
{
    const char *volatile kept = known ? text : NULL;

    return kept;
}

/* Median of n >= 1 values; n <= 4096. */
double gt_median(const float *value, int n);

/* 95 % interval of the median from order statistics (binomial; Conover, Practical Nonparametric
 * Statistics, 3.2); for n < 6 it is [min, max]. */
void gt_median_interval(const float *value, int n, double *lo, double *hi);

/* Whether paired samples x[i], y[i] (same round) tell x from y: the 95 % interval of the median of
 * x[i]/y[i] excludes 1.  Returns -1: x faster, 1: y faster, 0: cannot be told apart (a tie). */
int gt_paired_compare(const float *x, const float *y, int n);

/* Median of x[i]/y[i], and its 95 % interval. */
double gt_paired_ratio(const float *x, const float *y, int n);
void gt_paired_interval(const float *x, const float *y, int n, double *lo, double *hi);

/* A small counter-based generator (splitmix64): same seed, same stream, everywhere. */
struct gt_random {
    uint64_t state;
};
uint64_t gt_random_next(struct gt_random *random);
uint64_t gt_random_below(struct gt_random *random, uint64_t bound); /* bound >= 1, unbiased */
double gt_random_unit(struct gt_random *random);                    /* [0,1) */

/* A value of which two digits are known, such as a prediction's: "5100", "25", "4.7", "0.021". */
#define GT_ROUGH_MAX 32
static inline const char *gt_rough(char text[GT_ROUGH_MAX], double value)
{
    double unit = 1;
    int digits = 1;

    for (; value / unit >= 100; unit *= 10)
        ;
    for (double scaled = value; scaled > 0 && scaled < 9.95 && digits < 12; scaled *= 10)
        digits++;
    snprintf(text, GT_ROUGH_MAX, "%.*f", digits - 1, (double)(int64_t)(value / unit + 0.5) * unit);
    if (unit <= 1)
        snprintf(text, GT_ROUGH_MAX, "%.*f", digits - 1, value);
    return text;
}

#endif
