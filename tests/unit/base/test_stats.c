/* test_stats.c - medians, their intervals, paired comparison, the random generator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/stats.h"

static void test_median(void **state)
{
    const float value[] = {5, 1, 4, 2, 3, 9};
    float copy[6];

    (void)state;
    memcpy(copy, value, sizeof(value));
    assert_true(gt_median(value, 1) == 5);
    assert_true(gt_median(value, 2) == 3);
    assert_true(gt_median(value, 3) == 4);
    assert_true(gt_median(value, 5) == 3);
    assert_true(gt_median(value, 6) == 3.5);
    assert_memory_equal(copy, value, sizeof(value)); /* not modified */
}

/* Ranks (from 1) of the bounds, from published tables of the sign test's interval. */
static void test_interval(void **state)
{
    static const struct {
        int n, lo, hi;
    } cases[] = {
        {1, 1, 1},    {2, 1, 2},    {5, 1, 5},    {6, 1, 6},     {8, 1, 8},   {9, 2, 8},
        {10, 2, 9},   {12, 3, 10},  {15, 4, 12},  {20, 6, 15},   {25, 8, 18}, {30, 10, 21},
        {40, 14, 27}, {50, 18, 33}, {70, 27, 44}, {100, 40, 61},
    };
    float value[100];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double lo, hi;

        for (int j = 0; j < cases[i].n; j++) /* 1..n, shuffled: 37 has no divisor in common */
            value[j * 37 % cases[i].n] = (float)(j + 1);
        gt_median_interval(value, cases[i].n, &lo, &hi);
        if (lo != cases[i].lo || hi != cases[i].hi)
            fail_msg("n = %d: [%g, %g], expected [%d, %d]", cases[i].n, lo, hi, cases[i].lo,
                     cases[i].hi);
    }
}

/* The interval of a large sample is close to the normal approximation and covers the median. */
static void test_interval_large(void **state)
{
    static float value[4096];
    double lo, hi;

    (void)state;
    for (int i = 0; i < 4096; i++)
        value[i] = (float)i;
    gt_median_interval(value, 4096, &lo, &hi);
    assert_true(lo > 2047.5 - 66 && lo < 2047.5 - 60);
    assert_true(hi < 2047.5 + 66 && hi > 2047.5 + 60);
    for (int i = 0; i < 4096; i++)
        value[i] = 7;
    gt_median_interval(value, 4096, &lo, &hi);
    assert_true(lo == 7 && hi == 7 && gt_median(value, 4096) == 7);
}

static void test_paired(void **state)
{
    float x[40], y[40];

    (void)state;
    for (int i = 0; i < 40; i++) {
        x[i] = 100 + (float)(i % 7);
        y[i] = x[i] * 1.01f; /* a drift that both share does not hide 1 % */
    }
    assert_int_equal(gt_paired_compare(x, y, 40), -1);
    assert_int_equal(gt_paired_compare(y, x, 40), 1);
    assert_int_equal(gt_paired_compare(x, x, 40), 0);
    for (int i = 0; i < 40; i++)
        y[i] = x[i] * (i % 2 ? 1.02f : 0.98f);
    assert_int_equal(gt_paired_compare(x, y, 40), 0);
    assert_int_equal(gt_paired_compare(x, y, 1), 1);
}

/* The stream is fixed: reference values of splitmix64 from seed 1234567. */
static void test_random_stream(void **state)
{
    struct gt_random random = {1234567};

    (void)state;
    assert_true(gt_random_next(&random) == 6457827717110365317u);
    assert_true(gt_random_next(&random) == 3203168211198807973u);
    assert_true(gt_random_next(&random) == 9817491932198370423u);
}

static void test_random_ranges(void **state)
{
    struct gt_random random = {1};
    int seen[7] = {0};
    double sum = 0;

    (void)state;
    for (int i = 0; i < 70000; i++) {
        uint64_t draw = gt_random_below(&random, 7);

        assert_true(draw < 7);
        seen[draw]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9600, 10400); /* 4 standard deviations */
    for (int i = 0; i < 10000; i++) {
        double unit = gt_random_unit(&random);

        assert_true(unit >= 0 && unit < 1);
        sum += unit;
    }
    assert_true(sum > 4880 && sum < 5120);
    assert_true(gt_random_below(&random, 1) == 0);
    assert_true(gt_random_below(&random, UINT64_MAX) < UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),         cmocka_unit_test(test_interval),
        cmocka_unit_test(test_interval_large), cmocka_unit_test(test_paired),
        cmocka_unit_test(test_random_stream),  cmocka_unit_test(test_random_ranges),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
