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
    double seconds;   /* of the whole run; time_slices.c divides it among the problems.  A problem
                         that has no time yet may go on for longer: sweep.c */
    bool each;        /* `seconds` are those of a problem: the run has as many for each of them */
    int64_t trials;   /* per problem, those of earlier runs included */
    int64_t patience; /* trials of a problem without an improvement of its best by 0.5 % */
};

/* "500" (trials), "90s", "30m", "8h", "10s/problem", "patience=200", or several joined by commas:
 * "30m,2000". */
int gt_budget_parse(struct gt_budget *budget, const char *text, struct gt_err *err);

/* The budget of a run for which the user names none.  It is a time if the evaluator measures.  If
 * it predicts, it is a number of trials, so that a repeated run has nothing left to do. */
struct gt_budget gt_budget_default(bool measures);

struct gt_progress;
struct gt_scouts;

/* What a run made of its time. */
struct gt_sweep_totals {
    double wall_s, busy_s; /* elapsed; with the GPU worker at work */
    double compile_s;      /* compile workers at work, all together */
    int jobs;              /* compile workers */
    int64_t compiled;      /* cubins */
    int64_t timed;         /* candidates that were proved and timed, slow ones included */
};

struct gt_sweep_options {
    const struct gt_problem *problem;
    const double *weight; /* of each problem, >= 0; a larger weight comes earlier and gets more
                             time; NULL: all weights are equal */
    size_t problems;
    const struct gt_kernel *const *kernel; /* those that do not serve a problem are left out */
    size_t kernels;
    const struct gt_kernel *const *fallback; /* for a problem for which no `kernel` has a point */
    size_t fallbacks;
    struct gt_evaluator *evaluator;   /* open; its events are set by the sweep */
    struct gt_store *store;           /* open for writing */
    const struct gt_table *shipped;   /* winners to try where they are valid; NULL: none */
    const struct gt_ranking *ranking; /* corrects what the model expects of points; it knows
                                         `kernel` by these pointers; NULL: nothing does.  It must
                                         outlive *foresight */
    const struct gt_kernels *known; /* all kernels as they are described: what look-up answers from
                                       them, the store and `shipped` is timed first and takes part
                                       in the finals; NULL: nothing does */
    bool vendor;                    /* cuBLASLt's best algorithm is a candidate: it is stored with
                                       its configuration */
    const char *strategy;           /* NULL: GT_STRATEGY_DEFAULT */
    struct gt_budget budget;
    uint64_t seed;
    bool verbose;                   /* why a kernel takes no part is told of each one */
    bool search_only;               /* no finals: those of the problem are held on another device */
    const struct gt_problem *then;  /* what the next sweep with this evaluator and these kernels is
                                       probably of; NULL: nobody knows.  It must not move */
    struct gt_scouts **foresight;   /* what that sweep will find done: its spaces, scouted while
                                       this one goes on.  The caller keeps it from one sweep to the
                                       next, NULL at first, and frees it; or NULL */
    double drift_check_s;           /* between two runs of the reference kernel; 0: 60 */
    const char *command;            /* the command line, stored with the sweep */
    struct gt_progress *progress;   /* NULL: silent */
    const char *label;              /* before the name of an only problem; NULL: nothing */
    struct gt_sweep_totals *totals; /* filled; NULL: not wanted */
    const volatile sig_atomic_t *signals; /* count of SIGINTs (NULL: none); 1: the sweep finishes
                                             what is in flight, 2: it stops at once */
};

#define GT_STRATEGY_DEFAULT "auto"
#define GT_SWEEP_ROWS       64 /* best candidates kept for the report */

/* One ranked candidate. */
struct gt_sweep_row {
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_trial trial;
    bool resumed; /* the trial is of an earlier run */
    bool blamed;  /* an earlier run ended while this was sampled or in a final */
    bool tie;     /* the finals show no difference from the first row, or the predicted time is
                     the same */
    bool apart;   /* not timed beside the first row; the device may have been cooler or hotter */
};

/* The result of one problem.  What look-up hands out is a row among the others where it was
 * searched too.  Where it was not, it is timed beside them, and is no row and no trial of them. */
struct gt_sweep_result {
    const struct gt_problem *problem; /* of the options */
    struct gt_sweep_row *row;         /* best first; row[0] is the best of what was searched */
    size_t rows;
    struct gt_sweep_row incumbent; /* kernel NULL: it was searched, there is none, or it failed */
    bool stays; /* the incumbent: nothing that was searched is shown to be faster */
    double points, cross_product;    /* points of all kernels: valid ones; before constraints */
    bool points_estimated;           /* of a kernel that has too many to count */
    int64_t status[GT_STATUS_COUNT]; /* trials by status, earlier runs included */
    int64_t fresh, resumed;          /* trials of this run; of earlier ones */
    int64_t timed;                   /* of this run: candidates that were proved and timed */
    int64_t compiled, cache_hits, respawns;
    double wall_s, busy_s; /* of this run: elapsed; with the GPU worker at work */
    double to_best_s;      /* until the first time within 2 % of the final best */
    bool have_baseline;
    struct gt_baseline baseline;
    bool interrupted;      /* a signal ended it; the same command resumes */
    struct gt_err nothing; /* code != 0: no kernel serves it, or no point is valid, and why */
};

/* Fills result[0..options->problems); they are to be released also after a failure.
 * GT_EINTERRUPTED: a signal stopped the sweep, and the results hold what was reached.  A problem
 * that no kernel serves is a result; it is an error only if it is the only problem. */
int gt_sweep_run(const struct gt_sweep_options *options, struct gt_sweep_result *result,
                 struct gt_err *err);

/* What compiling ahead made. */
struct gt_sweep_ahead {
    int64_t candidates; /* whose cubins are in the cache now, or cannot be compiled */
    int64_t compiled;   /* of them here; the others were there already */
};

/* Compiles the `most` first candidates that a sweep of the only problem would try, and
 * runs none.  The evaluator is one that predicts; its device says for which GPU.  A problem that no
 * kernel serves, or that is too big, has none.  GT_EINTERRUPTED: a signal came. */
int gt_sweep_compile(const struct gt_sweep_options *options, size_t most,
                     struct gt_sweep_ahead *ahead, struct gt_err *err);
void gt_sweep_result_release(struct gt_sweep_result *result); /* a zeroed one is accepted */
void gt_scouts_free(struct gt_scouts *scouts);                /* waits for them; NULL accepted */

#endif
