/* test_trial.c - statuses as text and back; which of them are final. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "problem/trial.h"

static void test_names(void **state)
{
    (void)state;
    for (int i = 1; i < GT_STATUS_COUNT; i++) {
        assert_int_equal(gt_status_parse(gt_status_name((enum gt_status)i)), i);
        for (int j = 1; j < i; j++)
            assert_string_not_equal(gt_status_name((enum gt_status)i),
                                    gt_status_name((enum gt_status)j));
    }
    assert_string_equal(gt_status_name(GT_STATUS_COMPILE_TIMEOUT), "compile_timeout");
    assert_int_equal(gt_status_parse("OK"), GT_STATUS_NONE);
    assert_int_equal(gt_status_parse(""), GT_STATUS_NONE);
    assert_int_equal(gt_status_parse("none"), GT_STATUS_NONE);
    assert_string_equal(gt_status_name(GT_STATUS_NONE), "none");
    assert_string_equal(gt_status_name((enum gt_status)1000), "unknown");
}

/* What does not depend on the candidate alone is tried again. */
static void test_final(void **state)
{
    (void)state;
    for (int i = 0; i <= GT_STATUS_COUNT; i++)
        assert_int_equal(gt_status_final((enum gt_status)i),
                         i != GT_STATUS_NONE && i != GT_STATUS_TIMEOUT &&
                             i != GT_STATUS_DEVICE_LOST && i != GT_STATUS_KILLED &&
                             i != GT_STATUS_COUNT);
}

static void test_provenances(void **state)
{
    enum gt_provenance provenance;

    (void)state;
    for (int i = 0; i < GT_PROVENANCE_COUNT; i++) {
        assert_true(gt_provenance_parse(&provenance, gt_provenance_name((enum gt_provenance)i)));
        assert_int_equal(provenance, i);
    }
    assert_false(gt_provenance_parse(&provenance, "guessed"));
    assert_string_equal(gt_provenance_name((enum gt_provenance)9), "unknown");
    /* The store sorts by the names: measured rows come first. */
    assert_true(strcmp(gt_provenance_name(GT_MEASURED), gt_provenance_name(GT_PREDICTED)) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_final),
        cmocka_unit_test(test_provenances),
    };

    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
