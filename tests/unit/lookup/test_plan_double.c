/* test_plan_double.c - plans of products of doubles, on the stub driver: alpha and beta reach the
 * kernel as doubles, and what no float holds comes out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stub_fixture.h"

enum { M = 33, N = 20, K = 48 };

static void run(const char *text, double alpha, double beta)
{
    static _Alignas(256) double a[M * K], b[K * N], c[M * N], d[M * N];
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = ".",
                                       .allow_nvrtc = 1};
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a,         .b = b,      .c = c,
                                   .d = d,           .alpha = alpha, .beta = beta};
    struct gt_problem problem;
    struct gt_err err;
    struct gt_plan *plan;
    struct gt *gt;

    for (int i = 0; i < M * K; i++)
        a[i] = 0x1p30 + i; /* products of 60 bits */
    for (int i = 0; i < K * N; i++)
        b[i] = (i % 2 ? -1 : 1) * (0x1p20 + i);
    for (int i = 0; i < M * N; i++)
        c[i] = 1 + i;
    if (gt_problem_parse(&problem, text, &err) || gt_open(&gt, &options, &err) ||
        gt_plan(&plan, gt, 0, &problem, &err))
        fail_msg("%s: %s", text, err.msg);
    assert_string_equal(gt_plan_answer(plan)->kernel, "double");
    if (gt_plan_answer(plan)->workspace_bytes)
        assert_int_equal(
            posix_memalign(&operands.workspace, 256, gt_plan_answer(plan)->workspace_bytes), 0);
    if (gt_run(plan, NULL, &operands, &err))
        fail_msg("%s: %s", text, err.msg);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            long double sum = 0, sizes = fabs(beta * c[i * N + j]);

            for (int k = 0; k < K; k++) {
                sum += (long double)a[i * K + k] * b[k * N + j];
                sizes += fabsl((long double)alpha * a[i * K + k] * b[k * N + j]);
            }
            sum = alpha * sum + (long double)beta * c[i * N + j];
            if (!(fabsl(sum - d[i * N + j]) <= K * 0x1p-53L * sizes))
                fail_msg("%s: (%d,%d) is %.17g, expected %.17Lg", text, i, j, d[i * N + j], sum);
        }
    free(operands.workspace);
    gt_plan_free(plan);
    gt_close(gt);
}

static void test_factors(void **state)
{
    (void)state;
    run("33x20x48:f64", 1, 0);
    run("33x20x48:f64", 1.0 / 3, 0);
    run("33x20x48:f64:nn:beta=1", 1e-3, 0.1);
    run("33x20x48:f64:nn:beta=1", 1e-60, 1e200); /* no float has these */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors)};

    stub_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
