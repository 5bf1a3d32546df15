/* multi_start.h - greedy hill climbing from many starts, several climbs at once.  It is the whole
 * of `local`, and a part of `auto`. */
#ifndef GT_MULTI_START_H
#define GT_MULTI_START_H

#include "search/hill_climb.h"

#define GT_MULTI_START_MAX 16 /* climbs at once at most */

struct gt_multi_start {
    struct gt_hill_climb climb[GT_MULTI_START_MAX];
    size_t count;
    size_t *start;        /* points to start from; the owner adds them as they are found */
    bool *started;        /* a climb started there */
    size_t starts, room;  /* in the list */
    uint64_t restarts;    /* not from the list: from the best point changed, or a random point */
    uint64_t random_each; /* every so many of those start from a random point */
};

/* room: for the list of starts. */
int gt_multi_start_init(struct gt_multi_start *multi, size_t count, bool adjacent, size_t room,
                        gt_hill_climb_order *order, struct gt_err *err);
void gt_multi_start_release(struct gt_multi_start *multi); /* a zeroed one is accepted */

/* Adds a start; it is left out if the list is full. */
void gt_multi_start_add(struct gt_multi_start *multi, size_t point);

/* A point for the climb at the fastest place that has one; WAIT: all climbs wait for answers. */
enum gt_next gt_multi_start_next(struct gt_strategy *strategy, struct gt_multi_start *multi,
                                 size_t *point);

/* After a point was told. */
void gt_multi_start_tell(struct gt_strategy *strategy, struct gt_multi_start *multi, size_t point);

#endif
