/* python_eval.c - evaluates the Python of T1 files; see python.h. */
#include "exchange/python_impl.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

#define MAX_ELEMENTS 100000  /* of a list */
#define MAX_VISITS   1000000 /* elements of all lists of one evaluation */

struct evaluation {
    const struct gt_python *python;
    const struct gt_python_value *slots;
    struct gt_python_value variable; /* of a [... for ...] */
    int visits;                      /* elements so far */
    struct gt_err *err;
};

static int eval(struct evaluation *e, int at, struct gt_python_value *value);
static int each_element(struct evaluation *e, int at, gt_python_visit *visit, void *context);

static int fail(const struct evaluation *e, const char *what)
{
    return gt_err_set(e->err, GT_ERANGE, "\"%.200s\": %s", e->python->source, what);
}

bool gt_python_true(const struct gt_python_value *value)
{
    return value->text ? *value->text != '\0' : value->number != 0;
}

bool gt_python_equal(const struct gt_python_value *x, const struct gt_python_value *y)
{
    if (!x->text || !y->text)
        return !x->text && !y->text && x->number == y->number;
    return strcmp(x->text, y->text) == 0;
}

static int compare(const struct evaluation *e, enum gt_python_op op,
                   const struct gt_python_value *x, const struct gt_python_value *y,
                   struct gt_python_value *value)
{
    double difference;

    *value = (struct gt_python_value){.number = gt_python_equal(x, y)};
    if (op == GT_PYTHON_EQUAL)
        return GT_OK;
    if (!x->text != !y->text)
        return fail(e, "a number is compared with a text");
    difference = x->text ? strcmp(x->text, y->text) : x->number - y->number;
    value->number = op == GT_PYTHON_LESS ? difference < 0 : difference <= 0;
    return GT_OK;
}

/* The remainder has the sign of the divisor. */
static double modulo(double x, double y)
{
    double rest = fmod(x, y);

    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* x // y as CPython's float_floor_div computes it (Objects/floatobject.c, Python 3): from the
 * remainder, so that 0.5 // 0.1 is 4 although 0.5 / 0.1 rounds to 5. */
static double floor_divide(double x, double y)
{
    double quotient = (x - modulo(x, y)) / y, whole = floor(quotient);

    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static int compute(const struct evaluation *e, enum gt_python_op op, double x, double y,
                   struct gt_python_value *value)
{
    bool divides = op == GT_PYTHON_DIVIDE || op == GT_PYTHON_FLOOR_DIVIDE || op == GT_PYTHON_MODULO;

    if (divides && y == 0)
        return fail(e, "a division by zero");
    *value = (struct gt_python_value){.number = op == GT_PYTHON_ADD            ? x + y
                                                : op == GT_PYTHON_SUBTRACT     ? x - y
                                                : op == GT_PYTHON_MULTIPLY     ? x * y
                                                : op == GT_PYTHON_DIVIDE       ? x / y
                                                : op == GT_PYTHON_FLOOR_DIVIDE ? floor_divide(x, y)
                                                : op == GT_PYTHON_MODULO       ? modulo(x, y)
                                                                               : pow(x, y)};
    return isfinite(value->number) ? GT_OK : fail(e, "no number comes out");
}

static int apply(const struct evaluation *e, enum gt_python_op op, double x,
                 struct gt_python_value *value)
{
    (void)e;
    *value = (struct gt_python_value){
        .number = op == GT_PYTHON_NEGATE  ? -x
                  : op == GT_PYTHON_ABS   ? fabs(x)
                  : op == GT_PYTHON_INT   ? trunc(x)
                  : op == GT_PYTHON_ROUND ? nearbyint(x) /* rounds half to even, as Python does */
                                          : x};
    return GT_OK;
}

static int eval_number(struct evaluation *e, int at, double *number)
{
    struct gt_python_value value;
    int rc = eval(e, at, &value);

    if (!rc && value.text)
        rc = fail(e, "a number is expected, not a text");
    *number = value.number;
    return rc;
}

/* Evaluates `and` and `or` to the operand that decides, as Python does. */
static int eval_logic(struct evaluation *e, const struct gt_python_node *node,
                      struct gt_python_value *value)
{
    int rc = eval(e, node->a, value);

    if (rc || gt_python_true(value) != (node->op == GT_PYTHON_AND))
        return rc;
    return eval(e, node->b, value);
}

/* ---- lists ---- */

static int visit_one(struct evaluation *e, gt_python_visit *visit, void *context,
                     const struct gt_python_value *value)
{
    return ++e->visits > MAX_VISITS ? fail(e, "a list that long is not meant")
                                    : visit(context, value, e->err);
}

struct search {
    struct gt_python_value wanted;
    bool found;
};

static int look(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct search *search = context;

    (void)err;
    search->found |= gt_python_equal(value, &search->wanted);
    return GT_OK;
}

struct extreme {
    const struct evaluation *e;
    enum gt_python_op op;
    struct gt_python_value best;
    bool any;
};

static int look_extreme(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct extreme *extreme = context;

    (void)err;
    if (value->text)
        return fail(extreme->e, "min and max are of numbers");
    if (!extreme->any || (extreme->op == GT_PYTHON_MIN ? value->number < extreme->best.number
                                                       : value->number > extreme->best.number))
        extreme->best = *value;
    extreme->any = true;
    return GT_OK;
}

struct arguments {
    double number[3];
    int count;
};

static int take_argument(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct arguments *arguments = context;

    (void)err;
    if (arguments->count < 3)
        arguments->number[arguments->count] = value->number;
    arguments->count++;
    return GT_OK;
}

static int each_of_range(struct evaluation *e, const struct gt_python_node *node,
                         gt_python_visit *visit, void *context)
{
    struct arguments a = {{0}, 0};
    double from = 0, to, step = 1;
    int rc = each_element(e, node->a, take_argument, &a);

    if (rc)
        return rc;
    if (a.count > 3 || (a.count == 3 && a.number[2] == 0))
        return fail(e, "range takes one to three numbers, the last not 0");
    to = a.number[0];
    if (a.count > 1) {
        from = a.number[0];
        to = a.number[1];
    }
    if (a.count > 2)
        step = a.number[2];
    if ((to - from) / step > MAX_ELEMENTS)
        return fail(e, "a list that long is not meant");
    for (double i = from; !rc && (step > 0 ? i < to : i > to); i += step)
        rc = visit_one(e, visit, context, &(struct gt_python_value){.number = i});
    return rc;
}

struct each {
    struct evaluation *e;
    const struct gt_python_node *node;
    gt_python_visit *visit;
    void *context;
};

static int visit_each(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct each *each = context;
    struct gt_python_value made, condition = {.number = 1};
    int rc = GT_OK;

    each->e->variable = *value;
    if (each->node->c >= 0)
        rc = eval(each->e, each->node->c, &condition);
    if (rc || !gt_python_true(&condition))
        return rc;
    rc = eval(each->e, each->node->a, &made);
    return rc ? rc : each->visit(each->context, &made, err);
}

static bool is_list(const struct evaluation *e, int at)
{
    const struct gt_python_node *node = &e->python->node[at];

    switch (node->op) {
    case GT_PYTHON_LIST:
    case GT_PYTHON_EACH:
    case GT_PYTHON_RANGE:
        return true;
    case GT_PYTHON_IF:
        return is_list(e, node->c);
    case GT_PYTHON_ADD:
    case GT_PYTHON_MULTIPLY:
        return is_list(e, node->a) || is_list(e, node->b);
    default:
        return false;
    }
}

/* A list times a number, in either order: the list so many times, none below 1. */
static int each_repeated(struct evaluation *e, const struct gt_python_node *node,
                         gt_python_visit *visit, void *context)
{
    const bool first = is_list(e, node->a);
    double times = 0;
    int rc = eval_number(e, first ? node->b : node->a, &times);

    if (!rc && (times != floor(times) || times > MAX_ELEMENTS))
        rc = fail(e, "a list is repeated a whole number of times");
    for (double i = 0; i < times && !rc && ++e->visits <= MAX_VISITS; i++)
        rc = each_element(e, first ? node->a : node->b, visit, context);
    return rc || e->visits <= MAX_VISITS ? rc : fail(e, "a list that long is not meant");
}

/* The list that a value without elements of its own stands for: lists that are joined, repeated, or
 * chosen by a condition. */
static int each_of_lists(struct evaluation *e, const struct gt_python_node *node,
                         gt_python_visit *visit, void *context)
{
    struct gt_python_value condition;
    int rc;

    switch (node->op) {
    case GT_PYTHON_ADD:
        rc = each_element(e, node->a, visit, context);
        return rc ? rc : each_element(e, node->b, visit, context);
    case GT_PYTHON_MULTIPLY:
        return each_repeated(e, node, visit, context);
    case GT_PYTHON_IF:
        rc = eval(e, node->a, &condition);
        return rc ? rc
                  : each_element(e, gt_python_true(&condition) ? node->c : node->b, visit, context);
    default:
        return fail(e, "a list is expected");
    }
}

static int each_element(struct evaluation *e, int at, gt_python_visit *visit, void *context)
{
    const struct gt_python_node *node = &e->python->node[at];
    struct each each = {e, node, visit, context};
    int rc = GT_OK;

    if (node->op == GT_PYTHON_RANGE)
        return each_of_range(e, node, visit, context);
    if (node->op == GT_PYTHON_EACH)
        return each_element(e, node->b, visit_each, &each);
    if (node->op != GT_PYTHON_LIST)
        return each_of_lists(e, node, visit, context);
    for (int i = node->a; i >= 0 && !rc; i = e->python->node[i].next) {
        struct gt_python_value value;

        rc = eval(e, i, &value);
        GT_STEP(rc, visit_one(e, visit, context, &value));
    }
    return rc;
}

/* ---- a list in a list of lists: also `A in [1, 2] in [[1, 2], [3]]`, which is `and` of two ----
 */

#define LONGEST_LIST 64 /* elements of a list that can be compared */

struct listed {
    struct gt_python_value value[LONGEST_LIST];
    size_t count;
};

static int collect(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct listed *listed = context;

    if (listed->count == LONGEST_LIST)
        return gt_err_set(err, GT_ERANGE, "a list of more than %d elements is compared",
                          LONGEST_LIST);
    listed->value[listed->count++] = *value;
    return GT_OK;
}

static bool same_list(const struct listed *x, const struct listed *y)
{
    size_t i = 0;

    while (i < x->count && i < y->count && gt_python_equal(&x->value[i], &y->value[i]))
        i++;
    return i == x->count && i == y->count;
}

/* Whether the list a is an element of the list b. */
static int find_list(struct evaluation *e, int a, int b, bool *found)
{
    struct listed wanted = {.count = 0};
    int rc = each_element(e, a, collect, &wanted);

    *found = false;
    if (!rc && e->python->node[b].op != GT_PYTHON_LIST)
        return fail(e, "a list of lists is expected");
    for (int i = e->python->node[b].a; i >= 0 && !rc && !*found; i = e->python->node[i].next) {
        struct listed element = {.count = 0};

        if (!is_list(e, i))
            continue; /* a number or a text cannot equal a list */
        rc = each_element(e, i, collect, &element);
        *found = !rc && same_list(&wanted, &element);
    }
    return rc;
}

/* ---- values ---- */

static int eval_listed(struct evaluation *e, const struct gt_python_node *node,
                       struct gt_python_value *value)
{
    struct search search = {.found = false};
    struct extreme extreme = {.e = e, .op = node->op};
    int rc;

    if (node->op == GT_PYTHON_IN) {
        if (is_list(e, node->a))
            rc = find_list(e, node->a, node->b, &search.found);
        else if (!(rc = eval(e, node->a, &search.wanted)))
            rc = each_element(e, node->b, look, &search);
        *value = (struct gt_python_value){.number = search.found};
        return rc;
    }
    rc = each_element(e, node->a, look_extreme, &extreme);
    *value = extreme.best;
    return rc;
}

static int eval_two(struct evaluation *e, const struct gt_python_node *node,
                    struct gt_python_value *value)
{
    struct gt_python_value x, y;
    int rc = eval(e, node->a, &x);

    GT_STEP(rc, eval(e, node->b, &y));
    if (rc)
        return rc;
    if (node->op >= GT_PYTHON_LESS && node->op <= GT_PYTHON_EQUAL)
        return compare(e, node->op, &x, &y, value);
    if (x.text || y.text)
        return fail(e, "a number is expected, not a text");
    return compute(e, node->op, x.number, y.number, value);
}

static int eval(struct evaluation *e, int at, struct gt_python_value *value)
{
    const struct gt_python_node *node = &e->python->node[at];
    double number = 0;
    int rc;

    *value = (struct gt_python_value){.text = node->text, .number = node->number};
    switch (node->op) {
    case GT_PYTHON_NUMBER:
    case GT_PYTHON_TEXT:
        return GT_OK;
    case GT_PYTHON_SLOT:
        *value = node->slot == GT_PYTHON_VARIABLE ? e->variable : e->slots[node->slot];
        return GT_OK;
    case GT_PYTHON_AND:
    case GT_PYTHON_OR:
        return eval_logic(e, node, value);
    case GT_PYTHON_NOT:
        rc = eval(e, node->a, value);
        *value = (struct gt_python_value){.number = !gt_python_true(value)};
        return rc;
    case GT_PYTHON_IF:
        rc = eval(e, node->a, value);
        return rc ? rc : eval(e, gt_python_true(value) ? node->c : node->b, value);
    case GT_PYTHON_IN:
    case GT_PYTHON_MIN:
    case GT_PYTHON_MAX:
        return eval_listed(e, node, value);
    case GT_PYTHON_NEGATE:
    case GT_PYTHON_ABS:
    case GT_PYTHON_INT:
    case GT_PYTHON_FLOAT:
    case GT_PYTHON_ROUND:
        rc = eval_number(e, node->a, &number);
        return rc ? rc : apply(e, node->op, number, value);
    case GT_PYTHON_LIST:
    case GT_PYTHON_EACH:
    case GT_PYTHON_RANGE:
        return fail(e, "a value is expected, not a list");
    default:
        return eval_two(e, node, value);
    }
}

int gt_python_eval(const struct gt_python *python, const struct gt_python_value *slots,
                   struct gt_python_value *value, struct gt_err *err)
{
    struct evaluation e = {.python = python, .slots = slots, .err = err};

    return eval(&e, python->root, value);
}

int gt_python_list(const struct gt_python *python, gt_python_visit *visit, void *context,
                   struct gt_err *err)
{
    struct evaluation e = {.python = python, .err = err};

    return each_element(&e, python->root, visit, context);
}
