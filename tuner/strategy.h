/* strategy.h - what chooses the next points.  A strategy is one file and one row of the table in
 * strategy.c.
 *
 * Asynchronous: the next point may be asked for before earlier ones were told; a strategy that must
 * hear first answers WAIT.  Same space, seed and answers: same trace.  No point is given out twice.
 */
#ifndef GT_STRATEGY_H
#define GT_STRATEGY_H

#include "../src/stats.h"
#include "../src/trial.h"
#include "space.h"

enum gt_next { GT_NEXT_POINT, GT_NEXT_WAIT, GT_NEXT_DONE };

/* What a strategy starts from: points worth trying first, best guess first (the predictor's
 * ranking, winners of neighbouring problems); may be empty. */
struct gt_seeds {
    const size_t *point; /* indices into the space */
    size_t count;
};

/* What is known of a point, kept for every strategy by strategy.c. */
#define GT_POINT_NEW    0.0f  /* neither given out nor told */
#define GT_POINT_ASKED  -1.0f /* given out, not told yet */
#define GT_POINT_NOGOOD -2.0f /* told: it has no time; greater than 0: its time */

struct gt_strategy {
    const struct gt_strategy_ops *ops;
    const struct gt_space *space;
    struct gt_random random;
    float *known;  /* per point of the space, see above */
    size_t fresh;  /* points that are still NEW */
    size_t flying; /* points given out and not told */
    size_t *seed;  /* the seeds; all are given out before the strategy's own points */
    size_t seeds, next_seed;
    size_t best; /* the fastest point told; SIZE_MAX: none */
    void *state;
};

/* What a strategy's own file provides; the bookkeeping above is done by the callers of these. */
struct gt_strategy_ops {
    const char *name;
    const char *doc; /* one line, for `tune list strategies` */
    int (*init)(struct gt_strategy *strategy, struct gt_err *err); /* NULL: no state */
    /* Called once the seeds are given out and while NEW points are left; answers one of those. */
    enum gt_next (*next)(struct gt_strategy *strategy, size_t *point);
    /* After known[point] was set; NULL: does not care. */
    void (*tell)(struct gt_strategy *strategy, size_t point);
    void (*release)(struct gt_strategy *strategy); /* NULL: nothing to release */
};

/* The table, NULL-terminated. */
extern const struct gt_strategy_ops *const gt_strategies[];

/* GT_ENOTFOUND with the names there are. */
int gt_strategy_new(struct gt_strategy **strategy, const char *name, const struct gt_space *space,
                    uint64_t seed, const struct gt_seeds *seeds, struct gt_err *err);
void gt_strategy_free(struct gt_strategy *strategy); /* NULL accepted */

enum gt_next gt_strategy_next(struct gt_strategy *strategy, size_t *point);

/* us: time to minimise; 0: the point is no good.  Points nobody asked for may be told too (resumed
 * trials), and a point may be told again (measured anew). */
void gt_strategy_tell(struct gt_strategy *strategy, size_t point, double us);

/* Takes a NEW point out of the strategy's hands; it is told later. */
void gt_strategy_claim(struct gt_strategy *strategy, size_t point);

/* For strategies: a NEW point drawn at random; only while fresh > 0. */
size_t gt_strategy_draw(struct gt_strategy *strategy);

#endif
