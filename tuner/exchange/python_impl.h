/* python_impl.h - what python_parse.c and python_eval.c share; nobody else includes it. */
#ifndef GT_PYTHON_IMPL_H
#define GT_PYTHON_IMPL_H

#include "exchange/python.h"

/* a, b, c: nodes, -1: none. */
enum gt_python_op {
    GT_PYTHON_NUMBER,
    GT_PYTHON_TEXT,
    GT_PYTHON_SLOT,
    GT_PYTHON_ADD,
    GT_PYTHON_SUBTRACT,
    GT_PYTHON_MULTIPLY,
    GT_PYTHON_DIVIDE,
    GT_PYTHON_FLOOR_DIVIDE,
    GT_PYTHON_MODULO,
    GT_PYTHON_POWER,
    GT_PYTHON_NEGATE,
    GT_PYTHON_LESS,
    GT_PYTHON_LESS_EQUAL,
    GT_PYTHON_EQUAL,
    GT_PYTHON_IN, /* a in the list b */
    GT_PYTHON_NOT,
    GT_PYTHON_AND,
    GT_PYTHON_OR,
    GT_PYTHON_IF,    /* c if a else b */
    GT_PYTHON_LIST,  /* elements: a, then each one's next */
    GT_PYTHON_EACH,  /* [a for the variable in b if c] */
    GT_PYTHON_RANGE, /* arguments as the elements of a list */
    GT_PYTHON_ABS,
    GT_PYTHON_INT,
    GT_PYTHON_FLOAT,
    GT_PYTHON_ROUND,
    GT_PYTHON_MIN,
    GT_PYTHON_MAX,
};

struct gt_python_node {
    enum gt_python_op op;
    int a, b, c, next;
    double number;
    char *text;
    size_t slot;
};

/* The slot of the variable of a [... for ...]; those of names come before. */
#define GT_PYTHON_VARIABLE 64

struct gt_python {
    char *source; /* for sentences */
    struct gt_python_node *node;
    size_t nodes, capacity;
    int root;
    uint64_t uses;
};

#endif
