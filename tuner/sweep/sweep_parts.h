/* sweep_parts.h - what the files of the sweep share: sweep.c (read it first), arms.c,
 * seeds.c, priors.c, ranking.c, record.c, drift.c,
 * backfill.c, turn.c, time_slices.c, finals.c and contests.c.  Nobody else
 * includes this. */
#ifndef GT_SWEEP_PARTS_H
#define GT_SWEEP_PARTS_H

#include "search/strategy.h"
#include "sweep/sweep.h"

/* A point that is to be tried although the strategy does not ask for it. */
struct gt_retry {
    size_t point;   /* of the arm's space */
    int attempts;   /* made so far, those of earlier runs included */
    int killed;     /* attempts of this run that something outside ended; they do not count */
    bool urgent;    /* before the strategy's own points; else when it is due, or that waits */
    bool remeasure; /* it has a time that cannot be trusted */
    int64_t due;    /* trials of the race */
};

struct gt_race;

/* One kernel's part in the race for a problem. */
struct gt_arm {
    const struct gt_race *race;
    const struct gt_kernel *kernel;
    struct gt_space space;
    struct gt_strategy *strategy;
    struct gt_trial_key key; /* all but the point */
    int64_t tried, flying;   /* trials, those of earlier runs included; in the evaluator */
    int64_t backfilled;      /* of both: for want of a cubin, so not on the arm's account */
    double best_us;          /* 0: none yet */
    bool done, waiting;      /* the strategy has nothing more; nothing before it hears */
    struct gt_retry *retry;  /* a stack, the urgent ones on top */
    size_t retries, retry_capacity;
};

/* A candidate handed to the evaluator. */
struct gt_flight {
    uint64_t id;
    struct gt_arm *arm;
    struct gt_retry what;
    struct gt_candidate candidate;
    bool launched; /* its attempt is in the store */
    bool backfill; /* no strategy asked for it */
};

/* A trial that is kept in mind. */
struct gt_recent {
    struct gt_arm *arm;
    size_t point;
};

struct gt_best {
    double at_s, us;
    int64_t trials; /* of this turn by then */
};

/* The work on one problem. */
struct gt_race {
    const struct gt_sweep_options *options;
    const struct gt_problem *problem;
    struct gt_sweep_result *result;
    struct gt_evaluator *evaluator;
    bool opened;   /* the evaluator has the problem */
    bool measures; /* the evaluator has samples; else it predicts */
    int64_t sweep, device, toolchain, problem_id;
    struct gt_arm *arm;
    size_t arms;
    struct gt_flight *flight;
    size_t flights, flight_capacity;
    uint64_t *next_id;          /* of the whole sweep */
    double begin_s, deadline_s; /* on the evaluator's clock; deadline 0: none */
    double search_s;            /* of that, from the first trial on */
    double first_s;             /* the end of the first trial of this turn, if it has one */
    double end_s;               /* of the race, finals follow; 0: there was none */
    double busy_s;              /* GPU worker at work until then */
    uint64_t seed;              /* of what is drawn in this turn */
    int64_t tried;              /* all arms, those of earlier runs included */
    int64_t improved_at;        /* `tried` when the best last improved by 0.5 % */
    double best_us, anchor_us;  /* best; the best that improved_at refers to */
    double resumed_us;          /* the best of earlier turns and runs; 0: none */
    struct gt_best *history;    /* every improvement of this run */
    size_t bests, history_capacity;
    struct gt_recent *recent; /* count only if the device does not drift until the next check */
    size_t recents, recent_capacity;
    struct gt_recent *backfill; /* good ones, of which others may have the cubin */
    size_t backfills, backfill_capacity;
    double reference_us, reference_s; /* drift check: its last time, when; 0: none */
};

int gt_sweep_signals(const struct gt_race *race);
void gt_sweep_note(const struct gt_race *race, const char *sentence);
void gt_sweep_show(const struct gt_race *race, const char *phase, bool force);

/* time_slices.c */

struct gt_time_slice; /* a problem's */

/* How the time of a sweep is shared among its problems. */
struct gt_time_slices {
    const struct gt_sweep_options *options;
    struct gt_time_slice *slice; /* of each problem */
    double begin_s;              /* of the sweep */
    double head_s, tail_s;       /* what a turn's first trial and its finals take, estimated */
    size_t turns;                /* noted so far */
};

int gt_time_slices_init(struct gt_time_slices *slices, const struct gt_sweep_options *options,
                        struct gt_err *err);
void gt_time_slices_release(struct gt_time_slices *slices);
/* The problem to work on next, for how long after its first trial, and when its race is to end at
 * the latest (0: no deadline); false: no more. */
bool gt_time_slices_next(struct gt_time_slices *slices, size_t *problem, double *search_s,
                         double *deadline_s);
/* After a turn. */
void gt_time_slices_note(struct gt_time_slices *slices, size_t problem, const struct gt_race *race);

/* arms.c */

/* Fills the arms; that there is none is told in result->nothing. */
int gt_sweep_open_arms(struct gt_race *race, struct gt_err *err);
void gt_sweep_close_arms(struct gt_race *race);
/* The arm whose turn it is: the one that had the fewest trials for how fast its best point is. */
struct gt_arm *gt_sweep_choose_arm(struct gt_race *race);
/* NULL: the kernel has none. */
struct gt_arm *gt_sweep_arm_of(const struct gt_race *race, const struct gt_kernel *kernel);

/* seeds.c: creates the arm's strategy with points worth trying first. */
int gt_sweep_seed(struct gt_race *race, struct gt_arm *arm, size_t count, struct gt_err *err);

/* How unlike two problems are as work for a GPU: ratios of the sizes count, not differences. */
double gt_sweep_distance(const struct gt_problem *problem, const struct gt_row *row);

/* priors.c */

#define GT_PRIORS_MAX 6 /* with the predictor, GT_GP_PRIORS at most */

struct gt_priors {
    struct gt_transfer prior[GT_PRIORS_MAX];
    size_t count;
};

/* Reads the trials a strategy may learn from; to be released also after a failure. */
int gt_sweep_priors(const struct gt_race *race, const struct gt_arm *arm, struct gt_priors *priors,
                    struct gt_err *err);
void gt_sweep_priors_release(struct gt_priors *priors);

/* ranking.c */

/* What the predictor expects of a point: the logarithm of its time, NAN if it has no answer.  For
 * struct gt_seeds; the context is the arm. */
float gt_sweep_expect(void *arm, size_t point);

/* A point as the predictor sees it. */
struct gt_ranked {
    uint32_t point;
    uint16_t unusual; /* parameters that do not have their default value */
    float us;
};

/* Ranks the arm's space or an even sample of it, best first; equals by how usual they are.  Points
 * the model has no answer for are left out.  *list is malloc'ed. */
int gt_sweep_predict(const struct gt_race *race, const struct gt_arm *arm, struct gt_random *random,
                     struct gt_ranked **list, size_t *count, struct gt_err *err);

/* record.c */

/* Tells the arm what earlier runs found; unfinished attempts become retries or, after
 * GT_MAX_ATTEMPTS, failures. */
int gt_sweep_resume(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
/* Stores a finished trial, tells the strategy, ranks it. */
int gt_sweep_record(struct gt_race *race, const struct gt_flight *flight,
                    const struct gt_trial *trial, struct gt_err *err);
/* Writes a trial to the store; later: with the next attempt, or when the sweep has to wait. */
/* The point is about to be launched; durable when this returns. */
int gt_sweep_attempt(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                     struct gt_err *err);
int gt_sweep_store(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                   const struct gt_trial *trial, bool later, struct gt_err *err);
/* Puts a trial in its place among the best rows: the sampled ones by time, then the others.  One
 * that is not ok leaves them. */
int gt_sweep_rank(struct gt_race *race, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_trial *trial, bool resumed,
                  struct gt_err *err);
/* The shortest time of all ranked rows; 0: there are none. */
double gt_sweep_best_us(const struct gt_sweep_result *result);
int gt_sweep_retry(struct gt_arm *arm, struct gt_retry retry, struct gt_err *err);

/* Makes room in an array for one more element of `size` bytes. */
int gt_sweep_reserve(void **array, size_t count, size_t *capacity, size_t size, struct gt_err *err);

/* turn.c: stores how this turn of the problem went; nothing unless it was measured. */
int gt_sweep_put_turn(const struct gt_race *race, struct gt_err *err);

/* backfill.c */

/* Takes note of a trial that went well. */
int gt_sweep_backfill_note(struct gt_race *race, struct gt_arm *arm, size_t point,
                           struct gt_err *err);
/* Chooses, for a device that waits for the compilers, a point whose cubin is at hand and takes it
 * out of the strategy's hands; false: none is worth it. */
bool gt_sweep_backfill(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what);

/* drift.c */

/* Takes note of a measurement since the last check. */
int gt_sweep_remember(struct gt_race *race, struct gt_arm *arm, size_t point, struct gt_err *err);
/* Times the reference kernel if it is time to; when the device has drifted, what was measured since
 * the last check and may still win is put back. */
int gt_sweep_check_drift(struct gt_race *race, struct gt_err *err);

/* finals.c */

#define GT_SWEEP_SAMPLED  32   /* candidates of stage 2 */
#define GT_SWEEP_TOO_SLOW 1.15 /* a time beyond this times the best is not sampled */

/* Timing stages 2 and 3, baseline, ties, winner. */
int gt_sweep_finals(struct gt_race *race, struct gt_err *err);
struct gt_candidate gt_sweep_candidate(const struct gt_race *race, const struct gt_sweep_row *row);

/* contests.c: orders the rows, the winner first; stores times, baseline and tie. */
int gt_sweep_contests(struct gt_race *race, struct gt_err *err);

#endif
