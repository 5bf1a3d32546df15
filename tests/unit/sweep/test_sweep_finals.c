/* test_sweep_finals.c - tests the end of a sweep: finals, ties, drift, and a device that gets hot.
 */
#include "db/store_internal.h"
#include "sweep/sweep_parts.h"
#include "sweep_fixture.h"

/* The final that an interrupted run did not reach is held by the next run, even without new trials.
 */
static void test_a_missed_final(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    bench.options.budget.trials = 30;
    OK(&s->err, run(&bench, &fake));
    fake.signal_after = 90;
    bench.options.budget.trials = 120;
    assert_int_equal(run(&bench, &fake), GT_EINTERRUPTED);
    assert_int_equal(fake.finals, 1);
    fake.signals = 0;
    bench.options.budget.trials = 1;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.fresh, 0);
    assert_int_equal(fake.finals, 2);
    assert_int_equal(bench.result.row[0].trial.stage, 3);
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.finals, 2);
    close_bench(&bench);
}

/* 100 us wherever Q is 9, 10 or 11 and P is 10; elsewhere far more. */
static double plateau(const struct gt_candidate *candidate)
{
    double us = bowl(candidate);

    return us <= 104 && candidate->point.value[0] == 10 && candidate->point.value[1] >= 9
               ? 100 + 0.001 * (double)(20 - candidate->point.value[1])
               : us + 20;
}

/* Q = 9, 10 and 11 tie.  The one with the least shared memory (Q = 9) is chosen, although its
 * median is the highest. */
static void test_ties(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct winner winner;

    fake.us_of = plateau;
    bench.options.budget.trials = SIDE * SIDE;
    OK(&s->err, run(&bench, &fake));
    winner = stored_winner(&bench, true);
    assert_string_equal(winner.point, "P=10,Q=9");
    assert_int_equal(winner.ties, 2);
    assert_int_equal(bench.result.row[0].point.value[1], 9);
    assert_true(!bench.result.row[0].tie && bench.result.row[1].tie && bench.result.row[2].tie);
    assert_false(bench.result.row[3].tie);
    bench.options.budget.trials = 1; /* a run that adds nothing names the same winner */
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.row[0].point.value[1], 9);
    close_bench(&bench);
}

/* Race and samples are taken while the device gets hot.  The later a point is timed, the slower it
 * seems, so that the fastest one in the steady state may seem slower than twenty others. */
static double cool(const struct gt_candidate *candidate)
{
    return is_point(candidate, 12, 12) ? 107 : bowl(candidate);
}

static double hot(const struct gt_candidate *candidate)
{
    return is_point(candidate, 12, 12) ? 120 : 130 + 0.2 * bowl(candidate);
}

static void test_the_winner_is_that_of_the_steady_state(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    const struct gt_sweep_row *row;

    fake.us_of = cool;
    fake.final_us_of = hot;
    bench.options.budget.trials = SIDE * SIDE;
    OK(&s->err, run(&bench, &fake));
    row = bench.result.row;
    assert_string_equal(stored_winner(&bench, true).point, "P=12,Q=12");
    assert_true(row[0].trial.us == 120);
    for (size_t i = 1; i < bench.result.rows; i++) { /* a time of the cool device is marked */
        assert_true(row[i].apart == (i >= GT_SWEEP_SAMPLED));
        assert_true(row[i].apart == (row[i].trial.stage == 1));
        assert_true(row[i].apart ? row[i].trial.us < 120 : row[i].trial.us >= 150);
    }
    bench.options.budget.trials = 1; /* nothing is new, although cool times look faster */
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.finals, 1);
    assert_string_equal(stored_winner(&bench, true).point, "P=12,Q=12");
    assert_true(is_point(&(struct gt_candidate){.point = bench.result.row[0].point}, 12, 12));
    close_bench(&bench);
}

/* A power cap holds one shape down less than another: P = 12, which the race puts behind the 48
 * points of three shapes, is the fastest in the steady state. */
static double uncapped(const struct gt_candidate *candidate)
{
    const int64_t p = candidate->point.value[0];

    return (p >= 8 && p <= 10 ? 100
            : p == 12         ? 106
                              : 200) +
           0.1 * (double)candidate->point.value[1];
}

static double capped(const struct gt_candidate *candidate)
{
    return uncapped(candidate) + (candidate->point.value[0] == 12 ? 0 : 20);
}

static void test_every_shape_has_a_seat(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    gt_kernel_free(bench.kernel[0]);
    bench.kernel[0] =
        modelled_kernel(s, "grid", "\"model\": {\"block_m\": \"P + 1\", \"block_n\": \"16\"},");
    fake.us_of = uncapped;
    fake.final_us_of = capped;
    bench.options.budget.trials = SIDE * SIDE;
    OK(&s->err, run(&bench, &fake));
    assert_string_equal(stored_winner(&bench, true).point, "P=12,Q=0");
    close_bench(&bench);
}

/* The noise of a final hides that Q = 12, which has the most shared memory, is faster by 0.15 %. */
static double nearly_tied(const struct gt_candidate *candidate)
{
    double us = bowl(candidate);

    return candidate->point.value[0] == 10 && labs(candidate->point.value[1] - 10) <= 2
               ? 100 - (candidate->point.value[1] == 12 ? 0.15 : 0)
               : us + 20;
}

static void test_the_paired_median_breaks_ties(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.us_of = nearly_tied;
    bench.options.budget.trials = SIDE * SIDE;
    OK(&s->err, run(&bench, &fake));
    assert_string_equal(stored_winner(&bench, true).point, "P=10,Q=12");
    close_bench(&bench);
}

/* Samples scatter by 20 %.  In the final, Q = 11 has a short time by chance, so that it ties with
 * Q = 9.  The play-off, which is the third contest, shows its real time. */
static const struct fake *chance_fake;

static double low_by_chance(const struct gt_candidate *candidate)
{
    if (is_point(candidate, 10, 11))
        return chance_fake->contests == 3 ? 103 : 96.9;
    return is_point(candidate, 10, 9) ? 98 : 120;
}

static void test_a_time_low_by_chance_is_not_stored(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.final_us_of = low_by_chance;
    fake.spread = 0.4;
    chance_fake = &fake;
    bench.options.budget.trials = SIDE * SIDE;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.contests, 3);
    assert_true(is_point(&(struct gt_candidate){.point = bench.result.row[0].point}, 10, 9));
    assert_string_equal(stored_winner(&bench, true).point, "P=10,Q=9");
    close_bench(&bench);
}

static double nearly_flat(const struct gt_candidate *candidate)
{
    return 100 + bowl(candidate) / 100;
}

static void test_drift_is_measured_again(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    size_t twice = 0;

    bench.options.budget.trials = 50;
    bench.options.drift_check_s = 1e-9;
    fake.drift_at = 10;
    fake.us_of = nearly_flat;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.fresh, 50);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        twice += fake.seen[i] == 2;
    assert_int_equal(twice, 1); /* the trial between the ninth and the tenth check */
    assert_int_equal(launches(&fake, 2), 51);
    close_bench(&bench);
}

/* One of the given candidates is wrong. */
static int one_is_wrong(const struct gt_candidate *candidate)
{
    return is_point(candidate, 3, 3) ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static int count_given(void *context, size_t problem, struct gt_sweep_result *result,
                       struct gt_err *err)
{
    size_t *rows = context;

    (void)err;
    assert_int_equal(problem, 0);
    *rows += result->rows;
    return GT_OK;
}

/* Given candidates are tried alone, each once whatever its time, and are timed in one final.  What
 * earlier runs know of other points does not count.  A run that ends in the final leaves it to the
 * next. */
static void test_given_candidates(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    const struct gt_candidate candidate[] = {
        {.kernel = bench.kernel[0], .point.value = {15, 15}},
        {.kernel = bench.kernel[0], .point.value = {3, 3}},
        {.kernel = bench.kernel[0], .point.value = {7, 7}},
        {.kernel = bench.kernel[0], .point.value = {15, 15}},
    };
    const struct gt_sweep_given given = {candidate, 4};
    size_t rows = 0;
    int64_t turns;

    fake.status_of = one_is_wrong;
    bench.options.strategy = "exhaustive";
    bench.options.budget.trials = 10;
    OK(&s->err, run(&bench, &fake));
    fake = new_fake(s, true);
    fake.status_of = one_is_wrong;
    fake.finals_lost = 1;
    bench.options.budget.trials = 0;
    bench.options.given = &given;
    bench.options.ended = count_given;
    bench.options.context = &rows;
    assert_int_equal(run(&bench, &fake), GT_EIO);
    assert_int_equal(rows, 0);
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(launches(&fake, 1), 3);
    assert_int_equal(fake.seen[15 * SIDE + 15] + fake.seen[3 * SIDE + 3] + fake.seen[7 * SIDE + 7],
                     3);
    assert_int_equal(fake.contests, 2);
    assert_int_equal(fake.sampled, 2); /* one of them may have ended the run */
    assert_true(fake.best_us == 0);
    assert_int_equal(rows, 2);
    assert_int_equal(bench.result.row[0].trial.stage, 3);
    assert_int_equal(bench.result.row[1].trial.stage, 3);
    assert_true(bench.result.have_baseline && bench.result.baseline.us == 123);
    OK(&s->err, gt_store_integer(bench.store, "SELECT count(*) FROM visit", &turns, &s->err));
    assert_int_equal(turns, 1);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_a_missed_final),
        WITH_FOLDER(test_ties),
        WITH_FOLDER(test_the_winner_is_that_of_the_steady_state),
        WITH_FOLDER(test_every_shape_has_a_seat),
        WITH_FOLDER(test_the_paired_median_breaks_ties),
        WITH_FOLDER(test_a_time_low_by_chance_is_not_stored),
        WITH_FOLDER(test_drift_is_measured_again),
        WITH_FOLDER(test_given_candidates),
    };

    return cmocka_run_group_tests_name("sweep_finals", tests, NULL, NULL);
}
