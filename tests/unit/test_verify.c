/* test_verify.c - the test of the verifier: a right kernel passes, and every fault that a GEMM
 * kernel can have is caught, each with the status and the words it deserves.  Against the stub
 * driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stub_fixture.h"
#include "verify.h"

static int set_up(void **state)
{
    struct stub_fixture *f = calloc(1, sizeof(*f));
    struct gt_err err;

    *state = f;
    if (!f || !stub_open(f, STUB_KERNEL, &err))
        return !f;
    print_error("%s\n", err.msg);
    return 1;
}

static int tear_down(void **state)
{
    stub_close(*state);
    free(*state);
    return 0;
}

static struct gt_bench *open_bench(const struct stub_fixture *f, const char *text,
                                   struct gt_problem *problem)
{
    const struct gt_bench_options options = {.seed = 7, .workspace_cap = 1 << 20};
    struct gt_bench *bench = NULL;
    struct gt_err err = {0};

    if (gt_problem_parse(problem, text, &err) ||
        gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err))
        fail_msg("%s: %s", text, err.msg);
    return bench;
}

/* Every layout, epilogue, alignment and batch that the cases are built from. */
static void test_right_kernel_passes(void **state)
{
    static const char *const problems[] = {
        "96x80x64",
        "96x80x64:f32:nt",
        "96x80x64:f32:tn:beta=0.5",
        "97x81x63:f32:tt",
        "64x64x64:f32:nn:batch=3",
        "50x60x70:f32:nn:lda=73:ldb=66:ldc=62:beta=2",
        "64x48x32:f32:nt:epi=bias+relu",
        "64x48x32:f32:nn:epi=gelu",
        "64x48x32:f32:nn:epi=bias+gelu:beta=1",
        "1x1x1",
        "40x40x0:f32:nn:beta=1",
        "64x64x64:f32:nn:align=4:ldc=66",
    };

    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, problems[i], &problem);
        struct gt_trial trial;
        struct gt_err err;

        assert_int_equal(stub_trial(*state, bench, &problem, NULL, 0, &trial, &err), GT_OK);
        if (trial.status != GT_STATUS_OK)
            fail_msg("%s: %s: %s", problems[i], gt_status_name(trial.status), trial.detail);
        assert_int_equal(trial.stage, 1);
        assert_int_equal(trial.samples, 3);
        assert_true(trial.us > 0 && trial.lo_us <= trial.us && trial.us <= trial.hi_us);
        assert_true(trial.err_u < gt_verify_tolerance(&problem) / 4);
        assert_true(trial.err_u > 0 || problem.k < 2);
        gt_bench_close(bench);
    }
}

static const struct planted {
    const char *fault, *problem;
    enum gt_status status;
    const char *words; /* of the detail */
} planted[] = {
    {"off_permille", "96x80x512", GT_STATUS_WRONG, "wrong"},
    {"zeroed", "96x80x64", GT_STATUS_WRONG, "is 0, expected"},
    {"swapped", "96x80x64", GT_STATUS_WRONG, "2 of"},
    {"last_k", "96x80x64", GT_STATUS_WRONG, "wrong"},
    {"half_tile", "96x80x512", GT_STATUS_WRONG, "wrong"},
    {"round_half", "96x80x512", GT_STATUS_WRONG, "wrong"},
    {"round_bfloat", "96x80x512", GT_STATUS_WRONG, "wrong"},
    {"nan", "96x80x64", GT_STATUS_WRONG, "nan, expected"},
    {"partial", "96x80x64", GT_STATUS_WRONG, "nan, expected"},
    {"oob_write", "96x80x64", GT_STATUS_OOB_WRITE, "1 elements behind the last one of D"},
    {"oob_pad", "96x80x64:f32:nn:ldc=96", GT_STATUS_OOB_WRITE, "between the rows"},
    {"far_write", "96x80x64", GT_STATUS_OOB_WRITE, "behind the last one of D"},
    {"workspace", "96x80x64", GT_STATUS_OOB_WRITE, "workspace"},
    {"input_modified", "96x80x64", GT_STATUS_OOB_WRITE, "was written to"},
    {"nondeterministic", "96x80x64", GT_STATUS_NONDETERMINISTIC, "launches 1 and 2 differ in 1 of"},
    {"beta_twice", "96x80x64:f32:nn:beta=1", GT_STATUS_WRONG, "wrong"},
    {"beta_twice", "96x80x64", GT_STATUS_WRONG, "beta 2"}, /* a small case has one */
    {"reads_c", "96x80x64", GT_STATUS_WRONG, "beta 0"},
    {"reads_a", "96x80x64", GT_STATUS_WRONG, "alpha 0"},
    {"reads_pad", "96x80x64", GT_STATUS_WRONG, "nan, expected"},
    {"impossible", "96x80x64", GT_STATUS_WRONG, "impossible time"},
    {"launch_invalid", "96x80x64", GT_STATUS_LAUNCH_INVALID, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
};

static void test_planted_faults_are_caught(void **state)
{
    for (size_t i = 0; i < sizeof(planted) / sizeof(*planted); i++) {
        const struct planted *p = &planted[i];
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, p->problem, &problem);
        struct gt_trial trial;
        struct gt_err err;

        assert_int_equal(stub_trial(*state, bench, &problem, p->fault, 0, &trial, &err), GT_OK);
        if (trial.status != p->status || !strstr(trial.detail, p->words))
            fail_msg("%s at %s: %s: %s", p->fault, p->problem, gt_status_name(trial.status),
                     trial.detail);
        assert_int_equal(trial.stage, 0);
        assert_true(trial.us == 0);
        /* The next candidate does not suffer from it. */
        assert_int_equal(stub_trial(*state, bench, &problem, NULL, 0, &trial, &err), GT_OK);
        if (trial.status != GT_STATUS_OK)
            fail_msg("after %s: %s: %s", p->fault, gt_status_name(trial.status), trial.detail);
        gt_bench_close(bench);
    }
}

/* Integers are exact in any order, so that a race shows in reals only; a lost product may hide in
 * the tolerance of reals, but not among integers. */
static void test_neither_data_set_suffices(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "96x80x64", &problem);
    struct gt_trial trial;
    struct gt_err err;

    assert_int_equal(stub_trial(*state, bench, &problem, "nondeterministic", 0, &trial, &err),
                     GT_OK);
    assert_non_null(strstr(trial.detail, "reals"));
    assert_int_equal(stub_trial(*state, bench, &problem, "last_k", 0, &trial, &err), GT_OK);
    assert_non_null(strstr(trial.detail, "integers"));
    gt_bench_close(bench);
}

static void test_tolerance(void **state)
{
    struct gt_problem problem;

    (void)state;
    gt_problem_init(&problem, 10, 10, 4096);
    assert_true(gt_verify_tolerance(&problem) == 132);
    problem.k = 0;
    assert_true(gt_verify_tolerance(&problem) == 6);
    problem.accuracy = GT_ACCURACY_TF32;
    assert_true(gt_verify_tolerance(&problem) > 16000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_right_kernel_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_planted_faults_are_caught, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_neither_data_set_suffices, set_up, tear_down),
        cmocka_unit_test(test_tolerance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
