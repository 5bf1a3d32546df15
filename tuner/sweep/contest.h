/* contest.h - one contest: candidates timed in turns, compared in pairs, put in order.  contests.c
 * says which are held. */
#ifndef GT_SWEEP_CONTEST_H
#define GT_SWEEP_CONTEST_H

#include "sweep/sweep_parts.h"

#define GT_CONTEST_ENTRIES GT_SWEEP_SAMPLED

/* The result of one contest. */
struct gt_contest {
    struct gt_trial trial[GT_CONTEST_ENTRIES], baseline;
    /* median of the entry's time / that of one of them, in pairs */
    double ratio[GT_CONTEST_ENTRIES];
};

/* How many of the best rows a contest may have, at most `most`, so that its least rounds take no
 * more than that part of the time that is left. */
size_t gt_contest_affordable(const struct gt_race *race, double part, size_t most);

/* seats.c: moves the rows that may still win to the front, at most `most` with the incumbent.
 * *seats: how many. */
int gt_contest_seats(struct gt_race *race, size_t most, size_t *seats, struct gt_err *err);

/* Holds a contest of the first rows; the rows do not change. */
int gt_contest_hold(struct gt_race *race, const struct gt_rounds *rounds, double part,
                    size_t entries, bool baseline, struct gt_contest *contest, struct gt_err *err);

/* Sorts the first rows and their trials by their ratios and removes those that failed.  Returns how
 * many are left. */
size_t gt_contest_place(struct gt_sweep_result *result, struct gt_contest *contest, size_t entries);

/* Stores the trials of the first rows.  The incumbent's comes first: if the tuner ends in between,
 * no row of the final is without it. */
int gt_contest_store(struct gt_race *race, const struct gt_contest *contest, size_t entries,
                     struct gt_err *err);

#endif
