/* test_sweep_faults.c - tests the sweep with candidates that end the tuner, hang, give impossible
 * times or have to be tried again. */
#include "db/store_internal.h"
#include "sweep_fixture.h"

static int crashes_at_best(const struct gt_candidate *candidate)
{
    return is_point(candidate, 10, 9) ? CRASH : GT_STATUS_OK;
}

/* A candidate that takes the tuner down is launched three times in all and then becomes `killed`.
 */
static void test_a_deadly_candidate_is_put_off(void **state)
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
    assert_int_equal(bench.result.status[GT_STATUS_KILLED], 1);
    assert_int_equal(launches(&fake, 3), BUDGET + 2);
    assert_true(stored_winner(&bench, true).us == 102);
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(bench.result.status[GT_STATUS_KILLED], 1);
    assert_int_equal(bench.result.fresh, 0);
    close_bench(&bench);
}

static int hangs_then_crashes(const struct gt_candidate *candidate)
{
    static int launches;

    if (!is_point(candidate, 10, 9))
        return GT_STATUS_OK;
    return ++launches < GT_MAX_ATTEMPTS ? GT_STATUS_TIMEOUT : CRASH;
}

/* The tuner dies in the last attempt of a candidate.  The candidate keeps its status, and the
 * attempt does not stay open. */
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
    OK(&s->err,
       gt_store_integer(bench.store, "SELECT count(*) FROM attempt WHERE open", &open, &s->err));
    assert_int_equal(open, 0);
    close_bench(&bench);
}

static int crashes_sampled(const struct gt_candidate *candidate)
{
    return is_point(candidate, 10, 9) ? CRASH : GT_STATUS_OK;
}

static int64_t open_attempts(struct search *s, const struct bench *bench)
{
    int64_t open = -1;

    OK(&s->err,
       gt_store_integer(bench->store, "SELECT count(*) FROM attempt WHERE open", &open, &s->err));
    return open;
}

/* The tuner dies each time that it samples the best candidate.  The candidate keeps its ok trial.
 * After the third time it takes no part in the finals of one run, and the next run samples it. */
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
    assert_int_equal(bench.result.status[GT_STATUS_OK], BUDGET);
    assert_true(bench.result.row[0].trial.us == 102);
    assert_int_equal(open_attempts(s, &bench), 1);
    assert_int_equal(fake.finals, 2); /* a final, and a play-off of the four of 102 us */
    fake.sampling = NULL;
    OK(&s->err, run(&bench, &fake));
    assert_true(stored_winner(&bench, true).us == 100);
    close_bench(&bench);
}

/* The tuner dies in the finals.  Any of the candidates may be the cause, so each is first sampled
 * alone. */
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

static int killed_often(const struct gt_candidate *candidate)
{
    static int launches;

    return is_point(candidate, 10, 9) && ++launches < 3 * GT_MAX_ATTEMPTS ? GT_STATUS_KILLED
                                                                          : GT_STATUS_OK;
}

/* Kills of workers from outside are not charged to the candidate, however many there are. */
static void test_kills_from_outside_do_not_count(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.status_of = killed_often;
    bench.options.strategy = "exhaustive";
    bench.options.budget = (struct gt_budget){.trials = 2 * SIDE * SIDE};
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(fake.seen[10 * SIDE + 9], 3 * GT_MAX_ATTEMPTS);
    assert_int_equal(bench.result.status[GT_STATUS_OK], SIDE * SIDE);
    assert_true(stored_winner(&bench, true).us == 100);
    close_bench(&bench);
}

static int hangs_twice(const struct gt_candidate *candidate)
{
    static int launches;

    if (!is_point(candidate, 0, 0))
        return GT_STATUS_OK;
    return ++launches < GT_MAX_ATTEMPTS ? GT_STATUS_TIMEOUT : GT_STATUS_OK;
}

/* A candidate whose status is not final is tried again, although the strategy still has points. */
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
    if (is_point(candidate, 1, 2))
        return GT_STATUS_TIMEOUT;
    return candidate->point.value[1] % 4 == 3 ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static void test_statuses(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.status_of = hangs_or_faults;
    bench.options.strategy = "exhaustive"; /* which comes to the point that hangs */
    OK(&s->err, run(&bench, &fake));
    assert_in_range(fake.seen[SIDE + 2], 2, GT_MAX_ATTEMPTS); /* not final: tried again */
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

static int all_hang(const struct gt_candidate *candidate)
{
    (void)candidate;
    return GT_STATUS_TIMEOUT;
}

/* Candidates that are to be tried again count when the time is over: a GPU that answers nothing
 * does not keep the sweep from ending. */
static void test_hangs_and_the_clock(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, true);
    struct bench bench = open_bench(s);

    fake.status_of = all_hang;
    fake.ops.now = trial_clock;
    bench.options.budget = (struct gt_budget){.seconds = 0.01};
    OK(&s->err, run(&bench, &fake));
    assert_in_range(fake.trials, 10, 20);
    bench.options.budget = (struct gt_budget){.seconds = 0.03};
    OK(&s->err, run(&bench, &fake));
    assert_in_range(fake.trials, 30, 60);
    close_bench(&bench);
}

static double absurd_or_bowl(const struct gt_candidate *candidate)
{
    return candidate->point.value[1] % 4 == 3 ? 1e13 : bowl(candidate);
}

/* An impossible time is charged to its candidate and does not end the sweep. */
static void test_absurd_times(void **state)
{
    struct search *s = *state;
    struct fake fake = new_fake(s, false);
    struct bench bench = open_bench(s);

    fake.us_of = absurd_or_bowl;
    bench.options.budget.trials = 0; /* until the space is exhausted */
    OK(&s->err, run(&bench, &fake));
    assert_int_equal(launches(&fake, 1), SIDE * SIDE);
    assert_true(bench.result.row[0].trial.us < 1e12);
    assert_true(stored_winner(&bench, false).us < 1e12);
    close_bench(&bench);
}

static int wrong_next_time(const struct gt_candidate *candidate)
{
    static int launches;

    return is_point(candidate, 0, 1) && ++launches > 1 ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static double one_is_fast(const struct gt_candidate *candidate)
{
    return is_point(candidate, 0, 1) ? 50 : 100;
}

/* A best time that a second measurement does not confirm is not compared with others. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_a_deadly_candidate_is_put_off),
        WITH_FOLDER(test_a_death_in_the_last_attempt),
        WITH_FOLDER(test_deaths_while_sampling),
        WITH_FOLDER(test_deaths_in_the_final),
        WITH_FOLDER(test_kills_from_outside_do_not_count),
        WITH_FOLDER(test_tried_again_in_the_same_run),
        WITH_FOLDER(test_statuses),
        WITH_FOLDER(test_nothing_works),
        WITH_FOLDER(test_hangs_and_the_clock),
        WITH_FOLDER(test_absurd_times),
        WITH_FOLDER(test_a_disproved_best_is_forgotten),
    };

    return cmocka_run_group_tests_name("sweep_faults", tests, NULL, NULL);
}
