/* python.c - reads the Python of T1 files into a tree, by recursive descent, and evaluates it. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "exchange/python.h"

#define MAX_NODES    4096    /* nodes of one text */
#define MAX_DEPTH    64      /* depth of parentheses and operators */
#define MAX_ELEMENTS 100000  /* elements of a list */
#define MAX_VISITS   1000000 /* elements of all lists of one evaluation */

/* a, b, c: nodes; -1: none. */
enum op {
    NUMBER,
    TEXT,
    SLOT,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    FLOOR_DIVIDE,
    MODULO,
    POWER,
    NEGATE,
    LESS,
    LESS_EQUAL,
    EQUAL,
    IN, /* value a in the list b */
    NOT,
    AND,
    OR,
    IF,    /* c if a else b */
    LIST,  /* elements: a, then each element's next */
    EACH,  /* [a for the variable in b if c] */
    RANGE, /* the arguments as a list */
    ABS,
    INT,
    FLOAT,
    ROUND,
    MIN,
    MAX,
};

struct node {
    enum op op;
    int a, b, c, next;
    double number;
    char *text;
    size_t slot;
};

/* The slot of the variable of a [... for ...], behind the slots of names. */
#define VARIABLE 64

struct gt_python {
    char *source; /* for error sentences */
    struct node *node;
    size_t nodes, capacity;
    int root;
    uint64_t uses;
};

/* The functions that parse return a node, or -1 after an error. */
struct parser {
    struct gt_python *python;
    const struct gt_names *names;
    const char *at;
    char variable[64]; /* variable of the [... for ...] being read; "": none */
    int depth;
    int rc;
    struct gt_err *err;
};

static int parse_value(struct parser *parser);

/* Records an error; only the first error is kept. */
static int refuse(struct parser *parser, const char *what)
{
    if (!parser->rc)
        parser->rc = gt_err_set(parser->err, GT_ESYNTAX, "\"%.200s\": %s at \"%.40s\"",
                                parser->python->source, what, parser->at);
    return -1;
}

/* Adds a node with its operands. */
static int add(struct parser *parser, enum op op, int a, int b, int c)
{
    struct gt_python *python = parser->python;

    if (python->nodes == MAX_NODES)
        return refuse(parser, "the text is too long");
    if (GT_ARRAY_RESERVE(&python->node, python->nodes + 1, &python->capacity, NULL)) {
        parser->rc = parser->rc ? parser->rc : gt_err_nomem(parser->err);
        return -1;
    }
    python->node[python->nodes] = (struct node){.op = op, .a = a, .b = b, .c = c};
    python->node[python->nodes].next = -1;
    return (int)python->nodes++;
}

static int add_number(struct parser *parser, double number)
{
    int node = add(parser, NUMBER, -1, -1, -1);

    if (node >= 0)
        parser->python->node[node].number = number;
    return node;
}

static void skip_space(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes the token, a word or a sign, if it comes next.  A word must be complete; `not_before` must
 * not follow a sign. */
static bool take(struct parser *parser, const char *token, char not_before)
{
    size_t length = strlen(token);

    skip_space(parser);
    if (parser->rc || strncmp(parser->at, token, length) != 0)
        return false;
    if (is_name(*token) ? is_name(parser->at[length])
                        : (not_before && parser->at[length] == not_before))
        return false;
    parser->at += length;
    return true;
}

/* ---- atoms ---- */

static int parse_number(struct parser *parser)
{
    char *end;
    double number = strtod(parser->at, &end);

    if (is_name(*end))
        return refuse(parser, "a malformed number");
    parser->at = end;
    return add_number(parser, number);
}

static int parse_text(struct parser *parser)
{
    char quote = *parser->at++;
    size_t length = strcspn(parser->at, quote == '"' ? "\"\\" : "'\\");
    int node;

    if (parser->at[length] != quote)
        return refuse(parser, "a text without an end, or with a backslash,");
    node = add(parser, TEXT, -1, -1, -1);
    if (node < 0)
        return -1;
    parser->python->node[node].text = strndup(parser->at, length);
    if (!parser->python->node[node].text)
        parser->rc = gt_err_nomem(parser->err);
    parser->at += length + 1;
    return node;
}

/* Parses elements up to the closing sign into a list. */
static int parse_elements(struct parser *parser, const char *close)
{
    int list = add(parser, LIST, -1, -1, -1), last = -1;

    while (!parser->rc && !take(parser, close, 0)) {
        int element = parse_value(parser);

        if (parser->rc)
            return -1;
        if (last < 0)
            parser->python->node[list].a = element;
        else
            parser->python->node[last].next = element;
        last = element;
        if (!take(parser, ",", 0) && !(skip_space(parser), *parser->at == *close))
            return refuse(parser, "a comma or an end is missing");
    }
    return list;
}

/* Looks ahead for the variable of a [... for x in ...] that begins here, because the variable is
 * used before it is declared. */
static void find_variable(struct parser *parser)
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

/* Parses the text behind '['. */
static int parse_list(struct parser *parser)
{
    int each, source, condition = -1;

    if (*parser->variable) /* this list is nested in a comprehension and shares its variable */
        return parse_elements(parser, "]");
    find_variable(parser);
    if (!*parser->variable)
        return parse_elements(parser, "]");
    each = parse_value(parser);
    if (!take(parser, "for", 0) || !take(parser, parser->variable, 0) || !take(parser, "in", 0))
        return refuse(parser, "\"for NAME in\" is expected");
    source = parse_value(parser);
    if (take(parser, "if", 0))
        condition = parse_value(parser);
    if (!take(parser, "]", 0))
        return refuse(parser, "\"]\" is missing");
    *parser->variable = '\0';
    return add(parser, EACH, each, source, condition);
}

static int parse_call(struct parser *parser, const char *name, size_t length)
{
    static const struct {
        const char *name;
        enum op op;
        bool one; /* takes exactly one argument */
    } known[] = {{"abs", ABS, true},     {"int", INT, true},  {"float", FLOAT, true},
                 {"round", ROUND, true}, {"min", MIN, false}, {"max", MAX, false},
                 {"range", RANGE, false}};
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
            return refuse(parser, "the wrong number of arguments");
        return add(parser, known[i].op, known[i].one ? first : arguments, -1, -1);
    }
    return refuse(parser, "an unknown function");
}

static int parse_name(struct parser *parser)
{
    const char *name = parser->at;
    size_t length = 0;
    int node, slot;

    while (is_name(name[length]))
        length++;
    parser->at += length;
    if (take(parser, "(", 0))
        return parse_call(parser, name, length);
    slot = gt_names_find(parser->names, name, length);
    if (length == strlen(parser->variable) && strncmp(name, parser->variable, length) == 0)
        slot = VARIABLE;
    if (slot < 0) {
        if (!parser->rc)
            parser->rc = gt_err_set(parser->err, GT_ENOTFOUND, "\"%.200s\": unknown name \"%.*s\"",
                                    parser->python->source, length < 64 ? (int)length : 64, name);
        return -1;
    }
    if (slot < VARIABLE)
        parser->python->uses |= (uint64_t)1 << slot;
    node = add(parser, SLOT, -1, -1, -1);
    if (node >= 0)
        parser->python->node[node].slot = (size_t)slot;
    return node;
}

/* Parses the text behind '(': a value in parentheses, or a tuple, which becomes a list here. */
static int parse_parenthesis(struct parser *parser)
{
    int list = parse_elements(parser, ")"), first;

    if (parser->rc)
        return -1;
    first = parser->python->node[list].a;
    return first >= 0 && parser->python->node[first].next < 0 && parser->at[-2] != ',' ? first
                                                                                       : list;
}

/* Reads a number, a text, a list, a call, a name, or a value in parentheses. */
static int parse_atom(struct parser *parser)
{
    skip_space(parser);
    if (isdigit((unsigned char)*parser->at) || *parser->at == '.')
        return parse_number(parser);
    if (*parser->at == '"' || *parser->at == '\'')
        return parse_text(parser);
    if (take(parser, "(", 0))
        return parse_parenthesis(parser);
    if (take(parser, "[", 0))
        return parse_list(parser);
    if (take(parser, "False", 0))
        return add_number(parser, 0);
    if (take(parser, "True", 0))
        return add_number(parser, 1);
    if (is_name(*parser->at))
        return parse_name(parser);
    return refuse(parser, *parser->at ? "a value is expected" : "the text ends too early");
}

/* ---- operators, the tightest first ---- */

static int parse_factor(struct parser *parser)
{
    int node;

    if (parser->rc)
        return -1;
    if (++parser->depth > MAX_DEPTH) {
        refuse(parser, "too deeply nested");
    } else if (take(parser, "-", 0)) {
        node = parse_factor(parser);
        parser->depth--;
        return add(parser, NEGATE, node, -1, -1);
    } else if (take(parser, "+", 0)) {
        node = parse_factor(parser);
        parser->depth--;
        return add(parser, FLOAT, node, -1, -1); /* a text has no sign */
    }
    node = parser->rc ? -1 : parse_atom(parser);
    if (take(parser, "**", 0))
        node = add(parser, POWER, node, parse_factor(parser), -1);
    parser->depth--;
    return node;
}

enum level { TERM, SUM, AND_LEVEL, OR_LEVEL };

/* Parses operands of the level below, with operators of this level between them. */
static int parse_level(struct parser *parser, enum level level, int (*below)(struct parser *parser))
{
    static const struct {
        const char *sign;
        char not_before;
        enum level level;
        enum op op;
    } known[] = {{"*", '*', TERM, MULTIPLY}, {"//", 0, TERM, FLOOR_DIVIDE},
                 {"/", 0, TERM, DIVIDE},     {"%", 0, TERM, MODULO},
                 {"+", 0, SUM, ADD},         {"-", 0, SUM, SUBTRACT},
                 {"and", 0, AND_LEVEL, AND}, {"or", 0, OR_LEVEL, OR}};
    const size_t count = sizeof(known) / sizeof(*known);
    int node = below(parser);

    for (size_t i = 0; i < count; i++)
        if (known[i].level == level && take(parser, known[i].sign, known[i].not_before)) {
            node = add(parser, known[i].op, node, below(parser), -1);
            i = SIZE_MAX; /* the next operator may be any of this level */
        }
    return node;
}

static int parse_term(struct parser *parser)
{
    return parse_level(parser, TERM, parse_factor);
}

static int parse_sum(struct parser *parser)
{
    return parse_level(parser, SUM, parse_term);
}

/* Parses a comparison of x with the next operand, *y; -1 if no comparison follows. */
static int parse_comparison(struct parser *parser, int x, int *y)
{
    static const struct {
        const char *sign;
        enum op op;
        bool swapped, negated;
    } known[] = {{"<=", LESS_EQUAL, false, false}, {">=", LESS_EQUAL, true, false},
                 {"==", EQUAL, false, false},      {"!=", EQUAL, false, true},
                 {"<", LESS, false, false},        {">", LESS, true, false},
                 {"in", IN, false, false},         {"not", IN, false, true}};
    int node;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!take(parser, known[i].sign, 0))
            continue;
        if (strcmp(known[i].sign, "not") == 0 && !take(parser, "in", 0))
            return refuse(parser, "\"in\" is expected after \"not\"");
        *y = parse_sum(parser);
        node = known[i].swapped ? add(parser, known[i].op, *y, x, -1)
                                : add(parser, known[i].op, x, *y, -1);
        return known[i].negated ? add(parser, NOT, node, -1, -1) : node;
    }
    return -1;
}

/* Parses comparisons: "a < b < c" is "a < b and b < c". */
static int parse_comparisons(struct parser *parser)
{
    int x = parse_sum(parser), y = -1;
    int all = parse_comparison(parser, x, &y), more;

    if (all < 0)
        return x;
    while ((more = parse_comparison(parser, y, &y)) >= 0)
        all = add(parser, AND, all, more, -1);
    return all;
}

static int parse_not(struct parser *parser)
{
    int node;

    if (!take(parser, "not", 0))
        return parse_comparisons(parser);
    if (++parser->depth > MAX_DEPTH)
        return refuse(parser, "too deeply nested");
    node = parse_not(parser);
    parser->depth--;
    return add(parser, NOT, node, -1, -1);
}

static int parse_and(struct parser *parser)
{
    return parse_level(parser, AND_LEVEL, parse_not);
}

static int parse_or(struct parser *parser)
{
    return parse_level(parser, OR_LEVEL, parse_and);
}

static int parse_value(struct parser *parser)
{
    const char *before;
    int node = parse_or(parser), condition;

    before = parser->at;
    if (!take(parser, "if", 0))
        return node;
    condition = parse_or(parser);
    if (!take(parser, "else", 0)) { /* the `if` belongs to a [... for ... if ...] */
        parser->at = before;
        return node;
    }
    return add(parser, IF, condition, parse_value(parser), node);
}

int gt_python_parse(struct gt_python **out, const char *text, const struct gt_names *names,
                    struct gt_err *err)
{
    struct gt_python *python = calloc(1, sizeof(*python));
    struct parser parser = {.python = python, .names = names, .at = text, .err = err};

    *out = NULL;
    if (!python)
        return gt_err_nomem(err);
    python->source = strdup(text);
    if (!python->source)
        parser.rc = gt_err_nomem(err);
    else
        python->root = parse_value(&parser);
    skip_space(&parser);
    if (!parser.rc && *parser.at)
        refuse(&parser, "what is this");
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

/* ---- evaluation ---- */

/* A value or a list of values. */
struct value {
    struct gt_python_value one;
    bool is_list;
    struct value *element;
    size_t count;
    double repeats; /* of a repeated list: how often, also without elements */
};

/* The elements of a list; they are freed at the end of the evaluation. */
struct block {
    struct block *next;
    struct value element[];
};

struct evaluation {
    const struct gt_python *python;
    const struct gt_python_value *slots;
    struct value variable; /* variable of a [... for ...] */
    double visits;         /* elements of all lists so far */
    struct block *blocks;
    struct gt_err *err;
};

static int eval(struct evaluation *e, int at, struct value *value);

static int fail(const struct evaluation *e, const char *what)
{
    return gt_err_set(e->err, GT_ERANGE, "\"%.200s\": %s", e->python->source, what);
}

static void free_lists(struct evaluation *e)
{
    while (e->blocks) {
        struct block *next = e->blocks->next;

        free(e->blocks);
        e->blocks = next;
    }
}

/* Makes the value a list with room for `most` elements. */
static int make_list(struct evaluation *e, struct value *value, double most)
{
    struct block *block;

    e->visits += most;
    if (most > MAX_VISITS || e->visits > MAX_VISITS)
        return fail(e, "a list that long is not meant");
    block = malloc(sizeof(*block) + (size_t)most * sizeof(*block->element));
    if (!block)
        return gt_err_nomem(e->err);
    block->next = e->blocks;
    e->blocks = block;
    *value = (struct value){.is_list = true, .element = block->element};
    return GT_OK;
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

/* Evaluates a node to a value that is no list. */
static int eval_one(struct evaluation *e, int at, struct gt_python_value *one)
{
    struct value value;
    int rc = eval(e, at, &value);

    *one = value.one;
    return !rc && value.is_list ? fail(e, "a value is expected, not a list") : rc;
}

static int eval_number(struct evaluation *e, int at, double *number)
{
    struct gt_python_value value;
    int rc = eval_one(e, at, &value);

    *number = value.number;
    return !rc && value.text ? fail(e, "a number is expected, not a text") : rc;
}

/* ---- numbers ---- */

static int compare(const struct evaluation *e, enum op op, const struct gt_python_value *x,
                   const struct gt_python_value *y, struct gt_python_value *value)
{
    double difference;

    *value = (struct gt_python_value){.number = gt_python_equal(x, y)};
    if (op == EQUAL)
        return GT_OK;
    if (!x->text != !y->text)
        return fail(e, "a number is compared with a text");
    difference = x->text ? strcmp(x->text, y->text) : x->number - y->number;
    value->number = op == LESS ? difference < 0 : difference <= 0;
    return GT_OK;
}

/* The remainder, with the sign of the divisor. */
static double modulo(double x, double y)
{
    double rest = fmod(x, y);

    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* x // y as CPython's float_floor_div computes it (Objects/floatobject.c, Python 3): from the
 * remainder.  So 0.5 // 0.1 is 4, although 0.5 / 0.1 rounds to 5. */
static double floor_divide(double x, double y)
{
    double quotient = (x - modulo(x, y)) / y, whole = floor(quotient);

    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static int compute(const struct evaluation *e, enum op op, double x, double y,
                   struct gt_python_value *value)
{
    bool divides = op == DIVIDE || op == FLOOR_DIVIDE || op == MODULO;

    if (divides && y == 0)
        return fail(e, "a division by zero");
    *value = (struct gt_python_value){.number = op == ADD            ? x + y
                                                : op == SUBTRACT     ? x - y
                                                : op == MULTIPLY     ? x * y
                                                : op == DIVIDE       ? x / y
                                                : op == FLOOR_DIVIDE ? floor_divide(x, y)
                                                : op == MODULO       ? modulo(x, y)
                                                                     : pow(x, y)};
    return isfinite(value->number) ? GT_OK : fail(e, "no number comes out");
}

static double apply(enum op op, double x)
{
    switch (op) {
    case NEGATE:
        return -x;
    case ABS:
        return fabs(x);
    case INT:
        return trunc(x);
    case ROUND:
        return nearbyint(x); /* rounds half to even, as Python does */
    default:
        return x;
    }
}

/* ---- lists ---- */

static int eval_elements(struct evaluation *e, const struct node *node, struct value *value)
{
    double count = 0;
    int rc;

    for (int i = node->a; i >= 0; i = e->python->node[i].next)
        count++;
    rc = make_list(e, value, count);
    for (int i = node->a; i >= 0 && !rc; i = e->python->node[i].next)
        rc = eval(e, i, &value->element[value->count++]);
    return rc;
}

/* Evaluates a node to a list.  `numbers`: why the elements have to be numbers; NULL: they need not
 * be. */
static int eval_list(struct evaluation *e, int at, const char *numbers, struct value *list)
{
    int rc = eval(e, at, list);

    if (!rc && !list->is_list)
        rc = fail(e, "a list is expected");
    for (size_t i = 0; i < list->count && !rc && numbers; i++)
        if (list->element[i].is_list || list->element[i].one.text)
            rc = fail(e, list->element[i].is_list ? "a value is expected, not a list" : numbers);
    return rc;
}

static int eval_range(struct evaluation *e, const struct node *node, struct value *value)
{
    double from = 0, to, step = 1, room;
    struct value of;
    int rc = eval_list(e, node->a, "a number is expected, not a text", &of);

    if (rc)
        return rc;
    if (of.count > 3 || (of.count == 3 && of.element[2].one.number == 0))
        return fail(e, "range takes one to three numbers, the last not 0");
    to = of.element[of.count > 1].one.number;
    if (of.count > 1)
        from = of.element[0].one.number;
    if (of.count > 2)
        step = of.element[2].one.number;
    if ((to - from) / step > MAX_ELEMENTS)
        return fail(e, "a list that long is not meant");
    room = fmax(0, floor((to - from) / step)) + 2; /* sums of fractions may come short of `to` */
    rc = make_list(e, value, room);
    for (double i = from; !rc && (step > 0 ? i < to : i > to) && (double)value->count < room;
         i += step)
        value->element[value->count++] = (struct value){.one.number = i};
    return rc;
}

/* [a for the variable in b if c] */
static int eval_each(struct evaluation *e, const struct node *node, struct value *value)
{
    struct value source;
    int rc = eval_list(e, node->b, NULL, &source);

    GT_STEP(rc, make_list(e, value, (double)source.count));
    for (size_t i = 0; !rc && i < source.count; i++) {
        struct gt_python_value condition = {.number = 1};

        e->variable = source.element[i];
        if (node->c >= 0)
            rc = eval_one(e, node->c, &condition);
        if (!rc && gt_python_true(&condition))
            rc = eval(e, node->a, &value->element[value->count++]);
    }
    return rc;
}

static void append(struct value *to, const struct value *from)
{
    if (from->count)
        memcpy(to->element + to->count, from->element, from->count * sizeof(*from->element));
    to->count += from->count;
}

/* Multiplies a list and a number, in either order: the list so many times, or an empty list below
 * 1. */
static int repeat(struct evaluation *e, const struct value *x, const struct value *y,
                  struct value *value)
{
    const struct value *list = x->is_list ? x : y, *number = x->is_list ? y : x;
    const double times = number->one.number;
    double repeats;
    int rc;

    if (number->is_list)
        return fail(e, "a value is expected, not a list");
    if (number->one.text)
        return fail(e, "a number is expected, not a text");
    if (times != floor(times) || times > MAX_ELEMENTS)
        return fail(e, "a list is repeated a whole number of times");
    repeats = fmax(times, 0) * fmax(list->repeats, 1);
    if (repeats > MAX_VISITS)
        return fail(e, "a list that long is not meant");
    rc = make_list(e, value, fmax(times, 0) * (double)list->count);
    for (double i = 0; i < times && !rc; i++)
        append(value, list);
    value->repeats = repeats;
    return rc;
}

static int join(struct evaluation *e, const struct value *x, const struct value *y,
                struct value *value)
{
    int rc = x->is_list && y->is_list ? make_list(e, value, (double)x->count + (double)y->count)
                                      : fail(e, "a list is expected");

    if (rc)
        return rc;
    append(value, x);
    append(value, y);
    return GT_OK;
}

static bool same(const struct value *x, const struct value *y)
{
    if (!x->is_list || !y->is_list)
        return x->is_list == y->is_list && gt_python_equal(&x->one, &y->one);
    for (size_t i = 0; x->count == y->count && i < x->count; i++)
        if (!same(&x->element[i], &y->element[i]))
            return false;
    return x->count == y->count;
}

static int eval_in(struct evaluation *e, const struct node *node, struct value *value)
{
    struct value wanted, list;
    bool found = false;
    int rc = eval(e, node->a, &wanted);

    GT_STEP(rc, eval(e, node->b, &list));
    if (!rc && !list.is_list)
        rc = fail(e, wanted.is_list ? "a list of lists is expected" : "a list is expected");
    for (size_t i = 0; !rc && i < list.count && !found; i++)
        found = same(&wanted, &list.element[i]);
    *value = (struct value){.one.number = found};
    return rc;
}

static int eval_extreme(struct evaluation *e, const struct node *node, struct value *value)
{
    struct value of;
    int rc = eval_list(e, node->a, "min and max are of numbers", &of);

    for (size_t i = 0; i < of.count && !rc; i++) {
        const double number = of.element[i].one.number;

        if (!i || (node->op == MIN ? number < value->one.number : number > value->one.number))
            value->one.number = number;
    }
    return rc;
}

/* ---- values ---- */

static int eval_two(struct evaluation *e, const struct node *node, struct value *value)
{
    struct value x, y;
    int rc = eval(e, node->a, &x);

    GT_STEP(rc, eval(e, node->b, &y));
    if (rc)
        return rc;
    if (x.is_list || y.is_list)
        return node->op == ADD        ? join(e, &x, &y, value)
               : node->op == MULTIPLY ? repeat(e, &x, &y, value)
                                      : fail(e, "a value is expected, not a list");
    if (node->op >= LESS && node->op <= EQUAL)
        return compare(e, node->op, &x.one, &y.one, &value->one);
    if (x.one.text || y.one.text)
        return fail(e, "a number is expected, not a text");
    return compute(e, node->op, x.one.number, y.one.number, &value->one);
}

static int eval(struct evaluation *e, int at, struct value *value)
{
    const struct node *node = &e->python->node[at];
    double number = 0;
    int rc;

    *value = (struct value){.one = {.text = node->text, .number = node->number}};
    switch (node->op) {
    case NUMBER:
    case TEXT:
        return GT_OK;
    case SLOT:
        if (node->slot == VARIABLE)
            *value = e->variable;
        else
            value->one = e->slots[node->slot];
        return GT_OK;
    case AND: /* and `or`: the operand that decides, as Python has it */
    case OR:
        rc = eval_one(e, node->a, &value->one);
        if (rc || gt_python_true(&value->one) != (node->op == AND))
            return rc;
        return eval_one(e, node->b, &value->one);
    case NOT:
        rc = eval_one(e, node->a, &value->one);
        value->one = (struct gt_python_value){.number = !gt_python_true(&value->one)};
        return rc;
    case IF:
        rc = eval_one(e, node->a, &value->one);
        return rc ? rc : eval(e, gt_python_true(&value->one) ? node->c : node->b, value);
    case IN:
        return eval_in(e, node, value);
    case MIN:
    case MAX:
        return eval_extreme(e, node, value);
    case NEGATE:
    case ABS:
    case INT:
    case FLOAT:
    case ROUND:
        rc = eval_number(e, node->a, &number);
        value->one.number = apply(node->op, number);
        return rc;
    case LIST:
        return eval_elements(e, node, value);
    case EACH:
        return eval_each(e, node, value);
    case RANGE:
        return eval_range(e, node, value);
    default:
        return eval_two(e, node, value);
    }
}

int gt_python_eval(const struct gt_python *python, const struct gt_python_value *slots,
                   struct gt_python_value *value, struct gt_err *err)
{
    struct evaluation e = {.python = python, .slots = slots, .err = err};
    int rc = eval_one(&e, python->root, value);

    free_lists(&e);
    return rc;
}

int gt_python_list(const struct gt_python *python, gt_python_visit *visit, void *context,
                   struct gt_err *err)
{
    struct evaluation e = {.python = python, .err = err};
    struct value list;
    int rc = eval_list(&e, python->root, NULL, &list);

    for (size_t i = 0; !rc && i < list.count; i++)
        rc = list.element[i].is_list ? fail(&e, "a value is expected, not a list")
                                     : visit(context, &list.element[i].one, err);
    free_lists(&e);
    return rc;
}
