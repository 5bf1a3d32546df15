/* strategy.h - what chooses the next points.  A strategy is one file and one row of the table in
 * strategy.c.
 *
 * Asynchronous: the next point may be asked for before earlier ones were told; a strategy that must
 * hear first answers WAIT.  Same space, seed and answers: same trace.  No point is given out twice.
 */
#ifndef GT_STRATEGY_H
#define GT_STRATEGY_H

#include "base/stats.h"
#include "problem/trial.h"
#include "search/space.h"

enum gt_next { GT_NEXT_POINT, GT_NEXT_WAIT, GT_NEXT_DONE };

/* Transfer data: times of the same kernel's points for another shape, device or type.  They are
 * comparable only among themselves. */
struct gt_transfer {
    const size_t *point; /* indices into the space, each once */
    const float *us;     /* their times there */
    size_t count;
};

/* What a strategy starts from; all of it may be empty.  Lives until gt_strategy_new returns, but
 * for what `context` points to. */
struct gt_seeds {
    const size_t *point; /* worth trying first, best guess first: indices into the space */
    size_t count;
    const struct gt_transfer *transfer;
    size_t transfers;
    /* What a model expects of a point: the logarithm of its time, NAN if it has no answer; NULL: no
     * model.  Asked while the strategy lives. */
    float (*expect)(void *context, size_t point);
    void *context;
};

/* A number a user may set: `--strategy annealing:cool=0.9,chains=4`. */
struct gt_strategy_option {
    const char *name;
    double standard, least, most;
    const char *doc; /* one line */
};
#define GT_STRATEGY_OPTIONS 8 /* of one strategy at most */

/* What is known of a point, kept for every strategy by strategy.c. */
#define GT_POINT_NEW    0.0f  /* neither given out nor told */
#define GT_POINT_ASKED  -1.0f /* given out, not told yet */
#define GT_POINT_FAILED -2.0f /* told: it has no time; greater than 0: its time */

struct gt_strategy {
    const struct gt_strategy_ops *ops;
    const struct gt_space *space;
    struct gt_random random;
    float *known;  /* per point of the space, see above */
    size_t fresh;  /* points that are still NEW */
    size_t flying; /* points given out and not told */
    size_t *seed;  /* the seeds; given out before the strategy's own points, see ops->own_seeds */
    size_t seeds, next_seed;
    const struct gt_seeds *given;       /* only while init runs; NULL: nothing was given */
    double option[GT_STRATEGY_OPTIONS]; /* in the order of ops->option */
    size_t best;                        /* the fastest point told; SIZE_MAX: none */
    void *state;
};

/* What a strategy's own file provides; the bookkeeping above is done by the callers of these. */
struct gt_strategy_ops {
    const char *name;
    const char *doc;                         /* one line, for `tune list strategies` */
    const struct gt_strategy_option *option; /* ends with a NULL name; NULL: none */
    bool own_seeds;    /* it calls gt_strategy_seed itself; else all seeds come before its points */
    size_t state_size; /* of strategy->state, which is zeroed before init and freed after release */
    int (*init)(struct gt_strategy *strategy, struct gt_err *err); /* NULL: nothing to do */
    /* Called once the seeds are given out and while NEW points are left; answers one of those. */
    enum gt_next (*next)(struct gt_strategy *strategy, size_t *point);
    /* After known[point] was set; NULL: does not care. */
    void (*tell)(struct gt_strategy *strategy, size_t point);
    /* What the state owns; also after an init that failed.  NULL: nothing. */
    void (*release)(struct gt_strategy *strategy);
};

/* Every strategy, in the order in which they are listed; the first is the default.  A new one is
 * its file, which defines gt_strategy_NAME, and its name here. */
#define GT_STRATEGY_NAMES(X) \
    X(auto)                  \
    X(forest)                \
    X(local)                 \
    X(adjacent)              \
    X(iterated)              \
    X(basin)                 \
    X(annealing)             \
    X(dual)                  \
    X(genetic)               \
    X(differential)          \
    X(swarm)                 \
    X(random)                \
    X(exhaustive)

#define GT_STRATEGY_DECLARE(name) extern const struct gt_strategy_ops gt_strategy_##name;
GT_STRATEGY_NAMES(GT_STRATEGY_DECLARE)

extern const struct gt_strategy_ops *const gt_strategies[]; /* ends with NULL */

/* text: "NAME" or "NAME:OPTION=VALUE,..." -> the strategy and its options, those not named at their
 * standard values.  GT_ENOTFOUND for a name there is not, GT_ERANGE for a value that is no number
 * or out of its range; the sentence tells what there is.  ops, option[GT_STRATEGY_OPTIONS]: may be
 * NULL.
 */
int gt_strategy_parse(const struct gt_strategy_ops **ops, double *option, const char *text,
                      struct gt_err *err);

/* text: as above.  space must outlive the strategy; seeds may be NULL. */
int gt_strategy_new(struct gt_strategy **strategy, const char *text, const struct gt_space *space,
                    uint64_t seed, const struct gt_seeds *seeds, struct gt_err *err);
void gt_strategy_free(struct gt_strategy *strategy); /* NULL accepted */

enum gt_next gt_strategy_next(struct gt_strategy *strategy, size_t *point);

/* us: time to minimise; 0: the point is no good.  Points nobody asked for may be told too (resumed
 * trials), and a point may be told again (measured anew). */
void gt_strategy_tell(struct gt_strategy *strategy, size_t point, double us);

/* Takes a NEW point out of the strategy's hands; it is told later. */
void gt_strategy_claim(struct gt_strategy *strategy, size_t point);

/* ---- for strategies ---- */

/* The next seed that is still NEW, or SIZE_MAX. */
size_t gt_strategy_seed(struct gt_strategy *strategy);

/* A NEW point drawn at random; only while fresh > 0. */
size_t gt_strategy_draw(struct gt_strategy *strategy);

/* A NEW point that differs from `point` in at least one and at most `changes` parameters, drawn at
 * random; SIZE_MAX if a number of throws finds none. */
size_t gt_strategy_kick(struct gt_strategy *strategy, size_t point, size_t changes);

/* The point whose indices of values are given, one per parameter, or one a few random changes away
 * where that is not valid; SIZE_MAX if a number of throws finds none.  It may be known already. */
size_t gt_strategy_snap(struct gt_strategy *strategy, const uint8_t *index);

#endif
