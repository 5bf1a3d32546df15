/* space_walk.h - the enumeration behind gt_space_init, for space.c.  A test uses its plan, too. */
#ifndef GT_SPACE_WALK_H
#define GT_SPACE_WALK_H

#include "base/stats.h"
#include "search/space.h"

/* Fills index, count, valid and cross_product of a space whose kernel, problem and device are set.
 * covered: the part of the space that a walk of GT_WALK_VISITS covers, where it is known; below 1
 * the space is sampled at once, at 1 a walk of the whole space is tried first.  On failure the
 * caller releases the space. */
#define GT_WALK_VISITS 60000000 /* prefixes of one walk: 4 s on one core */
int gt_space_walk(struct gt_space *space, size_t limit, double covered, struct gt_err *err);

/* One of several shares of a walk; the shares have nearly the same size. */
struct gt_walk_share {
    size_t number, of;
    uint64_t visits; /* the most prefixes that the share may visit */
    uint64_t points; /* the most valid points that the share may see; 0: any number */
    /* set by the walk */
    size_t level;
    double covered;   /* the part of the share that was walked; 1: the whole share */
    uint64_t visited; /* prefixes */
};

/* Fills index, count and valid with the points of a share; with a sample if there are more than
 * `limit`, and with some of the points if the walk was given up.  A share without points is no
 * error. */
int gt_space_walk_share(struct gt_space *space, size_t limit, struct gt_walk_share *share,
                        struct gt_err *err);

/* A constraint or a derived value, to be judged when the last parameter that it depends on is
 * bound. */
struct gt_walk_step {
    bool constraint; /* else a derived value */
    size_t index;
    uint64_t derived;            /* derived values that the step needs */
    uint64_t others;             /* parameters that the step depends on beside `last` */
    const struct gt_param *last; /* NULL: the step depends on no parameter */
    bool kept;                   /* the verdicts are kept; else their keys would be too long */
};

/* Level 0 is before any parameter, level l after order[l - 1] was bound. */
struct gt_walk_plan {
    const struct gt_kernel *kernel;
    size_t order[GT_MAX_PARAMS];
    size_t depth;                         /* parameters walked; the other parameters of order[] are
                                             free */
    uint8_t bits[GT_MAX_PARAMS];          /* of the number of each parameter's value */
    size_t first_step[GT_MAX_PARAMS + 2]; /* of each level, in step[] */
    struct gt_walk_step *step;
};

/* facts: the values of the slots of problem and device.  *plan is to be released also after a
 * failure. */
int gt_walk_plan_init(struct gt_walk_plan *plan, const struct gt_kernel *kernel,
                      const int64_t *facts, struct gt_err *err);
void gt_walk_plan_release(struct gt_walk_plan *plan);

#endif
