/* finals.c - the end of a race on a device that measures.  The best candidates are sampled one by
 * one until their intervals are narrow (stage 2), if there is no limit of time.  Contests then
 * compare them, and the winner is chosen.
 *
 * A contest brings the device to its steady state first, times its candidates in turns and compares
 * them in pairs (tuner/timing/bench_final.c).  The reason is that a power cap holds the clocks
 * down: times that were taken one after the other then differ more than the candidates do.
 *
 * There are three contests: a semi-final of all sampled candidates, a final of the best with the
 * vendor library (stage 3), and a play-off of the candidates between which the final finds no
 * difference.  If the play-off finds no difference either, its candidates are a tie.  The winner is
 * the candidate with the least paired median.  A stable rule decides among equals, so that the same
 * device gives the same answer in every run.  The incumbent takes part in semi-final and final,
 * however slow it was, and in the play-off unless it lost the final clearly.  The incumbent stays
 * the winner if it ties, or if it loses a contest of few rounds by no more than contests differ.
 * Short finals have no semi-final. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "lookup/predict.h"
#include "sweep/sweep_parts.h"

/* The result of one contest. */
struct contest {
    struct gt_trial trial[GT_SWEEP_SAMPLED], baseline;
    double ratio[GT_SWEEP_SAMPLED]; /* median of the paired ratios of each entry's times to the
                                       times of one entry */
};

#define ROUNDS_LEAST 7   /* rounds of any contest, however little time is left */
#define ROUNDS_US    2e5 /* a contest holds its own least number of rounds if they fit in this */

/* ---- the time of a contest ---- */

/* Microseconds that are left for the finals. */
static double left_us(const struct gt_race *race)
{
    return 1e6 * fmax(0, race->finals_end_s - gt_evaluator_now(race->evaluator));
}

/* How many of the best rows a contest may have, at most `most`, so that ROUNDS_LEAST rounds take no
 * more than the given part of the time that is left. */
static size_t affordable(const struct gt_race *race, double part, size_t most)
{
    double count = part * left_us(race) / (ROUNDS_LEAST * gt_sweep_best_us(race));

    if (!(race->finals_s > 0))
        return most;
    return count < 2 ? 2 : count < (double)most ? (size_t)count : most;
}

/* The rounds of a contest that may take the given part of the time that is left. */
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

/* Holds a contest of the first `entries` rows; the rows do not change. */
static int hold_contest(struct gt_race *race, const struct gt_rounds *rounds, double part,
                        size_t entries, bool baseline, struct contest *contest, struct gt_err *err)
{
    struct gt_rounds less;
    const struct gt_sweep_result *result = race->result;
    struct gt_candidate candidate[GT_SWEEP_SAMPLED];
    double round_us = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < entries && !rc; i++) {
        round_us += result->row[i].trial.us;
        candidate[i] = gt_sweep_candidate(race, result->row[i].kernel, &result->row[i].point);
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

/* The number of rounds in which both entries took part. */
static int common(const struct gt_trial *x, const struct gt_trial *y)
{
    return x->samples < y->samples ? x->samples : y->samples;
}

/* Computes the ratios to one entry: the first of the entries with the most rounds. */
static void compare(struct contest *contest, size_t entries)
{
    const struct gt_trial *first = NULL, *trial = contest->trial;

    for (size_t i = 0; i < entries; i++)
        if (trial[i].status == GT_STATUS_OK && (!first || trial[i].samples > first->samples))
            first = &trial[i];
    for (size_t i = 0; i < entries; i++)
        if (trial[i].status == GT_STATUS_OK)
            contest->ratio[i] =
                gt_paired_ratio(trial[i].sample, first->sample, common(&trial[i], first));
}

/* Moves a row and its trial to another place. */
static void move_entry(struct gt_sweep_result *result, struct contest *contest, size_t from,
                       size_t to)
{
    GT_SWEEP_MOVE(result->row, from, to);
    GT_SWEEP_MOVE(contest->trial, from, to);
    GT_SWEEP_MOVE(contest->ratio, from, to);
}

/* Sorts the first rows and their trials by their ratios and removes rows whose trial failed.
 * Returns how many first rows are left. */
static size_t sort_entries(struct gt_sweep_result *result, struct contest *contest, size_t entries)
{
    size_t left = 0;

    compare(contest, entries);
    for (size_t i = 0; i < entries; i++) {
        size_t at = left;

        if (contest->trial[i].status != GT_STATUS_OK)
            continue;
        while (at > 0 && contest->ratio[i] < contest->ratio[at - 1])
            at--;
        move_entry(result, contest, i, at);
        left++;
    }
    memmove(&result->row[left], &result->row[entries],
            (result->rows - entries) * sizeof(*result->row));
    result->rows -= entries - left;
    return left;
}

/* Stores the trials of the first rows.  The incumbent's trial is stored first: if the tuner ends in
 * between, the store has no row of the final without the incumbent's. */
static int store_entries(struct gt_race *race, const struct contest *contest, size_t entries,
                         struct gt_err *err)
{
    int rc = GT_OK;

    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < entries && !rc; i++) {
            const struct gt_sweep_row *row = &race->result->row[i];

            if (gt_sweep_is_incumbent(race, row->kernel, &row->point) != others)
                rc = gt_sweep_store(race, gt_sweep_arm_of(race, row->kernel), &row->point,
                                    &contest->trial[i], true, err);
        }
    return rc ? rc : gt_store_settle(race->options->store, err);
}

/* ---- who takes part in the first contest ---- */

/* The best candidates of the race take part and, for long products, the best candidate of each
 * shape.  A shape is a way in which a kernel divides the problem (gt_predict_same_way).  Every
 * second seat of the first contest is for the best candidate of a shape without a seat.  A race
 * knows dozens of launch variants of one shape, with times within 1 % of each other.  A power cap
 * slows all of these alike, but not other shapes: on an H200, candidates that were within 2 % of
 * each other in a race lost 4 to 16 % to the cap. */

#define SHAPE_WITHIN 1.1 /* a shape's best time is at most this times the best time of all */
#define LONG_US      40  /* a shorter product is over before a power cap holds clocks down */

/* The first row from `from` on that may still win and that was sampled, or was not, as `sampled`
 * says; `rows`: none. */
static size_t find_row(const struct gt_sweep_result *result, size_t from, bool sampled,
                       double limit)
{
    size_t i = from;

    while (i < result->rows && ((result->row[i].trial.stage >= 2) != sampled ||
                                (!sampled && result->row[i].trial.us > limit)))
        i++;
    return i;
}

/* The shape that candidates share if a power cap slows them alike. */
struct shape {
    const struct gt_kernel *kernel; /* NULL: not known */
    struct gt_prediction way;
};

/* The shape of a row.  A kernel of a recorded space has no launches, so its shape is not known. */
static struct shape shape_of(const struct gt_race *race, const struct gt_sweep_row *row)
{
    const struct gt_candidate candidate = gt_sweep_candidate(race, row->kernel, &row->point);
    struct shape shape = {.kernel = row->kernel};
    struct gt_geometry geometry;

    if (!row->kernel->launches || gt_candidate_geometry(&candidate, &geometry, NULL) ||
        gt_predict_explain(&candidate, &geometry, 0, 0, &shape.way, NULL))
        shape.kernel = NULL;
    return shape;
}

/* The first row from `from` on whose shape no row before `from` has; `rows`: none. */
static size_t find_shape(const struct gt_sweep_result *result, const struct shape *shape,
                         size_t from)
{
    for (size_t i = from; i < result->rows; i++) {
        size_t at = 0;

        while (at < from && (shape[at].kernel != shape[i].kernel ||
                             !gt_predict_same_way(&shape[at].way, &shape[i].way)))
            at++;
        if (at == from && shape[i].kernel)
            return i;
    }
    return result->rows;
}

/* The time of the first row of a searched kernel, or the incumbent's time if there is no other
 * row. */
static double first_us(const struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;

    return result->row[result->rows > 1 && gt_sweep_is_guest(race, &result->row[0])].trial.us;
}

/* Fills the shapes of the rows that are fast enough for a seat by shape; of no row if the product
 * is too short.  Other shapes stay without a kernel. */
static void find_shapes(const struct gt_race *race, struct shape *shape)
{
    const struct gt_sweep_result *result = race->result;
    const double best = first_us(race);

    for (size_t i = 0;
         best >= LONG_US && i < result->rows && result->row[i].trial.us <= SHAPE_WITHIN * best; i++)
        shape[i] = shape_of(race, &result->row[i]);
}

/* The row for the next seat; `rows`: none.  If the finals' time is limited, sampled rows were
 * sampled in earlier turns, and other rows are of this turn.  Both kinds then alternate, because
 * their times cannot be compared. */
static size_t find_next(const struct gt_race *race, size_t count, double limit)
{
    const struct gt_sweep_result *result = race->result;
    const bool sampled = !(race->finals_s > 0) || count / 2 % 2 == 0;
    const size_t i = find_row(result, count, sampled, limit);

    return i < result->rows ? i : find_row(result, count, !sampled, limit);
}

/* Moves the rows that may still win to the front: at most `most` rows, the incumbent included.
 * *seats: the number of these rows. */
static int seat_entries(struct gt_race *race, size_t most, size_t *seats, struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    double limit = GT_SWEEP_TOO_SLOW * first_us(race);
    struct shape *shape = calloc(result->rows, sizeof(*shape));
    size_t count = 0;

    if (!shape)
        return gt_err_nomem(err);
    find_shapes(race, shape);
    for (; count < most; count++) {
        size_t i = count % 2 ? find_shape(result, shape, count) : result->rows;

        if (i == result->rows)
            i = find_next(race, count, limit);
        if (i == result->rows)
            break;
        GT_SWEEP_MOVE(result->row, i, count);
        GT_SWEEP_MOVE(shape, i, count);
    }
    free(shape);
    *seats = gt_sweep_seat_incumbent(race, count, most);
    return GT_OK;
}

#define FINALISTS 8      /* of the final */
#define EQUAL     0.0005 /* of the time: closer paired medians are the same */

static const struct gt_rounds semi_final = {7, 41, 1e6};
static const struct gt_rounds final = {21, 200, 2e6}; /* a final of fewer than 21 rounds shows
                                                         nothing */
static const struct gt_rounds play_off = {41, GT_MAX_SAMPLES, 2e6};
static const struct gt_rounds modest = {21, 101, 3e5}; /* of given candidates: half a minute of
                                                          rounds for a hundred problems, with
                                                          medians certain to about 1 % */

/* Parts of the time that is left for the finals, if that is limited. */
#define SEMI_FINAL_PART 0.3
#define FINAL_PART      0.6
#define PLAY_OFF_PART   1.0
#define BRIEF_S         1.0  /* shorter finals have no semi-final, as each contest has a pre-heat */
#define CLEAR           0.95 /* a winner whose interval lies below this needs no second contest */

/* Gaps between candidates scatter by 0.2 to 0.6 % from contest to contest (db/measured/README.md),
 * and by more if a contest has few rounds: of 121 incumbents that were replaced, one got slower by
 * the replacement, and its incumbent had lost a contest of 9 rounds by 0.7 %.  In a contest of
 * fewer rounds than this only a greater gap counts. */
#define ROUNDS_FEW 21
#define EVIDENT    0.99 /* the interval's upper end below which the winner is faster by few rounds */

/* ---- semi-final ---- */

/* Finds the best of all rows that may still win, by paired times.  The finalists become the first
 * *finalists rows.  The times of the semi-final replace the times that were sampled one by one:
 * where clocks are held down, the first candidate to be sampled had the coolest device. */
static int hold_semi_final(struct gt_race *race, struct contest *contest, size_t *finalists,
                           struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    const bool brief = race->finals_s > 0 && race->finals_s < BRIEF_S;
    size_t most = affordable(race, brief ? FINAL_PART : SEMI_FINAL_PART, GT_SWEEP_SAMPLED);
    size_t entries = 0;
    int rc = seat_entries(race, most, &entries, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < result->rows; i++)
        result->row[i].apart = i >= entries;
    *finalists = entries;
    if (brief || entries <= FINALISTS)
        return GT_OK;
    gt_sweep_show(race, "semi-final", true);
    rc = hold_contest(race, &semi_final, SEMI_FINAL_PART, entries, false, contest, err);
    for (size_t i = 0; i < entries && !rc; i++) { /* a row keeps a higher stage */
        int before = result->row[i].trial.stage;

        if (contest->trial[i].status == GT_STATUS_OK)
            contest->trial[i].stage = before > 2 ? before : 2;
    }
    GT_STEP(rc, store_entries(race, contest, entries, err));
    if (rc)
        return rc;
    entries = sort_entries(result, contest, entries);
    for (size_t i = 0; i < entries; i++)
        result->row[i].trial = contest->trial[i];
    most = affordable(race, FINAL_PART, FINALISTS);
    *finalists = gt_sweep_seat_incumbent(race, entries < most ? entries : most, most);
    return GT_OK;
}

/* ---- final ---- */

/* Holds a contest with the baseline, stores its times and sorts the first rows by these times.
 * Rows that failed are removed, and *entries is reduced. */
static int hold_and_keep(struct gt_race *race, const struct gt_rounds *rounds, double part,
                         size_t *entries, struct contest *contest, struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    int rc = hold_contest(race, rounds, part, *entries, result->have_baseline, contest, err);

    GT_STEP(rc, store_entries(race, contest, *entries, err));
    if (!rc && result->have_baseline) {
        gt_baseline_take(&result->baseline, &contest->baseline);
        rc = gt_store_baseline(race->options->store, &race->arm[0].key, &result->baseline, err);
    }
    if (rc)
        return rc;
    *entries = sort_entries(result, contest, *entries);
    for (size_t i = 0; i < *entries; i++)
        result->row[i].trial = contest->trial[i];
    return GT_OK;
}

/* ---- ties ---- */

/* Whether the contest shows that the best entry is faster than the incumbent. */
static bool beats_incumbent(const struct gt_trial *best, const struct gt_trial *incumbent)
{
    const int samples = common(best, incumbent);
    double lo, hi;

    gt_paired_interval(best->sample, incumbent->sample, samples, &lo, &hi);
    return hi < (samples < ROUNDS_FEW ? EVIDENT : 1);
}

/* Moves the rows that do not differ from the first row directly behind it; the rows are in the
 * contest's order.  Returns the number of tied rows, the first row included. */
static size_t find_ties(const struct gt_race *race, struct contest *contest, size_t entries)
{
    struct gt_sweep_result *result = race->result;
    const struct gt_trial *best = &contest->trial[0];
    size_t ties = 1;

    for (size_t i = 1; i < entries; i++) {
        const struct gt_sweep_row *row = &result->row[i];
        const struct gt_trial *trial = &contest->trial[i];

        if (gt_sweep_is_incumbent(race, row->kernel, &row->point)
                ? !beats_incumbent(best, trial)
                : gt_paired_compare(best->sample, trial->sample, common(best, trial)) == 0)
            move_entry(result, contest, i, ties++);
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
static void choose(const struct gt_race *race, const struct contest *contest, size_t ties)
{
    struct gt_sweep_row *row = race->result->row;
    size_t chosen = 0;

    for (size_t i = 1; i < ties && contest->ratio[i] <= contest->ratio[0] * (1 + EQUAL); i++)
        if (preferred(race, &row[i], &row[chosen]))
            chosen = i;
    for (size_t i = 0; i < ties; i++)
        if (gt_sweep_is_incumbent(race, row[i].kernel, &row[i].point))
            chosen = i;
    GT_SWEEP_MOVE(row, chosen, 0);
    for (size_t i = 0; i < race->result->rows; i++)
        row[i].tie = i > 0 && i < ties;
}

/* Marks the rows that tie with the best searched row, if this row lost to an incumbent that is not
 * searched. */
static void tie_searched(const struct gt_race *race, size_t finalists)
{
    struct gt_sweep_row *row = race->result->row;
    const struct gt_trial *best = &row[1].trial;

    for (size_t i = 2; i < finalists && gt_sweep_is_guest(race, &row[0]); i++) {
        const struct gt_trial *trial = &row[i].trial;

        row[i].tie = gt_paired_compare(best->sample, trial->sample, common(best, trial)) == 0;
    }
}

static int store_ties(struct gt_race *race, size_t ties, struct gt_err *err)
{
    const struct gt_sweep_row *row = race->result->row;
    const char *kernel[GT_SWEEP_SAMPLED], *point[GT_SWEEP_SAMPLED];
    struct gt_strbuf text[GT_SWEEP_SAMPLED];
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

/* Moves an incumbent that lost the final to the place behind the tied rows, unless it lost clearly:
 * among many candidates that are no faster, the luckiest wins one contest by chance, but not a
 * second one.  The device is also cooler in the final: an H200 had 1817 MHz in a final of 188 us,
 * and 1366 MHz in the play-off half a second later.  Returns how many rows are to be timed once
 * more.  *behind: the number of rows from the incumbent's place in the final on; 0: the incumbent
 * was not moved. */
static size_t seat_loser(const struct gt_race *race, const struct contest *contest, size_t ties,
                         size_t finalists, size_t *behind)
{
    struct gt_sweep_row *row = race->result->row;
    const struct gt_trial *best = &contest->trial[0];

    for (size_t i = ties; i < finalists; i++) {
        const struct gt_trial *trial = &contest->trial[i];
        double lo, hi;

        if (!gt_sweep_is_incumbent(race, row[i].kernel, &row[i].point))
            continue;
        gt_paired_interval(best->sample, trial->sample, common(best, trial), &lo, &hi);
        if (hi < CLEAR)
            break;
        GT_SWEEP_MOVE(row, i, ties);
        *behind = race->result->rows - i;
        return ties + 1;
    }
    return ties;
}

/* Moves an incumbent that lost the play-off as well back to its place in the final, because the
 * rows in front of this place were faster in the final.  `again` rows were in the play-off. */
static void unseat_loser(const struct gt_race *race, size_t ties, size_t again, size_t behind)
{
    struct gt_sweep_row *row = race->result->row;
    const size_t place = race->result->rows - behind;

    for (size_t i = ties; behind && i < again && i < place; i++)
        if (gt_sweep_is_incumbent(race, row[i].kernel, &row[i].point)) {
            GT_SWEEP_MOVE(row, i, place);
            return;
        }
}

/* Times the first rows of the final once more, with more rounds.  These times replace the times of
 * the final, because the least of several tied times is low by chance and must not be stored.
 * *ties: how many rows tie with the first, the first included. */
static int hold_play_off(struct gt_race *race, struct contest *contest, size_t entries,
                         size_t *ties, struct gt_err *err)
{
    int rc;

    gt_sweep_show(race, "play-off", true);
    rc = hold_and_keep(race, &play_off, PLAY_OFF_PART, &entries, contest, err);
    *ties = !rc && entries ? find_ties(race, contest, entries) : 0;
    return rc;
}

/* Sorts the rows, the winner first; stores times, baseline and ties. */
static int hold_contests(struct gt_race *race, struct gt_err *err)
{
    struct contest *contest = calloc(1, sizeof(*contest));
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

/* Times given candidates in one contest; no winner is chosen. */
static int hold_given(struct gt_race *race, struct gt_err *err)
{
    const int rounds = race->options->rounds;
    const struct gt_rounds asked = {rounds, rounds, 0};
    struct contest *contest = calloc(1, sizeof(*contest));
    size_t entries = race->result->rows;
    int rc = contest ? GT_OK : gt_err_nomem(err);

    gt_sweep_show(race, "final", true);
    GT_STEP(rc, hold_and_keep(race, rounds ? &asked : &modest, 1, &entries, contest, err));
    free(contest);
    return rc;
}

#define PART    0.33 /* part of the race's time that the finals may take: a quarter of both */
#define LEAST_S 0.4  /* seconds that the finals may always take, mostly for the pre-heat */

/* ---- stage 2 ---- */

static int count_faster(const struct gt_sweep_result *result, double us)
{
    int count = 0;

    for (size_t i = 0; i < result->rows; i++)
        count += result->row[i].trial.us < us;
    return count;
}

/* The next row to sample: first the rows during which an earlier run ended, then the best row that
 * is not sampled yet and may still win.  If the finals' time is limited, it is spent on contests,
 * whose times are better, because they are taken in turns. */
static struct gt_sweep_row *next_to_sample(const struct gt_race *race)
{
    struct gt_sweep_result *result = race->result;
    const bool only_blamed = race->finals_s > 0 || race->options->given;

    for (size_t i = 0; i < result->rows; i++)
        if (result->row[i].blamed)
            return &result->row[i];
    for (size_t i = 0; i < result->rows && !only_blamed; i++) {
        struct gt_sweep_row *row = &result->row[i];

        if (row->trial.stage >= 2)
            continue;
        if (row->trial.us > GT_SWEEP_TOO_SLOW * gt_sweep_best_us(race) ||
            count_faster(result, row->trial.us) >= GT_SWEEP_SAMPLED)
            return NULL;
        return row;
    }
    return NULL;
}

static int sample_best(struct gt_race *race, struct gt_err *err)
{
    struct gt_sweep_row *row;
    int sampled = 0, rc = GT_OK;

    while (!rc && (row = next_to_sample(race)) != NULL && sampled < GT_SWEEP_SAMPLED) {
        struct gt_candidate candidate = gt_sweep_candidate(race, row->kernel, &row->point);
        struct gt_trial trial = row->trial;
        bool resumed = row->resumed;
        char phase[32];

        if (gt_sweep_signals(race))
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        snprintf(phase, sizeof(phase), "sampling %d of %d", ++sampled, GT_SWEEP_SAMPLED);
        gt_sweep_show(race, phase, false);
        rc = gt_sweep_attempt(race, gt_sweep_arm_of(race, candidate.kernel), &candidate.point,
                              false, err);
        GT_STEP(rc, race->evaluator->ops->sample(race->evaluator, &candidate, &trial, err));
        GT_STEP(rc, gt_sweep_store(race, gt_sweep_arm_of(race, candidate.kernel), &candidate.point,
                                   &trial, false, err));
        GT_STEP(rc, gt_sweep_rank(race, candidate.kernel, &candidate.point, &trial, resumed, err));
    }
    return rc;
}

/* ---- baseline ---- */

int gt_sweep_open_baseline(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_err why = {0};
    int rc;

    if (race->baseline_asked || !evaluator->options.baseline || !evaluator->ops->baseline)
        return GT_OK;
    race->baseline_asked = true;
    gt_sweep_show(race, "timing the baseline", true);
    rc = evaluator->ops->baseline(evaluator, &race->result->baseline, &why);
    race->result->have_baseline = rc == GT_OK;
    if (!race->options->vendor)
        race->result->baseline.algo[0] = '\0';
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND) {
        gt_sweep_note(race, why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* ---- a run that added nothing ---- */

/* Takes the winner and the baseline from the store. */
static int on_winner(void *context, const struct gt_row *stored, struct gt_err *err)
{
    struct gt_race *race = context;
    struct gt_sweep_result *result = race->result;
    struct gt_point point;

    (void)err;
    if (strcmp(stored->uuid, race->evaluator->device.uuid) != 0)
        return GT_OK;
    for (size_t i = 0; i < result->rows; i++) {
        const struct gt_sweep_row *row = &result->row[i];

        if (strcmp(stored->kernel, row->kernel->name) != 0 ||
            gt_point_parse(&point, row->kernel, stored->point, NULL) ||
            !gt_point_same(row->kernel, &point, &row->point))
            continue;
        GT_SWEEP_MOVE(result->row, i, 0);
        break;
    }
    for (size_t i = 0; i < result->rows; i++)
        result->row[i].apart = result->row[i].trial.stage < 2;
    result->have_baseline = stored->baseline_us > 0;
    result->baseline.us = stored->baseline_us;
    snprintf(result->baseline.name, sizeof(result->baseline.name), "%s", stored->baseline);
    return GT_OK;
}

static int read_winner(struct gt_race *race, struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_row_filter filter = {.winners_only = true, .problem = text};

    filter.cc = race->evaluator->device.cc;
    filter.provenance = 1u << race->evaluator->ops->provenance;
    gt_problem_format(race->problem, text);
    return gt_store_rows(race->options->store, &filter, on_winner, race, err);
}

/* Whether an earlier run has held the final, and no trial came since. */
static int find_settled(const struct gt_race *race, bool *settled, struct gt_err *err)
{
    const struct gt_sweep_result *result = race->result;
    bool held = false;

    *settled = false;
    for (size_t i = 0; i < result->rows; i++) {
        if (result->row[i].blamed)
            return GT_OK;
        held |= result->row[i].trial.stage == 3;
    }
    if (result->fresh || !held)
        return GT_OK;
    return gt_store_final_is_last(race->options->store, &race->arm[0].key, settled, err);
}

int gt_sweep_finals(struct gt_race *race, struct gt_err *err)
{
    bool settled = false;
    int rc = GT_OK;

    if (!race->result->rows)
        return GT_OK;
    if (race->deadline_s >
        0) { /* the budget is one of time: the finals take a part of the race's */
        race->finals_s = fmax(LEAST_S, PART * (race->end_s - race->begin_s));
        race->finals_end_s = gt_evaluator_now(race->evaluator) + race->finals_s;
    }
    if (!race->options->given)
        rc = find_settled(race, &settled, err);
    if (!rc && settled)
        return read_winner(race, err);
    if (!rc && race->incumbent_due) {
        gt_sweep_note(race, "what look-up hands out could not be timed: no final is held, and "
                            "nothing takes its place");
        return GT_OK;
    }
    GT_STEP(rc, sample_best(race, err));
    if (!rc && race->result->rows)
        rc = gt_sweep_open_baseline(race, err);
    if (!rc && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    if (!rc && race->result->rows)
        rc = race->options->given ? hold_given(race, err) : hold_contests(race, err);
    return rc;
}
