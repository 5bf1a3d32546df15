/* expr.c - vocabulary: runs the bytecode of expressions on a small stack machine.
 *
 * Enumerating a space evaluates tens of millions of expressions, so that evaluation allocates
 * nothing and a right-hand operand that is a slot or a constant is part of the instruction. */
#include "kernel/expr_impl.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int gt_names_find(const struct gt_names *names, const char *name, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strncmp(names->name[i], name, length) && !names->name[i][length])
            return (int)i;
    return -1;
}

void gt_expr_free(struct gt_expr *expr)
{
    free(expr);
}

enum fault { FAULT_NONE, FAULT_OVERFLOW, FAULT_ZERO, FAULT_REST };

/* a = a op b for the operators that divide; kept apart because they are rarer and longer. */
static enum fault divide(enum gt_op op, int64_t *a, int64_t b)
{
    int64_t quotient, rest;

    if (!b)
        return FAULT_ZERO;
    if (b == -1) {
        if (op == GT_OP_MOD)
            *a = 0;
        else if (__builtin_sub_overflow((int64_t)0, *a, a))
            return FAULT_OVERFLOW;
        return FAULT_NONE;
    }
    quotient = *a / b;
    rest = *a % b;
    if (op == GT_OP_XDIV && rest)
        return FAULT_REST;
    if (op == GT_OP_CDIV && rest && (rest < 0) == (b < 0))
        quotient++;
    *a = op == GT_OP_MOD ? rest : quotient;
    return FAULT_NONE;
}

static int eval_error(const struct gt_expr *expr, enum fault fault, struct gt_err *err)
{
    static const char *const what[] = {
        [FAULT_OVERFLOW] = "overflows 64 bits",
        [FAULT_ZERO] = "divides by zero",
        [FAULT_REST] = "leaves a rest in xdiv, which must divide exactly",
    };

    return gt_err_set(err, GT_ERANGE, "expression \"%.*s\" %s", GT_EXPR_QUOTED, expr->text,
                      what[fault]);
}

/* The cases of one binary operator: its right-hand operand b, then what it does to *top. */
#define BINARY(name, action)           \
    case GT_OP_##name:                 \
        b = *top--;                    \
        action break;                  \
    case GT_OP_##name##_SLOT:          \
        b = slots[code->arg];          \
        action break;                  \
    case GT_OP_##name##_CONSTANT:      \
        b = expr->constant[code->arg]; \
        action break;

int gt_expr_eval(const struct gt_expr *expr, const int64_t *slots, int64_t *value,
                 struct gt_err *err)
{
    int64_t stack[GT_EXPR_STACK + 1], b;
    int64_t *top = stack; /* stack[0] is never read: the first push writes stack[1] */
    enum fault fault = FAULT_NONE;

    for (const struct gt_code *code = expr->code;; code++) {
        switch ((enum gt_op)code->op) {
            BINARY(ADD, if (__builtin_add_overflow(*top, b, top)) fault = FAULT_OVERFLOW;)
            BINARY(SUB, if (__builtin_sub_overflow(*top, b, top)) fault = FAULT_OVERFLOW;)
            BINARY(MUL, if (__builtin_mul_overflow(*top, b, top)) fault = FAULT_OVERFLOW;)
            BINARY(DIV, fault = divide(GT_OP_DIV, top, b);)
            BINARY(MOD, fault = divide(GT_OP_MOD, top, b);)
            BINARY(XDIV, fault = divide(GT_OP_XDIV, top, b);)
            BINARY(CDIV, fault = divide(GT_OP_CDIV, top, b);)
            BINARY(MIN, *top = *top < b ? *top : b;)
            BINARY(MAX, *top = *top > b ? *top : b;)
            BINARY(LT, *top = *top < b;)
            BINARY(LE, *top = *top <= b;)
            BINARY(GT, *top = *top > b;)
            BINARY(GE, *top = *top >= b;)
            BINARY(EQ, *top = *top == b;)
            BINARY(NE, *top = *top != b;)
        case GT_OP_SLOT:
            *++top = slots[code->arg];
            break;
        case GT_OP_CONSTANT:
            *++top = expr->constant[code->arg];
            break;
        case GT_OP_NEG:
            if (__builtin_sub_overflow((int64_t)0, *top, top))
                fault = FAULT_OVERFLOW;
            break;
        case GT_OP_NOT:
            *top = !*top;
            break;
        case GT_OP_BOOL:
            *top = !!*top;
            break;
        case GT_OP_POW2:
            *top = *top > 0 && !(*top & (*top - 1));
            break;
        case GT_OP_AND:
            if (*top)
                top--;
            else
                code = &expr->code[code->arg] - 1;
            break;
        case GT_OP_OR:
            if (*top) {
                *top = 1;
                code = &expr->code[code->arg] - 1;
            } else {
                top--;
            }
            break;
        case GT_OP_ELSE:
            if (!*top--)
                code = &expr->code[code->arg] - 1;
            break;
        case GT_OP_JUMP:
            code = &expr->code[code->arg] - 1;
            break;
        case GT_OP_END:
            *value = *top;
            return GT_OK;
        }
        if (fault)
            return eval_error(expr, fault, err);
    }
}

bool gt_expr_uses(const struct gt_expr *expr, size_t slot)
{
    return slot < GT_MAX_SLOTS && (expr->uses[slot / 64] >> slot % 64 & 1);
}

const char *gt_expr_text(const struct gt_expr *expr)
{
    return expr->text;
}
