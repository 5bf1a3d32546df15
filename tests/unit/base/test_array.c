/* test_array.c - arrays that grow: contents kept, sizes that overflow refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "gemmtune.h"

static void test_appending(void **state)
{
    int *number = NULL;
    size_t capacity = 0, moves = 0;
    struct gt_err err = {0};

    (void)state;
    for (int i = 0; i < 10000; i++) {
        const size_t before = capacity;

        assert_int_equal(GT_ARRAY_RESERVE(&number, (size_t)i + 1, &capacity, &err), GT_OK);
        assert_true(capacity > (size_t)i);
        moves += capacity != before;
        number[i] = i;
    }
    for (int i = 0; i < 10000; i++)
        assert_int_equal(number[i], i);
    assert_true(moves < 20);
    free(number);
}

static void test_many_at_once(void **state)
{
    char *text = NULL;
    size_t capacity = 0;

    (void)state;
    assert_int_equal(GT_ARRAY_RESERVE(&text, 1000, &capacity, NULL), GT_OK);
    assert_true(capacity >= 1000 && capacity < 2000);
    free(text);
}

static void test_too_large(void **state)
{
    int64_t one = 1, *number = &one;
    size_t capacity = 1;
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(GT_ARRAY_RESERVE(&number, SIZE_MAX / 4, &capacity, &err), GT_ENOMEM);
    assert_int_equal(GT_ARRAY_RESERVE(&number, SIZE_MAX, &capacity, &err), GT_ENOMEM);
    assert_int_equal(err.code, GT_ENOMEM);
    assert_ptr_equal(number, &one);
    assert_int_equal(capacity, 1);
}

static void test_opening(void **state)
{
    int number[6] = {1, 2, 4, 5, 6};

    (void)state;
    GT_ARRAY_OPEN(number, 2, 5);
    number[2] = 3;
    for (int i = 0; i < 6; i++)
        assert_int_equal(number[i], i + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appending),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_opening),
    };

    return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
