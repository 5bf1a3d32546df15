/* test_learn_write.c - the ranking that is written of trials: it is read again and says the same,
 * also onto an earlier one, of this device or of another; with failing allocations, too. */
#include "tests/unit/learn_fixture.h"
#include "tests/unit/failmalloc.h"

#include <stdio.h>
#include <string.h>

static void test_what_is_written_is_read(void **state)
{
    struct gt_ranking ranking;

    (void)state;
    written(&ranking);
    assert_int_equal(ranking.cc, 90);
    assert_in_range(ranking.prototypes, 4, 56);
    assert_true(off(&ranking) < 0.12); /* on what it has learned from */
    gt_ranking_release(&ranking);
}

/* A ranking that is improved by other trials keeps its prototypes, and knows what it knew: with
 * the trials that it was made from, it comes nearer to them; with few of them, it is hardly farther
 * from the others. */
static void test_onto_an_earlier_ranking(void **state)
{
    struct gt_ranking first, again, less;
    const size_t rows = learning.rows;
    struct gt_err err = {0};

    (void)state;
    written(&first);
    assert_int_equal(take_all(&first, &err), GT_OK);
    written(&again);
    learning.rows = 40;
    written(&less);
    learning.rows = rows;
    assert_true(again.prototypes >= first.prototypes && less.prototypes >= first.prototypes);
    assert_true(off(&again) < off(&first));
    assert_true(off(&less) < 1.1 * off(&first));
    gt_ranking_release(&again);
    gt_ranking_release(&less);
    assert_int_equal(take_all(NULL, &err), GT_OK);
    gt_ranking_release(&first);
}

/* Made onto a ranking of another device, the file is shorter, and the trees still know what they
 * knew. */
static void test_onto_another_device(void **state)
{
    struct gt_strbuf own = GT_STRBUF_INIT, other = GT_STRBUF_INIT;
    struct gt_ranking first, again;
    struct gt_err err = {0};

    (void)state;
    written(&first);
    assert_int_equal(take_all(&first, &err), GT_OK);
    assert_int_equal(gt_learn_write(&learning, GT_LEARN_WHOLE, &own, &err), GT_OK);
    snprintf(first.device, sizeof(first.device), "another");
    assert_int_equal(gt_learn_write(&learning, GT_LEARN_WHOLE, &other, &err), GT_OK);
    written(&again);
    print_message("%zu bytes, %zu of another\n", own.length, other.length);
    assert_true(other.length < own.length * 9 / 10);
    assert_true(off(&again) < 1.25 * off(&first));
    gt_strbuf_release(&own);
    gt_strbuf_release(&other);
    gt_ranking_release(&again);
    assert_int_equal(take_all(NULL, &err), GT_OK);
    gt_ranking_release(&first);
}

/* The losses of a ranking that is learned onto one which says `said` of every kind. */
static void losses_onto(struct gt_ranking_loss said, bool narrow, struct gt_ranking_loss losses[])
{
    struct gt_ranking first, again;
    struct gt_err err = {0};

    written(&first);
    for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
        first.loss[kind] = said;
    assert_int_equal(take_all(&first, &err), GT_OK);
    learning.narrow = narrow;
    assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
    written(&again);
    memcpy(losses, again.loss, sizeof(again.loss));
    gt_ranking_release(&again);
    assert_int_equal(take_all(NULL, &err), GT_OK);
    gt_ranking_release(&first);
}

/* Of a kind that has no trials now, what the earlier ranking said stands; of others it does not.
 * (INT8 and FP8 once lost their losses so, and their answers said a third.) */
static void test_losses_of_an_earlier_ranking(void **state)
{
    struct gt_ranking_loss again[GT_RANKING_KINDS];

    (void)state;
    losses_onto((struct gt_ranking_loss){0.5, 0.75, 7}, false, again);
    for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
        if (kind == gt_ranking_kind(&learning.problem[0].problem))
            assert_true(again[kind].problems > 7 && again[kind].mean < 0.2);
        else
            assert_true(again[kind].problems == 7 && again[kind].mean > 0.49);
}

/* What it said of more problems than there are now counts by their number, whether it said more or
 * less: what is lost now shows in both. */
static void test_losses_of_more_problems(void **state)
{
    struct gt_ranking_loss alone[GT_RANKING_KINDS], more[GT_RANKING_KINDS], less[GT_RANKING_KINDS];
    const size_t kind = gt_ranking_kind(&learning.problem[0].problem);

    (void)state;
    losses_onto((struct gt_ranking_loss){0.5, 0.75, 1}, false, alone);
    const size_t here = alone[kind].problems, earlier = 3 * here;
    losses_onto((struct gt_ranking_loss){0.5, 0.75, earlier}, false, more);
    losses_onto((struct gt_ranking_loss){0.001, 0.002, earlier}, false, less);
    assert_true(more[kind].problems == here + earlier && less[kind].problems == here + earlier);
    assert_true(fabs(more[kind].mean - (0.75 * 0.5 + 0.25 * alone[kind].mean)) < 0.001);
    assert_true(fabs(less[kind].mean - (0.75 * 0.001 + 0.25 * alone[kind].mean)) < 0.001);
    assert_true(fabs(less[kind].p90 - (0.75 * 0.002 + 0.25 * alone[kind].p90)) < 0.001);
    losses_onto((struct gt_ranking_loss){0.5, 0.75, here}, false,
                more); /* no more than there are now */
    assert_true(more[kind].problems == here && more[kind].mean == alone[kind].mean);
}

/* Trials of some kernels or values only teach, but what is said of answers' losses stands, even if
 * it was of fewer problems. */
static void test_losses_of_narrow_trials(void **state)
{
    struct gt_ranking_loss again[GT_RANKING_KINDS];

    (void)state;
    losses_onto((struct gt_ranking_loss){0.5, 0.75, 1}, true, again);
    for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
        assert_true(again[kind].problems == 1 && fabs(again[kind].mean - 0.5) < 0.001);
}

static int write_all(struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_learn_write(&learning, GT_LEARN_WHOLE, &text, err);

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
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_onto_an_earlier_ranking),
        cmocka_unit_test(test_onto_another_device),
        cmocka_unit_test(test_losses_of_an_earlier_ranking),
        cmocka_unit_test(test_losses_of_more_problems),
        cmocka_unit_test(test_losses_of_narrow_trials),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests_name("learn-write", tests, setup, teardown);
}
