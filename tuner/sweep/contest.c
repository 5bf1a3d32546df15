/* contest.c - see contest.h.  A contest brings the device to its steady state first, times its
 * candidates in turns and compares them in pairs (tuner/timing/bench_final.c).  The reason is that
 * a power cap holds the clocks down: times that were taken one after the other then differ by more
 * than the candidates do. */
#include "sweep/contest.h"

#include "base/err.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

#define ROUNDS_LEAST 7   /* of any contest, however little time is left ... */
#define ROUNDS_US    2e5 /* ... and more, as many as a contest has at least, if they fit in this */

/* ---- what a contest may cost ---- */

/* Microseconds that are left for the finals. */
static double left_us(const struct gt_race *race)
{
    return 1e6 * fmax(0, race->finals_end_s - gt_evaluator_now(race->evaluator));
}

size_t gt_contest_affordable(const struct gt_race *race, double part, size_t most)
{
    double count = part * left_us(race) / (ROUNDS_LEAST * gt_sweep_best_us(race));

    if (!(race->finals_s > 0))
        return most;
    return count < 2 ? 2 : count < (double)most ? (size_t)count : most;
}

/* The rounds of a contest that may take that part of the time that is left. */
static struct gt_rounds limited(const struct gt_race *race, const struct gt_rounds *rounds,
                                double part, double round_us)
{
    struct gt_rounds less = *rounds;

    if (!(race->finals_s > 0))
        return less;
    less.us = fmin(less.us, part * left_us(race));
    less.least = (int)fmin(less.least, fmax(ROUNDS_LEAST, fmax(less.us, ROUNDS_US) / round_us));
    return less;
}

/* ---- a contest ---- */

int gt_contest_hold(struct gt_race *race, const struct gt_rounds *rounds, double part,
                    size_t entries, bool baseline, struct gt_contest *contest, struct gt_err *err)
{
    struct gt_rounds less;
    const struct gt_sweep_result *result = race->result;
    struct gt_candidate candidate[GT_CONTEST_ENTRIES];
    double round_us = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < entries && !rc; i++) {
        round_us += result->row[i].trial.us;
        candidate[i] = gt_sweep_candidate(race, &result->row[i]);
        contest->trial[i] = result->row[i].trial;
        rc = gt_sweep_attempt(race, gt_sweep_arm_of(race, candidate[i].kernel), &candidate[i].point,
                              true, err);
    }
    GT_STEP(rc, gt_store_settle(race->options->store, err));
    if (baseline)
        round_us += race->result->baseline.us;
    less = limited(race, rounds, part, round_us);
    GT_STEP(rc, race->evaluator->ops->final(race->evaluator, candidate, entries,
                                            gt_rounds_for(&less, entries, round_us), contest->trial,
                                            baseline ? &contest->baseline : NULL, err));
    return rc;
}

/* Computes the ratios to the first of the entries that took part in most rounds. */
static void compare(struct gt_contest *contest, size_t entries)
{
    const struct gt_trial *first = NULL, *trial = contest->trial;

    for (size_t i = 0; i < entries; i++)
        if (trial[i].status == GT_STATUS_OK && (!first || trial[i].samples > first->samples))
            first = &trial[i];
    for (size_t i = 0; i < entries; i++) {
        if (trial[i].status != GT_STATUS_OK)
            continue;
        contest->ratio[i] =
            gt_paired_ratio(trial[i].sample, first->sample,
                            trial[i].samples < first->samples ? trial[i].samples : first->samples);
    }
}

size_t gt_contest_place(struct gt_sweep_result *result, struct gt_contest *contest, size_t entries)
{
    struct gt_sweep_row *row = result->row;
    size_t left = 0;

    compare(contest, entries);
    for (size_t i = 0; i < entries; i++) {
        const struct gt_trial trial = contest->trial[i];
        const double ratio = contest->ratio[i];
        struct gt_sweep_row moved = row[i];
        size_t at = left;

        if (trial.status != GT_STATUS_OK)
            continue;
        for (; at > 0 && ratio < contest->ratio[at - 1]; at--) {
            row[at] = row[at - 1];
            contest->trial[at] = contest->trial[at - 1];
            contest->ratio[at] = contest->ratio[at - 1];
        }
        row[at] = moved;
        contest->trial[at] = trial;
        contest->ratio[at] = ratio;
        left++;
    }
    memmove(&row[left], &row[entries], (result->rows - entries) * sizeof(*row));
    result->rows -= entries - left;
    return left;
}

static int store_trial(struct gt_race *race, const struct gt_contest *contest, size_t i,
                       struct gt_err *err)
{
    const struct gt_sweep_row *row = &race->result->row[i];

    return gt_sweep_store(race, gt_sweep_arm_of(race, row->kernel), &row->point, &contest->trial[i],
                          true, err);
}

int gt_contest_store(struct gt_race *race, const struct gt_contest *contest, size_t entries,
                     struct gt_err *err)
{
    int rc = GT_OK;

    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < entries && !rc; i++) {
            const struct gt_sweep_row *row = &race->result->row[i];

            if (gt_sweep_is_incumbent(race, row->kernel, &row->point) != others)
                rc = store_trial(race, contest, i, err);
        }
    return rc ? rc : gt_store_settle(race->options->store, err);
}
