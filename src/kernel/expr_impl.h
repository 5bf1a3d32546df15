/* expr_impl.h - the bytecode between expr_parse.c, which writes it, and expr.c, which runs it. */
#ifndef GT_EXPR_IMPL_H
#define GT_EXPR_IMPL_H

#include "kernel/expr.h"

#define GT_EXPR_STACK  48  /* values alive at once */
#define GT_EXPR_QUOTED 160 /* characters of the expression repeated in a sentence */

/* Binary operators come three times: right-hand operand on the stack, in a slot, a constant. */
#define GT_BINARY_MAP(X) \
    X(ADD)               \
    X(SUB) X(MUL) X(DIV) X(MOD) X(XDIV) X(CDIV) X(MIN) X(MAX) X(LT) X(LE) X(GT) X(GE) X(EQ) X(NE)

enum gt_op {
#define BINARY_ENUM(name) GT_OP_##name, GT_OP_##name##_SLOT, GT_OP_##name##_CONSTANT,
    GT_BINARY_MAP(BINARY_ENUM)
#undef BINARY_ENUM
        GT_OP_SLOT,
    GT_OP_CONSTANT,
    GT_OP_NEG,
    GT_OP_NOT,
    GT_OP_BOOL, /* any value but 0 becomes 1 */
    GT_OP_POW2,
    GT_OP_AND,  /* top is 0: leave 0 and jump; else drop it */
    GT_OP_OR,   /* top is not 0: leave 1 and jump; else drop it */
    GT_OP_ELSE, /* drop top; jump if it was 0 */
    GT_OP_JUMP,
    GT_OP_END,
};

struct gt_code {
    uint16_t op;
    uint16_t arg; /* slot, index of a constant or target of a jump */
};

struct gt_expr {
    uint64_t uses[GT_MAX_SLOTS / 64]; /* bit set of slots */
    char *text;
    const int64_t *constant;
    struct gt_code code[]; /* then the constants and the text, in the same allocation */
};

#endif
