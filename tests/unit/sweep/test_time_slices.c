/* test_time_slices.c - tests the order of the turns of a sweep, and that choosing them takes no
 * time worth mentioning where there are thousands of problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "sweep/sweep_parts.h"

#define PROBLEMS 3000
#define SECONDS  30000.0
#define CPU_MOST 5.0 /* s; a sum over all problems for each weight took minutes */

static double standing_clock(const struct gt_evaluator *evaluator)
{
    (void)evaluator;
    return 0;
}

/* Every problem has one turn, the heaviest first, and the time in proportion to its weight. */
static void test_thousands_of_problems(void **state)
{
    static double weight[PROBLEMS];
    const struct gt_evaluator_ops ops = {.now = standing_clock};
    struct gt_evaluator evaluator = {.ops = &ops};
    struct gt_sweep_options options = {
        .evaluator = &evaluator, .problems = PROBLEMS, .weight = weight, .budget = {SECONDS}};
    struct gt_time_slices slices;
    struct gt_turn_time time, first = {0};
    struct gt_err err;
    size_t problem = 0, peeked;
    clock_t begin;

    (void)state;
    for (size_t i = 0; i < PROBLEMS; i++)
        weight[i] = PROBLEMS + (double)(i * 7919 % PROBLEMS);
    assert_int_equal(gt_time_slices_init(&slices, &options, &err), GT_OK);
    begin = clock();
    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_true(gt_time_slices_next(&slices, &problem, &time));
        assert_int_equal(problem * 7919 % PROBLEMS, PROBLEMS - 1 - i);
        if (i == 0)
            first = time;
        if (i == PROBLEMS / 2)
            assert_float_equal(time.search_s / first.search_s, weight[problem] / (2 * PROBLEMS - 1),
                               1e-9);
        gt_time_slices_peek(&slices, problem, &peeked);
    }
    assert_int_equal(gt_time_slices_begun(&slices), PROBLEMS);
    assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < CPU_MOST);
    gt_time_slices_release(&slices);
}

static double now_s;

static double moving_clock(const struct gt_evaluator *evaluator)
{
    (void)evaluator;
    return now_s;
}

/* The problems that have a turn of `turn_s` seconds besides their search within the budget. */
static size_t begun_within(double seconds, double *weight, size_t problems, double turn_s)
{
    const struct gt_evaluator_ops ops = {.now = moving_clock};
    struct gt_evaluator evaluator = {.ops = &ops};
    struct gt_sweep_options options = {
        .evaluator = &evaluator, .problems = problems, .weight = weight, .budget = {seconds}};
    struct gt_time_slices slices;
    struct gt_turn_time time;
    struct gt_err err;
    size_t problem, begun;

    now_s = 0;
    assert_int_equal(gt_time_slices_init(&slices, &options, &err), GT_OK);
    slices.tail_s = turn_s;
    for (size_t turn = 0; turn < problems && gt_time_slices_next(&slices, &problem, &time);) {
        if (gt_time_slices_turn(&slices, problem) == 1)
            assert_int_equal(problem, turn++); /* the heaviest first */
        now_s += time.search_s + turn_s;
    }
    begun = gt_time_slices_begun(&slices);
    gt_time_slices_release(&slices);
    return begun;
}

/* A short budget covers the weight: one problem that has most of it does not take the time of
 * those after it, which without a turn would have no answer. */
static void test_a_short_budget(void **state)
{
    double weight[10] = {60, 9, 8, 7, 6, 4, 3, 1, 1, 1};

    (void)state;
    assert_int_equal(begun_within(21, weight, 10, 1), 10);
    assert_in_range(begun_within(9, weight, 10, 1), 8, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thousands_of_problems),
        cmocka_unit_test(test_a_short_budget),
    };

    return cmocka_run_group_tests_name("time slices", tests, NULL, NULL);
}
