/* test_boost.c - trees find a rule, without being told of the rows that are left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "learn/boost.h"
#include "learn/learn.h"

#include <math.h>

#define ROWS 600

static void test_trees_find_a_rule(void **state)
{
    static float x[ROWS * 2];
    static double y[ROWS], w[ROWS];
    const struct gt_boost_data data = {ROWS, 2, x, y, w};
    const struct gt_boost_options options = {
        .trees = 60, .depth = 3, .rate = 0.2, .rows = 0.8, .columns = 1, .least = 4, .shrink = 1};
    struct gt_boosted boosted;
    struct gt_err err;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = (float)(i % 20);
        x[2 * i + 1] = (float)(i % 7);
        y[i] = (i % 20 < 9 ? 1 : -1) + (i % 7 == 3 ? 0.5 : 0);
        w[i] = 1;
    }
    assert_int_equal(gt_boost(&boosted, &data, &options, &err), GT_OK);
    for (int i = 0; i < ROWS; i++)
        assert_true(fabs(gt_ranking_sum(boosted.node, boosted.nodes, x + 2 * i) - y[i]) < 0.1);
    gt_boosted_release(&boosted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees_find_a_rule),
    };

    return cmocka_run_group_tests_name("boost", tests, NULL, NULL);
}
