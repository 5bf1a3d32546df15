/* test_near.c - what counts as a slip of the finger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/err.h"

static void test_distance(void **state)
{
    char long_word[200];

    (void)state;
    assert_int_equal(gt_near_distance("kitten", 6, "sitting"), 3);
    assert_int_equal(gt_near_distance("BM", 2, "bm"), 0);
    assert_int_equal(gt_near_distance("", 0, "abc"), 3);
    assert_int_equal(gt_near_distance("abc", 3, ""), 3);
    assert_int_equal(gt_near_distance("hlep", 4, "help"), 1);
    assert_int_equal(gt_near_distance("abab", 4, "baba"), 2);
    memset(long_word, 'a', sizeof(long_word));
    assert_int_equal(gt_near_distance(long_word, sizeof(long_word), "a"), 62);
}

static void test_near(void **state)
{
    static const char *const known[] = {"template", "serves", "params", "K", "M"};
    static const char *const show = "show";

    (void)state;
    assert_string_equal(gt_near("tempalte", 8, known, 5), "template");
    assert_string_equal(gt_near("param", 5, known, 5), "params");
    assert_string_equal(gt_near("hsow", 4, &show, 1), "show"); /* one slip, not two */
    assert_string_equal(gt_near("sohw", 4, &show, 1), "show");
    assert_string_equal(gt_near("PARAMS", 6, known, 5), "params");
    assert_null(gt_near("wobble", 6, known, 5));
    assert_null(gt_near("X", 1, known, 5));
    assert_null(gt_near("x", 1, known, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_near),
    };

    return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
