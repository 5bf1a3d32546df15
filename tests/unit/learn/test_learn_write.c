/* test_learn_write.c - the ranking that is written of trials: it is read again and says the same,
 * also onto an earlier one, of this device or of another; with failing allocations, too. */
#include "tests/unit/learn_fixture.h"
#include "tests/unit/failmalloc.h"

#include <stdio.h>

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
    assert_int_equal(gt_learn_write(&learning, &own, &err), GT_OK);
    snprintf(first.device, sizeof(first.device), "another");
    assert_int_equal(gt_learn_write(&learning, &other, &err), GT_OK);
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

/* Of a kind that has no trials now, what the earlier ranking said stands; of others it does not.
 * (INT8 and FP8 once lost their losses so, and their answers said a third.) What it said of more
 * problems than there are now stands as well. */
static void test_losses_of_an_earlier_ranking(void **state)
{
    static const size_t earlier[] = {7, 100000};
    struct gt_ranking first, again;
    struct gt_err err = {0};

    (void)state;
    for (size_t e = 0; e < 2; e++) {
        written(&first);
        for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
            first.loss[kind] = (struct gt_ranking_loss){0.5, 0.75, earlier[e]};
        assert_int_equal(take_all(&first, &err), GT_OK);
        assert_int_equal(gt_learn_leave_out(&learning, GT_LEARN_BY_SIZE, &err), GT_OK);
        written(&again);
        for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
            if (e == 0 && kind == gt_ranking_kind(&learning.problem[0].problem))
                assert_true(again.loss[kind].problems > 7 && again.loss[kind].mean < 0.2);
            else
                assert_true(again.loss[kind].problems == earlier[e] &&
                            again.loss[kind].mean > 0.49);
        gt_ranking_release(&again);
        assert_int_equal(take_all(NULL, &err), GT_OK);
        gt_ranking_release(&first);
    }
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
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_onto_an_earlier_ranking),
        cmocka_unit_test(test_onto_another_device),
        cmocka_unit_test(test_losses_of_an_earlier_ranking),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests_name("learn-write", tests, setup, teardown);
}
