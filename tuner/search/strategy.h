/* strategy.h - strategies, which choose the next points.  A strategy is a gt_strategy_NAME in one
 * of the files strategy_*.c and a name in GT_STRATEGY_NAMES.
 *
 * A strategy is asynchronous: it may be asked for the next point before the times of earlier points
 * were told, and answers WAIT if it needs those times first.  The same space, seed and times give
 * the same points.  No point is given out twice. */
#ifndef GT_STRATEGY_H
#define GT_STRATEGY_H

#include "base/stats.h"
#include "problem/trial.h"
#include "search/space.h"

enum gt_next { GT_NEXT_POINT, GT_NEXT_WAIT, GT_NEXT_DONE };

/* Transfer data: times of the same kernel's points for another shape, device or type.  The times of
 * one set are comparable only among themselves. */
struct gt_transfer {
    const size_t *point; /* indices into the space, each once */
    const float *us;     /* the times of the points in that set's circumstances */
    size_t count;
};

/* What a strategy starts from; every part may be empty.  The struct must live until gt_strategy_new
 * returns, and the object that `context` points to must live as long as the strategy. */
struct gt_seeds {
    const size_t *point; /* seeds: points to be tried first, best guess first; indices into the
                            space */
    size_t count;
    const struct gt_transfer *transfer;
    size_t transfers;
    /* The logarithm of the time that a model expects of a point, NAN if the model has no answer;
     * NULL: no model.  The strategy calls this function as long as it lives. */
    float (*expect)(void *context, size_t point);
    void *context;
};

/* A number a user may set: `--strategy local:climbs=4,fresh=2`. */
struct gt_strategy_option {
    const char *name;
    double standard, least, most;
    const char *doc; /* one line */
};
#define GT_STRATEGY_OPTIONS 8 /* of one strategy at most */

/* The state of a point; strategy.c keeps it for every strategy. */
#define GT_POINT_NEW    0.0f  /* neither given out nor told */
#define GT_POINT_ASKED  -1.0f /* given out, not told yet */
#define GT_POINT_FAILED -2.0f /* told, without a time; a value above 0 is the point's time \ */

struct gt_strategy {
    const struct gt_strategy_ops *ops;
    const struct gt_space *space;
    struct gt_random random;
    float *known;  /* GT_POINT_* or time of each point of the space */
    size_t fresh;  /* points that are still NEW */
    size_t flying; /* points given out and not told yet */
    size_t *seed;  /* seeds, given out before the strategy's own points unless ops->own_seeds */
    size_t seeds, next_seed;
    const struct gt_seeds *given;       /* only while init runs; NULL: nothing was given */
    double option[GT_STRATEGY_OPTIONS]; /* in the order of ops->option */
    size_t best;                        /* the fastest point told; SIZE_MAX: none */
    void *state;
};

/* What a strategy's own file provides; strategy.c calls these and does the bookkeeping above. */
struct gt_strategy_ops {
    const char *name;
    const char *doc;                         /* one line, for `tune list strategies` */
    const struct gt_strategy_option *option; /* ends with a NULL name; NULL: none */
    bool own_seeds;    /* the strategy calls gt_strategy_seed itself; else all seeds are given out
                          first */
    size_t state_size; /* of strategy->state, which is zeroed before init and freed after release */
    int (*init)(struct gt_strategy *strategy, struct gt_err *err); /* NULL: nothing to do */
    /* Called after the seeds, while NEW points are left; the answer is a NEW point. */
    enum gt_next (*next)(struct gt_strategy *strategy, size_t *point);
    /* The time that the strategy expects of a point, in microseconds; NAN: not known.  NULL: the
     * strategy expects nothing. */
    float (*expect)(struct gt_strategy *strategy, size_t point);
    /* Called after known[point] was set; NULL: nothing to do. */
    void (*tell)(struct gt_strategy *strategy, size_t point);
    /* Frees the memory that the state owns, also after an init that failed; NULL: nothing to
     * free. */
    void (*release)(struct gt_strategy *strategy);
};

/* Every strategy, in the order of `tune list strategies`; the first is the default.  Each file
 * defines the gt_strategy_NAME of its strategies. */
#define GT_STRATEGY_NAMES(X) \
    X(auto)                  \
    X(forest)                \
    X(local)                 \
    X(genetic)               \
    X(random)                \
    X(exhaustive)

#define GT_STRATEGY_DECLARE(name) extern const struct gt_strategy_ops gt_strategy_##name;
GT_STRATEGY_NAMES(GT_STRATEGY_DECLARE)

extern const struct gt_strategy_ops *const gt_strategies[]; /* ends with NULL */

/* text: "NAME" or "NAME:OPTION=VALUE,..." -> the strategy and its options; options that are not
 * named have their standard values.  GT_ENOTFOUND for an unknown name, and for the name of a
 * strategy that earlier versions had; GT_ERANGE for a value that is no number or is out of range.
 * The sentence says what is allowed, or what to use instead.  ops and
 * option[GT_STRATEGY_OPTIONS] may be NULL. */
int gt_strategy_parse(const struct gt_strategy_ops **ops, double *option, const char *text,
                      struct gt_err *err);

/* text: as above.  space must outlive the strategy; seeds may be NULL. */
int gt_strategy_new(struct gt_strategy **strategy, const char *text, const struct gt_space *space,
                    uint64_t seed, const struct gt_seeds *seeds, struct gt_err *err);
void gt_strategy_free(struct gt_strategy *strategy); /* NULL accepted */

enum gt_next gt_strategy_next(struct gt_strategy *strategy, size_t *point);

/* us: the time, which the search minimises; 0: the point failed.  Points that the strategy did not
 * give out may be told too (trials of an earlier run), and a point may be told again after it was
 * measured again. */
void gt_strategy_tell(struct gt_strategy *strategy, size_t point, double us);

/* Marks a NEW point as given out, without asking the strategy; its time is told later. */
void gt_strategy_claim(struct gt_strategy *strategy, size_t point);

/* The time that the strategy expects of a point, in microseconds; NAN: not known. */
float gt_strategy_expect(struct gt_strategy *strategy, size_t point);

/* ---- for strategies ---- */

/* The next seed that is still NEW, or SIZE_MAX. */
size_t gt_strategy_seed(struct gt_strategy *strategy);

/* A NEW point drawn at random; only while fresh > 0. */
size_t gt_strategy_draw(struct gt_strategy *strategy);

/* A NEW point drawn at random that differs from `point` in at least one and at most `changes`
 * parameters; SIZE_MAX if a number of draws finds none. */
size_t gt_strategy_kick(struct gt_strategy *strategy, size_t point, size_t changes);

/* Puts a point that was told into a list of at most `most` points with a time, fastest first.  A
 * point that failed, or that is too slow for a full list, is not in the list afterwards. */
void gt_strategy_place(const struct gt_strategy *strategy, size_t *list, size_t *count, size_t most,
                       size_t point);

/* Draws a parameter and a value for it at random, `changes` times; a parameter may be drawn
 * twice. */
void gt_strategy_change(struct gt_strategy *strategy, uint8_t *index, uint64_t changes);

#endif
