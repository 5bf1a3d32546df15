/* test_sweep_problems.c - tests sweeps over several kernels and problems: how the budget is
 * divided, and which trials of one problem another one uses. */
#include "sweep_fixture.h"

static double second_is_slow(const struct gt_candidate *candidate)
{
    return bowl(candidate) * (strcmp(candidate->kernel->name, "grid") == 0 ? 1 : 3);
}

static void test_kernels_share_the_budget(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_row_filter filter = {.kernel = "other"};
    struct winner others = {0};

    bench.kernel[1] = grid_kernel(s, "other");
    bench.options.kernels = 2;
    bench.options.budget.trials = 300;
    fake.us_of = second_is_slow;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.trials, 300);
    assert_true(bench.result.row[0].kernel == bench.kernel[0]);
    OK(&s->err, gt_store_rows(bench.store, &filter, on_winner, &others, &s->err));
    assert_in_range(others.rows, 5, 60); /* (1/3)^4 of the other's, but at least 5 % */
    close_bench(&bench);
}

/* A second problem, on which the winner of the first is slow, as are all points but four.  Only the
 * other trials of the first problem show where these four are. */
static double hidden(const struct gt_candidate *candidate)
{
    double us = bowl(candidate);

    if (candidate->problem->m == 1024)
        return us;
    return us > 100 && us < 103 ? us : 400;
}

static size_t trials_until_best(struct search *s, struct bench *bench, const char *strategy)
{
    struct gt_problem problem[2];
    struct fake fake = new_fake(s, true);

    fake.us_of = hidden;
    problem[0] = s->problem;
    gt_problem_init(&problem[1], 1536, 1024, 1024);
    bench->options.strategy = strategy;
    bench->options.problem = &problem[0];
    bench->options.budget.trials = 60;
    OK(&s->err, run(bench, &fake));
    bench->options.problem = &problem[1];
    for (bench->options.budget.trials = 5; bench->options.budget.trials <= 60;
         bench->options.budget.trials += 5) {
        OK(&s->err, run(bench, &fake)); /* goes on where it was */
        if (bench->result.rows && bench->result.row[0].trial.us < 110)
            break;
    }
    return (size_t)bench->options.budget.trials;
}

static void test_auto_learns_from_other_problems(void **state)
{
    struct search *s = *state;
    struct bench bench = open_bench(s);

    assert_in_range(trials_until_best(s, &bench, "auto"), 5, 15);
    close_bench(&bench);
}

/* Problems of larger weight come first; those of equal weight in the order given. */
static double of_any_size(const struct gt_candidate *candidate)
{
    static int64_t turn, last;

    if (candidate->problem->m != last)
        turn++;
    last = candidate->problem->m;
    return bowl(candidate) + (double)turn; /* the later, the slower: the store tells the order */
}

static void test_weights_decide_the_order(void **state)
{
    const double weight[] = {1, 3, 0, 3};
    const int64_t expected[] = {200, 400, 100, 300};
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[4];
    struct gt_sweep_result result[4] = {{0}};
    double us[4];

    for (int i = 0; i < 4; i++)
        gt_problem_init(&problem[i], 100 * (i + 1), 64, 64);
    fake.us_of = of_any_size;
    fake.evaluator.ops = &fake.ops;
    fake.evaluator.state = &fake;
    bench.options.kernel = (const struct gt_kernel *const *)bench.kernel;
    bench.options.evaluator = &fake.evaluator;
    bench.options.signals = &fake.signals;
    bench.options.problem = problem;
    bench.options.weight = weight;
    bench.options.problems = 4;
    OK(&s->err, gt_sweep_run(&bench.options, result, &s->err));
    for (int i = 0; i < 4; i++) {
        size_t at = (size_t)(expected[i] / 100 - 1);

        us[i] = result[at].row[0].trial.us;
        if (i > 0)
            assert_true(us[i] > us[i - 1]);
    }
    for (int i = 0; i < 4; i++)
        gt_sweep_result_release(&result[i]);
    close_bench(&bench);
}

/* Runs a sweep over problems of M = 100, 200... whose results it leaves in result. */
static void run_many(struct bench *bench, struct fake *fake, struct gt_problem *problem,
                     struct gt_sweep_result *result, size_t problems)
{
    for (size_t i = 0; i < problems; i++)
        gt_problem_init(&problem[i], 100 * (int64_t)(i + 1), 64, 64);
    fake->evaluator.ops = &fake->ops;
    fake->evaluator.state = fake;
    bench->options.kernel = (const struct gt_kernel *const *)bench->kernel;
    bench->options.evaluator = &fake->evaluator;
    bench->options.problem = problem;
    bench->options.problems = problems;
    OK(&bench->s->err, gt_sweep_run(&bench->options, result, &bench->s->err));
}

/* A trial takes a millisecond, a final a twentieth of a second. */
static double clock_of_finals(const struct gt_evaluator *evaluator)
{
    const struct fake *fake = (const struct fake *)evaluator;

    return 1e-3 * (double)fake->trials + 0.05 * (double)fake->finals;
}

#define MANY 12

/* Finals that take longer than estimated do not shorten the last problem's time alone. */
static void test_every_problem_has_its_slice(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[MANY];
    struct gt_sweep_result result[MANY];

    fake.ops.now = clock_of_finals;
    bench.options.budget = (struct gt_budget){.seconds = 0.08 * MANY};
    run_many(&bench, &fake, problem, result, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_in_range(result[i].fresh, 4, 200);
        assert_int_equal(result[i].row[0].trial.stage, 3);
        gt_sweep_result_release(&result[i]);
    }
    assert_true(clock_of_finals(&fake.evaluator) <= 0.08 * MANY + 0.05);
    close_bench(&bench);
}

/* All points of one problem are equally fast; on the other one each next point is faster. */
static double one_goes_on(const struct gt_candidate *candidate)
{
    static double faster = 1000;

    return candidate->problem->m == 100 ? 100 : (faster *= 0.999);
}

static void test_the_rest_goes_where_it_gains(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[2];
    struct gt_sweep_result result[2];

    fake.ops.now = trial_clock;
    fake.us_of = one_goes_on;
    bench.options.strategy = "exhaustive";
    bench.options.budget = (struct gt_budget){.seconds = 0.2};
    run_many(&bench, &fake, problem, result, 2);
    assert_true(result[1].fresh > 3 * result[0].fresh / 2);
    assert_in_range(result[0].fresh + result[1].fresh, 160, 202);
    assert_int_equal(result[0].resumed + result[1].resumed, 0);
    assert_true(result[1].to_best_s > 0.05);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(result[i].status[GT_STATUS_OK], result[i].fresh);
        gt_sweep_result_release(&result[i]);
    }
    close_bench(&bench);
}

/* Compiling takes longer than all the time there is: the first problem waits for its winner, and no
 * other one begins after the budget's end. */
static void test_a_budget_shorter_than_a_compilation(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[4];
    struct gt_sweep_result result[4];

    fake.ops.now = compile_clock;
    fake.compile_s = 6;
    for (size_t problems = 1; problems <= 4; problems += 3) {
        bench.options.budget = (struct gt_budget){.seconds = 5};
        run_many(&bench, &fake, problem, result, problems);
        assert_true(result[0].rows > 0 && result[0].row[0].trial.stage == 3);
        assert_true(result[0].fresh <= 2 && result[0].wall_s < 6.5);
        for (size_t i = 0; i < problems; i++) {
            assert_true(i == 0 || result[i].fresh + result[i].resumed == 0);
            assert_int_equal(result[i].nothing.code, 0);
            gt_sweep_result_release(&result[i]);
        }
    }
    close_bench(&bench);
}

static int fails(const struct gt_candidate *candidate)
{
    (void)candidate;
    return GT_STATUS_SPILLS;
}

/* If nothing works, the clock ends the turn after a while, and SIGINT ends it at once. */
static void test_beyond_its_time_a_turn_ends(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.ops.now = compile_clock;
    fake.compile_s = 6;
    fake.status_of = fails;
    bench.options.budget = (struct gt_budget){.seconds = 5};
    fake.signal_after = 2;
    assert_int_equal(run(&bench, &fake), GT_EINTERRUPTED);
    assert_in_range(bench.result.fresh, 2, 3);
    fake.signals = 0;
    fake.signal_after = 0;
    OK(&s->err, run(&bench, &fake));
    assert_in_range(bench.result.fresh, 8, 32);
    assert_int_equal(bench.result.rows, 0);
    close_bench(&bench);
}

static size_t visited;
static int64_t turn_of[64];

static int note_turn(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                     struct gt_err *err)
{
    assert_true(visited < 64);
    turn_of[visited++] = problem->m;
    return fake_open_problem(evaluator, problem, err);
}

/* Only the fiftieth trial of the first problem works; the other problems gain in every turn. */
static int first_is_hard(const struct gt_candidate *candidate)
{
    static size_t tried;

    return candidate->problem->m == 100 && ++tried < 50 ? GT_STATUS_SPILLS : GT_STATUS_OK;
}

static void test_a_problem_without_a_time_comes_before_gains(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[3];
    struct gt_sweep_result result[3];

    visited = 0;
    fake.ops.now = trial_clock;
    fake.ops.open_problem = note_turn;
    fake.status_of = first_is_hard;
    fake.us_of = one_goes_on;
    bench.options.strategy = "exhaustive";
    bench.options.budget = (struct gt_budget){.seconds = 0.2};
    run_many(&bench, &fake, problem, result, 3);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(turn_of[i], 100 * (i % 3 + 1));
    assert_true(visited > 4);
    assert_true(result[0].rows > 0);
    for (size_t i = 0; i < 3; i++)
        gt_sweep_result_release(&result[i]);
    close_bench(&bench);
}

/* A clock on which compiling takes time, and a trial ten milliseconds. */
static double full_clock(const struct gt_evaluator *evaluator)
{
    return compile_clock(evaluator) + 10 * trial_clock(evaluator);
}

static int64_t trials_before[64];

static int note_trials(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                       struct gt_err *err)
{
    trials_before[visited] = (int64_t)fake_of(evaluator)->trials;
    return note_turn(evaluator, problem, err);
}

#define SLOW 16

/* Compilers take longer to start than a turn lasts; still no turn ends before its first trial. */
static void test_waiting_is_not_searching(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[SLOW];
    struct gt_sweep_result result[SLOW];

    visited = 0;
    fake.ops.now = full_clock;
    fake.ops.open_problem = note_trials;
    fake.compile_s = 10;
    bench.options.budget = (struct gt_budget){.seconds = 260};
    run_many(&bench, &fake, problem, result, SLOW);
    assert_true(visited >= SLOW);
    for (size_t i = 0; i < visited; i++)
        assert_true((i + 1 < visited ? trials_before[i + 1] : (int64_t)fake.trials) >
                    trials_before[i] + 2);
    assert_true(full_clock(&fake.evaluator) < 261);
    for (size_t i = 0; i < SLOW; i++)
        gt_sweep_result_release(&result[i]);
    close_bench(&bench);
}

/* The first problem's compilers are slower and slower, until its second turn. */
static int first_is_slow(struct gt_evaluator *evaluator, uint64_t id,
                         const struct gt_candidate *candidate, struct gt_err *err)
{
    struct fake *fake = fake_of(evaluator);

    fake->compile_s = visited > 1 ? 0 : fake->compile_s + 1 + 10 * (double)fake->flights;
    return fake_submit(evaluator, id, candidate, err);
}

/* All points of one problem are equally fast; on the others each next point is much faster. */
static double others_go_on(const struct gt_candidate *candidate)
{
    static double faster = 1000;

    return candidate->problem->m == 100 ? 100 : (faster *= 0.99);
}

static void test_a_problem_hardly_tried_comes_before_gains(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[3];
    struct gt_sweep_result result[3];

    visited = 0;
    fake.ops.now = full_clock;
    fake.ops.open_problem = note_trials;
    fake.ops.submit = first_is_slow;
    fake.us_of = others_go_on;
    bench.options.strategy = "exhaustive";
    bench.options.budget = (struct gt_budget){.seconds = 10};
    run_many(&bench, &fake, problem, result, 3);
    assert_true(visited > 3);
    assert_int_equal(trials_before[1], 1);
    assert_int_equal(turn_of[3], 100);
    assert_true(result[0].fresh > 10);
    for (size_t i = 0; i < 3; i++)
        gt_sweep_result_release(&result[i]);
    close_bench(&bench);
}

static void test_problems_without_an_answer(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[3];
    struct gt_sweep_result result[3];

    gt_problem_init(&problem[0], 7777, 64, 64);
    gt_problem_init(&problem[1], 64, 64, 64);
    problem[1].trans_a = 1; /* the kernel serves nn only */
    gt_problem_init(&problem[2], 64, 64, 64);
    fake.evaluator.ops = &fake.ops;
    bench.options.problem = problem;
    bench.options.problems = 3;
    bench.options.budget.trials = 20;
    bench.options.kernel = (const struct gt_kernel *const *)bench.kernel;
    bench.options.evaluator = &fake.evaluator;
    OK(&s->err, gt_sweep_run(&bench.options, result, &s->err));
    assert_int_equal(result[0].nothing.code, GT_ETOOBIG);
    assert_int_equal(result[1].nothing.code, GT_ENOTFOUND);
    assert_non_null(strstr(result[1].nothing.msg, "grid"));
    assert_int_equal(result[2].fresh, 20);
    assert_int_equal(result[2].nothing.code, GT_OK);
    for (int i = 0; i < 3; i++)
        gt_sweep_result_release(&result[i]);
    bench.options.problems = 1; /* alone, it is the run's error */
    assert_int_equal(gt_sweep_run(&bench.options, result, &s->err), GT_ETOOBIG);
    assert_non_null(strstr(s->err.msg, "2 bytes"));
    gt_sweep_result_release(&result[0]);
    close_bench(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_kernels_share_the_budget),
        WITH_FOLDER(test_auto_learns_from_other_problems),
        WITH_FOLDER(test_weights_decide_the_order),
        WITH_FOLDER(test_every_problem_has_its_slice),
        WITH_FOLDER(test_the_rest_goes_where_it_gains),
        WITH_FOLDER(test_a_budget_shorter_than_a_compilation),
        WITH_FOLDER(test_beyond_its_time_a_turn_ends),
        WITH_FOLDER(test_a_problem_without_a_time_comes_before_gains),
        WITH_FOLDER(test_waiting_is_not_searching),
        WITH_FOLDER(test_a_problem_hardly_tried_comes_before_gains),
        WITH_FOLDER(test_problems_without_an_answer),
    };

    return cmocka_run_group_tests_name("sweep_problems", tests, NULL, NULL);
}
