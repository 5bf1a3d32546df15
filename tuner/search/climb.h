/* climb.h - greedy local search from one place, for the strategies built on it: neighbours in
 * random or a given order, on to the first faster one, until none is. */
#ifndef GT_CLIMB_H
#define GT_CLIMB_H

#include "search/strategy.h"

#define GT_CLIMB_FLYING 8 /* neighbours a climber has in flight at most */

/* What to expect of a point, the less the sooner it is tried. */
typedef float gt_climb_order(struct gt_strategy *strategy, size_t point);

struct gt_climb {
    bool adjacent;         /* one step of a parameter; else one parameter to any value */
    gt_climb_order *order; /* of the neighbours; NULL: random */
    size_t place;          /* SIZE_MAX: none, needs a start */
    size_t *list;          /* neighbours of the place, in the order in which they are tried */
    size_t count, cursor;
    size_t flying[GT_CLIMB_FLYING]; /* given out on its behalf; SIZE_MAX: free slot */
};

int gt_climb_init(struct gt_climb *climb, bool adjacent, gt_climb_order *order, struct gt_err *err);
void gt_climb_release(struct gt_climb *climb); /* a zeroed one is accepted */

/* Goes to a point whose time is known and, as long as a neighbour is already known to be faster, on
 * to that one. */
void gt_climb_to(struct gt_strategy *strategy, struct gt_climb *climb, size_t place);

/* POINT: a NEW neighbour; WAIT: it has enough in flight, or no other neighbours; DONE: it has no
 * place, or one without faster neighbours. */
enum gt_next gt_climb_next(struct gt_strategy *strategy, struct gt_climb *climb, size_t *point);

/* Puts a point given out elsewhere on the climber's account; false: no slot is free. */
bool gt_climb_own(struct gt_climb *climb, size_t point);

/* After a point was told: goes there if it is the climber's and faster than its place.  Returns
 * whether it was the climber's. */
bool gt_climb_tell(struct gt_strategy *strategy, struct gt_climb *climb, size_t point);

#endif
