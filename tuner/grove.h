/* grove.h - a forest (forest.h) of what a strategy was told, and what it says of a pool of points;
 * for strategies that ask trees. */
#ifndef GT_GROVE_H
#define GT_GROVE_H

#include "forest.h"
#include "leaders.h"

struct gt_grove {
    struct gt_forest forest;
    float *mean, *sd; /* per point of the pool, of logarithms of times */
    bool grown;
};

/* room: points of the pool at most. */
int gt_grove_init(struct gt_grove *grove, const struct gt_space *space, size_t room,
                  struct gt_err *err);
void gt_grove_release(struct gt_grove *grove); /* a zeroed one is accepted */

/* Grows a forest from the times told, of which strategy->best is one; what is e^slow times as slow
 * as the best, or failed, is all the same.  Then asks it about the pool. */
void gt_grove_grow(struct gt_grove *grove, struct gt_strategy *strategy,
                   const struct gt_leaders *leaders, float slow);
void gt_grove_ask(struct gt_grove *grove, const struct gt_pool *pool);

#endif
