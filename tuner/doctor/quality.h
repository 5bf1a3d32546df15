/* quality.h - figures that say how well predicted times rank points, compared with the measured
 * times. */
#ifndef GT_QUALITY_H
#define GT_QUALITY_H

#include <stddef.h>

/* A point that was tried. */
struct gt_quality_point {
    double predicted; /* us, above 0 */
    double measured;  /* us; 0: it failed, or was given up as slow */
};

#define GT_QUALITY_FIRSTS 3
extern const size_t gt_quality_first[GT_QUALITY_FIRSTS]; /* 10, 50, 100 */

struct gt_quality {
    size_t tried, measured; /* all points; points with a measured time */
    double correlation; /* Spearman's, predicted with measured times, -1 to 1; NAN with fewer than 3
                           times */
    /* The time of the best point, divided by the time of the best of the 10, 50 and 100 points with
     * the shortest predicted times.  1: the best point is among these; 0: all of these failed; NAN:
     * there are at most 10, 50 or 100 points. */
    double near[GT_QUALITY_FIRSTS];
    double ratio, spread; /* predicted / measured: geometric mean; standard deviation as a factor */
};

/* Computes the figures.  The points are sorted, and their times are replaced by ranks. */
void gt_quality_of(struct gt_quality *quality, struct gt_quality_point *point, size_t count);

#endif
