/* sweep_parts.h - what the files of tuner/sweep do for each other; read sweep.c first, and race.h
 * for the data.  No other folder includes this. */
#ifndef GT_SWEEP_PARTS_H
#define GT_SWEEP_PARTS_H

#include "base/stats.h"
#include "lookup/table.h"
#include "search/strategy.h"
#include "sweep/race.h"
#include "sweep/sweep.h"

/* sweep.c */

int gt_sweep_signals(const struct gt_race *race); /* how many SIGINTs came */
void gt_sweep_note(struct gt_race *race, const char *sentence);
void gt_sweep_show(struct gt_race *race, const char *phase, bool force);

/* time_slices.c */

struct gt_time_slice; /* a problem's */

/* How the time of a sweep is divided among its problems. */
struct gt_time_slices {
    const struct gt_sweep_options *options;
    struct gt_time_slice *slice; /* of each problem */
    double begin_s;              /* of the sweep */
    double mean_weight;          /* of the problems; 0: all weigh the same */
    double head_s, tail_s;       /* estimates: what a turn takes until its search ends, beside the
                                    search's time; what follows its search */
    size_t turns;                /* with a race, so far */
};

int gt_time_slices_init(struct gt_time_slices *slices, const struct gt_sweep_options *options,
                        struct gt_err *err);
void gt_time_slices_release(struct gt_time_slices *slices);

/* When a turn's race is to end. */
struct gt_turn_time {
    double search_s;   /* seconds of its search after the first trial */
    double deadline_s; /* of the search at the latest, on the evaluator's clock; 0: no deadline */
    double latest_s;   /* likewise, of the trials of what is ready by then */
};

/* Chooses the problem to work on next, and its time.  False: the sweep is over. */
bool gt_time_slices_next(struct gt_time_slices *slices, size_t *problem, struct gt_turn_time *time);
/* How many problems have had a turn, and how many turns a problem has had; the present one counts.
 */
size_t gt_time_slices_begun(const struct gt_time_slices *slices);
size_t gt_time_slices_turn(const struct gt_time_slices *slices, size_t problem);
/* Which problem will probably be next after the turn on `now`.  False: none, or the same. */
bool gt_time_slices_peek(const struct gt_time_slices *slices, size_t now, size_t *problem);
/* Which problem will have its first turn after those two.  False: none, or nobody knows yet. */
bool gt_time_slices_peek_after(const struct gt_time_slices *slices, size_t now, size_t next,
                               size_t *problem);
/* Takes note of a turn that has ended. */
void gt_time_slices_note(struct gt_time_slices *slices, size_t problem, const struct gt_race *race);

/* race.c */

/* Runs the race.  GT_EINTERRUPTED: a signal ended it. */
int gt_sweep_race(struct gt_race *race, struct gt_err *err);
/* What the evaluator calls while the race is the one at work. */
struct gt_evaluator_events gt_sweep_events(struct gt_race *race);

/* race.c */

/* Whether the clock ends the race.  It does so only if the problem has a time, because a slow
 * compiler must not leave a problem without a winner, and not before the incumbent has one, because
 * nothing could replace it.  Until then the race waits for what is in flight and submits few more
 * candidates. */
/* Whether the clock forbids to submit more candidates. */
/* Whether the budget allows no new point.  Points to be tried again count, because a device that
 * hangs at every one would have all of the space tried otherwise; an incumbent whose kernel is not
 * searched does not. */
/* Asks the arms for a point to try next.  False: none of them has one now. */
bool gt_sweep_choose_point(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what);
/* Whether it is the incumbent's point, and the race cannot end without its time. */
bool gt_sweep_is_awaited(const struct gt_race *race, const struct gt_draw *draw);

/* next.c */

/* What all turns of a sweep have in common. */
struct gt_run {
    const struct gt_sweep_options *options;
    int64_t sweep, device, toolchain; /* ids of the store */
    uint64_t next_id;
    uint64_t races; /* made so far: part of the seed of the next one's random numbers */
    struct gt_time_slices slices;
    size_t now;            /* the problem whose turn it is */
    struct gt_race *next;  /* of the problem that is probably the next one; NULL: none yet */
    struct gt_race *after; /* likewise, after that: its spaces are being scouted */
    struct gt_store_sweep_stats sums;
    int64_t timed;                  /* candidates that were proved and timed */
    struct gt_snapshot before;      /* what look-up answers from before the sweep */
    struct gt_incumbent *incumbent; /* of each problem */
};

/* Remembers what look-up answers from before the sweep adds to it, in run->before and
 * run->incumbent, which are to be released also after a failure. */
int gt_sweep_take_snapshot(struct gt_run *run, struct gt_err *err); /* sweep.c */
/* Makes the race of problem i, whose spaces are then being scouted.  *made is to be freed also
 * after a failure. */
int gt_race_new(struct gt_run *run, size_t i, struct gt_race **made, struct gt_err *err);
/* Makes the race of the problem whose turn it is: the one that was prepared, if it is that.  *race
 * is to be freed also after a failure. */
int gt_sweep_take_race(struct gt_run *run, size_t i, struct gt_race **race, struct gt_err *err);
void gt_race_free(struct gt_race *race); /* NULL accepted */
/* Opens the race's arms, unless they are open.  What look-up hands out is compiled meanwhile. */
int gt_race_prepare(struct gt_race *race, struct gt_err *err);
/* Hands the compilers as many first points as a race would, unless they have them; nothing where
 * nothing is measured. */
int gt_race_draw_first(struct gt_race *race, struct gt_err *err);
/* Begins to scout the spaces of the problem that is probably the next one, and of the one after it:
 * that may take longer than a turn.  The gains of further turns are only known at the end of a
 * race.
 */
int gt_sweep_scout_next(struct gt_run *run, struct gt_err *err);
/* Opens the next problem's arms and hands its first points to the compilers, which have nothing
 * else to do during the finals of this one.  Does nothing while its spaces are being scouted,
 * unless it may wait for that. */
int gt_sweep_prepare_next(struct gt_run *run, bool may_wait, struct gt_err *err);

/* race.c */

/* Fills the arms.  If there is none, result->nothing says why. */
int gt_sweep_open_arms(struct gt_race *race, struct gt_err *err);
/* Fills the key of an arm that has its kernel. */
int gt_sweep_make_key(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
void gt_sweep_close_arms(struct gt_race *race);
/* The arm that may try a point next, NULL if none: the one with the fewest trials in relation to
 * its weight, which falls with the ratio of its best time to the best of all arms. */
/* The kernel's arm; NULL: it has none. */
struct gt_arm *gt_sweep_arm_of(const struct gt_race *race, const struct gt_kernel *kernel);

/* incumbent.c */

/* Asks look-up for the incumbent, once in a sweep.  Without kernels in `before` there is none. */
int gt_sweep_find_incumbent(const struct gt_race *race, const struct gt_snapshot *before,
                            struct gt_incumbent *incumbent, struct gt_err *err);
/* Makes the incumbent the first candidate of the arms, which are open and know the trials of
 * earlier runs.  If none of them has its point, it gets an arm of its own. */
int gt_sweep_open_incumbent(struct gt_race *race, struct gt_err *err);
bool gt_sweep_is_incumbent(const struct gt_race *race, const struct gt_kernel *kernel,
                           const struct gt_point *point);
/* Whether the row is the incumbent's, and that is not searched. */
bool gt_sweep_is_guest(const struct gt_race *race, const struct gt_sweep_row *row);
/* Takes the row of an incumbent that is not searched out of the others, if it is among them. */
void gt_sweep_part_guest(struct gt_race *race);
/* Says that a trial of it ended without a time, and why. */
void gt_sweep_note_guest(struct gt_race *race, const struct gt_trial *trial);
/* Makes sure that the incumbent is among the first rows, if it is ranked at all: as one more, or in
 * the last one's place if there are `most` already.  Returns how many they are. */
size_t gt_sweep_seat_incumbent(struct gt_race *race, size_t rows, size_t most);

/* Adds a lead unless there are as many nearer ones as may be. */
void gt_sweep_add_lead(struct gt_race *race, struct gt_lead lead);
/* The next lead that was not tried yet; NULL: there is none. */
const struct gt_lead *gt_sweep_next_lead(struct gt_race *race);

/* seeds.c: creates the arm's strategy and gives it `count` points at most to try first. */
int gt_sweep_seed(struct gt_race *race, struct gt_arm *arm, size_t count, struct gt_err *err);

/* How different two problems are as work for a GPU.  Ratios of the sizes count, not differences. */
double gt_sweep_distance(const struct gt_problem *problem, const struct gt_row *row);

/* transfer.c */

#define GT_TRANSFERS_MAX  12
#define GT_TRANSFERS_USED 6 /* by a strategy; with the predictor, GT_GP_PRIORS at most */

/* Nearest problem first.  Small sets are good for reuse only. */
struct gt_transfers {
    struct gt_transfer transfer[GT_TRANSFERS_MAX];
    size_t count;
};

/* Reads the transfer data of an arm; *transfers is to be released also after a failure. */
int gt_sweep_transfer(const struct gt_race *race, const struct gt_arm *arm,
                      struct gt_transfers *transfers, struct gt_err *err);
/* Copies those that are large enough for a strategy to list[GT_TRANSFERS_USED]; returns how many.
 */
size_t gt_sweep_transfer_choose(const struct gt_transfers *transfers, struct gt_transfer *list);
void gt_sweep_transfer_release(struct gt_transfers *transfers);

/* seeds.c */

/* The logarithm of a point's predicted time, NAN if there is no prediction.  It is the `expect` of
 * struct gt_seeds; the context is the arm. */
float gt_sweep_expect(void *arm, size_t point);

/* Ranks the space, or an even sample of it: the shortest predicted time first, among equals the one
 * with most defaults.  Points without a prediction are left out.  ranking: corrects the times of
 * the first ones; NULL: nothing does.  *list is malloc'ed. */
int gt_sweep_predict(const struct gt_space *space, const struct gt_ranking *ranking,
                     struct gt_random *random, struct gt_ranked **list, size_t *count,
                     struct gt_err *err);

/* seeds.c */

/* For each seed of the description the point that has its values, and the most defaults among its
 * other parameters; SIZE_MAX: no such point is valid.  *described is malloc'ed. */
int gt_sweep_describe(const struct gt_space *space, size_t **described, struct gt_err *err);

/* scout.c */

/* Starts a thread for each kernel that serves the problem.  Kernels, problem, device and signals of
 * the options must not change until the scouts are freed. */
int gt_scouts_new(struct gt_scouts **scouts, const struct gt_sweep_options *options,
                  const struct gt_problem *problem, uint64_t seed, struct gt_err *err);
/* Whether they look for what gt_scouts_new would be asked for with these. */
bool gt_scouts_are_of(const struct gt_scouts *scouts, const struct gt_sweep_options *options,
                      const struct gt_problem *problem, uint64_t seed);
/* Waits for a kernel's thread; what it has found is to be released by the caller.  A kernel for
 * which none was started is explored here.  GT_ERANGE: no point of it is valid. */
int gt_scouts_take(struct gt_scouts *scouts, const struct gt_kernel *kernel,
                   struct gt_scouted *found, struct gt_err *err);
/* Whether all threads have ended.  Waits for them if the evaluator has a clock of its own, on which
 * they take no time: what a sweep does then depends on that clock alone. */
bool gt_scouts_done(struct gt_scouts *scouts);

/* record.c */

/* Tells the arm the trials of earlier runs.  Unfinished attempts become retries or, after
 * GT_MAX_ATTEMPTS, failures. */
/* Whether a stored failure to compile may be the machine's; it is tried anew (record.c). */
int gt_sweep_resume(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
/* Stores a finished trial, tells the strategy, ranks it. */
int gt_sweep_record(struct gt_race *race, const struct gt_flight *flight,
                    const struct gt_trial *trial, struct gt_err *err);
/* Stores that the point is about to be launched; that is durable when this returns, or, later, with
 * gt_store_settle. */
int gt_sweep_attempt(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                     bool later, struct gt_err *err);
/* Stores a trial.  later: it becomes durable with the next attempt, or when the sweep waits. */
int gt_sweep_store(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                   const struct gt_trial *trial, bool later, struct gt_err *err);
/* Puts a trial in its place among the best rows: first the sampled ones by time, then the others.
 * The row of a trial that is not ok is removed. */
int gt_sweep_rank(struct gt_race *race, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_trial *trial, bool resumed,
                  struct gt_err *err);
/* The shortest time of all ranked rows of what is searched or, where there are none, of the
 * incumbent's; 0: there are none at all. */
double gt_sweep_best_us(const struct gt_race *race);
/* Tells the evaluator the best time of what is searched, by which it gives slow candidates up, once
 * the incumbent has a time: that is timed in full.  Who works on a kernel of his own needs its
 * times, however fast another kernel is. */
void gt_sweep_tell_best(const struct gt_race *race);
/* Adds a point that the arm is to try again. */
int gt_sweep_retry(struct gt_arm *arm, struct gt_retry retry, struct gt_err *err);

/* race.c */

/* Takes note of a trial of an earlier run that gave its candidate up as slow. */
void gt_sweep_note_slow(struct gt_race *race, struct gt_arm *arm, size_t point, double us);

/* sweep.c */

/* Fills the result's totals at the end of a turn; before: the evaluator's at its beginning. */
/* Adds to a turn's result what earlier turns of this run amount to, and releases those. */
void gt_sweep_join(struct gt_sweep_result *result, struct gt_sweep_result *earlier);

/* ready.c */

/* Takes note of a trial that is ok. */
int gt_sweep_backfill_note(struct gt_race *race, struct gt_arm *arm, size_t point,
                           struct gt_err *err);
/* Chooses a point whose cubin is in the cache, for a device that waits for the compilers, and
 * claims it so that the strategy does not give it out.  False: no point is worth a trial. */
bool gt_sweep_backfill(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what);

/* ready.c */

/* Takes note of the points of an arm's transfer data whose cubins also serve this problem. */
int gt_sweep_reuse_note(struct gt_arm *arm, const struct gt_transfers *transfers,
                        struct gt_err *err);
/* As gt_sweep_backfill, with the point expected to be fastest among those of other problems. */
bool gt_sweep_reuse(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what);

/* ready.c */

/* Takes from the points that were drawn ahead those whose cubins are in the cache, to be tried
 * before the race ends. */
int gt_sweep_find_ready(struct gt_race *race, struct gt_err *err);
/* Likewise, from those and from the flights, which the evaluator has dropped. */
int gt_sweep_find_dropped(struct gt_race *race, struct gt_err *err);
/* The one expected to be the fastest.  False: there is none. */
bool gt_sweep_ready(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what);

/* drift.c */

/* Takes note of a measurement since the last check. */
int gt_sweep_remember(struct gt_race *race, struct gt_arm *arm, size_t point, struct gt_err *err);
/* Times the reference kernel if the last check is long enough ago.  If the device has drifted, the
 * points that were measured since then and may still win are measured again. */
int gt_sweep_check_drift(struct gt_race *race, struct gt_err *err);

/* finals.c */

#define GT_SWEEP_SAMPLED  32   /* candidates of stage 2 */
#define GT_SWEEP_TOO_SLOW 1.15 /* a time of more than this times the best is not sampled */

/* Finds and times the vendor library's best algorithm, if it has one and was not asked for it in
 * this turn. */
int gt_sweep_open_baseline(struct gt_race *race, struct gt_err *err);
/* Timing stages 2 and 3, baseline, ties, winner. */
int gt_sweep_finals(struct gt_race *race, struct gt_err *err);

#endif
