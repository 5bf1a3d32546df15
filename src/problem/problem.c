/* problem.c - vocabulary: the parts of a GEMM problem, their names, ranges and sizes. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "problem/problem.h"

static const char *const type_names[GT_DTYPE_COUNT] = {
#define TYPE_NAME(name, text, bits) [GT_##name] = text,
    GT_DTYPE_MAP(TYPE_NAME)
#undef TYPE_NAME
};
static const unsigned char type_bits[GT_DTYPE_COUNT] = {
#define TYPE_BITS(name, text, bits) [GT_##name] = bits,
    GT_DTYPE_MAP(TYPE_BITS)
#undef TYPE_BITS
};

const struct gt_type *gt_type_of(enum gt_dtype type)
{
    static const struct gt_type types[] = {
#define TYPE_ROW(name, arithmetic, kind, out, acc, accuracy, rate, cuda, tma, unit, absolute, \
                 largest)                                                                     \
    [GT_##name] = {arithmetic,     kind, GT_##out, GT_##acc, GT_ACCURACY_##accuracy,          \
                   GT_RATE_##rate, cuda, tma,      unit,     absolute,                        \
                   largest},
        GT_TYPE_TABLE(TYPE_ROW)
#undef TYPE_ROW
    };
    static const struct gt_type unknown = {.arithmetic = "unknown", .cuda = -1, .tma = -1};
#define TYPE_COUNT(...) +1
    _Static_assert(0 GT_TYPE_TABLE(TYPE_COUNT) == GT_DTYPE_COUNT, "a type lacks its row");
#undef TYPE_COUNT

    return (unsigned)type < GT_DTYPE_COUNT ? &types[type] : &unknown;
}

static const char *const accuracies[] = {
    [GT_ACCURACY_STRICT] = "strict",
    [GT_ACCURACY_F32] = "f32",
    [GT_ACCURACY_TF32] = "tf32",
    [GT_ACCURACY_LOW] = "low",
};

/* Names by GT_EPILOGUE_ value; NULL: there is no such activation. */
static const char *const epilogues[GT_EPILOGUE_COUNT] = {
    [GT_EPILOGUE_NONE] = "none",
    [GT_EPILOGUE_BIAS] = "bias",
    [GT_EPILOGUE_RELU] = "relu",
    [GT_EPILOGUE_GELU] = "gelu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_RELU] = "bias+relu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_GELU] = "bias+gelu",
    [GT_EPILOGUE_SILU] = "silu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_SILU] = "bias+silu",
    [GT_EPILOGUE_GELU_TANH] = "gelu_tanh",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_GELU_TANH] = "bias+gelu_tanh",
    [GT_EPILOGUE_SWIGLU] = "swiglu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_SWIGLU] = "bias+swiglu",
    [GT_EPILOGUE_GEGLU] = "geglu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_GEGLU] = "bias+geglu",
};

static const char *const layouts[4] = {"nn", "nt", "tn", "tt"};

/* Whether text[0..length) is that name, in capitals or not. */
static bool is_name(const char *name, const char *text, size_t length)
{
    return name && strlen(name) == length && !strncasecmp(name, text, length);
}

/* Finds the index of text[0..length) in a table of names. */
static bool find(unsigned *index, const char *const *name, unsigned count, const char *text,
                 size_t length)
{
    for (unsigned i = 0; i < count; i++)
        if (is_name(name[i], text, length)) {
            *index = i;
            return true;
        }
    return false;
}

const char *gt_dtype_name(enum gt_dtype type)
{
    return (unsigned)type < GT_DTYPE_COUNT ? type_names[type] : "unknown";
}

int gt_dtype_bits(enum gt_dtype type)
{
    return (unsigned)type < GT_DTYPE_COUNT ? type_bits[type] : 0;
}

int64_t gt_dtype_size(enum gt_dtype type)
{
    return (gt_dtype_bits(type) + 7) / 8;
}

bool gt_dtype_parse(enum gt_dtype *type, const char *text, size_t length)
{
    /* Other programs' names of types.  FP8 is not here, because there are two such types. */
    static const struct {
        char name[14];
        unsigned char type;
    } other[] = {{"fp32", GT_F32},         {"float", GT_F32},
                 {"float32", GT_F32},      {"single", GT_F32},
                 {"fp16", GT_F16},         {"half", GT_F16},
                 {"float16", GT_F16},      {"bfloat16", GT_BF16},
                 {"int8", GT_S8},          {"i8", GT_S8},
                 {"int32", GT_S32},        {"i32", GT_S32},
                 {"float8_e5m2", GT_E5M2}, {"float8_e4m3fn", GT_E4M3},
                 {"fp64", GT_F64},         {"double", GT_F64},
                 {"float64", GT_F64},      {"complex64", GT_C64},
                 {"complex128", GT_C128},  {"int4", GT_S4},
                 {"uint4", GT_U4},         {"fp4", GT_E2M1}};

    for (size_t i = 0; i < GT_DTYPE_COUNT + sizeof(other) / sizeof(other[0]); i++) {
        const size_t at = i - GT_DTYPE_COUNT;

        if (is_name(i < GT_DTYPE_COUNT ? type_names[i] : other[at].name, text, length)) {
            *type = i < GT_DTYPE_COUNT ? (enum gt_dtype)i : (enum gt_dtype)other[at].type;
            return true;
        }
    }
    return false;
}

const char *gt_accuracy_name(enum gt_accuracy accuracy)
{
    return (unsigned)accuracy < 4 ? accuracies[accuracy] : "unknown";
}

bool gt_accuracy_parse(enum gt_accuracy *accuracy, const char *text, size_t length)
{
    unsigned index = *accuracy;
    const bool found = find(&index, accuracies, 4, text, length) ||
                       (is_name("f64", text, length) && (index = GT_ACCURACY_F32) != 0);

    *accuracy = (enum gt_accuracy)index;
    return found;
}

const char *gt_epilogue_name(unsigned epilogue)
{
    return epilogue < GT_EPILOGUE_COUNT ? epilogues[epilogue] : NULL;
}

bool gt_epilogue_parse(unsigned *epilogue, const char *text, size_t length)
{
    return find(epilogue, epilogues, GT_EPILOGUE_COUNT, text, length);
}

const char *gt_layout_name(unsigned layout)
{
    return layout < 4 ? layouts[layout] : "unknown";
}

bool gt_layout_parse(unsigned *layout, const char *text, size_t length)
{
    return find(layout, layouts, 4, text, length);
}

unsigned gt_problem_layout(const struct gt_problem *problem)
{
    return problem->trans_a * 2u + problem->trans_b;
}

int64_t gt_problem_rows(const struct gt_problem *p, enum gt_operand operand)
{
    return operand == GT_OPERAND_B ? (p->trans_b ? p->n : p->k)
                                   : (operand == GT_OPERAND_A && p->trans_a ? p->k : p->m);
}

int64_t gt_problem_cols(const struct gt_problem *p, enum gt_operand operand)
{
    if (operand == GT_OPERAND_C)
        return gt_problem_columns(p);
    return operand == GT_OPERAND_A ? (p->trans_a ? p->m : p->k) : p->trans_b ? p->k : p->n;
}

int64_t gt_problem_ld(const struct gt_problem *problem, enum gt_operand operand)
{
    return operand == GT_OPERAND_A   ? problem->lda
           : operand == GT_OPERAND_B ? problem->ldb
                                     : problem->ldc;
}

int64_t gt_problem_stride(const struct gt_problem *problem, enum gt_operand operand)
{
    return operand == GT_OPERAND_A   ? problem->stride_a
           : operand == GT_OPERAND_B ? problem->stride_b
                                     : problem->stride_c;
}

enum gt_dtype gt_problem_dtype(const struct gt_problem *problem, enum gt_operand operand)
{
    return operand == GT_OPERAND_C   ? problem->out
           : operand == GT_OPERAND_B ? gt_problem_type_b(problem)
                                     : problem->type;
}

int64_t gt_problem_matrices(const struct gt_problem *p, enum gt_operand operand)
{
    if (!p->groups)
        return p->batch;
    return operand == (p->by == GT_GROUPS_BY_K ? GT_OPERAND_C : GT_OPERAND_B) ? p->groups : 1;
}

bool gt_problem_plain(const struct gt_problem *p)
{
    return gt_problem_type_b(p) == p->type && gt_problem_bias(p) == p->out && !p->scale_a.kind &&
           !p->scale_b.kind && !p->scale_d.kind && !p->zero_a && !p->zero_b && !p->sums &&
           !p->conj_a && !p->conj_b && !p->gate && !p->groups && !p->symmetric && !p->same_bits;
}

/* Factors of one line of MN, of K. */
static int64_t blocks(int64_t size, int64_t of)
{
    return of ? (size + of - 1) / of : 1;
}

int64_t gt_problem_factors(const struct gt_problem *p, enum gt_operand operand)
{
    const struct gt_scale *scale = gt_problem_scale(p, operand);
    const int64_t rows = operand == GT_OPERAND_B ? p->n : p->m;
    const int64_t depth = operand == GT_OPERAND_C ? gt_problem_columns(p) : p->k;
    const int64_t ls = operand == GT_OPERAND_A ? p->lsa : p->lsb;
    int64_t mn, k;

    if (scale->kind <= GT_SCALE_TENSOR)
        return scale->kind;
    if (scale->kind == GT_SCALE_VECTOR)
        return rows;
    mn = blocks(rows, scale->rows);
    k = blocks(depth, scale->depth);
    if (scale->order == GT_SCALE_TILED)
        return blocks(mn, 128) * 128 * blocks(k, 4) * 4;
    if (!mn || !k)
        return 0;
    if (operand == GT_OPERAND_C)
        return mn * k;
    return scale->order == GT_SCALE_K ? (mn - 1) * ls + k : (k - 1) * ls + mn;
}

int gt_scale_bits(enum gt_scale_type type)
{
    static const unsigned char bits[] = {[GT_SCALE_F32] = 32,
                                         [GT_SCALE_UE8M0] = 8,
                                         [GT_SCALE_UE4M3] = 8,
                                         [GT_SCALE_BF16] = 16,
                                         [GT_SCALE_F16] = 16};

    return type <= GT_SCALE_F16 ? bits[type] : 0;
}

int64_t gt_problem_line(const struct gt_problem *p, enum gt_operand operand)
{
    const struct gt_scale *scale = gt_problem_scale(p, operand);

    if (scale->kind != GT_SCALE_BLOCK || scale->order == GT_SCALE_TILED)
        return 0;
    return scale->order == GT_SCALE_K ? blocks(p->k, scale->depth)
                                      : blocks(operand == GT_OPERAND_B ? p->n : p->m, scale->rows);
}

/* Elements that one matrix spans.  The product cannot overflow, because rows and ld are at most
 * GT_MAX_EXTENT. */
static int64_t span(const struct gt_problem *problem, enum gt_operand operand)
{
    int64_t rows = gt_problem_rows(problem, operand), cols = gt_problem_cols(problem, operand);

    return rows && cols ? (rows - 1) * gt_problem_ld(problem, operand) + cols : 0;
}

int64_t gt_problem_elements(const struct gt_problem *problem, enum gt_operand operand)
{
    int64_t one = span(problem, operand);

    return one ? (gt_problem_matrices(problem, operand) - 1) * gt_problem_stride(problem, operand) +
                     one
               : 0;
}

int64_t gt_problem_bytes(const struct gt_problem *problem, enum gt_operand operand)
{
    const int64_t elements = gt_problem_elements(problem, operand);
    const int bits = gt_dtype_bits(gt_problem_dtype(problem, operand));

    return bits < 8 ? (elements + 1) / 2 : elements * (bits / 8);
}

int gt_problem_alignment(const struct gt_problem *problem, enum gt_operand operand)
{
    const uint64_t bits = (uint64_t)gt_dtype_bits(gt_problem_dtype(problem, operand));
    /* Only the lower bits matter, so that a product may wrap around. */
    uint64_t offsets =
        problem->align * 8u | (uint64_t)gt_problem_ld(problem, operand) * bits | 16 * 8;

    if (gt_problem_matrices(problem, operand) > 1)
        offsets |= (uint64_t)gt_problem_stride(problem, operand) * bits;
    offsets &= -offsets; /* the lowest bit that is set in any of the offsets, in bits */
    return offsets < 8 ? 1 : (int)(offsets / 8);
}

double gt_problem_touched(const struct gt_problem *problem, enum gt_operand operand)
{
    double matrix =
        (double)gt_problem_rows(problem, operand) * (double)gt_problem_cols(problem, operand);
    double times =
        gt_problem_stride(problem, operand) ? (double)gt_problem_matrices(problem, operand) : 1;

    return matrix * times * gt_dtype_bits(gt_problem_dtype(problem, operand)) / 8;
}

double gt_problem_traffic(const struct gt_problem *problem)
{
    return gt_problem_touched(problem, GT_OPERAND_A) + gt_problem_touched(problem, GT_OPERAND_B) +
           gt_problem_touched(problem, GT_OPERAND_C) * (gt_problem_reads_c(problem) ? 2 : 1);
}

double gt_problem_flops(const struct gt_problem *problem)
{
    return (gt_type_complex(problem->type) ? 8.0 : 2.0) * (double)problem->m * (double)problem->n *
           (double)problem->k * (double)problem->batch;
}

void gt_problem_pack(struct gt_problem *problem)
{
    int64_t a = gt_problem_cols(problem, GT_OPERAND_A), b = gt_problem_cols(problem, GT_OPERAND_B);

    /* A matrix without columns still has rows that are one element apart, as BLAS asks. */
    problem->lda = a > 1 ? a : 1;
    problem->ldb = b > 1 ? b : 1;
    problem->ldc = gt_problem_columns(problem) > 1 ? gt_problem_columns(problem) : 1;
    problem->stride_a = gt_problem_rows(problem, GT_OPERAND_A) * problem->lda;
    problem->stride_b = gt_problem_rows(problem, GT_OPERAND_B) * problem->ldb;
    problem->stride_c = problem->m * problem->ldc;
    problem->lsa = gt_problem_line(problem, GT_OPERAND_A);
    problem->lsb = gt_problem_line(problem, GT_OPERAND_B);
}

void gt_problem_retype(struct gt_problem *problem, enum gt_dtype type)
{
    problem->type = type;
    problem->type_b = problem->bias = GT_DTYPE_SAME;
    problem->out = gt_dtype_default_out(type);
    problem->acc = gt_dtype_default_acc(type);
    problem->accuracy = gt_dtype_default_accuracy(type);
    problem->sums = gt_problem_default_sums(problem);
    gt_problem_pack(problem);
}

void gt_problem_init(struct gt_problem *problem, int64_t m, int64_t n, int64_t k)
{
    memset(problem, 0, sizeof(*problem)); /* padding, too: equal problems have equal bytes */
    problem->version = GT_PROBLEM_VERSION;
    problem->m = m;
    problem->n = n;
    problem->k = k;
    problem->batch = 1;
    problem->type = problem->out = problem->acc = GT_F32;
    problem->type_b = problem->bias = GT_DTYPE_SAME;
    problem->align = 16;
    problem->accuracy = GT_ACCURACY_STRICT;
    problem->alpha = 1;
    if (m >= 0 && m <= GT_MAX_EXTENT && n >= 0 && n <= GT_MAX_EXTENT && k >= 0 &&
        k <= GT_MAX_EXTENT) /* sizes that gt_problem_check refuses are not multiplied here */
        gt_problem_pack(problem);
}

/* ---- the check ---- */

static int refused(struct gt_err *err, const char *what)
{
    return gt_err_set(err, GT_ERANGE, "problem: %s", what);
}

static int check_sizes(const struct gt_problem *p, struct gt_err *err)
{
    const struct {
        const char *name;
        int64_t value, least;
    } sizes[] = {{"m", p->m, 0},          {"n", p->n, 0},     {"k", p->k, 0},
                 {"batch", p->batch, 1},  {"lda", p->lda, 1}, {"ldb", p->ldb, 1},
                 {"ldc", p->ldc, 1},      {"lsa", p->lsa, 0}, {"lsb", p->lsb, 0},
                 {"groups", p->groups, 0}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        if (sizes[i].value < sizes[i].least || sizes[i].value > GT_MAX_EXTENT)
            return gt_err_set(err, GT_ERANGE,
                              "problem: %s is %lld; it must lie between %lld and %lld",
                              sizes[i].name, (long long)sizes[i].value, (long long)sizes[i].least,
                              (long long)GT_MAX_EXTENT);
    for (int i = GT_OPERAND_A; i <= GT_OPERAND_C; i++) {
        int64_t ld = gt_problem_ld(p, (enum gt_operand)i);
        int64_t cols = gt_problem_cols(p, (enum gt_operand)i);

        if (ld < cols)
            return gt_err_set(err, GT_ERANGE,
                              "problem: ld%c is %lld, less than a row of %lld elements", "abc"[i],
                              (long long)ld, (long long)cols);
    }
    for (int i = GT_OPERAND_A; i <= GT_OPERAND_B; i++) {
        const int64_t line = gt_problem_line(p, (enum gt_operand)i), ls = i ? p->lsb : p->lsa;

        if (line ? ls < line : ls != 0)
            return gt_err_set(err, GT_ERANGE,
                              "problem: ls%c is %lld; a line of the scale's factors has %lld",
                              "ab"[i], (long long)ls, (long long)line);
    }
    return GT_OK;
}

/* Whether batch and stride of the operand keep every element's byte offset within 62 bits. */
static bool addressable(const struct gt_problem *p, enum gt_operand operand)
{
    int64_t bytes;

    return !__builtin_mul_overflow(gt_problem_matrices(p, operand) - 1,
                                   gt_problem_stride(p, operand), &bytes) &&
           !__builtin_add_overflow(bytes, span(p, operand), &bytes) &&
           !__builtin_mul_overflow(bytes, gt_dtype_size(gt_problem_dtype(p, operand)), &bytes) &&
           bytes < (int64_t)1 << 62;
}

static int check_batch(const struct gt_problem *p, struct gt_err *err)
{
    for (int i = GT_OPERAND_A; i <= GT_OPERAND_C; i++) {
        int64_t stride = gt_problem_stride(p, (enum gt_operand)i);

        if (stride < 0)
            return gt_err_set(err, GT_ERANGE, "problem: s%c is %lld; it must not be negative",
                              "abc"[i], (long long)stride);
        if (!addressable(p, (enum gt_operand)i))
            return gt_err_set(err, GT_ERANGE,
                              "problem: operand %c spans more bytes than can be addressed",
                              "ABC"[i]);
    }
    if (gt_problem_matrices(p, GT_OPERAND_C) > 1 && p->stride_c < span(p, GT_OPERAND_C))
        return gt_err_set(err, GT_ERANGE,
                          "problem: sc is %lld, so that matrices of D overlap; one spans %lld "
                          "elements",
                          (long long)p->stride_c, (long long)span(p, GT_OPERAND_C));
    return GT_OK;
}

/* Whether a product of these two types can be: integers with integers; narrow floats with floats
 * and with integers, which are weights to be widened. */
static bool types_match(enum gt_dtype a, enum gt_dtype b)
{
    const struct gt_type *of_a = gt_type_of(a), *of_b = gt_type_of(b);

    if (a == b)
        return true;
    return gt_dtype_bits(a) <= 16 && gt_dtype_bits(b) <= 16 &&
           (!(of_a->kind & GT_TYPE_INTEGER) || of_b->kind & GT_TYPE_INTEGER);
}

static int check_types(const struct gt_problem *p, struct gt_err *err)
{
    const enum gt_dtype b = gt_problem_type_b(p), bias = gt_problem_bias(p);
    const enum gt_dtype acc = gt_dtype_default_acc(p->type);
    const bool complex = gt_type_complex(p->type);

    if ((unsigned)p->type >= GT_DTYPE_COUNT || p->type == GT_S32 || (unsigned)b >= GT_DTYPE_COUNT ||
        b == GT_S32)
        return gt_err_set(
            err, GT_ERANGE, "problem: %s is not a type of A and B",
            gt_dtype_name((unsigned)p->type >= GT_DTYPE_COUNT || p->type == GT_S32 ? p->type : b));
    if (!types_match(p->type, b))
        return gt_err_set(err, GT_ERANGE, "problem: there is no product of %s and %s",
                          gt_dtype_name(p->type), gt_dtype_name(b));
    if ((unsigned)p->out >= GT_DTYPE_COUNT || p->out == GT_TF32 || gt_dtype_bits(p->out) < 8)
        return gt_err_set(err, GT_ERANGE, "problem: %s is not a type of C and D",
                          gt_dtype_name(p->out));
    if (gt_type_complex(p->out) != complex)
        return gt_err_set(
            err, GT_ERANGE, "problem: D of %s does not fit %s, products of which are %s",
            gt_dtype_name(p->out), gt_dtype_name(p->type), complex ? "complex" : "real");
    if (p->acc != GT_F32 && p->acc != GT_F16 && p->acc != GT_S32 && p->acc != GT_F64)
        return gt_err_set(err, GT_ERANGE, "problem: acc is %s; it must be f32, f16, s32 or f64",
                          gt_dtype_name(p->acc));
    if ((acc == GT_S32) != (p->acc == GT_S32) || (acc == GT_F64 && p->acc != GT_F64) ||
        (complex && p->acc == GT_F16))
        return gt_err_set(err, GT_ERANGE, "problem: products of %s cannot be summed in %s",
                          gt_dtype_name(p->type), gt_dtype_name(p->acc));
    if (p->out == GT_S32 && p->acc != GT_S32)
        return gt_err_set(err, GT_ERANGE, "problem: D of s32 takes sums in s32, not in %s",
                          gt_dtype_name(p->acc));
    if (p->out == GT_S32 && p->epilogue)
        return gt_err_set(err, GT_ERANGE,
                          "problem: D of s32 takes no epilogue, such as %s; with out=f32 it would",
                          gt_epilogue_name(p->epilogue));
    if (complex && GT_ACTIVATION(p->epilogue))
        return gt_err_set(err, GT_ERANGE, "problem: %s has no meaning for complex numbers",
                          gt_epilogue_name(p->epilogue));
    if ((unsigned)bias >= GT_DTYPE_COUNT || gt_type_complex(bias) != complex ||
        gt_dtype_bits(bias) < 8 || (!(p->epilogue & GT_EPILOGUE_BIAS) && bias != p->out))
        return gt_err_set(err, GT_ERANGE, "problem: bias is %s, %s", gt_dtype_name(bias),
                          p->epilogue & GT_EPILOGUE_BIAS ? "which is no type of it"
                                                         : "and the epilogue adds none");
    if ((unsigned)p->accuracy > GT_ACCURACY_LOW)
        return gt_err_set(err, GT_ERANGE, "problem: accuracy is %d; there are strict to low",
                          (int)p->accuracy);
    return GT_OK;
}

/* ---- scales, groups and what else has a meaning beside them ---- */

static int check_scale(const struct gt_problem *p, enum gt_operand operand, struct gt_err *err)
{
    const struct gt_scale *s = gt_problem_scale(p, operand);
    const bool d = operand == GT_OPERAND_C, block = s->kind == GT_SCALE_BLOCK;
    const char name = "abd"[operand];

    if (s->kind > GT_SCALE_BLOCK || s->type > GT_SCALE_F16 || s->order > GT_SCALE_TILED ||
        s->tensor > 1 ||
        (block && ((s->rows != 1 && s->rows != 128) ||
                   (s->depth != 16 && s->depth != 32 && s->depth != 64 && s->depth != 128))))
        return gt_err_set(err, GT_ERANGE, "problem: scale_%c is none that there is", name);
    if ((!s->kind && (s->type || s->tensor)) || (!block && (s->rows || s->depth || s->order)))
        return gt_err_set(err, GT_ERANGE, "problem: scale_%c has parts without a block", name);
    if (s->tensor && s->kind == GT_SCALE_TENSOR)
        return gt_err_set(err, GT_ERANGE, "problem: scale_%c has two factors for the tensor", name);
    if (d && s->kind &&
        (s->type || s->order || s->tensor || (block && (s->rows != 1 || s->depth != 128))))
        return refused(err, "scale_d is tensor, vector or 1x128, of float32");
    if (d && s->kind && gt_dtype_bits(p->out) > 8)
        return gt_err_set(err, GT_ERANGE,
                          "problem: scale_d quantises D; with D of %s it has no meaning",
                          gt_dtype_name(p->out));
    if (s->kind && (gt_type_complex(p->type) || p->acc == GT_F64))
        return gt_err_set(err, GT_ERANGE, "problem: scale_%c has no meaning for %s", name,
                          gt_dtype_name(p->type));
    if (s->kind && !d && p->out == GT_S32)
        return gt_err_set(err, GT_ERANGE,
                          "problem: D of s32 takes no scale_%c; with out=bf16 it would", name);
    return GT_OK;
}

static int check_groups(const struct gt_problem *p, struct gt_err *err)
{
    if (p->by > GT_GROUPS_BY_K || p->sizes > GT_SIZES_PADDED)
        return refused(err, "by is m or k, and sizes are offsets, masked or padded");
    if (!p->groups)
        return p->by || p->sizes ? refused(err, "by and sizes belong to groups=E") : GT_OK;
    if (p->batch > 1)
        return refused(err, "groups and batch are two ways to say the same; give one");
    if (p->by == GT_GROUPS_BY_K && p->sizes != GT_SIZES_OFFSETS)
        return refused(err, "groups by=k take sizes=offsets");
    if (p->sizes == GT_SIZES_MASKED && p->m % p->groups)
        return gt_err_set(
            err, GT_ERANGE,
            "problem: m is %lld; with sizes=masked it is groups (%lld) times the most "
            "rows of a group",
            (long long)p->m, (long long)p->groups);
    return GT_OK;
}

static int check_words(const struct gt_problem *p, struct gt_err *err)
{
    const bool gated = gt_epilogue_gated(p->epilogue);
    int rc = GT_OK;

    for (int i = GT_OPERAND_A; i <= GT_OPERAND_C && !rc; i++)
        rc = check_scale(p, (enum gt_operand)i, err);
    GT_STEP(rc, check_groups(p, err));
    if (rc)
        return rc;
    if (p->conj_a > 1 || p->conj_b > 1 || ((p->conj_a || p->conj_b) && !gt_type_complex(p->type)))
        return refused(err, "conj has a meaning for complex types only: c64 and c128");
    if (p->zero_a > 1 || p->zero_b > 1 || (p->zero_a && !gt_type_integer(p->type)) ||
        (p->zero_b && !gt_type_integer(gt_problem_type_b(p))))
        return refused(err, "zero points have a meaning for integers only: s8, s4 and u4");
    if ((p->zero_a && !p->scale_a.kind) || (p->zero_b && !p->scale_b.kind))
        return refused(err, "zero points come with scale factors: zero_a with scale_a, zero_b with "
                            "scale_b");
    if (p->sums > GT_SUMS_PROMOTED || (p->sums && !gt_type_f8(p->type)))
        return refused(err, "sums has a meaning for e4m3, e5m2 and e2m1 only: fast or promoted");
    if (!p->sums && gt_type_f8(p->type) && !gt_problem_thin_blocks(p) &&
        (p->scale_a.kind == GT_SCALE_BLOCK || p->scale_b.kind == GT_SCALE_BLOCK))
        return refused(err, "sums are always promoted where scales lie along k");
    if (p->gate > GT_GATE_INTERLEAVED || (p->gate && !gated))
        return refused(err, "gate belongs to epi=swiglu and epi=geglu");
    if (gated && (p->n % 2 || p->beta != 0))
        return refused(err, "a gated epilogue takes an even n and beta=0");
    if (p->symmetric > 3 || p->same_bits > 1)
        return refused(err, "symmetric is lower, upper or full, and same_bits is 1");
    if (p->symmetric && p->m != p->n)
        return refused(err, "a symmetric D has as many rows as columns");
    return GT_OK;
}

bool gt_factor_valid(double factor, enum gt_dtype out, enum gt_dtype acc)
{
    const float passed = (float)factor;

    if (acc == GT_F64)
        return isfinite(factor);
    return isfinite(passed) && (passed == 0) == (factor == 0) &&
           (out != GT_S32 || (gt_factor_is_s32(factor) && factor == (double)passed));
}

static int check_factor(const struct gt_problem *p, const char *name, double value,
                        struct gt_err *err)
{
    if (gt_factor_valid(value, p->out, p->acc))
        return GT_OK;
    if (p->acc == GT_F64)
        return gt_err_set(err, GT_ERANGE, "problem: %s is %.9g; it must be a finite number", name,
                          value);
    if (!gt_factor_valid(value, GT_F32, GT_F32))
        return gt_err_set(err, GT_ERANGE,
                          "problem: %s is %.9g; it must be 0 or a finite float32, 1.4e-45 to "
                          "3.4e+38",
                          name, value);
    return gt_err_set(err, GT_ERANGE,
                      "problem: %s is %.10g; where D is s32 it must be a whole number from "
                      "-2147483648 to 2147483520 that float32 holds exactly",
                      name, value);
}

int gt_problem_check(const struct gt_problem *p, struct gt_err *err)
{
    int rc;

    for (size_t i = 0; i < sizeof(p->reserved) / sizeof(*p->reserved); i++)
        if (p->version > GT_PROBLEM_VERSION || p->reserved[i] != 0)
            return gt_err_set(err, GT_ERANGE,
                              "problem: version %u with fields that this library (version %d) does "
                              "not know; begin with gt_problem_init",
                              p->version, GT_PROBLEM_VERSION);
    if (p->trans_a > 1 || p->trans_b > 1)
        return gt_err_set(err, GT_ERANGE, "problem: trans_a and trans_b must be 0 or 1");
    if (!gt_epilogue_name(p->epilogue))
        return gt_err_set(err, GT_ERANGE,
                          "problem: epilogue %d has an activation that there is not",
                          (int)p->epilogue);
    if (p->align < 1 || p->align > 16 || (p->align & (p->align - 1)))
        return gt_err_set(err, GT_ERANGE, "problem: align is %d; it must be 1, 2, 4, 8 or 16",
                          (int)p->align);
    rc = check_types(p, err);
    GT_STEP(rc, check_factor(p, "alpha", p->alpha, err));
    GT_STEP(rc, check_factor(p, "beta", p->beta, err));
    GT_STEP(rc, check_factor(p, "alpha's imaginary part", p->alpha_im, err));
    GT_STEP(rc, check_factor(p, "beta's imaginary part", p->beta_im, err));
    if (!rc && (p->alpha_im != 0 || p->beta_im != 0) && !gt_type_complex(p->type))
        return refused(err, "alpha and beta have imaginary parts, and the operands are real");
    GT_STEP(rc, check_words(p, err));
    GT_STEP(rc, check_sizes(p, err));
    GT_STEP(rc, check_batch(p, err));
    return rc;
}
