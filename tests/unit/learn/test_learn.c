/* test_learn.c - learning: trees find a rule, without being told of the rows that are left out;
 * what is written is read again and says the same; recorded trials of an H200 are ranked better
 * with the trees than without, on problems left out, and the loss that is told is the one that is
 * seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "learn/boost.h"
#include "learn/learn.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "tests/unit/failmalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static struct gt_kernels kernels;
static struct gt_learning learning;

static int take_row(const struct gt_table_row *row, struct gt_err *err)
{
    struct gt_candidate candidate = {.problem = &row->problem, .device = &learning.device};

    candidate.kernel = gt_kernels_find(&kernels, row->kernel, err);
    if (!candidate.kernel || gt_point_parse(&candidate.point, candidate.kernel, row->point, err))
        return err->code;
    return gt_learn_add(&learning, &candidate, row->us, 1, err);
}

static int setup(void **state)
{
    struct gt_table table = {0};
    struct gt_err err = {0};
    char *data;
    int rc = gt_data_dir(&data, &err);

    (void)state;
    learning = (struct gt_learning){.kernels = &kernels};
    if (!rc)
        rc = gt_kernels_load(&kernels, data, NULL, NULL, &err);
    if (!rc)
        rc = gt_device_profile(&learning.device, data, 90, &err);
    if (!rc)
        rc = gt_table_load(&table, "tests/unit/data/h200-f32acc.csv", &err);
    for (size_t i = 0; i < table.rows && !rc; i++)
        rc = take_row(&table.row[i], &err);
    free(data);
    gt_table_release(&table);
    if (rc)
        print_error("%s\n", err.msg);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    gt_learn_release(&learning);
    gt_kernels_release(&kernels);
    return 0;
}

static void test_problems_left_out(void **state)
{
    struct gt_learn_loss model, trees;
    struct gt_problem problem;
    struct gt_err err;
    size_t kind;

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "64x64x64:f32:nn:accuracy=f32", &err), GT_OK);
    kind = gt_ranking_kind(&problem);
    assert_int_equal(gt_learn_leave_out(&learning, &err), GT_OK);
    assert_int_equal(gt_learn_loss(&learning, GT_LEARN_MODEL, kind, &model, &err), GT_OK);
    assert_int_equal(gt_learn_loss(&learning, GT_LEARN_TREES, kind, &trees, &err), GT_OK);
    print_message("%zu problems: model %.1f %%, trees %.1f %%\n", trees.problems, 100 * model.mean,
                  100 * trees.mean);
    assert_true(trees.problems >= 20 && trees.problems == model.problems);
    assert_true(trees.mean < model.mean && trees.mean < 0.08);
    assert_true(trees.mean <= trees.most && trees.p90 <= trees.most);
}

/* A problem that is left out is nothing the trees have seen: other times of it change nothing. */
static void test_left_out_means_unseen(void **state)
{
    struct gt_learn_row *row = &learning.row[0];
    double before, us = row->us;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_learn_leave_out(&learning, &err), GT_OK);
    before = row->expected_us;
    row->us = 3 * us;
    assert_int_equal(gt_learn_leave_out(&learning, &err), GT_OK);
    assert_true(row->expected_us == before);
    row->us = us;
}

static void test_what_is_written_is_read(void **state)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_ranking ranking = {0};
    struct gt_err err = {0};
    double squares = 0;

    (void)state;
    if (gt_learn_write(&learning, &text, &err) ||
        gt_ranking_parse(&ranking, &kernels, "r", text.text, text.length, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(ranking.cc, 90);
    assert_in_range(ranking.prototypes, 4, 56);
    for (size_t i = 0; i < learning.rows; i++) {
        const struct gt_learn_row *row = &learning.row[i];
        const struct gt_candidate candidate = {kernels.kernel[row->kernel],
                                               &learning.problem[row->problem].problem,
                                               &learning.device, learning.point[row->point].point};
        struct gt_geometry geometry;
        double off;

        assert_int_equal(gt_candidate_geometry(&candidate, &geometry, &err), GT_OK);
        off = log(gt_ranking_us(&ranking, &candidate, &geometry) / row->us);
        squares += off * off / (double)learning.rows;
    }
    assert_true(sqrt(squares) < 0.12); /* on what it has learned from */
    gt_ranking_release(&ranking);
    gt_strbuf_release(&text);
}

static int write_all(struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_learn_write(&learning, &text, err);

    gt_strbuf_release(&text);
    return rc;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    learning.rows = 40; /* of a few problems: each allocation is made to fail once */
    gt_failmalloc_every("gt_learn_write", write_all, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees_find_a_rule),
        cmocka_unit_test(test_problems_left_out),
        cmocka_unit_test(test_left_out_means_unseen),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests_name("learn", tests, setup, teardown);
}
