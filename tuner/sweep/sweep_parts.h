/* sweep_parts.h - the functions that the files of tuner/sweep call of each other, from the bottom
 * up.  Read sweep.c first, and race.h for the data.  No other folder includes this file. */
#ifndef GT_SWEEP_PARTS_H
#define GT_SWEEP_PARTS_H

#include "base/stats.h"
#include "lookup/table.h"
#include "search/strategy.h"
#include "sweep/race.h"
#include "sweep/sweep.h"

/* ---- time_slices.c: how the time of a sweep is divided among its problems ---- */

struct gt_time_slice; /* the time slices of one problem */

struct gt_time_slices {
    const struct gt_sweep_options *options;
    struct gt_time_slice *slice; /* of each problem */
    double begin_s;              /* of the sweep */
    double mean_weight;          /* mean weight of the problems; 0: all weights are equal */
    double head_s, tail_s;       /* estimates: seconds of a turn before the search ends, without the
                                    search itself; seconds of a turn after its search */
    size_t turns;                /* turns with a race, so far */
};

int gt_time_slices_init(struct gt_time_slices *slices, const struct gt_sweep_options *options,
                        struct gt_err *err);
void gt_time_slices_release(struct gt_time_slices *slices);

/* When a turn's race is to end. */
struct gt_turn_time {
    double search_s;   /* seconds of its search after the first trial */
    double deadline_s; /* the latest end of the search, on the evaluator's clock; 0: no deadline */
    double latest_s;   /* the latest end of the trials of ready points, likewise */
};

/* Chooses the problem of the next turn, and the time of that turn.  False: the sweep is over. */
bool gt_time_slices_next(struct gt_time_slices *slices, size_t *problem, struct gt_turn_time *time);
/* How many problems have had a turn, and how many turns a problem has had; the present turn
 * counts. */
size_t gt_time_slices_begun(const struct gt_time_slices *slices);
size_t gt_time_slices_turn(const struct gt_time_slices *slices, size_t problem);
/* The problem that probably follows problem `now`.  False: none does, or `now` again. */
bool gt_time_slices_peek(const struct gt_time_slices *slices, size_t now, size_t *problem);
/* The problem that has its first turn after problems `now` and `next`.  False: none, or not known
 * yet. */
bool gt_time_slices_peek_after(const struct gt_time_slices *slices, size_t now, size_t next,
                               size_t *problem);
/* Records a turn that has ended. */
void gt_time_slices_note(struct gt_time_slices *slices, size_t problem, const struct gt_race *race);

/* What all turns of a sweep have in common. */
struct gt_run {
    const struct gt_sweep_options *options;
    int64_t sweep, device, toolchain; /* ids of the store */
    uint64_t next_id;
    uint64_t races; /* races made so far: part of the seed of the next race's random numbers */
    struct gt_time_slices slices;
    size_t now;            /* the problem whose turn it is */
    struct gt_race *next;  /* the race of the problem that is probably next; NULL: none yet */
    struct gt_race *after; /* the race that probably follows `next`, whose spaces are being scouted;
                              NULL: none yet */
    struct gt_store_sweep_stats sums;
    int64_t timed;                  /* candidates that were proved and timed */
    struct gt_snapshot before;      /* the state of look-up before the sweep */
    struct gt_incumbent *incumbent; /* of each problem */
};

/* ---- tell.c ---- */

int gt_sweep_signals(const struct gt_race *race); /* how many SIGINTs came */
/* Shows a sentence.  A sentence from before the race's turn is kept until the turn begins. */
void gt_sweep_note(struct gt_race *race, const char *sentence);
void gt_sweep_show(struct gt_race *race, const char *phase, bool force);
/* Shows the title of a turn, and the sentences kept until then. */
void gt_sweep_show_begin(struct gt_race *race);
/* Shows the last line of a problem, which stays. */
void gt_sweep_show_end(struct gt_race *race);

/* ---- choose.c ---- */

/* The kernel's arm; NULL: the kernel has none. */
struct gt_arm *gt_sweep_arm_of(const struct gt_race *race, const struct gt_kernel *kernel);
struct gt_candidate gt_sweep_candidate(const struct gt_race *race, const struct gt_kernel *kernel,
                                       const struct gt_point *point);
struct gt_candidate gt_arm_candidate(const struct gt_arm *arm, size_t point);
/* Adds a point that the arm is to try again. */
int gt_sweep_retry(struct gt_arm *arm, struct gt_retry retry, struct gt_err *err);
/* Whether the clock ends the race; whether the clock forbids more candidates; whether the budget
 * allows no new point. */
bool gt_sweep_clock_ends(const struct gt_race *race);
bool gt_sweep_is_late(const struct gt_race *race);
bool gt_sweep_trials_spent(const struct gt_race *race);
/* Asks the arms for the next point to try.  False: no arm has a point now. */
bool gt_sweep_choose_point(struct gt_race *race, struct gt_proposal *next);
/* Whether the proposal is the incumbent, without whose time the race cannot end. */
bool gt_sweep_is_awaited(const struct gt_race *race, const struct gt_proposal *proposal);

/* ---- result.c ---- */

/* Inserts an item into a list of at most `most` items.  The list is sorted by the double with which
 * each item begins; the last item of a full list is dropped. */
#define GT_SWEEP_INSERT(list, count, most, ...) \
    gt_sweep_insert((list), sizeof(*(list)), (count), (most), (__VA_ARGS__))
void gt_sweep_insert(void *list, size_t size, size_t *count, size_t most, const void *item);
/* Moves an item of at most the size of a row; the items between both places close up. */
#define GT_SWEEP_MOVE(list, from, to) gt_sweep_move((list), sizeof(*(list)), (from), (to))
void gt_sweep_move(void *list, size_t size, size_t from, size_t to);

bool gt_sweep_is_incumbent(const struct gt_race *race, const struct gt_kernel *kernel,
                           const struct gt_point *point);
/* Whether the row is that of an incumbent that is not searched. */
bool gt_sweep_is_guest(const struct gt_race *race, const struct gt_sweep_row *row);
/* Removes the row of an incumbent that is not searched from the ranked rows, if it is there. */
void gt_sweep_part_guest(struct gt_race *race);
/* Whether the incumbent is ranked. */
bool gt_sweep_has_incumbent(const struct gt_race *race);
/* Moves a ranked incumbent into the first `rows` rows: as one more row or, if there are `most`
 * already, in place of the last row.  Returns the new number of first rows. */
size_t gt_sweep_seat_incumbent(struct gt_race *race, size_t rows, size_t most);
/* Puts a trial in its place among the best rows: first the sampled rows by time, then the other
 * rows by time.  The row of a trial that is not ok is removed. */
int gt_sweep_rank(struct gt_race *race, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_trial *trial, bool resumed,
                  struct gt_err *err);
/* Marks a candidate during which a run ended.  Several candidates may have been on the device then,
 * so this candidate is first sampled alone. */
void gt_sweep_blame(struct gt_sweep_result *result, const struct gt_kernel *kernel,
                    const struct gt_point *point);
/* The shortest time of all ranked rows of searched kernels; if there are none, the incumbent's
 * time; 0: there is no row. */
double gt_sweep_best_us(const struct gt_race *race);
/* Fills the result's totals at the end of a turn; before: the evaluator's totals at its
 * beginning. */
void gt_sweep_sum_up(struct gt_race *race, const struct gt_evaluator_stats *before);
/* Adds the results of earlier turns of this run to a turn's result, and releases them. */
void gt_sweep_join(struct gt_sweep_result *result, struct gt_sweep_result *earlier);

/* ---- record.c ---- */

/* Fills the key of an arm that has its kernel. */
int gt_sweep_make_key(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
/* Stores that the point is about to be launched.  The record is durable when this returns or, with
 * `later`, after gt_store_settle. */
int gt_sweep_attempt(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                     bool later, struct gt_err *err);
/* Stores a trial.  later: the trial becomes durable with the next attempt, or when the sweep
 * waits. */
int gt_sweep_store(struct gt_race *race, const struct gt_arm *arm, const struct gt_point *point,
                   const struct gt_trial *trial, bool later, struct gt_err *err);
/* Tells the evaluator the best time of the searched kernels, beside which it gives up slow
 * candidates.  The incumbent is timed in full, so nothing is told before it has a time.  The time
 * of an incumbent that is not searched is not told: the author of a kernel needs its times, however
 * fast another kernel is. */
void gt_sweep_tell_best(const struct gt_race *race);
/* Stores a finished trial, tells the strategy, ranks it. */
int gt_sweep_record(struct gt_race *race, const struct gt_flight *flight,
                    const struct gt_trial *trial, struct gt_err *err);
/* Tells the arm the trials of earlier runs.  Unfinished attempts become retries or, after
 * GT_MAX_ATTEMPTS, failures. */
int gt_sweep_resume(struct gt_race *race, struct gt_arm *arm, struct gt_err *err);
/* Retries candidates that earlier runs gave up as slow and that may be fast beside the arms of this
 * race. */
int gt_sweep_retry_slow(struct gt_race *race, struct gt_err *err);

/* ---- scout.c ---- */

/* Starts a thread for each kernel that serves the problem.  Kernels, problem, device and signals of
 * the options must not change until the scouts are freed. */
int gt_scouts_new(struct gt_scouts **scouts, const struct gt_sweep_options *options,
                  const struct gt_problem *problem, uint64_t seed, struct gt_err *err);
/* Whether the scouts were made with these arguments. */
bool gt_scouts_are_of(const struct gt_scouts *scouts, const struct gt_sweep_options *options,
                      const struct gt_problem *problem, uint64_t seed);
/* Waits for a kernel's thread and hands its findings to the caller, who releases them.  A kernel
 * without a thread is explored here.  GT_ERANGE: no point of the kernel is valid. */
int gt_scouts_take(struct gt_scouts *scouts, const struct gt_kernel *kernel,
                   struct gt_scouted *found, struct gt_err *err);
/* Whether all threads have ended.  If the evaluator has a clock of its own, on which the threads
 * take no time, this waits for them, so that the course of the sweep depends on that clock
 * alone. */
bool gt_scouts_done(struct gt_scouts *scouts);
/* The logarithm of a point's predicted time, NAN if there is no prediction.  This is the `expect`
 * of struct gt_seeds, with the arm as context. */
float gt_sweep_expect(void *arm, size_t point);

/* ---- at_hand.c ---- */

#define GT_TRANSFERS_MAX 12

/* Transfer data of an arm, nearest problem first.  Sets too small for a strategy are for reuse
 * only. */
struct gt_transfers {
    struct gt_transfer transfer[GT_TRANSFERS_MAX];
    size_t count;
};

/* Lists the points of an arm's transfer data whose cubins also serve this problem. */
int gt_sweep_reuse_note(struct gt_arm *arm, const struct gt_transfers *transfers,
                        struct gt_err *err);
/* Chooses a backfill point, whose cubin is in the cache, for a device that waits for the compilers.
 * The point is claimed, so that the strategy does not give it out.  False: no point is worth a
 * trial. */
bool gt_sweep_backfill(struct gt_race *race, struct gt_proposal *next);
/* The same for reuse: chooses the point expected to be fastest among points of other problems. */
bool gt_sweep_reuse(struct gt_race *race, struct gt_proposal *next);
/* Moves points whose cubins are in the cache from the points drawn ahead to the ready points, to be
 * tried before the race ends. */
int gt_sweep_find_ready(struct gt_race *race, struct gt_err *err);
/* The same, also for the candidates in flight, which the evaluator has dropped. */
int gt_sweep_find_dropped(struct gt_race *race, struct gt_err *err);
/* Takes the ready point expected to be fastest.  False: there is none. */
bool gt_sweep_ready(struct gt_race *race, struct gt_proposal *next);

/* ---- seeds.c ---- */

/* Creates the arm's strategy and gives it at most `count` seeds. */
int gt_sweep_seed(struct gt_race *race, struct gt_arm *arm, size_t count, struct gt_err *err);

/* ---- prepare.c ---- */

/* Makes the race of problem i, whose spaces are then being scouted.  *made is to be freed also
 * after a failure. */
int gt_race_new(struct gt_run *run, size_t i, struct gt_race **made, struct gt_err *err);
void gt_race_free(struct gt_race *race); /* NULL accepted */
/* Opens the race's arms, unless they are open.  The incumbent is compiled meanwhile. */
int gt_race_prepare(struct gt_race *race, struct gt_err *err);
/* Hands the compilers as many first points as a race would, unless they were handed over before.
 * An evaluator that cannot compile ahead gets none. */
int gt_race_draw_first(struct gt_race *race, struct gt_err *err);
/* Begins to scout the spaces of the two problems that are probably next, because scouting may take
 * longer than a turn.  The gains of further turns are only known at the end of a race. */
int gt_sweep_scout_next(struct gt_run *run, struct gt_err *err);
/* Opens the next problem's arms and hands its first points to the compilers, which are idle during
 * the finals of the present problem.  While the spaces are being scouted, this waits if it may, and
 * else does nothing. */
int gt_sweep_prepare_next(struct gt_run *run, bool may_wait, struct gt_err *err);
/* Hands out the race of problem i, whose turn it is: the prepared race, or a new one if another
 * problem was prepared.  *race is to be freed also after a failure. */
int gt_sweep_take_race(struct gt_run *run, size_t i, struct gt_race **race, struct gt_err *err);

/* ---- finals.c ---- */

#define GT_SWEEP_SAMPLED  32   /* candidates of stage 2 */
#define GT_SWEEP_TOO_SLOW 1.15 /* a time above this times the best is not sampled */

/* Finds and times the vendor library's best algorithm, unless that was done in this turn. */
int gt_sweep_open_baseline(struct gt_race *race, struct gt_err *err);
/* Timing stages 2 and 3, baseline, ties, winner. */
int gt_sweep_finals(struct gt_race *race, struct gt_err *err);

/* ---- race.c ---- */

/* Runs the race.  GT_EINTERRUPTED: a signal ended it. */
int gt_sweep_race(struct gt_race *race, struct gt_err *err);
/* The functions that the evaluator calls while this race runs. */
struct gt_evaluator_events gt_sweep_events(struct gt_race *race);

#endif
