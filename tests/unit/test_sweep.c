/* test_sweep.c - the sweep against an evaluator that makes its answers up: budget, resume, faults,
 * interrupts, drift, ties, several kernels, predicted beside measured. */
#include "sweep_fixture.h"
#include "../../db/store_internal.h"
#include "../../tuner/sweep_parts.h"

/* Launches of all points; none may exceed `most`. */
static size_t launches(const struct fake *fake, int most)
{
    size_t sum = 0;

    for (size_t i = 0; i < SIDE * SIDE; i++) {
        assert_in_range(fake->seen[i], 0, most);
        sum += (size_t)fake->seen[i];
    }
    return sum;
}

struct winner {
    int rows, ties;
    double us, baseline_us;
    enum gt_provenance provenance;
    char point[64];
};

static int on_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct winner *winner = context;

    (void)err;
    winner->rows++;
    winner->ties = row->ties;
    winner->us = row->us;
    winner->baseline_us = row->baseline_us;
    winner->provenance = row->provenance;
    snprintf(winner->point, sizeof(winner->point), "%s", row->point);
    return GT_OK;
}

/* The winner as the store tells it; measured_only: predicted ones are left out. */
static struct winner stored_winner(struct bench *bench, bool measured_only)
{
    struct gt_row_filter filter = {.winners_only = true,
                                   .provenance = measured_only ? 1u << GT_MEASURED : 0};
    struct winner winner = {0};

    OK(&bench->s->err, gt_store_rows(bench->store, &filter, on_winner, &winner, &bench->s->err));
    return winner;
}

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

/* A clock on which every trial takes a millisecond. */
static double trial_clock(const struct gt_evaluator *evaluator)
{
    return 1e-3 * (double)((const struct fake *)evaluator)->trials;
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
    assert_in_range(bench.result.fresh, 50, 51); /* what is not begun by then is dropped */
    assert_int_equal(bench.result.row[0].trial.stage, 3);
    close_bench(&bench);
}

/* Half of the points take a compiler long, the others the GPU. */
static void cost_by_parity(const struct gt_candidate *candidate, struct gt_trial *trial)
{
    bool odd = candidate->point.value[0] % 2;

    trial->compile_ms = odd ? 2500 : 200;
    trial->prove_ms = odd ? 5 : 500;
}

/* Nothing can be learned of it, so that there is always something to hope for. */
static double rugged(const struct gt_candidate *candidate)
{
    struct gt_random random = {number_of(candidate)};

    return 100 + 50 * gt_random_unit(&random);
}

/* With many compilers the GPU's time is what is scarce, however many there are by themselves. */
static void test_compilers_share_the_cost(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    size_t odd = 0;

    bench.options.strategy = "auto";
    fake.evaluator.jobs = 16;
    fake.us_of = rugged;
    fake.cost_of = cost_by_parity;
    OK(&s->err, run(&bench, &fake));
    for (size_t i = 0; i < SIDE * SIDE; i++)
        odd += (i / SIDE % 2) * (size_t)fake.seen[i];
    assert_in_range(odd, BUDGET * 11 / 20, BUDGET);
    close_bench(&bench);
}

static bool at(const struct gt_candidate *candidate, int64_t p, int64_t q)
{
    return candidate->point.value[0] == p && candidate->point.value[1] == q;
}

static int crashes_at_best(const struct gt_candidate *candidate)
{
    return at(candidate, 10, 9) ? CRASH : GT_STATUS_OK;
}

/* A candidate that takes the tuner down is launched three times in all, then blamed. */
static void test_a_deadly_candidate_is_blamed(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    int runs = 0;

    fake.status_of = crashes_at_best;
    while (run(&bench, &fake)) {
        assert_string_equal(s->err.msg, "killed");
        assert_in_range(++runs, 1, 3);
    }
    assert_int_equal(runs, 3);
    assert_int_equal(fake.seen[10 * SIDE + 9], 3);
    assert_int_equal(bench.result.status[GT_STATUS_FAULT], 1);
    assert_int_equal(launches(&fake, 3), BUDGET + 2);
    assert_true(stored_winner(&bench, true).us == 102);
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.status[GT_STATUS_FAULT], 1);
    assert_int_equal(bench.result.fresh, 0);
    close_bench(&bench);
}

static int hangs_then_crashes(const struct gt_candidate *candidate)
{
    static int launches;

    if (!at(candidate, 10, 9))
        return GT_STATUS_OK;
    return ++launches < GT_MAX_ATTEMPTS ? GT_STATUS_TIMEOUT : CRASH;
}

/* The tuner dies in the last attempt that a candidate has: it stays what it was, and its attempt
 * does not stay open. */
static void test_a_death_in_the_last_attempt(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    int64_t open;

    fake.status_of = hangs_then_crashes;
    bench.options.strategy = "exhaustive";
    bench.options.budget = (struct gt_budget){.trials = 2 * SIDE * SIDE};
    assert_int_equal(run(&bench, &fake), GT_EIO);
    assert_int_equal(fake.seen[10 * SIDE + 9], GT_MAX_ATTEMPTS);
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.seen[10 * SIDE + 9], GT_MAX_ATTEMPTS);
    assert_int_equal(bench.result.status[GT_STATUS_TIMEOUT], 1);
    OK(&s->err, gt_store_integer(bench.store->db, "test.db",
                                 "SELECT count(*) FROM attempt WHERE open", &open, &s->err));
    assert_int_equal(open, 0);
    close_bench(&bench);
}

static int crashes_sampled(const struct gt_candidate *candidate)
{
    return at(candidate, 10, 9) ? CRASH : GT_STATUS_OK;
}

static int64_t open_attempts(struct search *s, const struct bench *bench)
{
    int64_t open = -1;

    OK(&s->err, gt_store_integer(bench->store->db, "test.db",
                                 "SELECT count(*) FROM attempt WHERE open", &open, &s->err));
    return open;
}

/* The tuner dies each time that it samples the best candidate: the third time is its last. */
static void test_deaths_while_sampling(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.sampling = crashes_sampled;
    for (int i = 0; i < GT_MAX_ATTEMPTS; i++) {
        assert_int_equal(run(&bench, &fake), GT_EIO);
        assert_int_equal(open_attempts(s, &bench), 1);
    }
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.status[GT_STATUS_FAULT], 1);
    assert_true(stored_winner(&bench, true).us == 102);
    assert_int_equal(open_attempts(s, &bench), 0);
    assert_int_equal(fake.finals, 1);
    close_bench(&bench);
}

/* It dies in finals: any of the candidates may have done it, so each is sampled alone first. */
static void test_deaths_in_the_final(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    size_t sampled;

    fake.finals_lost = GT_MAX_ATTEMPTS + 1;
    for (size_t i = 0; i <= GT_MAX_ATTEMPTS; i++) {
        sampled = fake.sampled;
        assert_int_equal(run(&bench, &fake), GT_EIO);
        assert_true(open_attempts(s, &bench) > 8); /* of the semi-final */
        assert_true(i == 0 || fake.sampled == sampled + (size_t)open_attempts(s, &bench));
    }
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.status[GT_STATUS_FAULT], 0);
    assert_true(stored_winner(&bench, true).us == 100);
    assert_int_equal(open_attempts(s, &bench), 0);
    close_bench(&bench);
}

static int hangs_twice(const struct gt_candidate *candidate)
{
    static int launches;

    if (!at(candidate, 0, 0))
        return GT_STATUS_OK;
    return ++launches < GT_MAX_ATTEMPTS ? GT_STATUS_TIMEOUT : GT_STATUS_OK;
}

/* A status that is not final is not the last word, though the strategy never runs out of points. */
static void test_tried_again_in_the_same_run(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.status_of = hangs_twice;
    bench.options.strategy = "exhaustive"; /* its first point is the one that hangs */
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.first, 0);
    assert_int_equal(fake.seen[0], GT_MAX_ATTEMPTS);
    assert_int_equal(bench.result.status[GT_STATUS_OK], BUDGET);
    close_bench(&bench);
}

static int hangs_or_faults(const struct gt_candidate *candidate)
{
    if (at(candidate, 10, 9))
        return GT_STATUS_TIMEOUT;
    return candidate->point.value[1] % 4 == 3 ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static void test_statuses(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.status_of = hangs_or_faults;
    OK(&s->err, run(&bench, &fake));
    assert_in_range(fake.seen[10 * SIDE + 9], 1, GT_MAX_ATTEMPTS); /* not final: tried again */
    assert_true(bench.result.status[GT_STATUS_WRONG] > 0);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        if (i % 4 == 3)
            assert_in_range(fake.seen[i], 0, 1); /* final: not tried again */
    for (size_t i = 0; i < bench.result.rows; i++)
        assert_true(bench.result.row[i].point.value[1] % 4 != 3);
    close_bench(&bench);
}

static int all_wrong(const struct gt_candidate *candidate)
{
    (void)candidate;
    return GT_STATUS_WRONG;
}

static void test_nothing_works(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.status_of = all_wrong;
    bench.options.budget.trials = 0; /* until the space is exhausted */
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.status[GT_STATUS_WRONG], SIDE * SIDE);
    assert_int_equal(bench.result.rows, 0);
    assert_int_equal(stored_winner(&bench, false).rows, 0);
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

/* A run that was interrupted before its final is made up for by the next, even without new trials.
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

/* Q = 9, 10, 11 cannot be told apart; the one with the least shared memory (Q = 9) is chosen
 * although its median is the highest. */
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

/* Race and samples are taken while the device gets hot: the later a point's turn, the slower it
 * looks, and whoever is the fastest of all in the steady state may look slower than twenty others.
 */
static double cool(const struct gt_candidate *candidate)
{
    return at(candidate, 12, 12) ? 107 : bowl(candidate);
}

static double hot(const struct gt_candidate *candidate)
{
    return at(candidate, 12, 12) ? 120 : 130 + 0.2 * bowl(candidate);
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
    assert_true(at(&(struct gt_candidate){.point = bench.result.row[0].point}, 12, 12));
    close_bench(&bench);
}

/* Noise of a final hides that Q = 12, which takes the most shared memory, is faster by 0.15 %. */
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

/* Predictions are stored as such, start the search on the real device and never count as its own.
 */
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

/* A second problem: the winner of the first is slow on it, all but four points are equally so, and
 * only the first one's other trials tell where those are. */
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

/* Heavier problems come first; those alike in the order given. */
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

/* Finals that take longer than anybody thought are not paid for by the last in the list. */
static void test_every_problem_has_its_share(void **state)
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

/* Of one problem all points are alike, of the other whatever is tried next is faster. */
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

static int wrong_next_time(const struct gt_candidate *candidate)
{
    static int launches;

    return at(candidate, 0, 1) && ++launches > 1 ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static double one_is_fast(const struct gt_candidate *candidate)
{
    return at(candidate, 0, 1) ? 50 : 100;
}

/* A best time that a second measurement does not confirm is no measure for others. */
static void test_a_disproved_best_is_forgotten(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    bench.options.strategy = "exhaustive";
    bench.options.drift_check_s = 1e-9;
    fake.drift_at = 2; /* the trial before it is the second one */
    fake.us_of = one_is_fast;
    fake.status_of = wrong_next_time;
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.seen[1], 2);
    assert_true(bench.result.row[0].trial.us == 100);
    assert_true(fake.best_us == 100);
    close_bench(&bench);
}

/* Only the point that the shipped table names is fast, and the budget is far too small to find it.
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

static void test_budgets(void **state)
{
    static const char *wrong[] = {"", "x", "0", "-5", "5x", "1.5", "30m,", "patience=3s", "1e300"};
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
    assert_true(budget.seconds == 90);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(gt_budget_parse(&budget, wrong[i], &err), GT_ESYNTAX);
        assert_non_null(strstr(err.msg, "30m"));
    }
    assert_true(gt_budget_default(false).trials >= 100);
    assert_true(gt_budget_default(true).seconds > 0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_finds_and_stores_the_winner),
        WITH_FOLDER(test_a_spent_budget_stays_spent),
        WITH_FOLDER(test_patience_and_time),
        WITH_FOLDER(test_compilers_share_the_cost),
        WITH_FOLDER(test_a_deadly_candidate_is_blamed),
        WITH_FOLDER(test_a_death_in_the_last_attempt),
        WITH_FOLDER(test_deaths_while_sampling),
        WITH_FOLDER(test_deaths_in_the_final),
        WITH_FOLDER(test_tried_again_in_the_same_run),
        WITH_FOLDER(test_statuses),
        WITH_FOLDER(test_nothing_works),
        WITH_FOLDER(test_an_interrupt_loses_nothing),
        WITH_FOLDER(test_a_missed_final),
        WITH_FOLDER(test_ties),
        WITH_FOLDER(test_the_winner_is_that_of_the_steady_state),
        WITH_FOLDER(test_the_paired_median_breaks_ties),
        WITH_FOLDER(test_predicted_beside_measured),
        WITH_FOLDER(test_kernels_share_the_budget),
        WITH_FOLDER(test_auto_learns_from_other_problems),
        WITH_FOLDER(test_weights_decide_the_order),
        WITH_FOLDER(test_every_problem_has_its_share),
        WITH_FOLDER(test_the_rest_goes_where_it_gains),
        WITH_FOLDER(test_drift_is_measured_again),
        WITH_FOLDER(test_a_disproved_best_is_forgotten),
        WITH_FOLDER(test_shipped_winners_come_first),
        WITH_FOLDER(test_problems_without_an_answer),
        cmocka_unit_test(test_budgets),
    };

    return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
