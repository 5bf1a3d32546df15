/* sweep.h - one run of `tune`: for each problem, the stages in order (read sweep.c first).
 *
 * The caller opens the evaluator and the store, chooses kernels and problems, prints the results.
 * Nothing here touches CUDA or prints. */
#ifndef GT_SWEEP_H
#define GT_SWEEP_H

#include <signal.h>

#include "db/store.h"
#include "evaluate/evaluator.h"
#include "lookup/ranking.h"
#include "lookup/table.h"

/* When a sweep ends; 0: no bound of that kind. */
struct gt_budget {
    double seconds;   /* of the whole run; time_slices.c divides the seconds among the problems.  A
                         problem that has no time yet may go on for longer (gt_sweep_is_late) */
    bool each;        /* `seconds` are per problem, and the run has the sum */
    int64_t trials;   /* per problem, trials of earlier runs included */
    int64_t patience; /* trials of a problem without an improvement of its best by 0.5 % */
};

/* "500" (trials), "90s", "30m", "8h", "10s/problem", "patience=200", or several joined by commas:
 * "30m,2000". */
int gt_budget_parse(struct gt_budget *budget, const char *text, struct gt_err *err);

/* The budget of a run for which the user names none: a time if the evaluator measures.  If the
 * evaluator predicts, the budget is a number of trials, so that a repeated run has nothing left to
 * do. */
struct gt_budget gt_budget_default(bool measures);

struct gt_progress;
struct gt_scouts;

/* How a run used its time. */
struct gt_sweep_totals {
    double wall_s, busy_s; /* seconds elapsed; seconds that the GPU worker was busy */
    double compile_s;      /* seconds that the compile workers were busy, summed over workers */
    int jobs;              /* compile workers */
    int64_t compiled;      /* cubins */
    int64_t timed;         /* candidates that were proved and timed, slow ones included */
};

/* The candidates that the caller gives for one problem, at most GT_SWEEP_GIVEN.  Of each candidate,
 * kernel and point are used. */
#define GT_SWEEP_GIVEN 32
struct gt_sweep_given {
    const struct gt_candidate *candidate;
    size_t count;
};

struct gt_sweep_result;

struct gt_sweep_options {
    const struct gt_problem *problem;
    const double *weight; /* of each problem, >= 0; a larger weight comes earlier and gets more
                             time; NULL: all weights are equal */
    size_t problems;
    const struct gt_kernel *const *kernel; /* kernels that do not serve a problem are left out */
    size_t kernels;
    const struct gt_kernel *const *fallback; /* for a problem for which no `kernel` has a point */
    size_t fallbacks;
    struct gt_evaluator *evaluator;   /* open; its events are set by the sweep */
    struct gt_store *store;           /* open for writing */
    const struct gt_table *shipped;   /* winners to try where they are valid; NULL: none */
    const struct gt_ranking *ranking; /* corrects the predicted times; identifies the kernels by the
                                         pointers of `kernel`; must outlive *foresight.  NULL: no
                                         correction */
    const struct gt_kernels *known; /* all kernels as described.  The incumbent, which is look-up's
                                       answer from them, the store and `shipped`, is timed first and
                                       takes part in the finals.  NULL: there is no incumbent */
    bool vendor;                    /* cuBLASLt's best algorithm is a candidate, stored with its
                                       configuration */
    const char *strategy;           /* NULL: GT_STRATEGY_DEFAULT */
    struct gt_budget budget;
    uint64_t seed;
    bool verbose;     /* prints for each kernel that takes no part why it does not */
    bool search_only; /* no finals: another device holds the finals of the problem */
    const struct gt_sweep_given *given; /* of each problem: no kernel is searched, these candidates
                                           alone are tried, all are timed in full, and one final of
                                           all stores their times beside the baseline's, without a
                                           winner or a record of the turn.  NULL: none */
    int rounds;                         /* of that final; 0: as many as take 0.3 s, 21 to 101 */
    /* Called after each turn that did not fail, and may release the result; NULL: nothing is
     * called. */
    int (*ended)(void *context, size_t problem, struct gt_sweep_result *result, struct gt_err *err);
    void *context;                 /* of `ended` */
    const struct gt_problem *then; /* the probable problem of the next sweep with this evaluator
                                      and these kernels; NULL: not known.  It must not move */
    struct gt_scouts **foresight;  /* the spaces of that next sweep, scouted during this sweep.  The
                                      caller keeps *foresight from one sweep to the next (NULL at
                                      first) and frees it.  NULL: nothing is scouted */
    double drift_check_s;          /* between two runs of the reference kernel; 0: 60 */
    const char *command;           /* the command line, stored with the sweep */
    struct gt_progress *progress;  /* NULL: silent */
    const char *label;             /* printed before the name of an only problem; NULL: nothing */
    struct gt_sweep_totals *totals;       /* filled by the sweep; NULL: not wanted */
    const volatile sig_atomic_t *signals; /* count of SIGINTs (NULL: none); at 1 the sweep finishes
                                             what is in flight, at 2 it stops at once */
};

#define GT_STRATEGY_DEFAULT "auto"
#define GT_SWEEP_ROWS       64 /* best candidates kept for the report */

/* One ranked candidate. */
struct gt_sweep_row {
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
    bool resumed; /* the trial is of an earlier run */
    bool blamed;  /* an earlier run ended while this candidate was sampled or in a final */
    bool tie;     /* the finals show no difference from the first row, or the predicted time is
                     the same */
    bool apart;   /* the row was not timed beside the first row; the device may have been cooler or
                     hotter */
};

/* The result of one problem.  An incumbent that is a point of a searched space is a row among the
 * others.  Any other incumbent is timed beside the rows, but is no row and no trial of them. */
struct gt_sweep_result {
    const struct gt_problem *problem; /* of the options */
    struct gt_sweep_row *row;         /* best first; row[0] is the best of the searched kernels */
    size_t rows;
    struct gt_sweep_row incumbent; /* kernel NULL: the incumbent was searched, there is no
                                      incumbent, or it failed */
    bool stays; /* the incumbent stays: no searched candidate is shown to be faster */
    double points, cross_product;    /* points of all kernels: valid points; points before
                                        constraints */
    bool points_estimated;           /* a kernel has too many points to count */
    int64_t status[GT_STATUS_COUNT]; /* trials by status, earlier runs included */
    int64_t fresh, resumed;          /* trials of this run; trials of earlier runs */
    int64_t timed;                   /* candidates of this run that were proved and timed */
    int64_t compiled, cache_hits, respawns;
    double wall_s, busy_s; /* seconds of this run: elapsed; with the GPU worker busy */
    double to_best_s;      /* seconds until the first time within 2 % of the final best */
    bool have_baseline;
    struct gt_baseline baseline;
    bool interrupted;      /* a signal ended the sweep; the same command resumes */
    struct gt_err nothing; /* code != 0: why no kernel serves the problem, or why no point is
                              valid */
};

/* Fills result[0..options->problems); they are to be released also after a failure.
 * GT_EINTERRUPTED: a signal stopped the sweep, and the results hold what was reached.  A problem
 * that no kernel serves is a result; it is an error only if it is the only problem. */
int gt_sweep_run(const struct gt_sweep_options *options, struct gt_sweep_result *result,
                 struct gt_err *err);

/* The result of compiling ahead. */
struct gt_sweep_ahead {
    int64_t candidates; /* candidates whose cubins are in the cache now, or cannot be compiled */
    int64_t compiled;   /* cubins that this call compiled; the other cubins were in the cache
                           before */
};

/* Compiles the `most` first candidates that a sweep of the only problem would try, and runs none.
 * The evaluator predicts, for the GPU that is its device.  A problem that no kernel serves, or that
 * is too big, has no candidates.  GT_EINTERRUPTED: a signal came. */
int gt_sweep_compile(const struct gt_sweep_options *options, size_t most,
                     struct gt_sweep_ahead *ahead, struct gt_err *err);
void gt_sweep_result_release(struct gt_sweep_result *result); /* a zeroed one is accepted */
void gt_scouts_free(struct gt_scouts *scouts);                /* waits; NULL accepted */

#endif
