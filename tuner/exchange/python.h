/* python.h - the Python that T1 files hold (t1.h): conditions such as
 * "KWG % ((MDIMC * NDIMC) / MDIMA) == 0", and lists of values such as "[2**i for i in range(6)]".
 *
 * Not the project's own expressions (src/kernel/expr.h), which are whole numbers: here / divides
 * truly, // rounds down, % has the sign of the divisor, comparisons chain, values may be texts.
 *
 * Understood: numbers, texts, True, False, names, + - * / // % **, < <= > >= == !=, in, not in,
 * and, or, not, x if c else y, parentheses, lists, lists joined by + and repeated by *, abs int
 * float max min round; for values also range, list(...) and one [... for x in ... if ...] a list.
 * Everything else is an error that quotes the text. */
#ifndef GT_PYTHON_H
#define GT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/expr.h"

struct gt_err;
struct gt_python;

struct gt_python_value {
    const char *text; /* NULL: a number; True is 1 */
    double number;
};

/* names->name[i] is the value in slot i (at most 64 of them).  GT_ESYNTAX, GT_ENOTFOUND (an unknown
 * name), GT_ENOMEM.  Free with gt_python_free. */
int gt_python_parse(struct gt_python **python, const char *text, const struct gt_names *names,
                    struct gt_err *err);
void gt_python_free(struct gt_python *python); /* NULL accepted */

/* Slots that the value can depend on, as bits. */
uint64_t gt_python_uses(const struct gt_python *python);

/* GT_ERANGE for a division by zero, arithmetic on a text, a list where a value is meant.  A text
 * belongs to python or to the slots. */
int gt_python_eval(const struct gt_python *python, const struct gt_python_value *slots,
                   struct gt_python_value *value, struct gt_err *err);

/* Whether Python's == holds of the two. */
bool gt_python_equal(const struct gt_python_value *x, const struct gt_python_value *y);

/* Whether Python would take the value for true. */
bool gt_python_true(const struct gt_python_value *value);

/* The elements of a list; texts belong to python.  visit returns GT_OK to go on. */
typedef int gt_python_visit(void *context, const struct gt_python_value *value, struct gt_err *err);
int gt_python_list(const struct gt_python *python, gt_python_visit *visit, void *context,
                   struct gt_err *err);

/* What python.c and python.c share; nobody else includes it. */

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

/* What python.c and python.c share; nobody else includes it. Each
 * function that reads returns its node, or -1 after an error. */

struct gt_python_parser {
    struct gt_python *python;
    const struct gt_names *names;
    const char *at;
    char variable[64]; /* of the [... for ...] being read; "": none */
    int depth;
    int rc;
    struct gt_err *err;
};

/* Reads a whole value, its operators included. */
int gt_python_value(struct gt_python_parser *parser);

#endif
