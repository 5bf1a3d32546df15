/* python_atoms.c - reads the atoms of Python in T1 files: numbers, texts, lists, calls, names; see
 * python_parse_impl.h. */
#include "exchange/python_parse_impl.h"

#include "base/array.h"
#include "base/err.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 4096 /* of one text */

int gt_python_fail(struct gt_python_parser *parser, const char *what)
{
    if (!parser->rc)
        parser->rc = gt_err_set(parser->err, GT_ESYNTAX, "\"%.200s\": %s at \"%.40s\"",
                                parser->python->source, what, parser->at);
    return -1;
}

int gt_python_add(struct gt_python_parser *parser, enum gt_python_op op, int a, int b, int c)
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

void gt_python_skip_space(struct gt_python_parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool gt_python_take(struct gt_python_parser *parser, const char *token, char not_before)
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

int gt_python_atom(struct gt_python_parser *parser)
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
