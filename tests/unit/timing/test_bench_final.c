/* test_bench_final.c - tests cuBLASLt's answers as the baseline, and finals, on the stub driver's
 * virtual clock. */
#include "bench_fixture.h"

#include <math.h>

#include "base/stats.h"

static void test_baseline(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench =
        open_bench(*state, "70x50x60:f32:tn:beta=0.5:epi=bias+relu", false, &problem);
    struct gt_baseline baseline;
    struct gt_err err = {0};

    if (gt_bench_baseline(bench, &baseline, &err))
        fail_msg("%s", err.msg);
    /* The stub's second answer is the fastest, and wrong. */
    assert_int_equal(baseline.answers, 2);
    assert_int_equal(baseline.best, 2);
    assert_true(fabs(baseline.us - 80) < 0.1);
    assert_true(fabs(baseline.first_us - 100) < 0.1);
    assert_string_equal(baseline.name, "cuBLASLt 13.1.2, answer 3 of 3");
    assert_true(baseline.samples >= 9);
    gt_bench_close(bench);
}

/* GELU is compared with the library's tanh form, which no plan runs in its place; a product without
 * it is no rival. */
static void test_baseline_of_gelu(void **state)
{
    static const char *const problems[] = {"40x50x60:f32:nn:epi=gelu",
                                           "40x50x60:bf16:nt:beta=1:epi=bias+gelu"};

    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, problems[i], false, &problem);
        struct gt_baseline baseline;
        struct gt_trial trial = {0};
        struct gt_err err = {0};

        if (gt_bench_baseline(bench, &baseline, &err))
            fail_msg("%s: %s", problems[i], err.msg);
        assert_non_null(strstr(baseline.name, "GELU in its tanh form"));
        assert_string_equal(baseline.algo, "");
        OK(gt_bench_final(bench, NULL, 0, 9, NULL, &trial, &err));
        assert_int_equal(trial.status, GT_STATUS_OK);
        setenv("STUB_CUBLASLT_NO_GELU", "1", 1);
        assert_int_equal(gt_bench_baseline(bench, &baseline, &err), GT_ENOTFOUND);
        unsetenv("STUB_CUBLASLT_NO_GELU");
        gt_bench_close(bench);
    }
}

static void test_baseline_layouts(void **state)
{
    static const char *const problems[] = {"40x50x60:f32:nn:lda=64:ldb=52:ldc=55",
                                           "40x50x60:f32:nt:batch=3",
                                           "40x50x60:f32:tt:beta=2",
                                           "40x50x60:f32:nn:epi=bias",
                                           "40x50x60:f16:nn:epi=bias",
                                           "40x50x60:f16:tn:acc=f16:alpha=0.5:beta=-1",
                                           "40x50x60:bf16:nt:ldc=57:batch=2",
                                           "40x50x60:tf32",
                                           "40x48x64:e4m3:nt",
                                           "40x48x64:s8:nt:alpha=3:beta=-1",
                                           "40x48x64:s8:nt:out=s8:alpha=0.01",
                                           "40x50x60:f64:tn:alpha=0.3333333333333333:beta=0.1",
                                           "40x50x60:f64:nt:batch=2:epi=bias+relu",
                                           "40x50x60:bf16:nn:beta=1:groups=5",
                                           "40x50x60:f16:tt:epi=bias:groups=4",
                                           "40x50x60:f32:nn:beta=1:groups=3:by=k",
                                           "40x50x60:bf16:tn:out=f32:groups=3:by=k"};
    struct gt_baseline baseline;
    struct gt_err err = {0};

    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, problems[i], false, &problem);

        if (gt_bench_baseline(bench, &baseline, &err))
            fail_msg("%s: %s", problems[i], err.msg);
        /* Products of 8-bit floats are asked for with both ways to sum. */
        assert_int_equal(baseline.answers, gt_type_f8(problem.type) ? 4 : 2);
        if (problem.type == GT_F64) /* in units of 2^-53 */
            assert_true(baseline.err_u < 4);
        gt_bench_close(bench);
    }
}

/* If cuBLASLt computes something else or serves no answer, there is no baseline, and a sentence
 * says why. */
static void test_no_baseline(void **state)
{
    static const struct {
        const char *problem, *words;
    } cases[] = {{"40x48x64:e4m3:nn", "no answer"},
                 {"40x48x64:f16:nn:acc=f16:alpha=0.1", "alpha and beta as f16"},
                 {"41x48x64:f16:nn:groups=4", "make m a multiple of 4"},
                 {"40x48x65:f16:nn:groups=4:by=k", "make k a multiple of 4"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, cases[i].problem, false, &problem);
        struct gt_baseline baseline;
        struct gt_err err = {0};

        assert_int_equal(gt_bench_baseline(bench, &baseline, &err), GT_ENOTFOUND);
        assert_non_null(strstr(err.msg, cases[i].words));
        gt_bench_close(bench);
    }
}

/* Two images of one kernel (the fault makes one slower) and the baseline. */
static void test_final(void **state)
{
    static const char *const faults[] = {NULL, "slow", "wrong_later"};
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", false, &problem);
    struct gt_candidate candidate[3];
    struct gt_strbuf image[3];
    struct gt_bench_entry entry[3];
    struct gt_trial trial[3], baseline;
    struct gt_baseline measured;
    struct gt_err err = {0};

    assert_int_equal(gt_bench_baseline(bench, &measured, &err), GT_OK);
    memset(trial, 0, sizeof(trial));
    memset(&baseline, 0, sizeof(baseline));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            stub_candidate(*state, &problem, faults[i], &candidate[i], &image[i], &err), GT_OK);
        entry[i] = stub_entry(&candidate[i], &image[i]);
    }
    assert_int_equal(gt_bench_final(bench, entry, 3, 50, trial, &baseline, &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[1].status, GT_STATUS_OK);
    assert_int_equal(trial[2].status, GT_STATUS_WRONG);
    assert_int_equal(baseline.status, GT_STATUS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trial[i].stage, 3);
        assert_int_equal(trial[i].samples, i ? 21 : 50); /* the slow one left when it had lost */
        assert_true(trial[i].err_u > 0);
    }
    assert_true(trial[1].us > 5 * trial[0].us);
    assert_int_equal(baseline.samples, 50);
    assert_true(fabs(baseline.us - 80) < 0.1);
    for (int i = 0; i < 3; i++)
        gt_strbuf_release(&image[i]);
    gt_bench_close(bench);
}

static double part_median(const struct gt_trial *trial, int first, int count)
{
    return gt_median(trial->sample + first, count);
}

/* A final begins when the device has reached its steady state. */
static void test_a_final_on_a_device_that_gets_hot(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", false, &problem);
    struct gt_candidate candidate[2];
    struct gt_strbuf image[2];
    struct gt_bench_entry entry[2];
    struct gt_trial trial[2];
    struct gt_err err = {0};

    setenv("STUB_HEAT", "200", 1); /* few: a busy machine launches few in the pre-heat */
    memset(trial, 0, sizeof(trial));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stub_candidate(*state, &problem, NULL, &candidate[i], &image[i], &err),
                         GT_OK);
        entry[i] = stub_entry(&candidate[i], &image[i]);
    }
    assert_int_equal(gt_bench_final(bench, entry, 2, 40, trial, NULL, &err), GT_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trial[i].status, GT_STATUS_OK);
        assert_true(part_median(&trial[i], 30, 10) < 1.005 * part_median(&trial[i], 0, 10));
        gt_strbuf_release(&image[i]);
    }
    unsetenv("STUB_HEAT");
    gt_bench_close(bench);
}

/* All entries take part in the rounds, so these do not show which one writes to the inputs.  Only
 * an entry that does so again in its own proof is blamed. */
static void test_a_final_blames_who_did_it(void **state)
{
    static const char *const faults[] = {NULL, "input_modified"};
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", false, &problem);
    struct gt_candidate candidate[2];
    struct gt_strbuf image[2];
    struct gt_bench_entry entry[2];
    struct gt_trial trial[2];
    struct gt_err err = {0};

    memset(trial, 0, sizeof(trial));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            stub_candidate(*state, &problem, faults[i], &candidate[i], &image[i], &err), GT_OK);
        entry[i] = stub_entry(&candidate[i], &image[i]);
    }
    assert_int_equal(gt_bench_final(bench, entry, 2, 5, trial, NULL, &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[1].status, GT_STATUS_OOB_WRITE);
    for (int i = 0; i < 2; i++)
        gt_strbuf_release(&image[i]);
    gt_bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_baseline, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_baseline_of_gelu, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_baseline_layouts, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_no_baseline, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_final, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_a_final_on_a_device_that_gets_hot, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test_setup_teardown(test_a_final_blames_who_did_it, stub_set_up,
                                        stub_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
