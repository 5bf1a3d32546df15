/* expr.c - vocabulary: compiles expressions to bytecode and runs it on a small stack machine.
 *
 * Enumerating a space evaluates tens of millions of expressions, so that evaluation allocates
 * nothing, a right-hand operand that is a slot or a constant is part of the instruction, and the
 * value on top of the stack is in a variable of its own, for a register. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/expr.h"

/* ---- the bytecode ---- */

#define GT_EXPR_STACK  48  /* most values alive at once */
#define GT_EXPR_QUOTED 160 /* characters of the expression repeated in a sentence */

/* Binary operators come three times: with the right-hand operand on the stack, in a slot, and as a
 * constant. */
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
    GT_OP_AND,  /* top is 0: leave 0 and jump; else drop the top */
    GT_OP_OR,   /* top is not 0: leave 1 and jump; else drop the top */
    GT_OP_ELSE, /* drop the top; jump if it was 0 */
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
    struct gt_code code[]; /* the code; the constants and the text follow in the same allocation */
};

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

/* Computes *value = a op b for the operators that divide, in the cases that gt_expr_eval does not
 * compute itself. */
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

/* The three cases of one binary operator.  Each sets the right-hand operand b; then `action`
 * changes a, the left-hand operand, to the result. */
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

/* The cases of an operator that may overflow; the expression `overflows` computes a and tells
 * whether it overflowed. */
#define CHECKED(name, overflows) \
    BINARY(name, if (overflows) return eval_error(expr, FAULT_OVERFLOW, err);)

/* The cases of an operator that divides.  If the condition `easy` holds, the statement `quick`
 * computes a; else divide() does. */
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
    int64_t *top = stack; /* the values below the top value, which is in a */
    int64_t a = 0;        /* the first push puts this 0 below the stack, where it is never read */
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

/* ---- compiling a text to bytecode, by recursive descent ---- */

#define MAX_CODE  1024 /* most instructions, and most constants, of one expression */
#define MAX_DEPTH 64   /* deepest nesting of the text: parentheses, unary operators, ?: */
#define MAX_TEXT  4096

struct parser {
    const char *text, *at;
    const struct gt_names *names;
    struct gt_err *err;
    int rc; /* GT_OK until the first error; then nothing more is parsed or emitted */
    int depth;
    int stack; /* number of values on the machine's stack at this place of the code */
    size_t codes, constants;
    size_t label; /* a jump leads here, so the instruction before must not be changed */
    struct gt_code code[MAX_CODE];
    int64_t constant[MAX_CODE];
};

/* ---- emitting ---- */

static void fail(struct parser *p, const char *what)
{
    if (p->rc)
        return;
    p->rc = gt_err_set(p->err, GT_ESYNTAX, "expression \"%.*s\", character %zu: %s", GT_EXPR_QUOTED,
                       p->text, (size_t)(p->at - p->text) + 1, what);
}

static size_t emit(struct parser *p, enum gt_op op, size_t arg, int stack_change)
{
    if (p->rc)
        return 0;
    if (p->codes == MAX_CODE - 1) {
        fail(p, "the expression is too long");
        return 0;
    }
    p->stack += stack_change;
    if (p->stack > GT_EXPR_STACK)
        fail(p, "the expression is nested too deeply");
    p->code[p->codes] = (struct gt_code){(uint16_t)op, (uint16_t)arg};
    return p->codes++;
}

/* Emits a binary operator.  If its right-hand operand was just pushed from a slot or constant, the
 * push becomes part of the instruction. */
static void emit_binary(struct parser *p, enum gt_op op)
{
    struct gt_code *last;

    if (p->rc)
        return;
    last = &p->code[p->codes - 1];
    if (p->label < p->codes && (last->op == GT_OP_SLOT || last->op == GT_OP_CONSTANT)) {
        last->op = (uint16_t)(op + (last->op == GT_OP_SLOT ? 1 : 2));
        p->stack--;
        return;
    }
    emit(p, op, 0, -1);
}

/* Emits the change of any value but 0 to 1, unless the operator before leaves only 0 and 1. */
static void emit_bool(struct parser *p)
{
    const int last = p->codes && p->label < p->codes ? p->code[p->codes - 1].op : GT_OP_END;

    if ((last < GT_OP_LT || last > GT_OP_NE_CONSTANT) && last != GT_OP_NOT && last != GT_OP_POW2)
        emit(p, GT_OP_BOOL, 0, 0);
}

static void set_target(struct parser *p, size_t jump)
{
    if (p->rc)
        return;
    p->code[jump].arg = (uint16_t)p->codes;
    p->label = p->codes;
}

/* ---- parsing ---- */

static void parse_ternary(struct parser *p);

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
}

/* Takes the operator if it comes next and is not the beginning of a longer one. */
static bool take(struct parser *p, const char *operator)
{
    size_t length = strlen(operator);

    skip_space(p);
    if (p->rc || strncmp(p->at, operator, length))
        return false;
    if (length == 1 && strchr("<>!", *operator) && p->at[1] == '=')
        return false;
    p->at += length;
    return true;
}

static void expect(struct parser *p, const char *operator, const char * what)
{
    if (!p->rc && !take(p, operator))
        fail(p, what);
}

static void parse_number(struct parser *p)
{
    int64_t value = 0;
    int base = 10;

    if (p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X')) {
        base = 16;
        p->at += 2;
        if (!isxdigit((unsigned char)*p->at))
            fail(p, "0x is not followed by a hexadecimal digit");
    }
    while (!p->rc &&
           (base == 16 ? isxdigit((unsigned char)*p->at) : isdigit((unsigned char)*p->at))) {
        int c = tolower((unsigned char)*p->at);
        int digit = c <= '9' ? c - '0' : c - 'a' + 10;

        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            fail(p, "the number does not fit 64 bits");
        p->at++;
    }
    if (!p->rc && (isalnum((unsigned char)*p->at) || *p->at == '_' || *p->at == '.'))
        fail(p, "only whole numbers are allowed here");
    if (p->rc)
        return;
    p->constant[p->constants] = value;
    emit(p, GT_OP_CONSTANT, p->constants++, 1);
}

static const struct function {
    const char *name;
    int arguments;
    enum gt_op op;
} functions[] = {
    {"cdiv", 2, GT_OP_CDIV}, {"min", 2, GT_OP_MIN},   {"max", 2, GT_OP_MAX},
    {"xdiv", 2, GT_OP_XDIV}, {"pow2", 1, GT_OP_POW2},
};

static void parse_call(struct parser *p, const char *name, size_t length)
{
    const struct function *f = NULL;

    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length))
            f = &functions[i];
    if (!f) {
        p->at = name;
        fail(p, "unknown function; there are cdiv, min, max, xdiv and pow2");
        return;
    }
    p->at++;
    parse_ternary(p);
    if (f->arguments == 1) {
        emit(p, f->op, 0, 0);
    } else {
        expect(p, ",", "expected a comma and a second argument");
        parse_ternary(p);
        emit_binary(p, f->op);
    }
    expect(p, ")", "expected ) after the arguments of the function");
}

static void unknown_name(struct parser *p, const char *name, size_t length)
{
    const char *near = gt_near(name, length, p->names->name, p->names->count);

    if (p->rc)
        return;
    p->rc = gt_err_set(p->err, GT_ENOTFOUND, "expression \"%.*s\": unknown name \"%.*s\"%s%s%s",
                       GT_EXPR_QUOTED, p->text, (int)(length < 64 ? length : 64), name,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static void parse_name(struct parser *p)
{
    const char *name = p->at;
    size_t length = 0;
    int slot;

    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    p->at += length;
    skip_space(p);
    if (*p->at == '(') {
        parse_call(p, name, length);
        return;
    }
    slot = gt_names_find(p->names, name, length);
    if (slot < 0)
        unknown_name(p, name, length);
    else
        emit(p, GT_OP_SLOT, (size_t)slot, 1);
}

static void parse_primary(struct parser *p)
{
    skip_space(p);
    if (p->rc)
        return;
    if (take(p, "(")) {
        parse_ternary(p);
        expect(p, ")", "expected )");
    } else if (isdigit((unsigned char)*p->at)) {
        parse_number(p);
    } else if (isalpha((unsigned char)*p->at) || *p->at == '_') {
        parse_name(p);
    } else {
        fail(p, *p->at ? "expected a number, a name or (" : "the expression ends too early");
    }
}

static void parse_unary(struct parser *p)
{
    if (++p->depth > MAX_DEPTH)
        fail(p, "the expression is nested too deeply");
    if (take(p, "-")) {
        parse_unary(p);
        emit(p, GT_OP_NEG, 0, 0);
    } else if (take(p, "!")) {
        parse_unary(p);
        emit(p, GT_OP_NOT, 0, 0);
    } else {
        parse_primary(p);
    }
    p->depth--;
}

/* The binary operators by level, tightest first; all levels group to the left. */
static const struct level {
    struct {
        const char *text;
        enum gt_op op;
    } operator[4];
    int count;
} levels[] = {
    {{{"*", GT_OP_MUL}, {"/", GT_OP_DIV}, {"%", GT_OP_MOD}}, 3},
    {{{"+", GT_OP_ADD}, {"-", GT_OP_SUB}}, 2},
    {{{"<=", GT_OP_LE}, {">=", GT_OP_GE}, {"<", GT_OP_LT}, {">", GT_OP_GT}}, 4},
    {{{"==", GT_OP_EQ}, {"!=", GT_OP_NE}}, 2},
};
#define LEVELS (int)(sizeof(levels) / sizeof(*levels))

static void parse_level(struct parser *p, int level)
{
    int i;

    if (level < 0) {
        parse_unary(p);
        return;
    }
    parse_level(p, level - 1);
    do {
        for (i = 0; i < levels[level].count; i++)
            if (take(p, levels[level].operator[i].text)) {
                parse_level(p, level - 1);
                emit_binary(p, levels[level].operator[i].op);
                break;
            }
    } while (i < levels[level].count);
}

static void parse_and(struct parser *p)
{
    parse_level(p, LEVELS - 1);
    while (take(p, "&&")) {
        size_t jump = emit(p, GT_OP_AND, 0, -1);

        parse_level(p, LEVELS - 1);
        emit_bool(p);
        set_target(p, jump);
    }
}

static void parse_or(struct parser *p)
{
    parse_and(p);
    while (take(p, "||")) {
        size_t jump = emit(p, GT_OP_OR, 0, -1);

        parse_and(p);
        emit_bool(p);
        set_target(p, jump);
    }
}

static void parse_ternary(struct parser *p)
{
    size_t to_else, to_end;

    if (++p->depth > MAX_DEPTH)
        fail(p, "the expression is nested too deeply");
    if (p->rc)
        return;
    parse_or(p);
    if (take(p, "?")) {
        to_else = emit(p, GT_OP_ELSE, 0, -1);
        parse_ternary(p);
        to_end = emit(p, GT_OP_JUMP, 0, -1); /* the branches' one value is counted once */
        expect(p, ":", "expected : after the second part of ?:");
        set_target(p, to_else);
        parse_ternary(p);
        set_target(p, to_end);
    }
    p->depth--;
}

/* Copies code, constants and text into one allocation. */
static struct gt_expr *pack(const struct parser *p)
{
    size_t code_bytes = (p->codes * sizeof(struct gt_code) + 7) & ~(size_t)7;
    size_t constant_bytes = p->constants * sizeof(int64_t);
    size_t text_bytes = strlen(p->text) + 1;
    struct gt_expr *expr = malloc(sizeof(*expr) + code_bytes + constant_bytes + text_bytes);
    char *tail;

    if (!expr)
        return NULL;
    tail = (char *)expr->code;
    memset(expr->uses, 0, sizeof(expr->uses));
    memcpy(tail, p->code, p->codes * sizeof(struct gt_code));
    memcpy(tail + code_bytes, p->constant, constant_bytes);
    expr->constant = (const int64_t *)(void *)(tail + code_bytes);
    expr->text = tail + code_bytes + constant_bytes;
    memcpy(expr->text, p->text, text_bytes);
    for (size_t i = 0; i < p->codes; i++) {
        int op = p->code[i].op;

        if (op == GT_OP_SLOT || (op < GT_OP_SLOT && op % 3 == 1))
            expr->uses[p->code[i].arg / 64] |= (uint64_t)1 << p->code[i].arg % 64;
    }
    return expr;
}

int gt_expr_parse(struct gt_expr **expr, const char *text, const struct gt_names *names,
                  struct gt_err *err)
{
    struct parser p; /* not zeroed: its arrays are filled only as far as the counts say */

    *expr = NULL;
    p.text = p.at = text;
    p.names = names;
    p.err = err;
    p.rc = GT_OK;
    p.depth = p.stack = 0;
    p.codes = p.constants = p.label = 0;
    if (strlen(text) > MAX_TEXT)
        return gt_err_set(err, GT_ESYNTAX, "expression \"%.*s...\" has %zu characters; at most %d",
                          40, text, strlen(text), MAX_TEXT);
    parse_ternary(&p);
    skip_space(&p);
    if (!p.rc && *p.at)
        fail(&p, "unexpected text after the expression");
    emit(&p, GT_OP_END, 0, 0);
    if (p.rc)
        return p.rc;
    *expr = pack(&p);
    return *expr ? GT_OK : gt_err_nomem(err);
}
