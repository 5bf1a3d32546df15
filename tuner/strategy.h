/* strategy.h - what chooses the next points.  A strategy is one file and one row of the table in
 * strategy.c.
 *
 * Asynchronous: next may be called again before earlier points were told; a strategy that must hear
 * first answers WAIT.  Same space, seed and answers: same trace. */
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

struct gt_strategy {
    const struct gt_strategy_ops *ops;
    const struct gt_space *space;
    struct gt_random random;
    void *state;
};

struct gt_strategy_ops {
    const char *name;
    const char *doc; /* one line, for `tune list strategies` */
    int (*init)(struct gt_strategy *strategy, const struct gt_seeds *seeds, struct gt_err *err);
    enum gt_next (*next)(struct gt_strategy *strategy, size_t *point);
    /* us: time to minimise; 0: the point is no good.  Points nobody asked for may be told too
     * (resumed trials). */
    void (*tell)(struct gt_strategy *strategy, size_t point, double us);
    void (*release)(struct gt_strategy *strategy);
};

/* The table, NULL-terminated. */
extern const struct gt_strategy_ops *const gt_strategies[];

/* GT_ENOTFOUND with the names there are. */
int gt_strategy_new(struct gt_strategy **strategy, const char *name, const struct gt_space *space,
                    uint64_t seed, const struct gt_seeds *seeds, struct gt_err *err);
void gt_strategy_free(struct gt_strategy *strategy); /* NULL accepted */

#endif
