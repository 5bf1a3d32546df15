/* python.h - the Python that T1 files hold (t1.h): conditions such as
 * "KWG % ((MDIMC * NDIMC) / MDIMA) == 0", and lists of values such as "[2**i for i in range(6)]".
 *
 * The project's own expressions (src/kernel/expr.h) are whole numbers.  Here / divides truly, //
 * rounds down, % has the sign of the divisor, comparisons chain, values may be texts.
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

/* The slots that the value can depend on, as bits. */
uint64_t gt_python_uses(const struct gt_python *python);

/* GT_ERANGE for a division by zero, arithmetic on a text, a list where a value is meant.  A text
 * belongs to python or to the slots. */
int gt_python_eval(const struct gt_python *python, const struct gt_python_value *slots,
                   struct gt_python_value *value, struct gt_err *err);

/* Whether Python's == holds for the two values. */
bool gt_python_equal(const struct gt_python_value *x, const struct gt_python_value *y);

/* Whether the value is true in Python. */
bool gt_python_true(const struct gt_python_value *value);

/* Visits the elements of a list; texts belong to python.  `visit` returns GT_OK to go on. */
typedef int gt_python_visit(void *context, const struct gt_python_value *value, struct gt_err *err);
int gt_python_list(const struct gt_python *python, gt_python_visit *visit, void *context,
                   struct gt_err *err);

#endif
