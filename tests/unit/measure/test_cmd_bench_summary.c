/* test_cmd_bench_summary.c - means of tune bench: by type, weighted, the untuned loss and its ninth
 * tenth, what is not known left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "measure/cmd_bench_summary.h"
#include "gemmtune.h"

static void add(struct gt_bench_summary *summary, const char *problem,
                struct gt_bench_figures figures)
{
    struct gt_problem parsed;

    assert_int_equal(gt_problem_parse(&parsed, problem, NULL), GT_OK);
    assert_int_equal(gt_bench_summary_add(summary, &parsed, &figures, NULL), GT_OK);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12g, expected %.12g", value, expected);
}

static void test_means(void **state)
{
    struct gt_bench_summary summary = {0};
    struct gt_bench_means f32, accurate, all;

    (void)state;
    add(&summary, "8x8x8:f32",
        (struct gt_bench_figures){.weight = 1, .ratio = 2, .best_ratio = 2, .loss = 1.5});
    add(&summary, "8x8x8:f32:accuracy=f32",
        (struct gt_bench_figures){.weight = 1, .ratio = 3, .worse = true, .loss = 1});
    add(&summary, "8x8x9:f32",
        (struct gt_bench_figures){
            .weight = 1, .ratio = 0.5, .best_ratio = 1, .loss = 1, .err_above = true});
    add(&summary, "8x8x10:f32", (struct gt_bench_figures){.weight = 9}); /* no baseline */
    f32 = gt_bench_summary_means(&summary, "f32");
    accurate = gt_bench_summary_means(&summary, "f32, accuracy f32");
    all = gt_bench_summary_means(&summary, NULL);
    assert_true(f32.problems == 2 && f32.below == 1 && f32.untuned == 2 && f32.worse == 0 &&
                f32.err_above == 1);
    assert_near(f32.ratio, 1);
    assert_near(f32.worst, 0.5);
    assert_near(f32.best_ratio, sqrt(2));
    assert_near(f32.best_worst, 1);
    assert_near(f32.loss, sqrt(1.5));
    assert_near(f32.loss_worst, 1.5);
    assert_near(f32.loss_p90, 1.5);
    assert_true(accurate.problems == 1 && accurate.worse == 1 && accurate.best_ratio == 0);
    assert_true(all.problems == 3 && all.untuned == 3);
    assert_near(all.ratio, cbrt(3));
    assert_true(gt_bench_summary_first(&summary, 0) && gt_bench_summary_first(&summary, 1));
    assert_false(gt_bench_summary_first(&summary, 2));
    gt_bench_summary_release(&summary);
    gt_bench_summary_release(&summary);
}

/* Nine of ten problems lose no more than p90, weights multiply logarithms. */
static void test_p90_and_weights(void **state)
{
    struct gt_bench_summary summary = {0};
    struct gt_bench_means means;

    (void)state;
    for (int i = 0; i < 20; i++)
        add(&summary, "8x8x8:bf16",
            (struct gt_bench_figures){.weight = i ? 1 : 19, .ratio = i ? 1 : 16, .loss = 1 + i});
    means = gt_bench_summary_means(&summary, "bf16");
    assert_near(means.loss_p90, 18);
    assert_near(means.loss_worst, 20);
    assert_near(means.ratio, 4);
    means = gt_bench_summary_means(&summary, "f16");
    assert_true(means.problems == 0 && means.ratio == 0 && means.loss_p90 == 0);
    gt_bench_summary_release(&summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_p90_and_weights),
    };

    return cmocka_run_group_tests_name("cmd_bench_summary", tests, NULL, NULL);
}
