/* quality.h - how well a model's times rank what was measured: figures about pairs of times. */
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
    size_t tried, measured; /* points; those with a time */
    double correlation; /* of the ranks of the two times (Spearman), -1 to 1; NAN below 3 times */
    /* Time of the best point / that of the best among the first 10, 50, 100 by prediction: 1 where
     * it is among them, 0 where all of those failed; NAN where there are no more points than that.
     */
    double near[GT_QUALITY_FIRSTS];
    double ratio, spread; /* predicted / measured: geometric mean; standard deviation as a factor */
};

/* Changes the points. */
void gt_quality_of(struct gt_quality *quality, struct gt_quality_point *point, size_t count);

#endif
