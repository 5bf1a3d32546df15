/* test_plan_groups.c - plans of groups of products, on the stub driver: a launch reads the groups'
 * ends from device memory, so that one plan serves other sizes of the groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "stub_fixture.h"

enum { M = 24, N = 20, K = 16, E = 3 };

static struct gt_plan *plan_for(struct gt **gt, const char *text)
{
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = ".",
                                       .allow_nvrtc = 1};
    struct gt_problem problem;
    struct gt_err err;
    struct gt_plan *plan;

    if (gt_problem_parse(&problem, text, &err) || gt_open(gt, &options, &err) ||
        gt_plan(&plan, *gt, 0, &problem, &err))
        fail_msg("%s: %s", text, err.msg);
    assert_string_equal(gt_plan_answer(plan)->kernel, "grouped");
    return plan;
}

/* D of all groups in -1 where nothing was written. */
static void run(struct gt_plan *plan, const float *a, const float *b, float *d, size_t elements,
                const int32_t ends[E])
{
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a,    .b = b,       .d = d,
                                   .alpha = 1,       .beta = 0, .sizes = ends};
    struct gt_err err;

    for (size_t i = 0; i < elements; i++)
        d[i] = -1;
    if (gt_run(plan, NULL, &operands, &err))
        fail_msg("%s", err.msg);
}

static void fill(float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)(i % 7 + 1);
}

static void test_rows(void **state)
{
    static const int32_t ends[][E] = {{8, 16, 24}, {0, 1, 20}, {24, 24, 24}};
    static _Alignas(256) float a[M * K], b[E * K * N], d[M * N];
    struct gt *gt;
    struct gt_plan *plan = plan_for(&gt, "24x20x16:f32:nn:groups=3");

    (void)state;
    fill(a, M * K);
    fill(b, E * K * N);
    for (size_t e = 0; e < sizeof(ends) / sizeof(*ends); e++) {
        run(plan, a, b, d, M * N, ends[e]);
        for (int i = 0, group = 0; i < M; i++) {
            while (group < E && ends[e][group] <= i)
                group++;
            for (int j = 0; j < N; j++) {
                float sum = group < E ? 0 : -1;

                for (int k = 0; k < K && group < E; k++)
                    sum += a[i * K + k] * b[(group * K + k) * N + j];
                assert_float_equal(d[i * N + j], sum, 0);
            }
        }
    }
    gt_plan_free(plan);
    gt_close(gt);
}

static void test_depth(void **state)
{
    static const int32_t ends[E] = {5, 5, 14};
    static _Alignas(256) float a[M * K], b[K * N], d[E * M * N];
    struct gt *gt;
    struct gt_plan *plan = plan_for(&gt, "24x20x16:f32:nn:groups=3:by=k");

    (void)state;
    fill(a, M * K);
    fill(b, K * N);
    run(plan, a, b, d, E * M * N, ends);
    for (int at = 0; at < E * M * N; at++) {
        const int group = at / (M * N), i = at / N % M, j = at % N;
        float sum = 0;

        for (int k = group ? ends[group - 1] : 0; k < ends[group]; k++)
            sum += a[i * K + k] * b[k * N + j];
        assert_float_equal(d[at], sum, 0);
    }
    gt_plan_free(plan);
    gt_close(gt);
}

static void test_missing(void **state)
{
    static _Alignas(256) float a[M * K], b[E * K * N], d[M * N];
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a, .b = b, .d = d, .alpha = 1};
    struct gt_err err;
    struct gt *gt;
    struct gt_plan *plan = plan_for(&gt, "24x20x16:f32:nn:groups=3");

    (void)state;
    assert_int_not_equal(gt_run(plan, NULL, &operands, &err), GT_OK);
    assert_non_null(strstr(err.msg, "sizes"));
    gt_plan_free(plan);
    gt_close(gt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_depth),
                                       cmocka_unit_test(test_missing)};

    stub_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
