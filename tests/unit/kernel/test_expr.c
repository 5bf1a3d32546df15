/* test_expr.c - values, errors and limits of integer expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/expr.h"

static const struct gt_names names = {{"M", "N", "BM", "ZERO", "BIG", "GROUP_M"}, 6};
static const int64_t slots[] = {4096, 100, 128, 0, INT64_MAX, 8};

static void test_values(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"1", 1},
        {"0x1F", 31},
        {"M", 4096},
        {" M + N ", 4196},
        {"2+3*4", 14},
        {"(2+3)*4", 20},
        {"10-3-2", 5},
        {"100/7/2", 7},
        {"-7/2", -3},
        {"-7%3", -1},
        {"cdiv(N,BM)", 1},
        {"cdiv(M,100)", 41},
        {"cdiv(-7,2)", -3},
        {"cdiv(7,-2)", -3},
        {"cdiv(-7,-2)", 4},
        {"xdiv(M,BM)", 32},
        {"min(M,N)+max(M,N)", 4196},
        {"pow2(BM)*10+pow2(N)+pow2(ZERO)", 10},
        {"!ZERO", 1},
        {"!!N", 1},
        {"-(-5)", 5},
        {"--5", 5},
        {"M>N", 1},
        {"M<=N", 0},
        {"M>=M && N<=N", 1},
        {"M==4096", 1},
        {"M!=4096", 0},
        {"1<2==1", 1},
        {"ZERO && 1/ZERO", 0},
        {"5 || 1/ZERO", 1},
        {"ZERO || 7", 1},
        {"3 && 7", 1},
        {"ZERO || ZERO && 1", 0},
        {"1 ? 2 : 3", 2},
        {"ZERO ? 2 : 3", 3},
        {"ZERO ? 1 : ZERO ? 2 : 4", 4},
        {"1 ? ZERO ? 1 : 5 : 2", 5},
        {"10 - (ZERO ? 1 : N)", -90},
        {"10 - (N ? 1 : 2) * 3", 7},
        {"(M ? N : BM) + (ZERO ? N : BM)", 228},
        {"10 + (ZERO || N)", 11},
        {"M%-1", 0},
        {"min(min(1,2),min(3,0))", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_err err = {0};
        struct gt_expr *expr;
        int64_t value = -12345;

        assert_int_equal(gt_expr_parse(&expr, cases[i].text, &names, &err), GT_OK);
        assert_int_equal(gt_expr_eval(expr, slots, &value, &err), GT_OK);
        if (value != cases[i].value)
            fail_msg("%s is %lld, expected %lld", cases[i].text, (long long)value,
                     (long long)cases[i].value);
        assert_string_equal(gt_expr_text(expr), cases[i].text);
        gt_expr_free(expr);
    }
}

static void test_eval_errors(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"1/ZERO", "expression \"1/ZERO\" divides by zero"},
        {"M%ZERO", "divides by zero"},
        {"cdiv(M,ZERO)", "divides by zero"},
        {"xdiv(N,BM)", "leaves a rest in xdiv"},
        {"BIG+1", "expression \"BIG+1\" overflows 64 bits"},
        {"-BIG-2", "overflows"},
        {"BIG*2", "overflows"},
        {"-(-BIG-1)", "overflows"},
        {"(-BIG-1)/-1", "overflows"},
        {"BIG-(-1)", "overflows"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_err err = {0};
        struct gt_expr *expr;
        int64_t value;

        assert_int_equal(gt_expr_parse(&expr, cases[i].text, &names, &err), GT_OK);
        assert_int_equal(gt_expr_eval(expr, slots, &value, NULL), GT_ERANGE);
        assert_int_equal(gt_expr_eval(expr, slots, &value, &err), GT_ERANGE);
        assert_non_null(strstr(err.msg, cases[i].words));
        gt_expr_free(expr);
    }
}

static void test_syntax_errors(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *words;
    } cases[] = {
        {"", GT_ESYNTAX, "ends too early"},
        {"1+", GT_ESYNTAX, "ends too early"},
        {"(1", GT_ESYNTAX, "expected )"},
        {"1)", GT_ESYNTAX, "character 2: unexpected text"},
        {"1 2", GT_ESYNTAX, "unexpected text"},
        {"1.5", GT_ESYNTAX, "whole numbers"},
        {"3K", GT_ESYNTAX, "whole numbers"},
        {"0x", GT_ESYNTAX, "hexadecimal digit"},
        {"9223372036854775808", GT_ESYNTAX, "does not fit 64 bits"},
        {"M ? 1", GT_ESYNTAX, "expected :"},
        {"M & N", GT_ESYNTAX, "unexpected text"},
        {"M = N", GT_ESYNTAX, "unexpected text"},
        {"*M", GT_ESYNTAX, "expected a number"},
        {"ceil(M)", GT_ESYNTAX, "there are cdiv, min, max, xdiv and pow2"},
        {"cdiv(M)", GT_ESYNTAX, "expected a comma"},
        {"cdiv(M,N", GT_ESYNTAX, "expected ) after"},
        {"pow2(M,N)", GT_ESYNTAX, "expected ) after"},
        {"BN", GT_ENOTFOUND, "unknown name \"BN\"; did you mean \"BM\"?"},
        {"GROUPM", GT_ENOTFOUND, "did you mean \"GROUP_M\"?"},
        {"WOBBLE", GT_ENOTFOUND, "unknown name \"WOBBLE\""},
        {"cdiv", GT_ENOTFOUND, "unknown name \"cdiv\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_err err = {0};
        struct gt_expr *expr = (struct gt_expr *)&err;

        assert_int_equal(gt_expr_parse(&expr, cases[i].text, &names, NULL), cases[i].code);
        assert_null(expr);
        assert_int_equal(gt_expr_parse(&expr, cases[i].text, &names, &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        if (!strstr(err.msg, cases[i].words))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].text, err.msg, cases[i].words);
    }
}

/* Text of `count` copies of `before`, then "1", then copies of `after`. */
static char *repeat(const char *before, const char *after, int count)
{
    size_t a = strlen(before), b = strlen(after);
    char *text = malloc((a + b) * (size_t)count + 2), *at = text;

    assert_non_null(text);
    for (int i = 0; i < count; i++, at += a)
        memcpy(at, before, a);
    *at++ = '1';
    for (int i = 0; i < count; i++, at += b)
        memcpy(at, after, b);
    *at = '\0';
    return text;
}

static void test_limits(void **state)
{
    static const struct {
        const char *before, *after;
        int fits, breaks;
    } cases[] = {
        {"(", ")", 20, 100},       {"-", "", 50, 100},    {"1+(", ")", 20, 100},
        {"1?1:", "", 50, 100},     {"1+", "", 500, 1500}, {"M*M+", "", 200, 800},
        {"max(M,", ")", 20, 2000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *fits = repeat(cases[i].before, cases[i].after, cases[i].fits);
        char *breaks = repeat(cases[i].before, cases[i].after, cases[i].breaks);
        struct gt_err err = {0};
        struct gt_expr *expr;

        if (gt_expr_parse(&expr, fits, &names, &err))
            fail_msg("%s", err.msg);
        gt_expr_free(expr);
        assert_int_equal(gt_expr_parse(&expr, breaks, &names, &err), GT_ESYNTAX);
        free(fits);
        free(breaks);
    }
}

static void test_uses(void **state)
{
    struct gt_expr *expr;
    static const bool used[] = {true, false, true, false, false, true};

    (void)state;
    assert_int_equal(gt_expr_parse(&expr, "M + 3*BM > 7 ? GROUP_M : 2", &names, NULL), GT_OK);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(gt_expr_uses(expr, i), used[i]);
    assert_false(gt_expr_uses(expr, GT_MAX_SLOTS));
    assert_true(gt_expr_uses_any(expr, (const uint64_t[GT_MAX_SLOTS / 64]){1u << 1 | 1u << 5}));
    assert_false(gt_expr_uses_any(expr, (const uint64_t[GT_MAX_SLOTS / 64]){1u << 1, UINT64_MAX}));
    gt_expr_free(expr);
    gt_expr_free(NULL);
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(gt_names_find(&names, "BM*2", 2), 2);
    assert_int_equal(gt_names_find(&names, "B", 1), -1);
    assert_int_equal(gt_names_find(&names, "BMX", 3), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_eval_errors),
        cmocka_unit_test(test_syntax_errors), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_uses),          cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
