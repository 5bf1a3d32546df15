/* hill_climb.h - greedy hill climbing from one place: tries the neighbours in a random or a given
 * order, moves to the first faster neighbour, and stops at a local optimum. */
#ifndef GT_HILL_CLIMB_H
#define GT_HILL_CLIMB_H

#include "search/strategy.h"

#define GT_HILL_CLIMB_FLYING 8 /* neighbours that one climb has in flight at most */

/* A key of a point.  The neighbour with the smallest key is tried first. */
typedef float gt_hill_climb_order(struct gt_strategy *strategy, size_t point);

struct gt_hill_climb {
    gt_hill_climb_order *order; /* of the neighbours; NULL: random */
    size_t place;               /* SIZE_MAX: none, the climb needs a start */
    size_t *list;               /* neighbours of the place, in the order in which they are tried */
    size_t count, cursor;
    size_t flying[GT_HILL_CLIMB_FLYING]; /* points given out for this climb; SIZE_MAX: free slot */
};

/* Greedy hill climbing from many starts, several climbs at once.  Multi-start is the whole of
 * `local`, and a part of `auto`. */

#define GT_MULTI_START_MAX 16 /* climbs at once at most */

struct gt_multi_start {
    struct gt_hill_climb climb[GT_MULTI_START_MAX];
    size_t count;
    size_t *start;        /* points to start from; the strategy adds them as it finds them */
    bool *started;        /* for each start: whether a climb began there */
    size_t starts, room;  /* starts in the list; the most that it holds */
    uint64_t restarts;    /* climbs that did not begin at a listed start, but at a random point or
                             at the best point with changes */
    uint64_t random_each; /* of so many restarts one begins at a random point */
};

/* room: the most starts that the list holds. */
int gt_multi_start_init(struct gt_multi_start *multi, size_t count, size_t room,
                        gt_hill_climb_order *order, struct gt_err *err);
void gt_multi_start_release(struct gt_multi_start *multi); /* a zeroed one is accepted */

/* Adds a start, unless the list is full. */
void gt_multi_start_add(struct gt_multi_start *multi, size_t point);

/* Gives a point for the climb whose place is fastest among the climbs that have a point.  WAIT: all
 * climbs wait for times. */
enum gt_next gt_multi_start_next(struct gt_strategy *strategy, struct gt_multi_start *multi,
                                 size_t *point);

/* Moves the climbs after a point was told. */
void gt_multi_start_tell(struct gt_strategy *strategy, struct gt_multi_start *multi, size_t point);

#endif
