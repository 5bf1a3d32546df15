/* test_narrow.c - only some values of a kernel's parameters are searched. */
#include "search_fixture.h"

#include "search/space.h"

static struct gt_kernel *kernel_of(struct search *s, const char *name)
{
    return search_kernel(
        s, name, "+ P + Q",
        "\"params\": [" PARAM("P", 4, "1, 2, 4, 8") "," PARAM("Q", 2, "1, 2, 3") "]," LAUNCH);
}

static void test_narrow(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = kernel_of(s, "whole");
    struct gt_space space;
    char signature[sizeof(kernel->signature)];

    memcpy(signature, kernel->signature, sizeof(signature));
    OK(&s->err, gt_narrow(&kernel, 1, "P=8|4,Q=3", &s->err));
    assert_int_equal(kernel->param[0].count, 2);
    assert_int_equal(kernel->param[0].value[0], 4); /* in the description's order */
    assert_int_equal(kernel->param[0].standard, 0);
    assert_int_equal(kernel->param[1].value[kernel->param[1].standard], 3); /* the default went */
    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    assert_int_equal(space.count, 2);
    assert_string_equal(kernel->signature, signature);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } wrong[] = {
        {"", "such as TM=4|8,STAGES=2", GT_ESYNTAX},
        {"P", "\"P\": expected parameters", GT_ESYNTAX},
        {"P=", "expected parameters", GT_ESYNTAX},
        {"P=1x", "expected parameters", GT_ESYNTAX},
        {"P=1|", "expected parameters", GT_ESYNTAX},
        {"=1", "expected parameters", GT_ESYNTAX},
        {"P=4,Q=2,P=4", "\"P=4,Q=2,P=4\": P is given twice; its values are separated by |",
         GT_ESYNTAX},
        {"P=1,P=8", "P is given twice", GT_ESYNTAX},
        {"R=1", "no kernel has a parameter \"R\"; tune show KERNEL lists", GT_ENOTFOUND},
        {"Q=1,P=3",
         "kernel whole: parameter P has none of the values named; its values are: 1 2 4 8",
         GT_ENOTFOUND},
        {"P=4|3", "no kernel's parameter P has the value 3; its values are: 1 2 4 8", GT_ENOTFOUND},
    };
    struct search *s = *state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gt_kernel *kernel = kernel_of(s, "whole");

        assert_int_equal(gt_narrow(&kernel, 1, wrong[i].text, &s->err), wrong[i].code);
        if (!strstr(s->err.msg, wrong[i].says))
            fail_msg("\"%s\" does not say: %s", s->err.msg, wrong[i].says);
        gt_kernel_free(kernel);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_narrow), TEST(test_mistakes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
