/* space_walk.h - the enumeration behind gt_space_init, its order and its memory; for space*.c
 * only. */
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

/* space.c */

/* space_walk.c */

/* space_walk.c */

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

/* space.c */

/* The points that are kept of a walk: all, or a uniform sample, always the same one of the same
 * points. */
struct gt_sample {
    struct gt_space *space; /* they are its points */
    const struct gt_walk_plan *plan;
    size_t limit; /* the most that are kept */
    size_t capacity;
    uint64_t free_points; /* of each prefix: of the parameters that no constraint reads */
    double chance;        /* of each point to be seen; 1: all are */
    uint64_t seen;        /* so far; without those that the chance left out */
    struct gt_random random;
    double weight;
    uint64_t next; /* number, among those seen, of the next point to take */
    uint64_t gap;  /* points before the next one that is seen */
};

/* Before a walk; what an earlier one has kept is dropped. */
void gt_sample_begin(struct gt_sample *sample);

/* Takes the points of a valid prefix, whose walked parameters have these values: a byte per
 * parameter, the index of its value.  GT_ENOMEM is the only error. */
int gt_sample_take(struct gt_sample *sample, const uint8_t *index, struct gt_err *err);

/* space_walk.c */

/* What the steps of a plan say of the prefixes of a walk.  A step is asked about one prefix after
 * the other, and most of them do not differ in what it reads, so that each answer is remembered. */
struct gt_verdicts;

/* Values of a parameter, as bits: bit i for value 64 * block + i. */
struct gt_admitted {
    uint64_t values;   /* that no step of the level rejects */
    uint64_t doubtful; /* those of them for which an expression failed (a division by zero, say) */
};

#endif
