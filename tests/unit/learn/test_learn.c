/* test_learn.c - learning: what a trial counts that comes from an earlier ranking, ran at a lower
 * clock, or on another device. */
#include "tests/unit/learn_fixture.h"

#include <stdio.h>
#include <string.h>

/* Estimates of an earlier ranking are learned from, but are nothing measured: the loss is of the
 * same problems, and where there are trials they do not count. */
static void test_estimates(void **state)
{
    struct gt_learn_loss before, after;
    struct gt_problem problem;
    struct gt_ranking ranking, with;
    struct gt_err err;
    size_t kind, rows = learning.rows;

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "1536x640x4096:f32:nn:accuracy=f32", &err), GT_OK);
    kind = gt_ranking_kind(&problem);
    written(&ranking);
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    assert_int_equal(loss_of(GT_LEARN_TREES, kind, &before, &err), GT_OK);
    for (size_t i = 0; i < 40; i++) {
        const struct gt_learn_row *row = &learning.row[i];
        const struct gt_candidate candidate = {kernels.kernel[row->kernel],
                                               i < 20 ? &problem : &learning.problem[0].problem,
                                               &learning.device, learning.point[row->point].point};

        assert_int_equal(gt_learn_add_estimate(&learning, &candidate, 100 + (double)i, &err),
                         GT_OK);
    }
    assert_in_range(learning.rows, rows + 1, rows + 20);
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    assert_int_equal(loss_of(GT_LEARN_TREES, kind, &after, &err), GT_OK);
    assert_int_equal(before.problems, after.problems);
    written(&with);
    assert_int_equal(ranking.prototypes, with.prototypes);
    assert_true(fabs(off(&with) - off(&ranking)) > 1e-9);
    gt_ranking_release(&with);
    gt_ranking_release(&ranking);
    assert_int_equal(take_all(NULL, &err), GT_OK);
}

/* At a clock that a power cap has lowered by a quarter, a product that only computes takes less
 * than a third longer: of problems of the H200, those times that a race and a final gave to equally
 * good candidates differ by the clocks' ratio to the power of .1 to .8.  (They were once corrected
 * by all of it, which made every finalist of a large product the best of its problem.) */
static void test_a_lower_clock(void **state)
{
    double most = 0;
    struct gt_err err;

    (void)state;
    for (size_t i = 0, rows = learning.rows; i < rows; i++) {
        const struct gt_learn_row *row = &learning.row[i];
        const struct gt_candidate candidate = {kernels.kernel[row->kernel],
                                               &learning.problem[row->problem].problem,
                                               &learning.device, learning.point[row->point].point};
        double us;

        assert_int_equal(gt_learn_add(&learning, &candidate, 1000, 0.75, &err), GT_OK);
        us = learning.row[learning.rows - 1].us;
        assert_true(us > 800 && us <= 1000);
        most = fmax(most, 1000 - us);
    }
    assert_true(most > 100);
    assert_int_equal(take_all(NULL, &err), GT_OK);
}

/* Trials of another device, which is twice as fast, are problems of their own, left out together
 * with those of this one; the losses that are written are of the learning's device. */
static void test_trials_of_two_devices(void **state)
{
    const size_t problems = learning.problems, rows = learning.rows;
    struct gt_learn_choice *choice = calloc(2 * problems, sizeof(*choice));
    struct gt_device other = learning.device;
    struct gt_learn_loss all, one, another;
    struct gt_ranking ranking;
    struct gt_err err;

    (void)state;
    learning.device.profile = false;
    snprintf(other.name, sizeof(other.name), "another");
    for (size_t i = 0; i < rows; i++) {
        const struct gt_learn_row row = learning.row[i];
        const struct gt_problem problem = learning.problem[row.problem].problem;
        const struct gt_candidate candidate = {kernels.kernel[row.kernel], &problem, &other,
                                               learning.point[row.point].point};

        assert_int_equal(gt_learn_add(&learning, &candidate, row.us / 2, 1, &err), GT_OK);
    }
    assert_int_equal(learning.problems, 2 * problems);
    for (size_t i = 0; i < problems; i++)
        assert_true(fabs(learning.problem[problems + i].best_us * 2 - learning.problem[i].best_us) <
                    1e-9 * learning.problem[i].best_us);
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    for (size_t i = 0; i < problems; i++)
        assert_int_equal(learning.problem[i].fold, learning.problem[problems + i].fold);
    assert_int_equal(gt_learn_choose(&learning, GT_LEARN_MODEL, choice, &err), GT_OK);
    assert_int_equal(gt_learn_loss_of(&learning, choice, GT_LEARN_ALL, NULL, &all, &err), GT_OK);
    assert_int_equal(
        gt_learn_loss_of(&learning, choice, GT_LEARN_ALL, learning.device.name, &one, &err), GT_OK);
    assert_int_equal(gt_learn_loss_of(&learning, choice, GT_LEARN_ALL, "another", &another, &err),
                     GT_OK);
    assert_true(one.problems && one.problems == another.problems);
    assert_int_equal(all.problems, 2 * one.problems);
    written(&ranking);
    assert_string_equal(ranking.device, learning.device.name);
    assert_int_equal(ranking.sms, 132);
    assert_int_equal(ranking.loss[learning.problem[0].kind].problems, one.problems);
    gt_ranking_release(&ranking);
    free(choice);
    learning.device.profile = true;
    assert_int_equal(take_all(NULL, &err), GT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_a_lower_clock),
        cmocka_unit_test(test_trials_of_two_devices),
    };

    return cmocka_run_group_tests_name("learn", tests, setup, teardown);
}
