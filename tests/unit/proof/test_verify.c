/* test_verify.c - tests the proof on the stub driver: a right kernel passes, and each planted fault
 * of a GEMM kernel is found, with its own status and words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proof/verify.h"
#include "stub_fixture.h"
#include "whole.h"

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
        "96x80x512:f16",
        "97x81x63:f16:tt:align=2",
        "96x80x512:f16:nn:out=f32",
        "50x60x70:bf16:nt:lda=73:ldb=77:ldc=63:beta=2",
        "64x48x32:bf16:tn:epi=bias+gelu:beta=1",
        "64x64x64:bf16:nn:batch=3",
        "96x80x512:tf32",
        "64x48x8192:tf32:nt:beta=1",
        "96x80x512:tf32:nn:out=f16",
        "64x48x256:tf32:tn:out=bf16:epi=bias+gelu",
        "96x80x64:f32:nn:accuracy=f32",
        "64x48x256:e4m3:nt",
        "64x48x256:e5m2:tn:out=e5m2:beta=1",
        "65x47x33:e4m3:nn:out=e4m3:epi=bias+relu:align=1",
        "96x80x512:s8",
        "96x81x63:s8:nt:beta=-2:align=4",
        "64x48x64:s8:nn:out=f32:alpha=0.125:epi=bias",
        "64x48x64:s8:nn:out=s8:alpha=0.01:align=1",
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
        assert_true(trial.err_u > 0 || problem.k < 2 || problem.out == GT_S32);
        gt_bench_close(bench);
    }
}

/* Products that have a kernel of their own. */
struct special {
    const char *fault, *problem, *words; /* fault NULL: the kernel is right */
};

static void run_special(const char *description, const struct special *item, size_t count,
                        double most_units)
{
    struct stub_fixture f;
    struct gt_err err;

    assert_int_equal(stub_open(&f, description, &err), GT_OK);
    for (size_t i = 0; i < count; i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(&f, item[i].problem, &problem);
        struct gt_trial trial;

        assert_int_equal(stub_trial(&f, bench, &problem, item[i].fault, 0, &trial, &err), GT_OK);
        if (item[i].words ? trial.status == GT_STATUS_OK || !strstr(trial.detail, item[i].words)
                          : trial.status != GT_STATUS_OK)
            fail_msg("%s on %s: %s: %s", item[i].fault ? item[i].fault : "no fault",
                     item[i].problem, gt_status_name(trial.status), trial.detail);
        if (!item[i].words)
            assert_true(trial.err_u < most_units && (trial.err_u > 0 || problem.k < 2));
        gt_bench_close(bench);
    }
    stub_close(&f);
}

static void test_doubles(void **state)
{
    static const struct special doubles[] = {
        {NULL, "96x80x64:f64", NULL},
        {NULL, "97x81x63:f64:tt:align=8", NULL},
        {NULL, "64x64x64:f64:nt:batch=3:alpha=0.3333333333333333:beta=0.1", NULL},
        {NULL, "50x60x700:f64:tn:lda=73:ldb=66:ldc=62:beta=2", NULL},
        {NULL, "64x48x32:f64:nn:epi=bias+gelu:beta=1", NULL},
        {NULL, "40x40x0:f64:nn:beta=1", NULL},
        {"float_sums", "96x80x64:f64", "reals"},
        {"float_factors", "96x80x64:f64", "integers"},
        {"off_ulp", "96x80x64:f64", "1 of"},
        {"off_permille", "96x80x512:f64:tt", "wrong"},
        {"round_bfloat", "96x80x512:f64", "wrong"},
        {"last_k", "96x80x64:f64", "wrong"},
        {"beta_twice", "96x80x64:f64:nn:beta=1", "wrong"},
        {"reads_c", "96x80x64:f64", "beta 0"},
        {"reads_pad", "96x80x64:f64:nn:lda=72", "nan, expected"},
        {"partial", "96x80x64:f64", "nan, expected"},
        {"oob_write", "96x80x64:f64", "1 elements behind the last one of D"},
        {"oob_pad", "96x80x64:f64:nn:ldc=96", "between the rows"},
        {"nondeterministic", "96x80x64:f64", "launches 1 and 2 differ in 1 of"},
    };

    (void)state;
    /* in units of 2^-53 */
    run_special("configs/kernels/double.json", doubles, sizeof(doubles) / sizeof(*doubles), 4);
}

/* Groups along m and along k; a small case has rows that are no group's. */
static void test_groups(void **state)
{
    static const struct special groups[] = {
        {NULL, "96x80x64:f32:nn:groups=5", NULL},
        {NULL, "97x81x63:f16:tt:align=2:groups=7", NULL},
        {NULL, "50x60x70:bf16:nt:lda=73:ldb=77:ldc=63:beta=2:groups=1", NULL},
        {NULL, "64x48x32:e4m3:nt:out=bf16:epi=bias+gelu:groups=300", NULL},
        {NULL, "40x48x96:f32:tn:beta=1:groups=4:by=k", NULL},
        {NULL, "33x65x90:bf16:nn:out=f32:groups=9:by=k", NULL},
        {"group_begin", "96x80x64:f32:nn:groups=5", "wrong"},
        {"group_begin", "40x48x96:f16:tn:groups=4:by=k", "wrong"},
        {"group_rest", "96x80x64:bf16:nn:groups=5", "behind the last one of D"},
        {"partial", "96x80x64:f32:nn:groups=5", "nan, expected"},
    };

    (void)state;
    run_special("configs/kernels/grouped.json", groups, sizeof(groups) / sizeof(*groups), 70000);
}

#define OF_FP32 22 /* of the planted faults; then come the same of other types */

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
    {"impossible", "96x80x64:bf16", GT_STATUS_WRONG, "impossible time"},
    {"off_ulp", "96x80x64", GT_STATUS_WRONG, "1 of"},
    {"off_ulp", "96x80x64:f16", GT_STATUS_WRONG, "1 of"},
    {"off_ulp", "96x80x64:bf16", GT_STATUS_WRONG, "1 of"},
    {"off_ulp", "96x80x64:e4m3", GT_STATUS_WRONG, "1 of"},
    {"off_ulp", "96x80x64:e4m3:nn:out=e4m3", GT_STATUS_WRONG, "1 of"},
    {"off_ulp", "96x80x64:s8", GT_STATUS_WRONG, "1 of"},
    {"oob_write", "96x80x64:f16", GT_STATUS_OOB_WRITE, "1 elements behind the last one of D"},
    {"oob_write", "95x79x63:bf16:nn:align=2", GT_STATUS_OOB_WRITE,
     "1 elements behind the last one of D"},
    {"oob_write", "96x80x64:e5m2:nn:out=e5m2", GT_STATUS_OOB_WRITE,
     "1 elements behind the last one of D"},
    {"oob_write", "95x79x63:s8:nn:out=s8", GT_STATUS_OOB_WRITE,
     "1 elements behind the last one of D"},
    {"oob_pad", "96x79x64:f16:nn:ldc=81", GT_STATUS_OOB_WRITE, "between the rows"},
    {"oob_pad", "96x79x64:e4m3:nn:ldc=80:out=e4m3", GT_STATUS_OOB_WRITE, "between the rows"},
    {"oob_pad", "96x80x64:s8:nn:ldc=81", GT_STATUS_OOB_WRITE, "between the rows"},
    {"partial", "96x80x64:bf16", GT_STATUS_WRONG, "nan, expected"},
    {"partial", "96x80x64:e4m3:nn:out=e5m2", GT_STATUS_WRONG, "nan, expected"},
    {"partial", "96x80x64:s8", GT_STATUS_WRONG, "257 of"},
    {"input_modified", "96x80x64:s8", GT_STATUS_OOB_WRITE, "was written to"},
    {"nondeterministic", "96x80x64:f16:nn:out=f32", GT_STATUS_NONDETERMINISTIC,
     "launches 1 and 2 differ in 1 of"},
    {"reads_c", "96x80x64:bf16", GT_STATUS_WRONG, "beta 0"},
    {"reads_pad", "96x80x64:f16", GT_STATUS_WRONG, "nan, expected"},
    {"half_tile", "96x80x512:bf16:nn:out=f32", GT_STATUS_WRONG, "wrong"},
    {"round_half", "96x80x512:f16:nn:out=f32", GT_STATUS_WRONG, "wrong"},
    {"round_bfloat", "96x80x512:tf32", GT_STATUS_WRONG, "wrong"},
    {"truncate_a", "96x80x512:tf32", GT_STATUS_WRONG, "integers"},
    {"truncate_b", "96x80x512:tf32:tt", GT_STATUS_WRONG, "integers"},
    {"truncate_a", "16x16x4096:tf32:nn:out=f16", GT_STATUS_WRONG, "integers"},
    {"truncate_b", "1x1x1:tf32:nn:epi=gelu", GT_STATUS_WRONG, "integers"},
    {"last_k", "96x80x64:tf32", GT_STATUS_WRONG, "integers"},
    {"launch_invalid", "96x80x64", GT_STATUS_LAUNCH_INVALID, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
};

static void test_planted_faults_are_caught(void **state)
{
    for (size_t i = 0; i < sizeof(planted) / sizeof(*planted); i++) {
        if (i >= OF_FP32 && i % (size_t)gt_whole(1, 3) != 0)
            continue;
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
        if (i % (size_t)gt_whole(1, 4) == 0) {
            assert_int_equal(stub_trial(*state, bench, &problem, NULL, 0, &trial, &err), GT_OK);
            if (trial.status != GT_STATUS_OK)
                fail_msg("after %s: %s: %s", p->fault, gt_status_name(trial.status), trial.detail);
        }
        gt_bench_close(bench);
    }
}

/* Both data sets are needed.  Integers are exact in any order, so that a race shows in reals only.
 * A lost product may be within the tolerance of reals, but integers show it. */
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

/* Known errors of methods relative to |A||B|, in units of 2^-24 (measured on an H200, see
 * tuner/proof/verify.c), and whether the problem's accuracy allows them. */
static void test_tolerance(void **state)
{
    static const struct {
        const char *problem;
        double error;
        bool allowed;
    } methods[] = {
        {"9x9x4096:f32", 131, true},
        {"9x9x4096:f32", 133, false},
        {"9x9x0:f32", 6, true},
        {"9x9x0:f32", 6.1, false},
        {"9x9x4096:f32:nn:accuracy=f32", 8, true},   /* FP32 FMA, promoted sums */
        {"9x9x4096:f32:nn:accuracy=f32", 50, false}, /* three TF32 products, not promoted */
        {"9x9x65536:f32:nn:accuracy=f32", 146, false},
        {"9x9x4096:f32:nn:accuracy=f32", 375, false}, /* one TF32 product */
        {"9x9x4096:tf32", 375, true},
        {"9x9x4096:tf32", 1700, false}, /* operands truncated */
        {"9x9x3000:tf32", 653, true},   /* cuBLASLt, which rounds */
        {"9x9x3000:tf32", 1760, false}, /* truncated */
        {"9x9x1280:tf32", 1020, true},
        {"9x9x1280:tf32", 2750, false},
        {"9x9x4096:tf32", 4000, false}, /* operands cut to BF16 */
        {"9x9x16384:bf16:nn:out=f32", 24, true},
        {"9x9x4096:bf16:nn:out=f32", 50, true},
        {"9x9x256:e4m3:nt:out=f32", 3384, true},
        {"9x9x4096:e4m3:nt:out=f32", 378, true},
        {"9x9x4096:e4m3:nt:out=f32", 100000, false},
        /* hopper_scaled, promoted and not, of 2048 x 2048 elements on an H200 */
        {"9x9x256:e4m3:nt:out=f32:scale_a=1x128:scale_b=128x128", 4445, true},
        {"9x9x512:e4m3:nt:out=f32:scale_a=1x128:scale_b=128x128", 2678, true},
        {"9x9x160:e4m3:nt:out=f32:sums=promoted", 4329, true},
        {"9x9x512:e4m3:nt:out=f32:sums=promoted", 1652, true},
        {"9x9x512:e4m3:nt:out=f32:sums=promoted", 9324, false},
        {"9x9x1024:e4m3:nt:out=f32:sums=promoted", 7422, false},
        {"9x9x4096:e4m3:nt:out=f32:sums=promoted", 378, true}, /* cuBLASLt */
        {"9x9x4096:e4m3:nt:out=f32:scale_a=vector:scale_b=vector", 7561, false},
        {"9x9x4096:e4m3:nt:out=f32:sums=fast", 7561, true},
        {"9x9x16384:e4m3:nt:out=f32:scale_a=vector:scale_b=vector", 145, true},
        {"9x9x16384:e4m3:nt:out=f32:scale_a=vector:scale_b=vector", 11849, false},
        {"9x9x4096:bf16:nn:out=f32", 2048, false}, /* sums in FP16 */
        {"9x9x4096:f16:nn:out=f32:acc=f16", 37500, true},
        {"9x9x4096:f16:nn:out=f32:acc=f16", 400000, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        struct gt_verify_bound bound;
        struct gt_problem problem;

        assert_int_equal(gt_problem_parse(&problem, methods[i].problem, NULL), GT_OK);
        gt_verify_bound(&problem, &bound);
        if ((methods[i].error * 0x1p-24 <= bound.tolerance) != methods[i].allowed)
            fail_msg("%s: %g u, allowed are %g u", methods[i].problem, methods[i].error,
                     bound.tolerance * 0x1p24);
    }
}

/* A value written to a narrow D may be off by half of the spacing of its type; integers are exact.
 */
static void test_rounding_of_results(void **state)
{
    static const struct {
        const char *problem;
        double relative, absolute;
    } types[] = {
        {"9x9x9:f32", 0x1p-24, 0},
        {"9x9x9:f16", 0x1p-11, 0x1p-25},
        {"9x9x9:bf16", 0x1p-8, 0},
        {"9x9x9:e4m3:nn:out=e4m3", 0x1p-4, 0x1p-10},
        {"9x9x9:s8:nn:out=s8", 0, 0.5},
        {"9x9x9:e5m2:nn:out=e5m2", 0x1p-3, 0x1p-17},
        {"9x9x9:s8", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct gt_verify_bound bound;
        struct gt_problem problem;

        assert_int_equal(gt_problem_parse(&problem, types[i].problem, NULL), GT_OK);
        gt_verify_bound(&problem, &bound);
        assert_true(bound.relative == types[i].relative && bound.absolute == types[i].absolute);
        assert_true(bound.tolerance > 0 || problem.out == GT_S32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_right_kernel_passes, stub_set_up, stub_tear_down),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_groups),
        cmocka_unit_test_setup_teardown(test_planted_faults_are_caught, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test_setup_teardown(test_neither_data_set_suffices, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_rounding_of_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
