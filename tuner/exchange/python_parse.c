/* python_parse.c - reads the Python of T1 files into a tree, by recursive descent; see python.h. */
#include "exchange/python_impl.h"

#include "base/array.h"
#include "base/err.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64   /* of parentheses and operators */
#define MAX_NODES 4096 /* of one text */

struct parser {
    struct gt_python *python;
    const struct gt_names *names;
    const char *at;
    char variable[64]; /* of the [... for ...] being read; "": none */
    int depth;
    int rc;
    struct gt_err *err;
};

static int parse_value(struct parser *parser);

/* Records an error; only the first one is kept. */
static int fail(struct parser *parser, const char *what)
{
    if (!parser->rc)
        parser->rc = gt_err_set(parser->err, GT_ESYNTAX, "\"%.200s\": %s at \"%.40s\"",
                                parser->python->source, what, parser->at);
    return -1;
}

static int add(struct parser *parser, enum gt_python_op op, int a, int b, int c)
{
    struct gt_python *python = parser->python;

    if (python->nodes == MAX_NODES)
        return fail(parser, "the text is too long");
    if (GT_ARRAY_RESERVE(&python->node, python->nodes + 1, &python->capacity, NULL)) {
        parser->rc = parser->rc ? parser->rc : gt_err_nomem(parser->err);
        return -1;
    }
    python->node[python->nodes] = (struct gt_python_node){.op = op, .a = a, .b = b, .c = c};
    python->node[python->nodes].next = -1;
    return (int)python->nodes++;
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

/* Takes a word or a sign if it comes next.  A word must be complete; a sign must not be followed by
 * `not_before`. */
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
    int node;

    if (is_name(*end))
        return fail(parser, "a malformed number");
    parser->at = end;
    node = add(parser, GT_PYTHON_NUMBER, -1, -1, -1);
    if (node >= 0)
        parser->python->node[node].number = number;
    return node;
}

static int parse_text(struct parser *parser)
{
    char quote = *parser->at++;
    size_t length = strcspn(parser->at, quote == '"' ? "\"\\" : "'\\");
    int node;

    if (parser->at[length] != quote)
        return fail(parser, "a text without an end, or with a backslash,");
    node = add(parser, GT_PYTHON_TEXT, -1, -1, -1);
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
    int list = add(parser, GT_PYTHON_LIST, -1, -1, -1), last = -1;

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
            return fail(parser, "a comma or an end is missing");
    }
    return list;
}

/* Looks ahead for the variable of a [... for x in ...] that begins here, because the variable is
 * used before it is named. */
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

/* Parses what follows '['. */
static int parse_list(struct parser *parser)
{
    int each, source, condition = -1;

    if (*parser->variable) /* this list is nested in a comprehension whose variable it shares */
        return parse_elements(parser, "]");
    find_variable(parser);
    if (!*parser->variable)
        return parse_elements(parser, "]");
    each = parse_value(parser);
    if (!take(parser, "for", 0) || !take(parser, parser->variable, 0) || !take(parser, "in", 0))
        return fail(parser, "\"for NAME in\" is expected");
    source = parse_value(parser);
    if (take(parser, "if", 0))
        condition = parse_value(parser);
    if (!take(parser, "]", 0))
        return fail(parser, "\"]\" is missing");
    *parser->variable = '\0';
    return add(parser, GT_PYTHON_EACH, each, source, condition);
}

static int parse_call(struct parser *parser, const char *name, size_t length)
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
            return fail(parser, "the wrong number of arguments");
        return add(parser, known[i].op, known[i].one ? first : arguments, -1, -1);
    }
    return fail(parser, "an unknown function");
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
        slot = GT_PYTHON_VARIABLE;
    if (slot < 0) {
        if (!parser->rc)
            parser->rc = gt_err_set(parser->err, GT_ENOTFOUND, "\"%.200s\": unknown name \"%.*s\"",
                                    parser->python->source, length < 64 ? (int)length : 64, name);
        return -1;
    }
    if (slot < GT_PYTHON_VARIABLE)
        parser->python->uses |= (uint64_t)1 << slot;
    node = add(parser, GT_PYTHON_SLOT, -1, -1, -1);
    if (node >= 0)
        parser->python->node[node].slot = (size_t)slot;
    return node;
}

/* Parses what follows '(': a value in parentheses or a tuple, which becomes a list here. */
static int parse_parenthesis(struct parser *parser)
{
    int list = parse_elements(parser, ")"), first;

    if (parser->rc)
        return -1;
    first = parser->python->node[list].a;
    return first >= 0 && parser->python->node[first].next < 0 && parser->at[-2] != ',' ? first
                                                                                       : list;
}

static int parse_atom(struct parser *parser)
{
    int node;

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
        return add(parser, GT_PYTHON_NUMBER, -1, -1, -1);
    if (take(parser, "True", 0)) {
        node = add(parser, GT_PYTHON_NUMBER, -1, -1, -1);
        if (node >= 0)
            parser->python->node[node].number = 1;
        return node;
    }
    if (is_name(*parser->at))
        return parse_name(parser);
    return fail(parser, *parser->at ? "a value is expected" : "the text ends too early");
}

/* ---- operators, the tightest first ---- */

static int parse_factor(struct parser *parser)
{
    int node;

    if (parser->rc)
        return -1;
    if (++parser->depth > MAX_DEPTH) {
        fail(parser, "too deeply nested");
    } else if (take(parser, "-", 0)) {
        node = parse_factor(parser);
        parser->depth--;
        return add(parser, GT_PYTHON_NEGATE, node, -1, -1);
    } else if (take(parser, "+", 0)) {
        node = parse_factor(parser);
        parser->depth--;
        return add(parser, GT_PYTHON_FLOAT, node, -1, -1); /* a text cannot have a sign */
    }
    node = parser->rc ? -1 : parse_atom(parser);
    if (take(parser, "**", 0))
        node = add(parser, GT_PYTHON_POWER, node, parse_factor(parser), -1);
    parser->depth--;
    return node;
}

static int parse_term(struct parser *parser)
{
    int node = parse_factor(parser);

    for (;;) {
        if (take(parser, "*", '*'))
            node = add(parser, GT_PYTHON_MULTIPLY, node, parse_factor(parser), -1);
        else if (take(parser, "//", 0))
            node = add(parser, GT_PYTHON_FLOOR_DIVIDE, node, parse_factor(parser), -1);
        else if (take(parser, "/", 0))
            node = add(parser, GT_PYTHON_DIVIDE, node, parse_factor(parser), -1);
        else if (take(parser, "%", 0))
            node = add(parser, GT_PYTHON_MODULO, node, parse_factor(parser), -1);
        else
            return node;
    }
}

static int parse_sum(struct parser *parser)
{
    int node = parse_term(parser);

    for (;;) {
        if (take(parser, "+", 0))
            node = add(parser, GT_PYTHON_ADD, node, parse_term(parser), -1);
        else if (take(parser, "-", 0))
            node = add(parser, GT_PYTHON_SUBTRACT, node, parse_term(parser), -1);
        else
            return node;
    }
}

/* Parses one comparison of x with the operand *y that follows; -1 if none follows. */
static int parse_comparison(struct parser *parser, int x, int *y)
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
        if (!take(parser, known[i].sign, 0))
            continue;
        if (strcmp(known[i].sign, "not") == 0 && !take(parser, "in", 0))
            return fail(parser, "\"in\" is expected after \"not\"");
        *y = parse_sum(parser);
        node = known[i].swapped ? add(parser, known[i].op, *y, x, -1)
                                : add(parser, known[i].op, x, *y, -1);
        return known[i].negated ? add(parser, GT_PYTHON_NOT, node, -1, -1) : node;
    }
    return -1;
}

/* "a < b < c" is "a < b and b < c". */
static int parse_comparisons(struct parser *parser)
{
    int x = parse_sum(parser), y = -1;
    int all = parse_comparison(parser, x, &y), more;

    if (all < 0)
        return x;
    while ((more = parse_comparison(parser, y, &y)) >= 0)
        all = add(parser, GT_PYTHON_AND, all, more, -1);
    return all;
}

static int parse_not(struct parser *parser)
{
    int node;

    if (!take(parser, "not", 0))
        return parse_comparisons(parser);
    if (++parser->depth > MAX_DEPTH)
        return fail(parser, "too deeply nested");
    node = parse_not(parser);
    parser->depth--;
    return add(parser, GT_PYTHON_NOT, node, -1, -1);
}

static int parse_and(struct parser *parser)
{
    int node = parse_not(parser);

    while (take(parser, "and", 0))
        node = add(parser, GT_PYTHON_AND, node, parse_not(parser), -1);
    return node;
}

static int parse_or(struct parser *parser)
{
    int node = parse_and(parser);

    while (take(parser, "or", 0))
        node = add(parser, GT_PYTHON_OR, node, parse_and(parser), -1);
    return node;
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
    return add(parser, GT_PYTHON_IF, condition, parse_value(parser), node);
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
        fail(&parser, "what is this");
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
