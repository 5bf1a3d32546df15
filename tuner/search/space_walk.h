/* space_walk.h - the enumeration behind gt_space_init, for space.c; its plan is for a test too. */
#ifndef GT_SPACE_WALK_H
#define GT_SPACE_WALK_H

#include "base/stats.h"
#include "search/space.h"

/* Fills index, count, valid and cross_product of a space whose kernel, problem and device are set.
 * covered: the part of the space that a walk of GT_WALK_VISITS would cover, if that is known to be
 * less than all of it; such a space is sampled at once.  1: a walk of the whole is tried first.  On
 * failure the caller releases the space. */
#define GT_WALK_VISITS 60000000 /* prefixes of one walk: 4 s on one core */
int gt_space_walk(struct gt_space *space, size_t limit, double covered, struct gt_err *err);

/* One of several shares of a walk, of nearly the same size. */
struct gt_walk_share {
    size_t number, of;
    uint64_t visits; /* the most prefixes that it may visit, */
    uint64_t points; /* and the most valid points that it may see; 0: any number */
    /* set by the walk */
    size_t level;
    double covered;   /* the part of the share that was walked; 1: all of it */
    uint64_t visited; /* prefixes */
};

/* Fills index, count and valid with the points of a share, a sample if there are more than limit;
 * if it was given up, with some of them.  No point is no error. */
int gt_space_walk_share(struct gt_space *space, size_t limit, struct gt_walk_share *share,
                        struct gt_err *err);

/* One thing to settle when a parameter has been bound. */
struct gt_walk_step {
    bool constraint; /* else a derived value */
    size_t index;
};

/* Level 0 is before any parameter, level l after order[l - 1] was bound. */
struct gt_walk_plan {
    const struct gt_kernel *kernel;
    size_t order[GT_MAX_PARAMS];
    size_t depth;                         /* parameters walked; the rest of order[] is free */
    size_t first_step[GT_MAX_PARAMS + 2]; /* of each level, in step[] */
    struct gt_walk_step *step;
};

/* facts: slots of problem and device.  *plan is to be released also after a failure. */
int gt_walk_plan_init(struct gt_walk_plan *plan, const struct gt_kernel *kernel,
                      const int64_t *facts, struct gt_err *err);
void gt_walk_plan_release(struct gt_walk_plan *plan);

#endif
