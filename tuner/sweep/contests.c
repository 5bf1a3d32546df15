/* contests.c - times candidates in turns: a semi-final of all that were sampled, a final of the
 * best with the vendor library (stage 3), and a play-off of those between which the final finds no
 * difference.
 *
 * contest.c holds one and says why it is needed.  If the play-off finds no difference either, its
 * candidates are a tie.  The winner is the one with the least paired median; a stable rule decides
 * among equals, so that the same device gives the same answer in every run.  The incumbent takes
 * part in semi-final and final, however slow it was, and in the play-off unless it lost the final
 * clearly; it stays the winner if it ties, or if it loses a contest of few rounds by no more than
 * contests differ.  Where the finals are short, all go to the final at once.  seats.c says who
 * takes part in the first contest. */
#include "base/array.h"
#include "base/err.h"
#include "base/stats.h"
#include "sweep/contest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINALISTS 8      /* of the final */
#define EQUAL     0.0005 /* of the time: closer paired medians are the same */

static const struct gt_rounds semi_final = {7, 41, 1e6};
static const struct gt_rounds final = {21, 200, 2e6}; /* fewer than 21 rounds show nothing */
static const struct gt_rounds play_off = {41, GT_MAX_SAMPLES, 2e6};

/* Parts of the time that is left for the finals, if that is limited. */
#define SEMI_FINAL_PART 0.3
#define FINAL_PART      0.6
#define PLAY_OFF_PART   1.0
#define BRIEF_S         1.0 /* finals of less time have no semi-final: each contest has a pre-heat */
#define CLEAR           0.95 /* a winner whose interval lies below this needs no second contest */

/* Gaps scatter by 0.2 to 0.6 % from contest to contest (db/measured/README.md), and with a few
 * rounds by more: of 121 answers that were replaced, the one that had got slower by that lost a
 * contest of 9 rounds by 0.7 %.  A contest of fewer rounds than this shows only a greater gap. */
#define ROUNDS_FEW 21
#define EVIDENT    0.99 /* the interval's upper end below which the winner is faster by few rounds */

/* ---- semi-final ---- */

/* Finds the best of all that may still win, by paired times.  The finalists become the first
 * *finalists rows.  The times of the semi-final replace those that were sampled one by one: where
 * clocks are held down, the first candidate to be sampled had the coolest device. */
static int hold_semi_final(struct gt_race *race, struct gt_contest *contest, size_t *finalists,
                           struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    const bool brief = race->finals_s > 0 && race->finals_s < BRIEF_S;
    size_t most =
        gt_contest_affordable(race, brief ? FINAL_PART : SEMI_FINAL_PART, GT_CONTEST_ENTRIES);
    size_t entries = 0;
    int rc = gt_contest_seats(race, most, &entries, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < result->rows; i++)
        result->row[i].apart = i >= entries;
    *finalists = entries;
    if (brief || entries <= FINALISTS)
        return GT_OK;
    gt_sweep_show(race, "semi-final", true);
    rc = gt_contest_hold(race, &semi_final, SEMI_FINAL_PART, entries, false, contest, err);
    for (size_t i = 0; i < entries && !rc; i++) { /* a trial keeps a higher stage */
        int before = result->row[i].trial.stage;

        if (contest->trial[i].status == GT_STATUS_OK)
            contest->trial[i].stage = before > 2 ? before : 2;
    }
    GT_STEP(rc, gt_contest_store(race, contest, entries, err));
    if (rc)
        return rc;
    entries = gt_contest_place(result, contest, entries);
    for (size_t i = 0; i < entries; i++)
        result->row[i].trial = contest->trial[i];
    most = gt_contest_affordable(race, FINAL_PART, FINALISTS);
    *finalists = gt_sweep_seat_incumbent(race, entries < most ? entries : most, most);
    return GT_OK;
}

/* ---- final ---- */

static int store_baseline(struct gt_race *race, const struct gt_trial *trial, struct gt_err *err)
{
    struct gt_baseline *baseline = &race->result->baseline;

    gt_baseline_take(baseline, trial);
    return gt_store_baseline(race->options->store, &race->arm[0].key, baseline, err);
}

/* Holds a contest with the baseline, stores its times and sorts the first rows by them.  Those that
 * failed are removed, and *entries is reduced. */
static int hold_and_keep(struct gt_race *race, const struct gt_rounds *rounds, double part,
                         size_t *entries, struct gt_contest *contest, struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    int rc = gt_contest_hold(race, rounds, part, *entries, result->have_baseline, contest, err);

    GT_STEP(rc, gt_contest_store(race, contest, *entries, err));
    if (!rc && result->have_baseline)
        rc = store_baseline(race, &contest->baseline, err);
    if (rc)
        return rc;
    *entries = gt_contest_place(result, contest, *entries);
    for (size_t i = 0; i < *entries; i++)
        result->row[i].trial = contest->trial[i];
    return GT_OK;
}

/* ---- ties ---- */

/* Whether the contest shows that the best one is faster than the incumbent. */
static bool beats_incumbent(const struct gt_trial *best, const struct gt_trial *incumbent,
                            int samples)
{
    double lo, hi;

    gt_paired_interval(best->sample, incumbent->sample, samples, &lo, &hi);
    return hi < (samples < ROUNDS_FEW ? EVIDENT : 1);
}

/* Moves the rows that do not differ from the first one behind it; the rows are in the contest's
 * order.  Returns their number, the first one included. */
static size_t find_ties(const struct gt_race *race, struct gt_contest *contest, size_t entries)
{
    struct gt_sweep_result *result = race->result;
    const struct gt_trial *best = &contest->trial[0];
    size_t ties = 1;

    for (size_t i = 1; i < entries; i++) {
        const struct gt_sweep_row moved = result->row[i];
        const struct gt_trial trial = contest->trial[i];
        const double ratio = contest->ratio[i];
        int samples = best->samples < trial.samples ? best->samples : trial.samples;

        if (gt_sweep_is_incumbent(race, moved.kernel, &moved.point)
                ? beats_incumbent(best, &trial, samples)
                : gt_paired_compare(best->sample, trial.sample, samples) != 0)
            continue;
        GT_ARRAY_OPEN(result->row, ties, i);
        GT_ARRAY_OPEN(contest->trial, ties, i);
        GT_ARRAY_OPEN(contest->ratio, ties, i);
        result->row[ties] = moved;
        contest->trial[ties] = trial;
        contest->ratio[ties++] = ratio;
    }
    return ties;
}

/* The stable rule among equals: less shared memory, then the order in which kernels and values are
 * listed. */
static bool preferred(const struct gt_race *race, const struct gt_sweep_row *x,
                      const struct gt_sweep_row *y)
{
    const struct gt_arm *arm_x = gt_sweep_arm_of(race, x->kernel);
    const struct gt_arm *arm_y = gt_sweep_arm_of(race, y->kernel);

    if (x->trial.shared_bytes != y->trial.shared_bytes)
        return x->trial.shared_bytes < y->trial.shared_bytes;
    if (arm_x != arm_y)
        return arm_x < arm_y;
    return memcmp(x->point.value, y->point.value, x->kernel->params * sizeof(x->point.value[0])) <
           0;
}

/* Makes the winner the first row: the incumbent, if nothing is faster.  The first `ties` rows tie,
 * in the order of their ratios. */
static void choose(const struct gt_race *race, const struct gt_contest *contest, size_t ties)
{
    struct gt_sweep_row *row = race->result->row;
    size_t chosen = 0;

    for (size_t i = 1; i < ties && contest->ratio[i] <= contest->ratio[0] * (1 + EQUAL); i++)
        if (preferred(race, &row[i], &row[chosen]))
            chosen = i;
    for (size_t i = 0; i < ties; i++)
        if (gt_sweep_is_incumbent(race, row[i].kernel, &row[i].point))
            chosen = i;
    if (chosen) {
        struct gt_sweep_row first = row[chosen];

        memmove(&row[1], &row[0], chosen * sizeof(first));
        row[0] = first;
    }
    for (size_t i = 0; i < race->result->rows; i++)
        row[i].tie = i > 0 && i < ties;
}

/* Marks what ties with the best of what is searched, if that lost to an incumbent that is not. */
static void tie_searched(const struct gt_race *race, size_t finalists)
{
    struct gt_sweep_row *row = race->result->row;
    const struct gt_trial *best = &row[1].trial;

    for (size_t i = 2; i < finalists && gt_sweep_is_guest(race, &row[0]); i++) {
        const struct gt_trial *trial = &row[i].trial;

        row[i].tie =
            gt_paired_compare(best->sample, trial->sample,
                              best->samples < trial->samples ? best->samples : trial->samples) == 0;
    }
}

static int store_ties(struct gt_race *race, size_t ties, struct gt_err *err)
{
    const struct gt_sweep_row *row = race->result->row;
    const char *kernel[GT_CONTEST_ENTRIES], *point[GT_CONTEST_ENTRIES];
    struct gt_strbuf text[GT_CONTEST_ENTRIES];
    struct gt_trial_key key;
    size_t count = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < ties; i++) {
        gt_strbuf_init(&text[i]);
        gt_point_format(&text[i], row[i].kernel, &row[i].point);
        GT_STEP(rc, gt_strbuf_check(&text[i], err));
        kernel[i] = row[i].kernel->name;
        point[i] = text[i].text;
        count++;
    }
    key = gt_sweep_arm_of(race, row[0].kernel)->key;
    key.point = point[0];
    GT_STEP(rc, gt_store_tie(race->options->store, &key, kernel + 1, point + 1, count - 1, err));
    for (size_t i = 0; i < count; i++)
        gt_strbuf_release(&text[i]);
    return rc;
}

/* Moves the incumbent behind the rows that tie if it lost to them, unless it lost clearly: the
 * luckiest of many that are no faster wins a contest by chance, but not a second one.  Nor is the
 * device as hot in the first one: on an H200 it had 1817 MHz in a final of 188 us, and 1366 MHz in
 * the play-off half a second later.  Returns how many rows are to be timed once more.  *behind: how
 * many rows there are from its place in the final on; 0: it was not moved. */
static size_t seat_loser(const struct gt_race *race, struct gt_contest *contest, size_t ties,
                         size_t finalists, size_t *behind)
{
    struct gt_sweep_row *row = race->result->row;
    const struct gt_trial *best = &contest->trial[0];

    for (size_t i = ties; i < finalists; i++) {
        const struct gt_sweep_row moved = row[i];
        const struct gt_trial trial = contest->trial[i];
        double lo, hi;

        if (!gt_sweep_is_incumbent(race, moved.kernel, &moved.point))
            continue;
        gt_paired_interval(best->sample, trial.sample,
                           best->samples < trial.samples ? best->samples : trial.samples, &lo, &hi);
        if (hi < CLEAR)
            break;
        GT_ARRAY_OPEN(row, ties, i);
        row[ties] = moved;
        *behind = race->result->rows - i;
        return ties + 1;
    }
    return ties;
}

/* Moves the incumbent, if it lost the play-off as well, back to its place in the final: the rows
 * in front of that were faster there.  `again` rows were in the play-off. */
static void unseat_loser(const struct gt_race *race, size_t ties, size_t again, size_t behind)
{
    struct gt_sweep_row *row = race->result->row;
    const size_t place = race->result->rows - behind;

    for (size_t i = ties; behind && i < again && i < place; i++) {
        const struct gt_sweep_row moved = row[i];

        if (!gt_sweep_is_incumbent(race, moved.kernel, &moved.point))
            continue;
        memmove(&row[i], &row[i + 1], (place - i) * sizeof(moved));
        row[place] = moved;
        return;
    }
}

/* Times the first rows of the final once more, with more rounds.  These times replace the final's:
 * the least of several times that tie is low by chance, so it must not be stored.  Returns how many
 * tie with the first one. */
static int hold_play_off(struct gt_race *race, struct gt_contest *contest, size_t entries,
                         size_t *ties, struct gt_err *err)
{
    int rc;

    gt_sweep_show(race, "play-off", true);
    rc = hold_and_keep(race, &play_off, PLAY_OFF_PART, &entries, contest, err);
    *ties = !rc && entries ? find_ties(race, contest, entries) : 0;
    return rc;
}

int gt_sweep_contests(struct gt_race *race, struct gt_err *err)
{
    struct gt_contest *contest = calloc(1, sizeof(*contest));
    size_t finalists = 0, ties = 0, again = 0, behind = 0;
    int rc = contest ? hold_semi_final(race, contest, &finalists, err) : gt_err_nomem(err);

    if (!rc && finalists) {
        gt_sweep_show(race, "final", true);
        rc = hold_and_keep(race, &final, FINAL_PART, &finalists, contest, err);
    }
    if (!rc && finalists) {
        ties = find_ties(race, contest, finalists);
        again = seat_loser(race, contest, ties, finalists, &behind);
    }
    if (!rc && again > 1)
        rc = hold_play_off(race, contest, again, &ties, err);
    if (!rc && again > 1)
        unseat_loser(race, ties, again, behind);
    if (!rc && ties) {
        choose(race, contest, ties);
        rc = store_ties(race, ties, err);
        if (ties == 1 && again == 1)
            tie_searched(race, finalists);
    }
    free(contest);
    return rc;
}
