/* quality.c - see quality.h. */
#include "doctor/quality.h"

#include <math.h>
#include <stdlib.h>

const size_t gt_quality_first[GT_QUALITY_FIRSTS] = {10, 50, 100};

static int by_prediction(const void *x, const void *y)
{
    const struct gt_quality_point *a = x, *b = y;

    return (a->predicted > b->predicted) - (a->predicted < b->predicted);
}

static int by_measurement(const void *x, const void *y)
{
    const struct gt_quality_point *a = x, *b = y;

    return (a->measured > b->measured) - (a->measured < b->measured);
}

/* Replaces one time of each point by its rank; the points are sorted by that time.  Equal times
 * share the mean of their ranks. */
static void rank(struct gt_quality_point *point, size_t count, size_t offset)
{
    for (size_t i = 0, end; i < count; i = end) {
        double value = *(double *)((char *)&point[i] + offset);

        for (end = i; end < count && *(double *)((char *)&point[end] + offset) == value;)
            end++;
        for (size_t j = i; j < end; j++)
            *(double *)((char *)&point[j] + offset) = (double)(i + end - 1) / 2;
    }
}

/* The correlation over points that all have times.  The points are changed. */
static double correlation_of(struct gt_quality_point *point, size_t count)
{
    double mean = (double)(count - 1) / 2, xy = 0, xx = 0, yy = 0;

    if (count < 3)
        return NAN;
    rank(point, count, offsetof(struct gt_quality_point, predicted));
    qsort(point, count, sizeof(*point), by_measurement);
    rank(point, count, offsetof(struct gt_quality_point, measured));
    for (size_t i = 0; i < count; i++) {
        double x = point[i].predicted - mean, y = point[i].measured - mean;

        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static double best_of(const struct gt_quality_point *point, size_t count)
{
    double best = 0;

    for (size_t i = 0; i < count; i++)
        if (point[i].measured > 0 && (!(best > 0) || point[i].measured < best))
            best = point[i].measured;
    return best;
}

static void compare_times(struct gt_quality *quality, const struct gt_quality_point *point,
                          size_t count)
{
    double sum = 0, squares = 0, mean;

    for (size_t i = 0; i < count; i++) {
        double logarithm = point[i].measured > 0 ? log(point[i].predicted / point[i].measured) : 0;

        sum += logarithm;
        squares += logarithm * logarithm;
        quality->measured += point[i].measured > 0;
    }
    mean = quality->measured ? sum / (double)quality->measured : NAN;
    quality->ratio = exp(mean);
    quality->spread =
        exp(sqrt(fmax(0, squares / fmax(1, (double)quality->measured) - mean * mean)));
}

void gt_quality_of(struct gt_quality *quality, struct gt_quality_point *point, size_t count)
{
    size_t kept = 0;
    double best = best_of(point, count);

    *quality = (struct gt_quality){.tried = count};
    qsort(point, count, sizeof(*point), by_prediction);
    compare_times(quality, point, count);
    for (int i = 0; i < GT_QUALITY_FIRSTS; i++) {
        double found = best_of(point, count < gt_quality_first[i] ? count : gt_quality_first[i]);

        quality->near[i] = count <= gt_quality_first[i] || !(best > 0) ? NAN
                           : found > 0                                 ? best / found
                                                                       : 0;
    }
    for (size_t i = 0; i < count; i++)
        if (point[i].measured > 0)
            point[kept++] = point[i];
    quality->correlation = correlation_of(point, kept);
}
