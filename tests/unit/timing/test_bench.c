/* test_bench.c - tests racing, sampling, the operands of timing and the canary on the stub driver's
 * virtual clock, and the problems that are refused. */
#include "bench_fixture.h"

#include <math.h>

#include "base/stats.h"

/* A candidate that takes more than 1.5 x the best + 3 us is given up after its first run. */
static void test_slow_is_given_up(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "128x128x128", false, &problem);
    struct gt_trial good, slow;

    trial_of(state, bench, &problem, NULL, 0, &good);
    assert_int_equal(good.status, GT_STATUS_OK);
    trial_of(state, bench, &problem, "slow", good.us, &slow);
    assert_int_equal(slow.status, GT_STATUS_SLOW);
    assert_int_equal(slow.samples, 1);
    assert_int_equal(slow.stage, 0);
    assert_true(slow.us > 1.5 * good.us);
    assert_true(slow.time_ms == 0);
    trial_of(state, bench, &problem, NULL, good.us / 1.4, &good);
    assert_int_equal(good.status, GT_STATUS_OK);
    /* A wrong result is not excused by being slow. */
    trial_of(state, bench, &problem, "wrong", good.us / 100, &slow);
    assert_int_equal(slow.status, GT_STATUS_WRONG);
    gt_bench_close(bench);
}

static void test_sampling(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "96x96x96", false, &problem);
    struct gt_trial trial = {0}, raced;

    trial_of(state, bench, &problem, NULL, 0, &raced);
    assert_int_equal(sample(state, bench, &problem, NULL, 100, &trial), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(trial.stage, 2);
    assert_true(trial.samples >= 9 && trial.samples <= 100);
    assert_true(trial.hi_us - trial.lo_us < 0.005 * trial.us);
    assert_true(fabs(trial.us / raced.us - 1) < 0.01);
    assert_true(fabs(trial.clock_mhz - 1000) < 1);
    assert_true(trial.err_u > 0);
    assert_string_equal(trial.detail, "clocks held down: power cap");
    /* No more than asked for. */
    assert_int_equal(sample(state, bench, &problem, NULL, 5, &trial), GT_OK);
    assert_int_equal(trial.samples, 5);
    gt_bench_close(bench);
}

/* A candidate that is right in the race and wrong later is found, because the proof is repeated
 * after timing. */
static void test_proved_again_after_timing(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", true, &problem);
    struct gt_trial trial;

    trial_of(state, bench, &problem, "wrong_later", 0, &trial);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(sample(state, bench, &problem, "wrong_later", 200, &trial), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_WRONG);
    assert_int_equal(trial.stage, 0);
    gt_bench_close(bench);
}

/* The ends of what A of a set holds, and whether all of it is whole numbers. */
static void look_at(const struct stub_fixture *f, const struct gt_set *set, float *least,
                    float *greatest, bool *whole)
{
    float value[64 * 64];
    struct gt_err err = {0};

    OK(gt_gpu_download(f->gpu, value, (gt_devptr)(uintptr_t)set->a.span.data, sizeof(value), &err));
    *least = *greatest = value[0];
    *whole = true;
    for (int i = 0; i < 64 * 64; i++) {
        *least = fminf(*least, value[i]);
        *greatest = fmaxf(*greatest, value[i]);
        *whole &= value[i] == rintf(value[i]);
    }
}

/* Timing with other numbers: the timed sets hold them, the proof's set does not, and the proof
 * finds what it finds otherwise. */
static void test_operands_of_timing(void **state)
{
    static const struct {
        enum gt_dist dist;
        bool warm, whole;
        float most; /* about the ends of A's values */
    } cases[] = {{GT_DIST_ZEROS, false, true, 0},
                 {GT_DIST_ZEROS, true, true, 0},
                 {GT_DIST_UNIFORM, false, false, 1},
                 {GT_DIST_INTEGERS, false, true, 8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct gt_bench_options options = {.seed = 7,
                                                 .workspace_cap = 1 << 20,
                                                 .timing = cases[i].warm ? GT_TIMING_WARM
                                                                         : GT_TIMING_COLD,
                                                 .dist = cases[i].dist};
        struct stub_fixture *f = *state;
        struct gt_problem problem;
        struct gt_bench *bench;
        struct gt_trial trial;
        struct gt_err err = {0};
        float least, greatest;
        bool whole;

        gt_problem_init(&problem, 64, 64, 64);
        OK(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err));
        assert_true(bench->resident.timed == 1 && bench->resident.sets >= 2);
        look_at(f, &bench->resident.set[0], &least, &greatest, &whole);
        assert_true(least < -2.5F && greatest > 2.5F && !whole); /* normal numbers */
        look_at(f, &bench->resident.set[1], &least, &greatest, &whole);
        assert_true(whole == cases[i].whole);
        assert_true(least >= -cases[i].most && least <= -0.99F * cases[i].most);
        assert_true(greatest <= cases[i].most && greatest >= 0.99F * cases[i].most);
        trial_of(state, bench, &problem, NULL, 0, &trial);
        assert_int_equal(trial.status, GT_STATUS_OK);
        assert_true(trial.err_u > 0);
        OK(sample(state, bench, &problem, "wrong_later", 200, &trial));
        assert_int_equal(trial.status, GT_STATUS_WRONG);
        gt_bench_close(bench);
    }
}

static void test_canary(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "16x16x16", false, &problem);
    struct gt_err err = {0};
    double us = 0;

    assert_int_equal(gt_bench_canary(bench, &us, &err), GT_OK);
    assert_true(us > 0);
    gt_bench_close(bench);
}

static void test_problems_refused(void **state)
{
    const struct gt_bench_options options = {.workspace_cap = 1 << 20};
    struct stub_fixture *f = *state;
    struct gt_bench *bench;
    struct gt_problem problem;
    struct gt_err err;

    gt_problem_init(&problem, 65536, 65536, 16);
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_ETOOBIG);
    assert_null(bench);
    assert_non_null(strstr(err.msg, "65536x65536x16"));
    assert_non_null(strstr(err.msg, "bytes of device memory"));
    gt_problem_init(&problem, 0, 16, 16);
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_ERANGE);
    gt_problem_init(&problem, 16, 16, 16);
    problem.type = GT_S8; /* which FP32 sums do not serve */
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_ERANGE);
}

/* 16384^3 must fit a card of 24 GB; the refusal of a tiny device tells how much it needs. */
static void test_large_problem_fits(void **state)
{
    const struct gt_bench_options options = {.seed = 1};
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_err err;

    setenv("STUB_MEMORY", "100000000", 1);
    for (int beta = 0; beta < 2; beta++) {
        const char *need;

        gt_problem_init(&problem, 16384, 16384, 16384);
        problem.beta = beta;
        assert_int_equal(
            gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
            GT_ETOOBIG);
        need = strstr(err.msg, "need ");
        assert_non_null(need);
        assert_true(strtod(need + 5, NULL) > 9e9);
        assert_true(strtod(need + 5, NULL) < 22e9);
    }
    unsetenv("STUB_MEMORY");
}

/* A candidate that needs more workspace than is allowed is not launched. */
static void test_workspace_cap(void **state)
{
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(f, "64x64x64", false, &problem);
    struct gt_kernel kernel = *f->kernel; /* whose workspace is another expression */
    struct gt_candidate candidate;
    struct gt_bench_entry entry;
    struct gt_strbuf image;
    struct gt_trial trial = {0};
    struct gt_err err;

    assert_int_equal(stub_candidate(f, &problem, NULL, &candidate, &image, &err), GT_OK);
    assert_int_equal(gt_expr_parse(&kernel.workspace, "M * 1000000", &kernel.names, &err), GT_OK);
    candidate.kernel = &kernel;
    entry = stub_entry(&candidate, &image);
    assert_int_equal(gt_bench_trial(bench, &entry, 0, &trial, &err), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_LAUNCH_INVALID);
    assert_non_null(strstr(trial.detail, "64000000 bytes of workspace"));
    gt_expr_free(kernel.workspace);
    gt_strbuf_release(&image);
    gt_bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow_is_given_up, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_sampling, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_proved_again_after_timing, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test_setup_teardown(test_operands_of_timing, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_canary, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_problems_refused, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_large_problem_fits, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_workspace_cap, stub_set_up, stub_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
