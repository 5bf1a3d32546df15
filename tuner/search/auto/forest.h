/* forest.h - extremely randomised trees (Geurts, Ernst, Wehenkel, Machine Learning 63, 2006): a
 * regression that knows nothing of distances, for the strategy of that name. */
#ifndef GT_FOREST_H
#define GT_FOREST_H

#include "base/stats.h"
#include "search/space.h"

#define GT_FOREST_TREES 32
#define GT_FOREST_SEEN  512 /* observations at most */

struct gt_forest_node {
    uint8_t param, value; /* up to this index of its value: the next node; else `other` */
    uint16_t other;       /* 0: a leaf */
    float mean;           /* of a leaf's observations */
};

struct gt_forest {
    const struct gt_space *space;
    struct gt_forest_node *node; /* 2 * GT_FOREST_SEEN of each tree */
};

int gt_forest_init(struct gt_forest *forest, const struct gt_space *space, struct gt_err *err);
void gt_forest_release(struct gt_forest *forest); /* a zeroed one is accepted */

/* Grows the trees from count >= 1 observations; more than GT_FOREST_SEEN are cut. */
void gt_forest_fit(struct gt_forest *forest, struct gt_random *random, const size_t *point,
                   const float *y, size_t count);

/* Mean of the trees' answers, and their standard deviation. */
void gt_forest_predict(const struct gt_forest *forest, size_t point, double *mean, double *sd);

#endif
