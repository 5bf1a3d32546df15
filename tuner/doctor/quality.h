/* quality.h - figures of how well predicted times rank points, against the measured times. */
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
    size_t tried, measured; /* all points; those that have a time */
    double correlation;     /* Spearman's, of the two times, -1 to 1; NAN with fewer than 3 times */
    /* The time of the best point, divided by that of the best among the 10, 50 and 100 points of
     * the shortest predicted times: 1 if the best is among these, 0 if all of these failed; NAN if
     * there are no more points than that. */
    double near[GT_QUALITY_FIRSTS];
    double ratio, spread; /* predicted / measured: geometric mean; standard deviation as a factor */
};

/* Computes the figures; it sorts the points and replaces times by ranks. */
void gt_quality_of(struct gt_quality *quality, struct gt_quality_point *point, size_t count);

#endif
