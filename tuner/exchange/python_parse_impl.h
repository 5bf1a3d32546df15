/* python_parse_impl.h - what python_parse.c and python_atoms.c share; nobody else includes it. Each
 * function that reads returns its node, or -1 after an error. */
#ifndef GT_PYTHON_PARSE_IMPL_H
#define GT_PYTHON_PARSE_IMPL_H

#include "exchange/python_impl.h"

struct gt_python_parser {
    struct gt_python *python;
    const struct gt_names *names;
    const char *at;
    char variable[64]; /* of the [... for ...] being read; "": none */
    int depth;
    int rc;
    struct gt_err *err;
};

/* Records an error; only the first one is kept. */
int gt_python_fail(struct gt_python_parser *parser, const char *what);

/* Adds a node with its operands. */
int gt_python_add(struct gt_python_parser *parser, enum gt_python_op op, int a, int b, int c);

void gt_python_skip_space(struct gt_python_parser *parser);

/* Takes a word or a sign if it comes next.  A word must be complete; a sign must not be followed by
 * `not_before`. */
bool gt_python_take(struct gt_python_parser *parser, const char *token, char not_before);

/* Reads a number, a text, a list, a call, a name, or a value in parentheses. */
int gt_python_atom(struct gt_python_parser *parser);

/* Reads a whole value, its operators included. */
int gt_python_value(struct gt_python_parser *parser);

#endif
