/* sweep.h - one run of `tune`: for each problem, the stages in order (read sweep.c first).
 *
 * The caller opens the evaluator and the store, chooses kernels and problems, prints the results.
 * Nothing here touches CUDA or prints. */
#ifndef GT_SWEEP_H
#define GT_SWEEP_H

#include <signal.h>

#include "db/store.h"
#include "lookup/table.h"
#include "evaluate/evaluator.h"

/* When a sweep ends; 0: no bound of that kind. */
struct gt_budget {
    double seconds;   /* of the whole run, shared by its problems: time_slices.c; a problem without
                         a time outlasts it: sweep.c */
    int64_t trials;   /* per problem, those of earlier runs included */
    int64_t patience; /* trials of a problem since its best improved by 0.5 % */
};

/* "500" (trials), "90s", "30m", "8h", "patience=200", or several joined by commas: "30m,2000". */
int gt_budget_parse(struct gt_budget *budget, const char *text, struct gt_err *err);

/* What is spent when the user names no budget: a predictor's is counted in trials, so that a run
 * repeated has nothing left to do; a measuring one's in time. */
struct gt_budget gt_budget_default(bool measures);

struct gt_progress;

struct gt_sweep_options {
    const struct gt_problem *problem;
    const double *weight; /* of each problem, >= 0: those of more weight come first and get more of
                             the time; NULL: all alike */
    size_t problems;
    const struct gt_kernel *const *kernel; /* candidates; those that do not serve are left out */
    size_t kernels;
    const struct gt_kernel *const *fallback; /* for a problem that none of those has a point for */
    size_t fallbacks;
    struct gt_evaluator *evaluator; /* open; its events are set by the sweep */
    struct gt_store *store;         /* open for writing */
    const struct gt_table *shipped; /* winners worth trying where they fit; NULL: none */
    const char *strategy;           /* NULL: GT_STRATEGY_DEFAULT */
    struct gt_budget budget;
    uint64_t seed;
    double drift_check_s;                 /* between two runs of the reference kernel; 0: 60 */
    const char *command;                  /* its words, kept with the sweep */
    struct gt_progress *progress;         /* NULL: silent */
    const volatile sig_atomic_t *signals; /* SIGINTs so far (NULL: none): 1 finishes what is in
                                             flight, 2 stops at once */
};

#define GT_STRATEGY_DEFAULT "auto"
#define GT_SWEEP_ROWS       64 /* best candidates kept for the report */

/* One ranked candidate. */
struct gt_sweep_row {
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
    bool resumed; /* of an earlier run */
    bool blamed;  /* an earlier run ended while it was sampled or in a final */
    bool tie;     /* the finals cannot tell it from the first row */
    bool apart;   /* not timed beside the first row: the device may have been cooler or hotter */
};

/* What became of one problem. */
struct gt_sweep_result {
    const struct gt_problem *problem; /* of the options */
    struct gt_sweep_row *row;         /* best first; row[0] is the winner */
    size_t rows;
    double points, cross_product;    /* valid points of all kernels; before constraints */
    int64_t status[GT_STATUS_COUNT]; /* trials by status, earlier runs included */
    int64_t fresh, resumed;          /* trials of this run, of earlier ones */
    int64_t compiled, cache_hits, respawns;
    double wall_s, busy_s; /* this run; GPU worker at work */
    double to_best_s;      /* until a time within 2 % of the final best was first seen */
    bool have_baseline;
    struct gt_baseline baseline;
    bool interrupted;      /* ended by a signal: the same command resumes */
    struct gt_err nothing; /* code != 0: no kernel serves it, or no point is valid, and why */
};

/* Fills result[0..options->problems); release them also after a failure.  GT_EINTERRUPTED: stopped
 * by a signal, results hold what was reached.  A problem that no kernel serves is a result, not an
 * error, unless it is the only one. */
int gt_sweep_run(const struct gt_sweep_options *options, struct gt_sweep_result *result,
                 struct gt_err *err);
void gt_sweep_result_release(struct gt_sweep_result *result); /* a zeroed one is accepted */

#endif
