/* test_sweep.c - tests the sweep with an evaluator whose answers are made up: budget, resume,
 * interrupts, costs, predictions beside measurements.  Faults, finals and several problems have
 * files of their own. */
#include "sweep_fixture.h"
#include "sweep/sweep_parts.h"

static void test_finds_and_stores_the_winner(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct winner winner;

    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.fresh, BUDGET);
    assert_int_equal(bench.result.status[GT_STATUS_OK], BUDGET);
    assert_int_equal(launches(&fake, 1), BUDGET);
    assert_true(bench.result.row[0].trial.us == 100);
    assert_int_equal(bench.result.row[0].trial.stage, 3);
    assert_int_equal(bench.result.rows, GT_SWEEP_ROWS);
    for (size_t i = 9; i < bench.result.rows; i++)
        assert_true(bench.result.row[i].trial.us >= bench.result.row[i - 1].trial.us);
    assert_in_range(fake.sampled, 8, 32);
    assert_int_equal(fake.finals, 1);
    winner = stored_winner(&bench, true);
    assert_int_equal(winner.rows, 1);
    assert_true(winner.us == 100 && winner.provenance == GT_MEASURED);
    assert_string_equal(winner.point, "P=10,Q=9");
    assert_true(bench.result.have_baseline && bench.result.baseline.us == 123);
    assert_true(winner.baseline_us == 123);
    assert_true(bench.result.points == SIDE * SIDE);
    close_bench(&bench);
}

static void test_a_spent_budget_stays_spent(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    bench.options.budget.trials = 100;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.trials, 100);
    OK(&s->err, run(&bench, &fake)); /* nothing is left to do */
    assert_int_equal(fake.trials, 100);
    assert_int_equal(fake.finals, 1);
    assert_int_equal(bench.result.fresh, 0);
    assert_int_equal(bench.result.resumed, 100);
    assert_true(bench.result.have_baseline && bench.result.baseline.us == 123);
    assert_int_equal(bench.result.row[0].trial.stage, 3);
    bench.options.budget.trials = 150;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.trials, 150);
    assert_int_equal(launches(&fake, 1), 150); /* no point twice over three runs */
    close_bench(&bench);
}

static void test_patience_and_time(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    bench.options.budget = (struct gt_budget){.patience = 50};
    OK(&s->err, run(&bench, &fake));
    assert_in_range(fake.trials, 51, SIDE * SIDE);
    bench.options.budget = (struct gt_budget){.seconds = 0.05};
    bench.options.strategy = "random";
    fake.ops.now = trial_clock;
    OK(&s->err, run(&bench, &fake));
    assert_in_range(bench.result.fresh, 50, 51); /* what was not begun is dropped */
    assert_int_equal(bench.result.row[0].trial.stage, 3);
    close_bench(&bench);
}

static void test_an_interrupt_loses_nothing(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.signal_after = 20;
    assert_int_equal(run(&bench, &fake), GT_EINTERRUPTED);
    assert_true(bench.result.interrupted);
    assert_int_equal(fake.trials, 21); /* and the one in flight */
    assert_int_equal(bench.result.fresh, 21);
    assert_true(bench.result.rows == 21 && fake.finals == 0);
    fake.signals = 0;
    bench.options.budget.trials = 60;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.resumed, 21);
    assert_int_equal(launches(&fake, 1), 60);
    fake.signals = 2;
    bench.options.budget.trials = 90;
    assert_int_equal(run(&bench, &fake), GT_EINTERRUPTED);
    assert_int_equal(fake.trials, 60);
    close_bench(&bench);
}

/* More prefixes than a walk visits between two looks at the signals. */
#define ONE_TO_32                                                                     \
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, " \
    "23, 24, 25, 26, 27, 28, 29, 30, 31, 32"

/* A signal while the points of one kernel are found says nothing of any kernel. */
static void test_an_interrupt_blames_no_kernel(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    bench.kernel[0]->entry[0].max_cc = 75; /* the first kernel does not serve the device */
    bench.kernel[1] = search_kernel(
        s, "wide", "+ A + B + C",
        "\"params\": [" PARAM("A", 1, ONE_TO_32) "," PARAM("B", 1, ONE_TO_32) "," PARAM(
            "C", 1, ONE_TO_32) "], \"constraints\": [{\"if\": \"A + B + C > 0\", \"why\": "
                               "\"always\"}], " LAUNCH);
    bench.options.kernels = 2;
    fake.signals = 1;
    assert_int_equal(run(&bench, &fake), GT_EINTERRUPTED);
    assert_true(bench.result.interrupted && bench.result.rows == 0);
    assert_int_equal(bench.result.nothing.code, GT_OK);
    bench.options.kernels = 1;
    fake.signals = 0;
    assert_int_equal(run(&bench, &fake), GT_ENOTFOUND);
    assert_non_null(strstr(bench.result.nothing.msg, "grid"));
    close_bench(&bench);
}

/* Nor does it take away what the turns before it found. */
static void test_an_interrupted_turn_keeps_the_rows(void **state)
{
    struct gt_sweep_result before = {.rows = 1, .points = 9, .fresh = 5, .wall_s = 1};
    struct gt_sweep_result turn = {.wall_s = 2, .interrupted = true};

    (void)state;
    before.row = calloc(1, sizeof(*before.row));
    assert_non_null(before.row);
    before.row->trial.us = 7;
    before.status[GT_STATUS_OK] = 5;
    gt_sweep_join(&turn, &before);
    assert_true(turn.rows == 1 && turn.row->trial.us == 7 && turn.points == 9);
    assert_true(turn.fresh == 5 && turn.wall_s == 3 && turn.status[GT_STATUS_OK] == 5);
    assert_true(turn.interrupted && !before.row);
    gt_sweep_result_release(&turn);
}

/* Predictions are stored as predictions.  They are tried first on the real device and never count
 * as its measurements. */
static void test_predicted_beside_measured(void **state)
{
    struct search *s = *state;
    struct fake predictor = new_fake(s, false), cuda = new_fake(s, true);
    struct bench bench = open_bench(s);

    OK(&s->err, run(&bench, &predictor));
    assert_int_equal(bench.result.row[0].trial.provenance, GT_PREDICTED);
    assert_int_equal(predictor.finals + predictor.sampled, 0);
    assert_int_equal(stored_winner(&bench, false).provenance, GT_PREDICTED);
    assert_int_equal(stored_winner(&bench, true).rows, 0);
    bench.options.budget.trials = 50;
    OK(&s->err, run(&bench, &cuda));
    assert_int_equal(bench.result.resumed, 0);
    assert_int_equal(cuda.trials, 50);
    assert_int_equal(cuda.first, 10 * SIDE + 9);
    for (size_t i = 0; i < bench.result.rows; i++)
        assert_int_equal(bench.result.row[i].trial.provenance, GT_MEASURED);
    assert_int_equal(stored_winner(&bench, true).rows, 1);
    close_bench(&bench);
}

/* Only the point in the shipped table is fast, and the budget is far too small to find it by
 * search.
 */
static void test_shipped_winners_come_first(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_table_row row = {
        .problem = s->problem,
        .text = "64x64x64",
        .kernel = "grid",
        .point = "P=7,Q=5",
        .cc = fake.evaluator.device.cc,
    };
    const struct gt_table shipped = {.row = &row, .rows = 1};

    bench.options.budget.trials = 1;
    bench.options.shipped = &shipped;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.seen[5 * SIDE + 7] + fake.seen[7 * SIDE + 5], 1);
    row.kernel = "another";
    row.point = "P=3,Q=9";
    bench.options.budget.trials = 2;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.seen[3 * SIDE + 9] + fake.seen[9 * SIDE + 3], 0);
    close_bench(&bench);
}

static bool starved(const struct gt_evaluator *evaluator)
{
    return ((const struct fake *)evaluator)->flights < ROOM;
}

static size_t small_room(struct gt_evaluator *evaluator)
{
    return fake_of(evaluator)->flights ? 0 : 1;
}

/* A kernel with the parameters P and Q.  Q is a launch parameter, so that P alone decides the
 * cubin.
 */
static struct bench open_launch_bench(struct search *s, const char *name)
{
    struct bench bench = open_bench(s);
    char values[512] = "0", rest[2048];

    gt_kernel_free(bench.kernel[0]);
    for (int i = 1; i < SIDE; i++)
        snprintf(values + strlen(values), sizeof(values) - strlen(values), ", %d", i);
    snprintf(rest, sizeof(rest),
             "\"params\": [{\"name\": \"P\", \"values\": [%s], \"default\": 0, \"kind\": "
             "\"compile\", \"doc\": \"-\"}, {\"name\": \"Q\", \"values\": [%s], \"default\": 0, "
             "\"kind\": \"launch\", \"doc\": \"-\"}], %s",
             values, values, LAUNCH);
    bench.kernel[0] = search_kernel(s, name, "+ P + Q", rest);
    return bench;
}

/* Runs a sweep whose device is starved or not, and returns how many Q of the winner's P were tried.
 * name: the kernel's, different in each call, because trials are resumed. */
static int tried_of_the_best(struct search *s, const char *name, const struct gt_budget *budget,
                             bool waits)
{
    struct fake fake = new_fake(s, true);
    struct bench bench = open_launch_bench(s, name);
    int tried = 0;

    fake.ops.room = small_room;
    fake.ops.starved = waits ? starved : NULL;
    bench.options.budget = *budget;
    bench.options.strategy = "random";
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.fresh, 100);
    launches(&fake, 1);
    for (int q = 0; q < SIDE; q++)
        tried += fake.seen[bench.result.row[0].point.value[0] * SIDE + q];
    close_bench(&bench);
    return tried;
}

/* A starved device tries points whose cubins exist, but not if that takes trials from the strategy.
 */
static void test_a_starved_device_tries_what_is_at_hand(void **state)
{
    const struct gt_budget clock = {.seconds = 60, .trials = 100}, trials = {.trials = 100};
    struct search *s = *state;

    assert_int_equal(tried_of_the_best(s, "waits", &clock, true), SIDE);
    assert_true(tried_of_the_best(s, "does_not", &clock, false) < SIDE);
    assert_true(tried_of_the_best(s, "counts", &trials, true) < SIDE);
}

/* Once the strategy is done, nothing is compiled any more, so the race ends. */
static void test_a_starved_device_does_not_prolong_the_race(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_launch_bench(s, "done");

    fake.ops.starved = starved;
    bench.options.budget = (struct gt_budget){.seconds = 60};
    bench.options.strategy = "auto:stall=1,gain=1";
    OK(&s->err, run(&bench, &fake));
    assert_in_range(bench.result.fresh, 1, 40);
    close_bench(&bench);
}

static bool kept; /* the cubins of every fourth P are in the cache */
static int found; /* how often one was */

static bool fourth_ones_are_at_hand(struct gt_evaluator *evaluator,
                                    const struct gt_candidate *candidate)
{
    (void)evaluator;
    found += kept && candidate->point.value[0] % 4 == 0;
    return kept && candidate->point.value[0] % 4 == 0;
}

/* How many points of every fourth P a second problem tries, after a first one has tried some
 * and left their cubins or not.  name: the kernel's. */
static int tried_again(struct search *s, const char *name, int64_t trials, bool left)
{
    struct fake first = new_fake(s, true), second = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem wide = s->problem;
    int tried = 0;

    gt_kernel_free(bench.kernel[0]);
    bench.kernel[0] = grid_kernel(s, name);
    wide.m = 96;
    bench.options.strategy = "random";
    bench.options.budget.trials = trials;
    OK(&s->err, run(&bench, &first));
    kept = left;
    found = 0;
    second.ops.at_hand = fourth_ones_are_at_hand;
    second.ops.room = small_room;
    second.ops.starved = starved;
    bench.options.problem = &wide;
    bench.options.budget = (struct gt_budget){.seconds = 60, .trials = 80};
    OK(&s->err, run(&bench, &second));
    assert_int_equal(bench.result.fresh, 80);
    launches(&second, 1);
    for (int i = 0; i < SIDE * SIDE; i++)
        tried += i / SIDE % 4 == 0 ? second.seen[i] : 0;
    close_bench(&bench);
    return tried;
}

/* A starved device tries what was good for another problem, if its cubin is still there. */
static void test_a_starved_device_tries_cubins_of_other_problems(void **state)
{
    struct search *s = *state;
    int some = tried_again(s, "left", 200, true), none = tried_again(s, "trimmed", 200, false);

    assert_true(some >= none + 20);
    tried_again(s, "few", 20, true); /* too few for a strategy to learn from */
    assert_true(found > 0);
}

static size_t slow_ones;

static int slow_if_second(const struct gt_candidate *candidate)
{
    bool second = strcmp(candidate->kernel->name, "second") == 0;

    slow_ones += second;
    return second ? GT_STATUS_SLOW : GT_STATUS_OK;
}

static double three_times_if_second(const struct gt_candidate *candidate)
{
    return bowl(candidate) * (strcmp(candidate->kernel->name, "second") == 0 ? 3 : 1);
}

/* A kernel whose candidates are all given up has no time to compare, and is left alone all the
 * same. */
static void test_a_kernel_that_is_always_slow_is_left_alone(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    bench.kernel[1] = grid_kernel(s, "second");
    bench.options.kernels = 2;
    fake.status_of = slow_if_second;
    fake.us_of = three_times_if_second;
    slow_ones = 0;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.fresh, BUDGET);
    assert_in_range(slow_ones, 1, BUDGET / 10);
    close_bench(&bench);
}

static void test_budgets(void **state)
{
    static const char *wrong[] = {"500/problem", "s/problem",   "/problem", "10/problem s", "",
                                  "x",           "0",           "-5",       "5x",           "1.5",
                                  "30m,",        "patience=3s", "1e300"};
    struct gt_budget budget;
    struct gt_err err;

    (void)state;
    OK(&err, gt_budget_parse(&budget, "30m", &err));
    assert_true(budget.seconds == 1800 && !budget.trials && !budget.patience);
    OK(&err, gt_budget_parse(&budget, "500", &err));
    assert_true(!(budget.seconds > 0) && budget.trials == 500);
    OK(&err, gt_budget_parse(&budget, "1.5h,200,patience=30", &err));
    assert_true(budget.seconds == 5400 && budget.trials == 200 && budget.patience == 30);
    OK(&err, gt_budget_parse(&budget, "90s", &err));
    assert_true(budget.seconds == 90 && !budget.each);
    OK(&err, gt_budget_parse(&budget, "1.5m/problem,200", &err));
    assert_true(budget.seconds == 90 && budget.each && budget.trials == 200);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(gt_budget_parse(&budget, wrong[i], &err), GT_ESYNTAX);
        assert_non_null(strstr(err.msg, "30m"));
    }
    assert_true(gt_budget_default(false).trials >= 100);
    assert_true(gt_budget_default(true).seconds > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_finds_and_stores_the_winner),
        WITH_FOLDER(test_a_spent_budget_stays_spent),
        WITH_FOLDER(test_patience_and_time),
        WITH_FOLDER(test_an_interrupt_loses_nothing),
        WITH_FOLDER(test_an_interrupt_blames_no_kernel),
        cmocka_unit_test(test_an_interrupted_turn_keeps_the_rows),
        WITH_FOLDER(test_predicted_beside_measured),
        WITH_FOLDER(test_shipped_winners_come_first),
        WITH_FOLDER(test_a_starved_device_tries_what_is_at_hand),
        WITH_FOLDER(test_a_starved_device_does_not_prolong_the_race),
        WITH_FOLDER(test_a_starved_device_tries_cubins_of_other_problems),
        WITH_FOLDER(test_a_kernel_that_is_always_slow_is_left_alone),
        cmocka_unit_test(test_budgets),
    };

    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
