/* test_quality.c - figures of how well predictions rank what was measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "doctor/quality.h"

#define MANY 120

/* A model that is twice too slow everywhere is still a perfect judge. */
static void test_perfect(void **state)
{
    struct gt_quality_point point[MANY];
    struct gt_quality quality;

    (void)state;
    for (int i = 0; i < MANY; i++)
        point[i] = (struct gt_quality_point){2.0 * (500 - i), 500 - i};
    gt_quality_of(&quality, point, MANY);
    assert_int_equal(quality.tried, MANY);
    assert_int_equal(quality.measured, MANY);
    assert_true(fabs(quality.correlation - 1) < 1e-12);
    assert_true(fabs(quality.ratio - 2) < 1e-12 && fabs(quality.spread - 1) < 1e-6);
    for (int i = 0; i < GT_QUALITY_FIRSTS; i++)
        assert_true(quality.near[i] == 1);
}

static void test_backwards(void **state)
{
    struct gt_quality_point point[MANY];
    struct gt_quality quality;

    (void)state;
    for (int i = 0; i < MANY; i++)
        point[i] = (struct gt_quality_point){1000 - i, 100 + i};
    gt_quality_of(&quality, point, MANY);
    assert_true(fabs(quality.correlation + 1) < 1e-12);
    assert_true(fabs(quality.near[0] - 100.0 / 210) < 1e-12); /* its first ten: 219 to 210 us */
    assert_true(fabs(quality.near[2] - 100.0 / 120) < 1e-12);
}

/* Points without a time take a place among the first, and are otherwise left out. */
static void test_failed_points(void **state)
{
    struct gt_quality_point point[MANY];
    struct gt_quality quality;

    (void)state;
    for (int i = 0; i < MANY; i++)
        point[i] = (struct gt_quality_point){10 + i, i < 30 ? 0 : 10 + i};
    gt_quality_of(&quality, point, MANY);
    assert_int_equal(quality.measured, 90);
    assert_true(quality.near[0] == 0);
    assert_true(quality.near[1] == 1);
    assert_true(fabs(quality.correlation - 1) < 1e-12);
    assert_true(fabs(quality.ratio - 1) < 1e-12);
    gt_quality_of(&quality, point, 40); /* of the 40 that are left nothing is said of 50 */
    assert_true(isnan(quality.near[1]) && isnan(quality.near[2]));
}

/* Equal times share a rank; two times are too few to speak of ranks. */
static void test_few_and_equal(void **state)
{
    struct gt_quality_point equal[] = {{1, 5}, {1, 5}, {2, 6}, {3, 9}};
    struct gt_quality_point constant[] = {{7, 1}, {7, 2}, {7, 3}};
    struct gt_quality_point two[] = {{1, 5}, {2, 6}};
    struct gt_quality quality;

    (void)state;
    gt_quality_of(&quality, equal, 4);
    assert_true(fabs(quality.correlation - 1) < 1e-12);
    gt_quality_of(&quality, constant, 3);
    assert_true(quality.correlation == 0);
    gt_quality_of(&quality, two, 2);
    assert_true(isnan(quality.correlation));
    gt_quality_of(&quality, two, 0);
    assert_true(quality.measured == 0 && isnan(quality.correlation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfect),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_failed_points),
        cmocka_unit_test(test_few_and_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
