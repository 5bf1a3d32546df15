/* forest.h - extremely randomised trees (Geurts, Ernst, Wehenkel, Machine Learning 63, 2006): a
 * regression that needs no distance between points.
 *
 * The forest is fitted to the points that a strategy was told, and predicts for a pool of points.
 * gt_forest_init takes all memory; no later call fails. */
#ifndef GT_FOREST_H
#define GT_FOREST_H

#include "search/auto/elites.h"

struct gt_forest_node {
    uint8_t param, value; /* a point whose index of the parameter's value is at most `value` goes to
                             the next node, another point to `other` */
    uint16_t other;       /* 0: a leaf */
    float mean;           /* mean of a leaf's observations */
};

struct gt_forest {
    const struct gt_space *space;
    struct gt_forest_node *node;              /* 2 * SEEN nodes of each tree, see forest.c */
    float mean[GT_POOL_MAX], sd[GT_POOL_MAX]; /* for each point of the pool */
};

int gt_forest_init(struct gt_forest *forest, const struct gt_space *space, struct gt_err *err);
void gt_forest_release(struct gt_forest *forest); /* a zeroed one is accepted */

/* The number that the forest learns of a point that was told, such as the logarithm of its time. */
typedef float gt_forest_target(const void *context, size_t point);

/* Fits the trees to at least one point that was told. */
void gt_forest_fit(struct gt_forest *forest, struct gt_random *random,
                   const struct gt_elites *elites, gt_forest_target *target, const void *context);

/* Sets mean and sd of each point of the pool: mean and standard deviation of the trees' answers. */
void gt_forest_predict(struct gt_forest *forest, const struct gt_pool *pool);

#endif
