/* test_expr_random.c - random expressions against values computed while they are written:
 * precedence, grouping, short circuit, overflow and division errors of the machine must agree with
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/err.h"
#include "kernel/expr.h"
#include "base/stats.h"
#include "base/strbuf.h"

static const struct gt_names names = {{"M", "N", "K", "ZERO", "MOST"}, 5};
static const int64_t slots[] = {4096, 100, -7, 0, INT64_MAX};

/* A value or, where ok is false, an error; both as the language defines them. */
struct result {
    bool ok;
    int64_t value;
};

struct writer {
    struct gt_random random;
    struct gt_strbuf text;
    int budget; /* operators still to be written */
};

static struct result write_ternary(struct writer *w);

static bool chance(struct writer *w, uint64_t of)
{
    return w->budget > 0 && !gt_random_below(&w->random, of);
}

static struct result fits(__int128 value)
{
    return (struct result){value >= INT64_MIN && value <= INT64_MAX, (int64_t)value};
}

/* a op b where both are known; op is the operator's text or the function's first letters. */
static struct result apply(const char *op, struct result a, struct result b)
{
    __int128 x = a.value, y = b.value;

    if (!a.ok || !b.ok)
        return (struct result){false, 0};
    if (strchr("/%cx", *op) && !y)
        return (struct result){false, 0};
    switch (op[0] << 8 | op[1]) {
    case '+' << 8:
        return fits(x + y);
    case '-' << 8:
        return fits(x - y);
    case '*' << 8:
        return fits(x * y);
    case '/' << 8:
        return fits(x / y);
    case '%' << 8:
        return fits(x % y);
    case 'c' << 8 | 'd':
        return fits(x / y + (x % y != 0 && (x < 0) == (y < 0)));
    case 'x' << 8 | 'd':
        return x % y ? (struct result){false, 0} : fits(x / y);
    case 'm' << 8 | 'i':
        return fits(x < y ? x : y);
    case 'm' << 8 | 'a':
        return fits(x > y ? x : y);
    case '<' << 8:
        return fits(x < y);
    case '<' << 8 | '=':
        return fits(x <= y);
    case '>' << 8:
        return fits(x > y);
    case '>' << 8 | '=':
        return fits(x >= y);
    case '=' << 8 | '=':
        return fits(x == y);
    default:
        return fits(x != y);
    }
}

static struct result write_call(struct writer *w)
{
    static const char *const functions[] = {"cdiv", "xdiv", "min", "max"};
    const char *name = functions[gt_random_below(&w->random, 4)];
    struct result a, b;

    gt_strbuf_addf(&w->text, "%s(", name);
    a = write_ternary(w);
    gt_strbuf_add(&w->text, ", ");
    b = write_ternary(w);
    gt_strbuf_add(&w->text, ")");
    return apply(name, a, b);
}

static struct result write_primary(struct writer *w)
{
    uint64_t number;

    if (chance(w, 5)) {
        struct result inner;

        w->budget--;
        gt_strbuf_add(&w->text, "(");
        inner = write_ternary(w);
        gt_strbuf_add(&w->text, ")");
        return inner;
    }
    if (chance(w, 8)) {
        w->budget--;
        return write_call(w);
    }
    if (gt_random_below(&w->random, 2)) {
        number = gt_random_below(&w->random, names.count);
        gt_strbuf_add(&w->text, names.name[number]);
        return fits(slots[number]);
    }
    number = gt_random_below(&w->random, gt_random_below(&w->random, 8) ? 6 : 1000000007);
    gt_strbuf_addf(&w->text, "%llu", (unsigned long long)number);
    return fits((__int128)number);
}

static struct result write_unary(struct writer *w)
{
    struct result inner;

    if (!chance(w, 8))
        return write_primary(w);
    w->budget--;
    if (gt_random_below(&w->random, 2)) {
        gt_strbuf_add(&w->text, "-");
        inner = write_unary(w);
        return inner.ok ? fits(-(__int128)inner.value) : inner;
    }
    gt_strbuf_add(&w->text, "!");
    inner = write_unary(w);
    return inner.ok ? fits(!inner.value) : inner;
}

/* Operators by level, tightest first; operands of a level are of the level before. */
static struct result write_level(struct writer *w, int level)
{
    static const struct {
        const char *text[4];
        uint64_t count;
    } levels[] = {
        {{"*", "/", "%"}, 3}, {{"+", "-"}, 2}, {{"<", "<=", ">", ">="}, 4}, {{"==", "!="}, 2}};
    struct result left;

    if (level < 0)
        return write_unary(w);
    left = write_level(w, level - 1);
    while (chance(w, 3)) {
        const char *op = levels[level].text[gt_random_below(&w->random, levels[level].count)];

        w->budget--;
        gt_strbuf_addf(&w->text, gt_random_below(&w->random, 2) ? " %s " : "%s", op);
        left = apply(op, left, write_level(w, level - 1));
    }
    return left;
}

static struct result write_and(struct writer *w)
{
    struct result left = write_level(w, 3), right;

    while (chance(w, 6)) {
        w->budget--;
        gt_strbuf_add(&w->text, " && ");
        right = write_level(w, 3);
        if (left.ok && left.value)
            left = right.ok ? fits(right.value != 0) : right;
    }
    return left;
}

static struct result write_or(struct writer *w)
{
    struct result left = write_and(w), right;

    while (chance(w, 6)) {
        w->budget--;
        gt_strbuf_add(&w->text, " || ");
        right = write_and(w);
        if (left.ok)
            left = left.value ? fits(1) : right.ok ? fits(right.value != 0) : right;
    }
    return left;
}

static struct result write_ternary(struct writer *w)
{
    struct result condition = write_or(w), yes, no;

    if (!chance(w, 6))
        return condition;
    w->budget--;
    gt_strbuf_add(&w->text, " ? ");
    yes = write_ternary(w);
    gt_strbuf_add(&w->text, " : ");
    no = write_ternary(w);
    return !condition.ok ? condition : condition.value ? yes : no;
}

static void test_random(void **state)
{
    struct writer w = {.random = {20240601}, .text = GT_STRBUF_INIT};
    int values = 0, errors = 0;

    (void)state;
    for (int i = 0; i < 40000; i++) {
        struct gt_err err = {0};
        struct gt_expr *expr;
        struct result expected;
        int64_t value = 0;
        int rc;

        gt_strbuf_reset(&w.text);
        w.budget = (int)gt_random_below(&w.random, 25);
        expected = write_ternary(&w);
        if (gt_expr_parse(&expr, w.text.text, &names, &err))
            fail_msg("%s", err.msg);
        rc = gt_expr_eval(expr, slots, &value, &err);
        if (rc != (expected.ok ? GT_OK : GT_ERANGE) || (expected.ok && value != expected.value))
            fail_msg("%s is %lld (%d), expected %lld (%s)", w.text.text, (long long)value, rc,
                     (long long)expected.value, expected.ok ? "a value" : "an error");
        values += expected.ok;
        errors += !expected.ok;
        gt_expr_free(expr);
    }
    assert_true(values > 10000 && errors > 1000); /* both kinds were tried */
    gt_strbuf_release(&w.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("expr_random", tests, NULL, NULL);
}
