/* test_williams.c - tests that the order of finals favours no entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "timing/williams.h"

#include <string.h>

static int stood[GT_WILLIAMS_MAX][GT_WILLIAMS_MAX];    /* entry, place */
static int followed[GT_WILLIAMS_MAX][GT_WILLIAMS_MAX]; /* entry, the one before it */

static void count_rounds(struct gt_williams *turns, int rounds)
{
    int order[GT_WILLIAMS_MAX];

    memset(stood, 0, sizeof(stood));
    memset(followed, 0, sizeof(followed));
    for (int round = 0; round < rounds; round++) {
        gt_williams_next(turns, order);
        for (int i = 0; i < turns->count; i++) {
            stood[order[i]][i]++;
            if (i)
                followed[order[i]][order[i - 1]]++;
        }
    }
}

/* For every number of entries: in one design (count rounds, twice as many if it is odd) each entry
 * is equally often in each place, and equally often behind each other one. */
static void test_balance(void **state)
{
    (void)state;
    for (int count = 1; count <= 33; count++) {
        const int times = 1 + count % 2;
        struct gt_williams turns;

        gt_williams_begin(&turns, count, 7);
        for (int design = 0; design < 3; design++) {
            count_rounds(&turns, times * count);
            for (int i = 0; i < count; i++)
                for (int j = 0; j < count; j++) {
                    assert_int_equal(stood[i][j], times);
                    assert_int_equal(followed[i][j], i == j ? 0 : times);
                }
        }
    }
}

/* The seed decides the order of the designs. */
static void test_seeds(void **state)
{
    struct gt_williams one, same, other;
    int a[8], b[8], c[8], different = 0;

    (void)state;
    gt_williams_begin(&one, 8, 1);
    gt_williams_begin(&same, 8, 1);
    gt_williams_begin(&other, 8, 2);
    for (int round = 0; round < 24; round++) {
        gt_williams_next(&one, a);
        gt_williams_next(&same, b);
        gt_williams_next(&other, c);
        assert_memory_equal(a, b, sizeof(a));
        different += memcmp(a, c, sizeof(a)) != 0;
    }
    assert_true(different > 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_seeds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
