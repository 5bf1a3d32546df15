/* expr.c - vocabulary: runs the bytecode of expressions on a small stack machine.
 *
 * Enumerating a space evaluates tens of millions of expressions, so that evaluation allocates
 * nothing, a right-hand operand that is a slot or a constant is part of the instruction, and the
 * value on top of the stack is in a variable of its own, for a register. */
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

/* *value = a op b for the operators that divide: whatever is not done at once where b > 0. */
static enum fault divide(enum gt_op op, int64_t a, int64_t b, int64_t *value)
{
    int64_t quotient, rest;

    if (!b)
        return FAULT_ZERO;
    if (b == -1) {
        if (op == GT_OP_MOD)
            *value = 0;
        else if (__builtin_sub_overflow((int64_t)0, a, value))
            return FAULT_OVERFLOW;
        return FAULT_NONE;
    }
    quotient = a / b;
    rest = a % b;
    if (op == GT_OP_XDIV && rest)
        return FAULT_REST;
    if (op == GT_OP_CDIV && rest && (rest < 0) == (b < 0))
        quotient++;
    *value = op == GT_OP_MOD ? rest : quotient;
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

/* The cases of one binary operator: its right-hand operand b, then what it does to a. */
#define BINARY(name, action)           \
    case GT_OP_##name:                 \
        b = a;                         \
        a = *top--;                    \
        action break;                  \
    case GT_OP_##name##_SLOT:          \
        b = slots[code->arg];          \
        action break;                  \
    case GT_OP_##name##_CONSTANT:      \
        b = expr->constant[code->arg]; \
        action break;

/* Those of one that may overflow; `overflows` computes a. */
#define CHECKED(name, overflows) \
    BINARY(name, if (overflows) return eval_error(expr, FAULT_OVERFLOW, err);)

/* Those of one that divides; `easy`: what it does to a is `quick`. */
#define DIVIDING(name, easy, quick)                        \
    BINARY(                                                \
        name, if (easy) quick; else {                      \
            fault = divide(GT_OP_##name, a, b, &quotient); \
            if (fault)                                     \
                return eval_error(expr, fault, err);       \
            a = quotient;                                  \
        })

int gt_expr_eval(const struct gt_expr *expr, const int64_t *slots, int64_t *value,
                 struct gt_err *err)
{
    int64_t stack[GT_EXPR_STACK + 1], quotient, b;
    int64_t *top = stack; /* what is below the top, whose value is a */
    int64_t a = 0;        /* the first push leaves it below, where it is never read */
    enum fault fault;

    for (const struct gt_code *code = expr->code;; code++)
        switch ((enum gt_op)code->op) {
            CHECKED(ADD, __builtin_add_overflow(a, b, &a))
            CHECKED(SUB, __builtin_sub_overflow(a, b, &a))
            CHECKED(MUL, __builtin_mul_overflow(a, b, &a))
            DIVIDING(DIV, b > 0, a /= b)
            DIVIDING(MOD, b > 0, a %= b)
            DIVIDING(XDIV, b > 0 && a % b == 0, a /= b)
            DIVIDING(CDIV, b > 0, a = a / b + (a % b > 0))
            BINARY(MIN, a = a < b ? a : b;)
            BINARY(MAX, a = a > b ? a : b;)
            BINARY(LT, a = a < b;)
            BINARY(LE, a = a <= b;)
            BINARY(GT, a = a > b;)
            BINARY(GE, a = a >= b;)
            BINARY(EQ, a = a == b;)
            BINARY(NE, a = a != b;)
        case GT_OP_SLOT:
            *++top = a;
            a = slots[code->arg];
            break;
        case GT_OP_CONSTANT:
            *++top = a;
            a = expr->constant[code->arg];
            break;
        case GT_OP_NEG:
            if (__builtin_sub_overflow((int64_t)0, a, &a))
                return eval_error(expr, FAULT_OVERFLOW, err);
            break;
        case GT_OP_NOT:
            a = !a;
            break;
        case GT_OP_BOOL:
            a = !!a;
            break;
        case GT_OP_POW2:
            a = a > 0 && !(a & (a - 1));
            break;
        case GT_OP_AND:
            if (a)
                a = *top--;
            else
                code = &expr->code[code->arg] - 1;
            break;
        case GT_OP_OR:
            if (a) {
                a = 1;
                code = &expr->code[code->arg] - 1;
            } else {
                a = *top--;
            }
            break;
        case GT_OP_ELSE:
            if (!a)
                code = &expr->code[code->arg] - 1;
            a = *top--;
            break;
        case GT_OP_JUMP:
            code = &expr->code[code->arg] - 1;
            break;
        case GT_OP_END:
            *value = a;
            return GT_OK;
        }
}

bool gt_expr_uses(const struct gt_expr *expr, size_t slot)
{
    return slot < GT_MAX_SLOTS && (expr->uses[slot / 64] >> slot % 64 & 1);
}

bool gt_expr_uses_any(const struct gt_expr *expr, const uint64_t slots[GT_MAX_SLOTS / 64])
{
    uint64_t both = 0;

    for (size_t i = 0; i < GT_MAX_SLOTS / 64; i++)
        both |= expr->uses[i] & slots[i];
    return both != 0;
}

const char *gt_expr_text(const struct gt_expr *expr)
{
    return expr->text;
}
