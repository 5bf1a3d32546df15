/* sweep_parts.h - what the files of tuner/sweep do for each other, from the bottom up; read sweep.c
 * first, and race.h for the data.  No other folder includes this. */
#ifndef GT_SWEEP_PARTS_H
#define GT_SWEEP_PARTS_H

#include "base/stats.h"
#include "lookup/table.h"
#include "search/strategy.h"
#include "sweep/race.h"
#include "sweep/sweep.h"

/* ---- time_slices.c: how the time of a sweep is divided among its problems ---- */

struct gt_time_slice; /* a problem's */

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

/* ---- tell.c ---- */

int gt_sweep_signals(const struct gt_race *race); /* how many SIGINTs came */
/* Shows a sentence; one from before the race's turn is kept until the turn begins. */
void gt_sweep_note(struct gt_race *race, const char *sentence);
void gt_sweep_show(struct gt_race *race, const char *phase, bool force);
/* The title of a turn, and what was noted before it. */
void gt_sweep_show_begin(struct gt_race *race);
/* The line of a problem that stays. */
void gt_sweep_show_end(struct gt_race *race);

/* ---- choose.c ---- */

/* The kernel's arm; NULL: it has none. */
struct gt_arm *gt_sweep_arm_of(const struct gt_race *race, const struct gt_kernel *kernel);
struct gt_candidate gt_sweep_candidate(const struct gt_race *race, const struct gt_kernel *kernel,
                                       const struct gt_point *point);
struct gt_candidate gt_arm_candidate(const struct gt_arm *arm, size_t point);
/* Adds a point that the arm is to try again. */
int gt_sweep_retry(struct gt_arm *arm, struct gt_retry retry, struct gt_err *err);
/* Whether the clock ends the race; whether it forbids to submit more candidates; whether the budget
 * allows no new point. */
bool gt_sweep_clock_ends(const struct gt_race *race);
bool gt_sweep_is_late(const struct gt_race *race);
bool gt_sweep_trials_spent(const struct gt_race *race);
/* Asks the arms for a point to try next.  False: none of them has one now. */
bool gt_sweep_choose_point(struct gt_race *race, struct gt_proposal *next);
/* Whether it is the incumbent's point, and the race cannot end without its time. */
bool gt_sweep_is_awaited(const struct gt_race *race, const struct gt_proposal *proposal);

/* ---- result.c ---- */

/* Inserts an item into a list of `most` at most, in the order of the double with which items begin;
 * what comes last in a full list is dropped. */
#define GT_SWEEP_INSERT(list, count, most, ...) \
    gt_sweep_insert((list), sizeof(*(list)), (count), (most), (__VA_ARGS__))
void gt_sweep_insert(void *list, size_t size, size_t *count, size_t most, const void *item);
/* Moves an item of at most the size of a row; those between the places close up. */
#define GT_SWEEP_MOVE(list, from, to) gt_sweep_move((list), sizeof(*(list)), (from), (to))
void gt_sweep_move(void *list, size_t size, size_t from, size_t to);

bool gt_sweep_is_incumbent(const struct gt_race *race, const struct gt_kernel *kernel,
                           const struct gt_point *point);
/* Whether the row is the incumbent's, and that is not searched. */
bool gt_sweep_is_guest(const struct gt_race *race, const struct gt_sweep_row *row);
/* Takes the row of an incumbent that is not searched out of the others, if it is among them. */
void gt_sweep_part_guest(struct gt_race *race);
/* Whether the incumbent is ranked. */
bool gt_sweep_has_incumbent(const struct gt_race *race);
/* Makes sure that the incumbent is among the first rows, if it is ranked at all: as one more, or in
 * the last one's place if there are `most` already.  Returns how many they are. */
size_t gt_sweep_seat_incumbent(struct gt_race *race, size_t rows, size_t most);
/* Puts a trial in its place among the best rows: first the sampled ones by time, then the others.
 * The row of a trial that is not ok is removed. */
int gt_sweep_rank(struct gt_race *race, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_trial *trial, bool resumed,
                  struct gt_err *err);
/* Marks a candidate during which a run ended.  Several candidates may have been at work then, so
 * this one is first sampled alone. */
void gt_sweep_blame(struct gt_sweep_result *result, const struct gt_kernel *kernel,
                    const struct gt_point *point);
/* The shortest time of all ranked rows of what is searched or, where there are none, of the
 * incumbent's; 0: there are none at all. */
double gt_sweep_best_us(const struct gt_race *race);
/* Fills the result's totals at the end of a turn; before: the evaluator's at its beginning. */
void gt_sweep_sum_up(struct gt_race *race, const struct gt_evaluator_stats *before);
/* Adds to a turn's result what earlier turns of this run amount to, and releases those. */
void gt_sweep_join(struct gt_sweep_result *result, struct gt_sweep_result *earlier);

/* ---- record.c ---- */

/* Fills the key of an arm that has its kernel. */
int gt_sweep_make_key(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
/* Stores that the point is about to be launched; that is durable when this returns, or, later, with
 * gt_store_settle. */
int gt_sweep_attempt(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                     bool later, struct gt_err *err);
/* Stores a trial.  later: it becomes durable with the next attempt, or when the sweep waits. */
int gt_sweep_store(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                   const struct gt_trial *trial, bool later, struct gt_err *err);
/* Tells the evaluator the best time of what is searched, by which it gives slow candidates up, once
 * the incumbent has a time: that is timed in full.  Who works on a kernel of his own needs its
 * times, however fast another kernel is. */
void gt_sweep_tell_best(const struct gt_race *race);
/* Stores a finished trial, tells the strategy, ranks it. */
int gt_sweep_record(struct gt_race *race, const struct gt_flight *flight,
                    const struct gt_trial *trial, struct gt_err *err);
/* Tells the arm the trials of earlier runs.  Unfinished attempts become retries or, after
 * GT_MAX_ATTEMPTS, failures. */
int gt_sweep_resume(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
/* Has those of the trials that were given up as slow tried again that may be fast beside the arms
 * of this race. */
int gt_sweep_retry_slow(struct gt_race *race, struct gt_err *err);

/* ---- scout.c ---- */

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
/* The logarithm of a point's predicted time, NAN if there is no prediction.  It is the `expect` of
 * struct gt_seeds; the context is the arm. */
float gt_sweep_expect(void *arm, size_t point);

/* ---- at_hand.c ---- */

#define GT_TRANSFERS_MAX 12

/* Transfer data of an arm, nearest problem first.  Small sets are good for reuse only. */
struct gt_transfers {
    struct gt_transfer transfer[GT_TRANSFERS_MAX];
    size_t count;
};

/* Takes note of the points of an arm's transfer data whose cubins also serve this problem. */
int gt_sweep_reuse_note(struct gt_arm *arm, const struct gt_transfers *transfers,
                        struct gt_err *err);
/* Chooses a point whose cubin is in the cache, for a device that waits for the compilers, and
 * claims it so that the strategy does not give it out.  False: no point is worth a trial. */
bool gt_sweep_backfill(struct gt_race *race, struct gt_proposal *next);
/* The same, with the point expected to be fastest among those of other problems. */
bool gt_sweep_reuse(struct gt_race *race, struct gt_proposal *next);
/* Takes from the points that were drawn ahead those whose cubins are in the cache, to be tried
 * before the race ends. */
int gt_sweep_find_ready(struct gt_race *race, struct gt_err *err);
/* Likewise, from those and from the flights, which the evaluator has dropped. */
int gt_sweep_find_dropped(struct gt_race *race, struct gt_err *err);
/* The one expected to be the fastest.  False: there is none. */
bool gt_sweep_ready(struct gt_race *race, struct gt_proposal *next);

/* ---- seeds.c ---- */

/* Creates the arm's strategy and gives it `count` points at most to try first. */
int gt_sweep_seed(struct gt_race *race, struct gt_arm *arm, size_t count, struct gt_err *err);

/* ---- prepare.c ---- */

/* Makes the race of problem i, whose spaces are then being scouted.  *made is to be freed also
 * after a failure. */
int gt_race_new(struct gt_run *run, size_t i, struct gt_race **made, struct gt_err *err);
void gt_race_free(struct gt_race *race); /* NULL accepted */
/* Opens the race's arms, unless they are open.  What look-up hands out is compiled meanwhile. */
int gt_race_prepare(struct gt_race *race, struct gt_err *err);
/* Hands the compilers as many first points as a race would, unless they have them; nothing where
 * nothing is measured. */
int gt_race_draw_first(struct gt_race *race, struct gt_err *err);
/* Begins to scout the spaces of the problem that is probably the next one, and of the one after it:
 * that may take longer than a turn.  The gains of further turns are only known at the end of a
 * race. */
int gt_sweep_scout_next(struct gt_run *run, struct gt_err *err);
/* Opens the next problem's arms and hands its first points to the compilers, which have nothing
 * else to do during the finals of this one.  Does nothing while its spaces are being scouted,
 * unless it may wait for that. */
int gt_sweep_prepare_next(struct gt_run *run, bool may_wait, struct gt_err *err);
/* Makes the race of the problem whose turn it is: the one that was prepared, if it is that.  *race
 * is to be freed also after a failure. */
int gt_sweep_take_race(struct gt_run *run, size_t i, struct gt_race **race, struct gt_err *err);

/* ---- finals.c ---- */

#define GT_SWEEP_SAMPLED  32   /* candidates of stage 2 */
#define GT_SWEEP_TOO_SLOW 1.15 /* a time of more than this times the best is not sampled */

/* Finds and times the vendor library's best algorithm, if it has one and was not asked for it in
 * this turn. */
int gt_sweep_open_baseline(struct gt_race *race, struct gt_err *err);
/* Timing stages 2 and 3, baseline, ties, winner. */
int gt_sweep_finals(struct gt_race *race, struct gt_err *err);

/* ---- race.c ---- */

/* Runs the race.  GT_EINTERRUPTED: a signal ended it. */
int gt_sweep_race(struct gt_race *race, struct gt_err *err);
/* What the evaluator calls while the race is the one at work. */
struct gt_evaluator_events gt_sweep_events(struct gt_race *race);

#endif
