/* walkers.h - greedy local search from many starts, a few climbers at once: what `local` is, and
 * what `auto` does beside its model in large spaces. */
#ifndef GT_WALKERS_H
#define GT_WALKERS_H

#include "search/climb.h"

#define GT_WALKERS_MAX 16

struct gt_walkers {
    struct gt_climb walker[GT_WALKERS_MAX];
    size_t count;
    size_t *start;        /* points to start from; filled by the owner as they are found */
    bool *started;        /* somebody did */
    size_t starts, room;  /* in the list */
    uint64_t restarts;    /* elsewhere: kicks of the best, now and then a random point */
    uint64_t random_each; /* every so many of those a random point */
};

/* room: for the list of starts. */
int gt_walkers_init(struct gt_walkers *walkers, size_t count, bool adjacent, size_t room,
                    gt_climb_order *order, struct gt_err *err);
void gt_walkers_release(struct gt_walkers *walkers); /* a zeroed one is accepted */

/* Left out if the list is full. */
void gt_walkers_add_start(struct gt_walkers *walkers, size_t point);

/* A point for the walker at the fastest place that has one; WAIT: all must hear first. */
enum gt_next gt_walkers_next(struct gt_strategy *strategy, struct gt_walkers *walkers,
                             size_t *point);

/* After a point was told.  Returns whether it was a walker's. */
bool gt_walkers_tell(struct gt_strategy *strategy, struct gt_walkers *walkers, size_t point);

#endif
