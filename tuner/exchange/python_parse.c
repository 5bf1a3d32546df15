/* python_parse.c - reads the Python of T1 files into a tree, by recursive descent: operators, the
 * tightest first; python_atoms.c has what stands between them.  See python.h. */
#include "exchange/python_parse_impl.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

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
