/* expr.h - vocabulary: integer expressions over named values, parsed once to bytecode.
 *
 * Descriptions (configs/kernels) hold their constraints, derived values and launch geometry as such
 * expressions.  No other code of the project computes these values.
 *
 * Grammar: 64-bit integers (decimal, 0x), names, ( ), unary - !, * / % + -, < <= > >= == !=, && ||
 * (short circuit), ?: and the functions cdiv(a,b) min(a,b) max(a,b) pow2(a) (1 if a power of two)
 * and xdiv(a,b), a division that must leave no rest.  / and % truncate toward zero.  Division by
 * zero, a rest in xdiv and 64-bit overflow are errors that name the expression. */
#ifndef GT_EXPR_H
#define GT_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_err;
struct gt_expr;

/* The names that an expression may use; name[i] names the value in slot i. */
#define GT_MAX_SLOTS 256

struct gt_names {
    const char *name[GT_MAX_SLOTS];
    size_t count;
};

/* Slot of a name, or -1. */
int gt_names_find(const struct gt_names *names, const char *name, size_t length);

/* Parses text; an unknown name is an error that names it and suggests a near one.  Free with
 * gt_expr_free. */
int gt_expr_parse(struct gt_expr **expr, const char *text, const struct gt_names *names,
                  struct gt_err *err);
void gt_expr_free(struct gt_expr *expr); /* NULL accepted */

/* Evaluates over slots[0..names->count). */
int gt_expr_eval(const struct gt_expr *expr, const int64_t *slots, int64_t *value,
                 struct gt_err *err);

/* Whether the expression's value can depend on the slot. */
bool gt_expr_uses(const struct gt_expr *expr, size_t slot);

/* Whether the expression's value can depend on any slot of the bit set. */
bool gt_expr_uses_any(const struct gt_expr *expr, const uint64_t slots[GT_MAX_SLOTS / 64]);

/* The text that the expression was parsed from; the text belongs to the expression. */
const char *gt_expr_text(const struct gt_expr *expr);

#endif
