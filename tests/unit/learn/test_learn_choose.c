/* test_learn_choose.c - choosing by what was learned: recorded trials of an H200 are ranked better
 * with the trees than without, on problems left out; what is left out is unseen; ways of choosing
 * are compared; another device's problems count less for prototypes; the loss that is told is the
 * one that is seen, also of a choice that spills. */
#include "tests/unit/learn_fixture.h"

#include "learn/learn.h"

#include <string.h>

static void test_problems_left_out(void **state)
{
    struct gt_learn_loss model, trees;
    struct gt_problem problem;
    struct gt_err err;
    size_t kind;

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "64x64x64:f32:nn:accuracy=f32", &err), GT_OK);
    kind = gt_ranking_kind(&problem);
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    assert_int_equal(loss_of(GT_LEARN_MODEL, kind, &model, &err), GT_OK);
    assert_int_equal(loss_of(GT_LEARN_TREES, kind, &trees, &err), GT_OK);
    print_message("%zu problems: model %.1f %%, trees %.1f %%\n", trees.problems, 100 * model.mean,
                  100 * trees.mean);
    assert_true(trees.problems >= 20 && trees.problems == model.problems);
    assert_true(trees.mean < model.mean && trees.mean < 0.08);
    assert_true(trees.mean <= trees.most && trees.p90 <= trees.most);
}

/* The best of four and of eight choices loses no more than the first; what one way of choosing
 * gains over another is the difference of their means; families are left out whole. */
static void test_ways_of_choosing(void **state)
{
    struct gt_learn_choice *model = calloc(learning.problems, sizeof(*model));
    struct gt_learn_choice *trees = calloc(learning.problems, sizeof(*trees));
    struct gt_learn_loss all, one;
    struct gt_learn_gain gain = {0};
    struct gt_err err;

    (void)state;
    assert_true(model && trees);
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_FAMILY, &err), GT_OK);
    assert_in_range(learning.folds, 2, 8);
    for (size_t i = 0; i < learning.problems; i++)
        for (size_t j = 0; j < learning.problems; j++)
            assert_int_equal(
                learning.problem[i].fold == learning.problem[j].fold,
                learning.problem[i].kind == learning.problem[j].kind &&
                    learning.problem[i].problem.trans_a == learning.problem[j].problem.trans_a &&
                    learning.problem[i].problem.trans_b == learning.problem[j].problem.trans_b);
    assert_int_equal(gt_learn_choose(&learning, GT_LEARN_MODEL, model, &err), GT_OK);
    assert_int_equal(gt_learn_choose(&learning, GT_LEARN_TREES, trees, &err), GT_OK);
    assert_int_equal(gt_learn_loss_of(&learning, model, GT_LEARN_ALL, NULL, &all, &err), GT_OK);
    assert_int_equal(gt_learn_loss_of(&learning, trees, GT_LEARN_ALL, NULL, &one, &err), GT_OK);
    assert_true(all.of8 <= all.of4 && all.of4 < all.mean && all.of8 >= 0);
    gt_learn_compare(&learning, model, trees, &gain);
    assert_true(fabs(gain.mean - (log1p(all.mean) - log1p(one.mean))) < 1e-9);
    assert_true(gain.better + gain.worse <= all.problems && gain.error > 0);
    for (size_t i = 0; i < learning.problems; i++)
        if (model[i].row) {
            assert_true(model[i].best->us <= learning.problem[i].best_us);
            assert_true(model[i].loss[0] <=
                        fmax(log(model[i].row->us / learning.problem[i].best_us), 0) + 1e-9);
        }
    assert_int_equal(gt_learn_choose(&learning, GT_LEARN_RANKING, trees, &err), GT_OK);
    for (size_t i = 0; i < learning.problems; i++)
        assert_ptr_equal(model[i].row, trees[i].row); /* no base: the model */
    free(model);
    free(trees);
}

/* A problem that is left out is nothing the trees have seen: other times of it change nothing. */
static void test_left_out_means_unseen(void **state)
{
    struct gt_learn_row *row = &learning.row[0];
    double before, us = row->us;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    before = row->expected_us;
    row->us = 3 * us;
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    assert_true(row->expected_us == before);
    row->us = us;
}

/* How many points become prototypes of the kind. */
static size_t prototypes_of(size_t kind)
{
    bool *taken = calloc(learning.points, sizeof(*taken));
    size_t count = 0;
    struct gt_err err;

    assert_non_null(taken);
    assert_int_equal(gt_learn_prototypes(&learning, kind, -1, taken, &err), GT_OK);
    for (size_t i = 0; i < learning.points; i++)
        count += taken[i];
    free(taken);
    return count;
}

/* What is good for problems of another device counts less: fewer of its points become prototypes.
 */
static void test_prototypes_of_another_device(void **state)
{
    char device[sizeof(learning.problem[0].device)];
    struct gt_problem problem;
    struct gt_err err;
    size_t kind, own, other;

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "64x64x64:f32:nn:accuracy=f32", &err), GT_OK);
    kind = gt_ranking_kind(&problem);
    own = prototypes_of(kind);
    memcpy(device, learning.problem[0].device, sizeof(device));
    for (size_t i = 0; i < learning.problems; i++) {
        assert_string_equal(learning.problem[i].device, device);
        strcpy(learning.problem[i].device, "another one");
    }
    other = prototypes_of(kind);
    for (size_t i = 0; i < learning.problems; i++)
        memcpy(learning.problem[i].device, device, sizeof(device));
    print_message("%zu prototypes, %zu of another device\n", own, other);
    assert_true(other > 0 && other < own);
}

/* Makes the row of a problem that would be chosen one that spills registers and seems fast. */
static void spill(size_t problem)
{
    struct gt_learn_row *chosen = NULL;

    for (size_t i = 0; i < learning.rows; i++) {
        struct gt_learn_row *row = &learning.row[i];

        if (row->problem == problem && (!chosen || row->expected_us < chosen->expected_us))
            chosen = row;
    }
    if (chosen) {
        chosen->avoided = true;
        chosen->us = learning.problem[problem].best_us / 2;
    }
}

/* A choice that spills was never timed: whatever it was thought to take, it counts as slow, and a
 * problem of which nothing was timed counts for nothing.  (The loss once fell below none, and the
 * ranking that was written could not be read.) */
static void test_a_choice_that_spills(void **state)
{
    struct gt_learn_loss before, after;
    struct gt_problem problem;
    struct gt_ranking ranking;
    struct gt_err err;
    size_t kind;

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "1536x640x4096:f32:nn:accuracy=f32", &err), GT_OK);
    kind = gt_ranking_kind(&problem);
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    assert_int_equal(loss_of(GT_LEARN_TREES, kind, &before, &err), GT_OK);
    for (size_t i = 0; i < learning.problems; i++)
        spill(i);
    for (size_t i = 0; i < 8; i++) {
        const struct gt_learn_row *row = &learning.row[i];
        const struct gt_candidate candidate = {kernels.kernel[row->kernel], &problem,
                                               &learning.device, learning.point[row->point].point};

        assert_int_equal(gt_learn_add(&learning, &candidate, 0, 1, &err), GT_OK);
    }
    assert_int_equal(loss_of(GT_LEARN_TREES, kind, &after, &err), GT_OK);
    assert_int_equal(before.problems, after.problems);
    assert_true(after.mean > 0.4 && after.most < 4);
    written(&ranking);
    gt_ranking_release(&ranking);
    assert_int_equal(take_all(NULL, &err), GT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems_left_out),
        cmocka_unit_test(test_ways_of_choosing),
        cmocka_unit_test(test_left_out_means_unseen),
        cmocka_unit_test(test_prototypes_of_another_device),
        cmocka_unit_test(test_a_choice_that_spills),
    };

    return cmocka_run_group_tests_name("learn-choose", tests, setup, teardown);
}
