/* test_sweep_ahead.c - tests that a sweep over several problems keeps the machine at work: what is
 * compiled ahead, and what finals cost. */
#include "sweep_fixture.h"

#include "sweep/sweep_parts.h"

#define PROBLEMS 4
#define JOBS     3
#define MOST     64

/* What was asked for ahead, submitted first, and held, of the problems M = 100, 200... */
static struct {
    size_t ahead[PROBLEMS][MOST], aheads[PROBLEMS], drops;
    size_t submitted[PROBLEMS][MOST], submissions[PROBLEMS];
    size_t ahead_before_finals[PROBLEMS]; /* of the next problem, when the first contest was held */
    double finals_s[PROBLEMS];
    bool held[PROBLEMS];
    int least_rounds;
    size_t racing; /* 1 + the problem that is open and has no final yet; 0: none */
} seen;

static size_t place_of(const struct gt_candidate *candidate)
{
    return (size_t)candidate->problem->m / 100 - 1;
}

static int note_ahead(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                      struct gt_err *err)
{
    const size_t i = place_of(candidate);

    (void)evaluator, (void)err;
    assert_int_not_equal(seen.racing, i + 1); /* its race has not begun */
    if (seen.aheads[i] < MOST)
        seen.ahead[i][seen.aheads[i]++] = number_of(candidate);
    return GT_OK;
}

static int note_open(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                     struct gt_err *err)
{
    seen.racing = (size_t)problem->m / 100;
    return fake_open_problem(evaluator, problem, err);
}

static void note_drop(struct gt_evaluator *evaluator)
{
    (void)evaluator;
    seen.drops++;
}

static int note_submit(struct gt_evaluator *evaluator, uint64_t id,
                       const struct gt_candidate *candidate, struct gt_err *err)
{
    const size_t i = place_of(candidate);

    if (seen.submissions[i] < MOST)
        seen.submitted[i][seen.submissions[i]++] = number_of(candidate);
    return fake_submit(evaluator, id, candidate, err);
}

/* Takes as long as the launches of its rounds. */
static int long_final(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                      size_t count, int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                      struct gt_err *err)
{
    const size_t i = place_of(candidate);
    int rc = fake_final(evaluator, candidate, count, rounds, trial, baseline, err);
    double s = 0;

    seen.racing = 0;
    if (!seen.held[i] && i + 1 < PROBLEMS)
        seen.ahead_before_finals[i] = seen.aheads[i + 1];
    seen.held[i] = true;
    for (size_t j = 0; j < count; j++)
        s += 1e-6 * rounds * trial[j].us;
    if (baseline)
        s += 1e-6 * rounds * baseline->us;
    seen.finals_s[i] += s;
    fake_of(evaluator)->clock_s += s;
    if (!seen.least_rounds || rounds < seen.least_rounds)
        seen.least_rounds = rounds;
    return rc;
}

/* A clock that compiling, trials and finals move on. */
static double full_clock(const struct gt_evaluator *evaluator)
{
    const struct fake *fake = (const struct fake *)evaluator;

    return fake->clock_s + 0.01 * (double)fake->trials;
}

static void sweep_over(struct bench *bench, struct fake *fake, double seconds,
                       struct gt_sweep_result *result)
{
    static struct gt_problem problem[PROBLEMS];

    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < PROBLEMS; i++)
        gt_problem_init(&problem[i], 100 * (i + 1), 64, 64);
    fake->ops.now = full_clock;
    fake->ops.ahead = note_ahead;
    fake->ops.drop_ahead = note_drop;
    fake->ops.open_problem = note_open;
    fake->ops.submit = note_submit;
    fake->ops.final = long_final;
    fake->evaluator.jobs = JOBS;
    fake->evaluator.ops = &fake->ops;
    fake->evaluator.state = fake;
    bench->options.kernel = (const struct gt_kernel *const *)bench->kernel;
    bench->options.evaluator = &fake->evaluator;
    bench->options.problem = problem;
    bench->options.problems = PROBLEMS;
    bench->options.budget =
        seconds > 0 ? (struct gt_budget){.seconds = seconds} : (struct gt_budget){.trials = 30};
    OK(&bench->s->err, gt_sweep_run(&bench->options, result, &bench->s->err));
}

static void release_all(struct gt_sweep_result *result)
{
    for (size_t i = 0; i < PROBLEMS; i++)
        gt_sweep_result_release(&result[i]);
}

/* Before the first problem is opened the compilers have as many of its points as there is room for,
 * and before the first contest of a problem they have points of the next one.  These are the first
 * that its race submits. */
static void check_ahead(void)
{
    assert_int_equal(seen.aheads[0], ROOM);
    assert_memory_equal(seen.ahead[0], seen.submitted[0], ROOM * sizeof(size_t));
    for (size_t i = 1; i < PROBLEMS; i++) {
        assert_int_equal(seen.ahead_before_finals[i - 1], 3 * JOBS);
        assert_int_equal(seen.aheads[i], 3 * JOBS);
        assert_true(seen.submissions[i] >= 3 * JOBS);
        assert_memory_equal(seen.ahead[i], seen.submitted[i], 3 * JOBS * sizeof(size_t));
    }
    assert_int_equal(seen.drops, 0);
}

static void test_compilers_run_ahead_of_a_budget_of_trials(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_sweep_result result[PROBLEMS];

    sweep_over(&bench, &fake, 0, result);
    check_ahead();
    for (size_t i = 0; i < PROBLEMS; i++)
        assert_int_equal(result[i].fresh, 30);
    release_all(result);
    close_bench(&bench);
}

static void test_compilers_run_ahead_of_a_budget_of_time(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_sweep_totals totals;
    struct gt_sweep_result result[PROBLEMS];
    int64_t timed = 0;

    fake.compile_s = 0.02;
    fake.evaluator.stats.lead_s = 0.05;
    bench.options.totals = &totals;
    sweep_over(&bench, &fake, 8, result);
    for (size_t i = 1; i < PROBLEMS; i++)
        assert_memory_equal(seen.ahead[i], seen.submitted[i], 3 * JOBS * sizeof(size_t));
    for (size_t i = 0; i < PROBLEMS; i++)
        timed += result[i].timed;
    assert_int_equal(totals.timed, timed);
    assert_int_equal(totals.jobs, JOBS);
    assert_true(totals.wall_s > 7 && totals.wall_s < 9);
    release_all(result);
    close_bench(&bench);
}

/* 30 ms and more. */
static double long_bowl(const struct gt_candidate *candidate)
{
    return 300 * bowl(candidate);
}

/* Finals of long kernels have fewer entries and rounds, so that they take no more than a quarter of
 * a visit. */
static void test_finals_take_their_share(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_sweep_result result[PROBLEMS];

    fake.us_of = long_bowl;
    sweep_over(&bench, &fake, 0, result); /* without a limit */
    assert_true(fake.sampled > 0);
    assert_true(seen.finals_s[0] > 3);
    release_all(result);
    fake.sampled = 0;
    sweep_over(&bench, &fake, 5 * PROBLEMS, result);
    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_true(seen.finals_s[i] > 0);
        assert_true(seen.finals_s[i] < 0.27 * result[i].wall_s);
        assert_int_equal(result[i].row[0].trial.stage, 3);
    }
    assert_in_range(seen.least_rounds, 7, 20);
    assert_int_equal(fake.sampled, 0); /* the contests' times are better */
    release_all(result);
    close_bench(&bench);
}

static size_t baselines, contests_then;

static int note_baseline(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                         struct gt_err *err)
{
    baselines++;
    contests_then = fake_of(evaluator)->contests;
    return fake_baseline(evaluator, baseline, err);
}

static bool always_starved(const struct gt_evaluator *evaluator)
{
    (void)evaluator;
    return true;
}

/* The baseline is timed once in a turn, while the device waits for the compilers. */
static void test_the_baseline_fills_a_gap(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_sweep_result result[PROBLEMS];

    fake.compile_s = 0.02;
    fake.ops.baseline = note_baseline;
    fake.ops.starved = always_starved;
    sweep_over(&bench, &fake, 3, result);
    assert_int_equal(baselines, PROBLEMS);
    assert_true(contests_then < fake.contests);
    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_true(result[i].have_baseline);
        assert_int_equal(result[i].row[0].trial.stage, 3);
    }
    release_all(result);
    close_bench(&bench);
}

/* A signal during the race leaves the next problem alone. */
static void test_an_interrupted_sweep_frees_what_it_prepared(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_problem problem[2];
    struct gt_sweep_result result[2];

    memset(&seen, 0, sizeof(seen));
    gt_problem_init(&problem[0], 100, 64, 64);
    gt_problem_init(&problem[1], 200, 64, 64);
    fake.ops.ahead = note_ahead;
    fake.evaluator.jobs = JOBS;
    fake.signal_after = 10;
    fake.evaluator.ops = &fake.ops;
    bench.options.kernel = (const struct gt_kernel *const *)bench.kernel;
    bench.options.evaluator = &fake.evaluator;
    bench.options.signals = &fake.signals;
    bench.options.problem = problem;
    bench.options.problems = 2;
    assert_int_equal(gt_sweep_run(&bench.options, result, &s->err), GT_EINTERRUPTED);
    assert_int_equal(seen.aheads[1], 0);
    for (int i = 0; i < 2; i++)
        gt_sweep_result_release(&result[i]);
    close_bench(&bench);
}

/* Sweeps problem after problem, each in a sweep of its own that knows `guess` of them, counted from
 * itself, to be the next; 0: none.  Returns before how many something was scouted. */
static size_t sweep_each(struct search *s, size_t guess, int seen_of[SIDE * SIDE])
{
    static struct gt_problem problem[PROBLEMS];
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);
    struct gt_scouts *foresight = NULL;
    char path[160];
    size_t found = 0;

    memset(&seen, 0, sizeof(seen));
    fake.ops.ahead = note_ahead;
    fake.ops.drop_ahead = note_drop;
    fake.ops.open_problem = note_open;
    bench.options.foresight = &foresight;
    for (size_t i = 0; i < PROBLEMS; i++) {
        const struct gt_scouts *before = foresight;

        gt_problem_init(&problem[i], 100 * ((int64_t)i + 1), 64, 64);
        bench.options.problem = &problem[i];
        bench.options.then = guess && i + guess < PROBLEMS ? &problem[i + guess] : NULL;
        seen.racing = 0;
        OK(&s->err, run(&bench, &fake));
        assert_true(!foresight || gt_scouts_are_of(foresight, &bench.options, bench.options.then,
                                                   bench.options.seed)); /* not `before` */
        assert_int_equal(foresight != NULL, bench.options.then != NULL);
        found += before != NULL;
    }
    gt_scouts_free(foresight);
    memcpy(seen_of, fake.seen, sizeof(fake.seen));
    close_bench(&bench);
    snprintf(path, sizeof(path), "%s/test.db", s->folder);
    assert_int_equal(unlink(path), 0);
    return found;
}

/* A sweep that scouts for the next one changes nothing but when that is done; neither does one that
 * guesses wrong. */
static void test_a_sweep_foresees_the_next(void **state)
{
    int alone[SIDE * SIDE], told[SIDE * SIDE], misled[SIDE * SIDE];

    sweep_each(*state, 0, alone);
    assert_int_equal(sweep_each(*state, 1, told), PROBLEMS - 1);
    sweep_each(*state, 2, misled);
    assert_memory_equal(alone, told, sizeof(alone));
    assert_memory_equal(alone, misled, sizeof(alone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_a_sweep_foresees_the_next),
        WITH_FOLDER(test_compilers_run_ahead_of_a_budget_of_trials),
        WITH_FOLDER(test_compilers_run_ahead_of_a_budget_of_time),
        WITH_FOLDER(test_finals_take_their_share),
        WITH_FOLDER(test_the_baseline_fills_a_gap),
        WITH_FOLDER(test_an_interrupted_sweep_frees_what_it_prepared),
    };

    return cmocka_run_group_tests_name("sweep_ahead", tests, NULL, NULL);
}
