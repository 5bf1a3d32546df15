/* python.c - evaluates the Python of T1 files; see python.h. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "exchange/python.h"

/* Evaluates the Python of T1 files; see python.h. */

#define MAX_ELEMENTS 100000  /* of a list */
#define MAX_VISITS   1000000 /* elements of all lists of one evaluation */

struct evaluation {
    const struct gt_python *python;
    const struct gt_python_value *slots;
    struct gt_python_value variable; /* of a [... for ...] */
    int visits;                      /* elements so far */
    struct gt_err *err;
};

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

struct extreme {
    const struct evaluation *e;
    enum gt_python_op op;
    struct gt_python_value best;
    bool any;
};

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

#define LONGEST_LIST 64 /* elements of a list that can be compared */

struct listed {
    struct gt_python_value value[LONGEST_LIST];
    size_t count;
};

static bool same_list(const struct listed *x, const struct listed *y)
{
    size_t i = 0;

    while (i < x->count && i < y->count && gt_python_equal(&x->value[i], &y->value[i]))
        i++;
    return i == x->count && i == y->count;
}

static int collect(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct listed *listed = context;

    if (listed->count == LONGEST_LIST)
        return gt_err_set(err, GT_ERANGE, "a list of more than %d elements is compared",
                          LONGEST_LIST);
    listed->value[listed->count++] = *value;
    return GT_OK;
}

static int each_element(struct evaluation *e, int at, gt_python_visit *visit, void *context);

static int eval_number(struct evaluation *e, int at, double *number);

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

static int eval(struct evaluation *e, int at, struct gt_python_value *value);

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

static int visit_one(struct evaluation *e, gt_python_visit *visit, void *context,
                     const struct gt_python_value *value)
{
    return ++e->visits > MAX_VISITS ? fail(e, "a list that long is not meant")
                                    : visit(context, value, e->err);
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

struct search {
    struct gt_python_value wanted;
    bool found;
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

static int look(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    struct search *search = context;

    (void)err;
    search->found |= gt_python_equal(value, &search->wanted);
    return GT_OK;
}

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

/* Evaluates `and` and `or` to the operand that decides, as Python does. */
static int eval_logic(struct evaluation *e, const struct gt_python_node *node,
                      struct gt_python_value *value)
{
    int rc = eval(e, node->a, value);

    if (rc || gt_python_true(value) != (node->op == GT_PYTHON_AND))
        return rc;
    return eval(e, node->b, value);
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

static int eval_number(struct evaluation *e, int at, double *number)
{
    struct gt_python_value value;
    int rc = eval(e, at, &value);

    if (!rc && value.text)
        rc = fail(e, "a number is expected, not a text");
    *number = value.number;
    return rc;
}

/* ---- lists ---- */

/* ---- a list in a list of lists: also `A in [1, 2] in [[1, 2], [3]]`, which is `and` of two ----
 */

/* ---- values ---- */

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

/* Reads the atoms of Python in T1 files: numbers, texts, lists, calls, names; see
 * python.h. */

#define MAX_NODES 4096 /* of one text */

/* Records an error; only the first one is kept. */
static int gt_python_fail(struct gt_python_parser *parser, const char *what)
{
    if (!parser->rc)
        parser->rc = gt_err_set(parser->err, GT_ESYNTAX, "\"%.200s\": %s at \"%.40s\"",
                                parser->python->source, what, parser->at);
    return -1;
}

/* Adds a node with its operands. */
static int gt_python_add(struct gt_python_parser *parser, enum gt_python_op op, int a, int b, int c)
{
    struct gt_python *python = parser->python;

    if (python->nodes == MAX_NODES)
        return gt_python_fail(parser, "the text is too long");
    if (GT_ARRAY_RESERVE(&python->node, python->nodes + 1, &python->capacity, NULL)) {
        parser->rc = parser->rc ? parser->rc : gt_err_nomem(parser->err);
        return -1;
    }
    python->node[python->nodes] = (struct gt_python_node){.op = op, .a = a, .b = b, .c = c};
    python->node[python->nodes].next = -1;
    return (int)python->nodes++;
}

static void gt_python_skip_space(struct gt_python_parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes a word or a sign if it comes next.  A word must be complete; a sign must not be followed by
 * `not_before`. */
static bool gt_python_take(struct gt_python_parser *parser, const char *token, char not_before)
{
    size_t length = strlen(token);

    gt_python_skip_space(parser);
    if (parser->rc || strncmp(parser->at, token, length) != 0)
        return false;
    if (is_name(*token) ? is_name(parser->at[length])
                        : (not_before && parser->at[length] == not_before))
        return false;
    parser->at += length;
    return true;
}

/* ---- atoms ---- */

static int parse_number(struct gt_python_parser *parser)
{
    char *end;
    double number = strtod(parser->at, &end);
    int node;

    if (is_name(*end))
        return gt_python_fail(parser, "a malformed number");
    parser->at = end;
    node = gt_python_add(parser, GT_PYTHON_NUMBER, -1, -1, -1);
    if (node >= 0)
        parser->python->node[node].number = number;
    return node;
}

static int parse_text(struct gt_python_parser *parser)
{
    char quote = *parser->at++;
    size_t length = strcspn(parser->at, quote == '"' ? "\"\\" : "'\\");
    int node;

    if (parser->at[length] != quote)
        return gt_python_fail(parser, "a text without an end, or with a backslash,");
    node = gt_python_add(parser, GT_PYTHON_TEXT, -1, -1, -1);
    if (node < 0)
        return -1;
    parser->python->node[node].text = strndup(parser->at, length);
    if (!parser->python->node[node].text)
        parser->rc = gt_err_nomem(parser->err);
    parser->at += length + 1;
    return node;
}

/* Parses elements up to the closing sign into a list. */
static int parse_elements(struct gt_python_parser *parser, const char *close)
{
    int list = gt_python_add(parser, GT_PYTHON_LIST, -1, -1, -1), last = -1;

    while (!parser->rc && !gt_python_take(parser, close, 0)) {
        int element = gt_python_value(parser);

        if (parser->rc)
            return -1;
        if (last < 0)
            parser->python->node[list].a = element;
        else
            parser->python->node[last].next = element;
        last = element;
        if (!gt_python_take(parser, ",", 0) &&
            !(gt_python_skip_space(parser), *parser->at == *close))
            return gt_python_fail(parser, "a comma or an end is missing");
    }
    return list;
}

/* Looks ahead for the variable of a [... for x in ...] that begins here, because the variable is
 * used before it is named. */
static void find_variable(struct gt_python_parser *parser)
{
    int depth = 0;
    size_t length = 0;

    for (const char *at = parser->at; *at && (depth > 0 || *at != ']'); at++) {
        depth += *at == '[' || *at == '(';
        depth -= *at == ']' || *at == ')';
        if (depth || strncmp(at, " for ", 5) != 0)
            continue;
        at += 5;
        while (is_name(at[length]) && length < sizeof(parser->variable) - 1)
            length++;
        memcpy(parser->variable, at, length);
        parser->variable[length] = '\0';
        return;
    }
}

/* Parses what follows '['. */
static int parse_list(struct gt_python_parser *parser)
{
    int each, source, condition = -1;

    if (*parser->variable) /* this list is nested in a comprehension whose variable it shares */
        return parse_elements(parser, "]");
    find_variable(parser);
    if (!*parser->variable)
        return parse_elements(parser, "]");
    each = gt_python_value(parser);
    if (!gt_python_take(parser, "for", 0) || !gt_python_take(parser, parser->variable, 0) ||
        !gt_python_take(parser, "in", 0))
        return gt_python_fail(parser, "\"for NAME in\" is expected");
    source = gt_python_value(parser);
    if (gt_python_take(parser, "if", 0))
        condition = gt_python_value(parser);
    if (!gt_python_take(parser, "]", 0))
        return gt_python_fail(parser, "\"]\" is missing");
    *parser->variable = '\0';
    return gt_python_add(parser, GT_PYTHON_EACH, each, source, condition);
}

static int parse_call(struct gt_python_parser *parser, const char *name, size_t length)
{
    static const struct {
        const char *name;
        enum gt_python_op op;
        bool one; /* takes exactly one argument */
    } known[] = {{"abs", GT_PYTHON_ABS, true},     {"int", GT_PYTHON_INT, true},
                 {"float", GT_PYTHON_FLOAT, true}, {"round", GT_PYTHON_ROUND, true},
                 {"min", GT_PYTHON_MIN, false},    {"max", GT_PYTHON_MAX, false},
                 {"range", GT_PYTHON_RANGE, false}};
    bool list = length == 4 && strncmp(name, "list", 4) == 0;
    int arguments = parse_elements(parser, ")"), first;

    if (parser->rc)
        return -1;
    first = parser->python->node[arguments].a;
    if (list && first >= 0 && parser->python->node[first].next < 0)
        return first;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) != length || strncmp(known[i].name, name, length) != 0)
            continue;
        if (first < 0 || (known[i].one && parser->python->node[first].next >= 0))
            return gt_python_fail(parser, "the wrong number of arguments");
        return gt_python_add(parser, known[i].op, known[i].one ? first : arguments, -1, -1);
    }
    return gt_python_fail(parser, "an unknown function");
}

static int parse_name(struct gt_python_parser *parser)
{
    const char *name = parser->at;
    size_t length = 0;
    int node, slot;

    while (is_name(name[length]))
        length++;
    parser->at += length;
    if (gt_python_take(parser, "(", 0))
        return parse_call(parser, name, length);
    slot = gt_names_find(parser->names, name, length);
    if (length == strlen(parser->variable) && strncmp(name, parser->variable, length) == 0)
        slot = GT_PYTHON_VARIABLE;
    if (slot < 0) {
        if (!parser->rc)
            parser->rc = gt_err_set(parser->err, GT_ENOTFOUND, "\"%.200s\": unknown name \"%.*s\"",
                                    parser->python->source, length < 64 ? (int)length : 64, name);
        return -1;
    }
    if (slot < GT_PYTHON_VARIABLE)
        parser->python->uses |= (uint64_t)1 << slot;
    node = gt_python_add(parser, GT_PYTHON_SLOT, -1, -1, -1);
    if (node >= 0)
        parser->python->node[node].slot = (size_t)slot;
    return node;
}

/* Parses what follows '(': a value in parentheses or a tuple, which becomes a list here. */
static int parse_parenthesis(struct gt_python_parser *parser)
{
    int list = parse_elements(parser, ")"), first;

    if (parser->rc)
        return -1;
    first = parser->python->node[list].a;
    return first >= 0 && parser->python->node[first].next < 0 && parser->at[-2] != ',' ? first
                                                                                       : list;
}

/* Reads a number, a text, a list, a call, a name, or a value in parentheses. */
static int gt_python_atom(struct gt_python_parser *parser)
{
    int node;

    gt_python_skip_space(parser);
    if (isdigit((unsigned char)*parser->at) || *parser->at == '.')
        return parse_number(parser);
    if (*parser->at == '"' || *parser->at == '\'')
        return parse_text(parser);
    if (gt_python_take(parser, "(", 0))
        return parse_parenthesis(parser);
    if (gt_python_take(parser, "[", 0))
        return parse_list(parser);
    if (gt_python_take(parser, "False", 0))
        return gt_python_add(parser, GT_PYTHON_NUMBER, -1, -1, -1);
    if (gt_python_take(parser, "True", 0)) {
        node = gt_python_add(parser, GT_PYTHON_NUMBER, -1, -1, -1);
        if (node >= 0)
            parser->python->node[node].number = 1;
        return node;
    }
    if (is_name(*parser->at))
        return parse_name(parser);
    return gt_python_fail(parser, *parser->at ? "a value is expected" : "the text ends too early");
}

/* Reads the Python of T1 files into a tree, by recursive descent: operators, the
 * tightest first; python.c has what stands between them.  See python.h. */

#define MAX_DEPTH 64 /* of parentheses and operators */

static int parse_factor(struct gt_python_parser *parser)
{
    int node;

    if (parser->rc)
        return -1;
    if (++parser->depth > MAX_DEPTH) {
        gt_python_fail(parser, "too deeply nested");
    } else if (gt_python_take(parser, "-", 0)) {
        node = parse_factor(parser);
        parser->depth--;
        return gt_python_add(parser, GT_PYTHON_NEGATE, node, -1, -1);
    } else if (gt_python_take(parser, "+", 0)) {
        node = parse_factor(parser);
        parser->depth--;
        return gt_python_add(parser, GT_PYTHON_FLOAT, node, -1, -1); /* a text cannot have a sign */
    }
    node = parser->rc ? -1 : gt_python_atom(parser);
    if (gt_python_take(parser, "**", 0))
        node = gt_python_add(parser, GT_PYTHON_POWER, node, parse_factor(parser), -1);
    parser->depth--;
    return node;
}

static int parse_term(struct gt_python_parser *parser)
{
    int node = parse_factor(parser);

    for (;;) {
        if (gt_python_take(parser, "*", '*'))
            node = gt_python_add(parser, GT_PYTHON_MULTIPLY, node, parse_factor(parser), -1);
        else if (gt_python_take(parser, "//", 0))
            node = gt_python_add(parser, GT_PYTHON_FLOOR_DIVIDE, node, parse_factor(parser), -1);
        else if (gt_python_take(parser, "/", 0))
            node = gt_python_add(parser, GT_PYTHON_DIVIDE, node, parse_factor(parser), -1);
        else if (gt_python_take(parser, "%", 0))
            node = gt_python_add(parser, GT_PYTHON_MODULO, node, parse_factor(parser), -1);
        else
            return node;
    }
}

static int parse_sum(struct gt_python_parser *parser)
{
    int node = parse_term(parser);

    for (;;) {
        if (gt_python_take(parser, "+", 0))
            node = gt_python_add(parser, GT_PYTHON_ADD, node, parse_term(parser), -1);
        else if (gt_python_take(parser, "-", 0))
            node = gt_python_add(parser, GT_PYTHON_SUBTRACT, node, parse_term(parser), -1);
        else
            return node;
    }
}

/* Parses one comparison of x with the operand *y that follows; -1 if none follows. */
static int parse_comparison(struct gt_python_parser *parser, int x, int *y)
{
    static const struct {
        const char *sign;
        enum gt_python_op op;
        bool swapped, negated;
    } known[] = {
        {"<=", GT_PYTHON_LESS_EQUAL, false, false}, {">=", GT_PYTHON_LESS_EQUAL, true, false},
        {"==", GT_PYTHON_EQUAL, false, false},      {"!=", GT_PYTHON_EQUAL, false, true},
        {"<", GT_PYTHON_LESS, false, false},        {">", GT_PYTHON_LESS, true, false},
        {"in", GT_PYTHON_IN, false, false},         {"not", GT_PYTHON_IN, false, true}};
    int node;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!gt_python_take(parser, known[i].sign, 0))
            continue;
        if (strcmp(known[i].sign, "not") == 0 && !gt_python_take(parser, "in", 0))
            return gt_python_fail(parser, "\"in\" is expected after \"not\"");
        *y = parse_sum(parser);
        node = known[i].swapped ? gt_python_add(parser, known[i].op, *y, x, -1)
                                : gt_python_add(parser, known[i].op, x, *y, -1);
        return known[i].negated ? gt_python_add(parser, GT_PYTHON_NOT, node, -1, -1) : node;
    }
    return -1;
}

/* "a < b < c" is "a < b and b < c". */
static int parse_comparisons(struct gt_python_parser *parser)
{
    int x = parse_sum(parser), y = -1;
    int all = parse_comparison(parser, x, &y), more;

    if (all < 0)
        return x;
    while ((more = parse_comparison(parser, y, &y)) >= 0)
        all = gt_python_add(parser, GT_PYTHON_AND, all, more, -1);
    return all;
}

static int parse_not(struct gt_python_parser *parser)
{
    int node;

    if (!gt_python_take(parser, "not", 0))
        return parse_comparisons(parser);
    if (++parser->depth > MAX_DEPTH)
        return gt_python_fail(parser, "too deeply nested");
    node = parse_not(parser);
    parser->depth--;
    return gt_python_add(parser, GT_PYTHON_NOT, node, -1, -1);
}

static int parse_and(struct gt_python_parser *parser)
{
    int node = parse_not(parser);

    while (gt_python_take(parser, "and", 0))
        node = gt_python_add(parser, GT_PYTHON_AND, node, parse_not(parser), -1);
    return node;
}

static int parse_or(struct gt_python_parser *parser)
{
    int node = parse_and(parser);

    while (gt_python_take(parser, "or", 0))
        node = gt_python_add(parser, GT_PYTHON_OR, node, parse_and(parser), -1);
    return node;
}

int gt_python_value(struct gt_python_parser *parser)
{
    const char *before;
    int node = parse_or(parser), condition;

    before = parser->at;
    if (!gt_python_take(parser, "if", 0))
        return node;
    condition = parse_or(parser);
    if (!gt_python_take(parser, "else", 0)) { /* the `if` belongs to a [... for ... if ...] */
        parser->at = before;
        return node;
    }
    return gt_python_add(parser, GT_PYTHON_IF, condition, gt_python_value(parser), node);
}

int gt_python_parse(struct gt_python **out, const char *text, const struct gt_names *names,
                    struct gt_err *err)
{
    struct gt_python *python = calloc(1, sizeof(*python));
    struct gt_python_parser parser = {.python = python, .names = names, .at = text, .err = err};

    *out = NULL;
    if (!python)
        return gt_err_nomem(err);
    python->source = strdup(text);
    if (!python->source)
        parser.rc = gt_err_nomem(err);
    else
        python->root = gt_python_value(&parser);
    gt_python_skip_space(&parser);
    if (!parser.rc && *parser.at)
        gt_python_fail(&parser, "what is this");
    if (parser.rc)
        gt_python_free(python);
    else
        *out = python;
    return parser.rc;
}

void gt_python_free(struct gt_python *python)
{
    if (!python)
        return;
    for (size_t i = 0; i < python->nodes; i++)
        free(python->node[i].text);
    free(python->node);
    free(python->source);
    free(python);
}

uint64_t gt_python_uses(const struct gt_python *python)
{
    return python->uses;
}
