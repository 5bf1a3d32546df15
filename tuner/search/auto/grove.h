/* grove.h - a forest (forest.h) of what a strategy was told, and what it says of a pool of points;
 * for strategies that ask trees. */
#ifndef GT_GROVE_H
#define GT_GROVE_H

#include "search/auto/forest.h"
#include "search/auto/elites.h"

struct gt_grove {
    struct gt_forest forest;
    float *mean, *sd; /* per point of the pool */
};

/* room: points of the pool at most. */
int gt_grove_init(struct gt_grove *grove, const struct gt_space *space, size_t room,
                  struct gt_err *err);
void gt_grove_release(struct gt_grove *grove); /* a zeroed one is accepted */

/* What a point told counts for: a logarithm of its time, say. */
typedef float gt_forest_target(const void *context, size_t point);

/* Grows a forest from what was told, at least one point; then asks it about the pool. */
void gt_grove_grow(struct gt_grove *grove, struct gt_random *random, const struct gt_elites *elites,
                   gt_forest_target *worth, const void *context);
void gt_grove_ask(struct gt_grove *grove, const struct gt_pool *pool);

#endif
