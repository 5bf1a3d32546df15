/* problem.c - vocabulary: the parts of a GEMM problem, their names, ranges and sizes, and its text
 * form. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"

static const struct {
    const char *name;
    int64_t size;
} dtypes[GT_DTYPE_COUNT] = {
#define DTYPE_ROW(name, text, bytes) [GT_##name] = {text, bytes},
    GT_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

static const char *const accuracies[] = {
    [GT_ACCURACY_STRICT] = "strict",
    [GT_ACCURACY_F32] = "f32",
    [GT_ACCURACY_TF32] = "tf32",
    [GT_ACCURACY_LOW] = "low",
};

/* Names by GT_EPILOGUE_ value; NULL: there is no such activation. */
static const char *const epilogues[8] = {
    [GT_EPILOGUE_NONE] = "none",
    [GT_EPILOGUE_BIAS] = "bias",
    [GT_EPILOGUE_RELU] = "relu",
    [GT_EPILOGUE_GELU] = "gelu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_RELU] = "bias+relu",
    [GT_EPILOGUE_BIAS | GT_EPILOGUE_GELU] = "bias+gelu",
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
    return (unsigned)type < GT_DTYPE_COUNT ? dtypes[type].name : "unknown";
}

int64_t gt_dtype_size(enum gt_dtype type)
{
    return (unsigned)type < GT_DTYPE_COUNT ? dtypes[type].size : 0;
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
                 {"float8_e5m2", GT_E5M2}, {"float8_e4m3fn", GT_E4M3}};

    for (size_t i = 0; i < GT_DTYPE_COUNT + sizeof(other) / sizeof(other[0]); i++) {
        const size_t at = i - GT_DTYPE_COUNT;

        if (is_name(i < GT_DTYPE_COUNT ? dtypes[i].name : other[at].name, text, length)) {
            *type = i < GT_DTYPE_COUNT ? (enum gt_dtype)i : (enum gt_dtype)other[at].type;
            return true;
        }
    }
    return false;
}

enum gt_dtype gt_dtype_default_out(enum gt_dtype type)
{
    return type == GT_TF32                      ? GT_F32
           : type == GT_E4M3 || type == GT_E5M2 ? GT_BF16
           : type == GT_S8                      ? GT_S32
                                                : type;
}

enum gt_dtype gt_dtype_default_acc(enum gt_dtype type)
{
    return type == GT_S8 || type == GT_S32 ? GT_S32 : GT_F32;
}

enum gt_accuracy gt_dtype_default_accuracy(enum gt_dtype type)
{
    return type == GT_F32    ? GT_ACCURACY_STRICT
           : type == GT_TF32 ? GT_ACCURACY_TF32
                             : GT_ACCURACY_LOW;
}

const char *gt_accuracy_name(enum gt_accuracy accuracy)
{
    return (unsigned)accuracy < 4 ? accuracies[accuracy] : "unknown";
}

bool gt_accuracy_parse(enum gt_accuracy *accuracy, const char *text, size_t length)
{
    unsigned index = *accuracy;
    const bool found = find(&index, accuracies, 4, text, length);

    *accuracy = (enum gt_accuracy)index;
    return found;
}

const char *gt_epilogue_name(unsigned epilogue)
{
    return epilogue < 8 ? epilogues[epilogue] : NULL;
}

bool gt_epilogue_parse(unsigned *epilogue, const char *text, size_t length)
{
    return find(epilogue, epilogues, 8, text, length);
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
    return operand == GT_OPERAND_A ? (p->trans_a ? p->m : p->k)
                                   : (operand == GT_OPERAND_B && p->trans_b ? p->k : p->n);
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
    return operand == GT_OPERAND_C ? problem->out : problem->type;
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

    return one ? (problem->batch - 1) * gt_problem_stride(problem, operand) + one : 0;
}

int64_t gt_problem_bytes(const struct gt_problem *problem, enum gt_operand operand)
{
    return gt_problem_elements(problem, operand) *
           gt_dtype_size(gt_problem_dtype(problem, operand));
}

int gt_problem_alignment(const struct gt_problem *problem, enum gt_operand operand)
{
    int64_t size = gt_dtype_size(gt_problem_dtype(problem, operand));
    int64_t offsets = problem->align | gt_problem_ld(problem, operand) * size | 16;

    if (problem->batch > 1)
        offsets |= gt_problem_stride(problem, operand) * size;
    return (int)(offsets & -offsets); /* the lowest bit that is set in any of the offsets */
}

double gt_problem_touched(const struct gt_problem *problem, enum gt_operand operand)
{
    double matrix =
        (double)gt_problem_rows(problem, operand) * (double)gt_problem_cols(problem, operand);
    double times = gt_problem_stride(problem, operand) ? (double)problem->batch : 1;

    return matrix * times * gt_dtype_size(gt_problem_dtype(problem, operand));
}

double gt_problem_traffic(const struct gt_problem *problem)
{
    return gt_problem_touched(problem, GT_OPERAND_A) + gt_problem_touched(problem, GT_OPERAND_B) +
           gt_problem_touched(problem, GT_OPERAND_C) * (problem->beta != 0 ? 2 : 1);
}

double gt_problem_flops(const struct gt_problem *problem)
{
    return 2.0 * (double)problem->m * (double)problem->n * (double)problem->k *
           (double)problem->batch;
}

void gt_problem_pack(struct gt_problem *problem)
{
    int64_t a = gt_problem_cols(problem, GT_OPERAND_A), b = gt_problem_cols(problem, GT_OPERAND_B);

    /* A matrix without columns still has rows that are one element apart, as BLAS asks. */
    problem->lda = a > 1 ? a : 1;
    problem->ldb = b > 1 ? b : 1;
    problem->ldc = problem->n > 1 ? problem->n : 1;
    problem->stride_a = gt_problem_rows(problem, GT_OPERAND_A) * problem->lda;
    problem->stride_b = gt_problem_rows(problem, GT_OPERAND_B) * problem->ldb;
    problem->stride_c = problem->m * problem->ldc;
}

void gt_problem_retype(struct gt_problem *problem, enum gt_dtype type)
{
    problem->type = type;
    problem->out = gt_dtype_default_out(type);
    problem->acc = gt_dtype_default_acc(type);
    problem->accuracy = gt_dtype_default_accuracy(type);
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
    problem->align = 16;
    problem->accuracy = GT_ACCURACY_STRICT;
    problem->alpha = 1;
    if (m >= 0 && m <= GT_MAX_EXTENT && n >= 0 && n <= GT_MAX_EXTENT && k >= 0 &&
        k <= GT_MAX_EXTENT) /* sizes that gt_problem_check refuses are not multiplied here */
        gt_problem_pack(problem);
}

/* ---- the check ---- */

static int check_sizes(const struct gt_problem *p, struct gt_err *err)
{
    const struct {
        const char *name;
        int64_t value, least;
    } sizes[] = {{"m", p->m, 0},     {"n", p->n, 0},     {"k", p->k, 0},    {"batch", p->batch, 1},
                 {"lda", p->lda, 1}, {"ldb", p->ldb, 1}, {"ldc", p->ldc, 1}};

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
    return GT_OK;
}

/* Whether batch and stride of the operand keep every element's byte offset within 62 bits. */
static bool addressable(const struct gt_problem *p, enum gt_operand operand)
{
    int64_t bytes;

    return !__builtin_mul_overflow(p->batch - 1, gt_problem_stride(p, operand), &bytes) &&
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
    if (p->batch > 1 && p->stride_c < span(p, GT_OPERAND_C))
        return gt_err_set(err, GT_ERANGE,
                          "problem: sc is %lld, so that matrices of D overlap; one spans %lld "
                          "elements",
                          (long long)p->stride_c, (long long)span(p, GT_OPERAND_C));
    return GT_OK;
}

static int check_types(const struct gt_problem *p, struct gt_err *err)
{
    if ((unsigned)p->type >= GT_DTYPE_COUNT || p->type == GT_S32)
        return gt_err_set(err, GT_ERANGE, "problem: %s is not a type of A and B",
                          gt_dtype_name(p->type));
    if ((unsigned)p->out >= GT_DTYPE_COUNT || p->out == GT_TF32)
        return gt_err_set(err, GT_ERANGE, "problem: %s is not a type of C and D",
                          gt_dtype_name(p->out));
    if (p->acc != GT_F32 && p->acc != GT_F16 && p->acc != GT_S32)
        return gt_err_set(err, GT_ERANGE, "problem: acc is %s; it must be f32, f16 or s32",
                          gt_dtype_name(p->acc));
    if ((p->type == GT_S8) != (p->acc == GT_S32))
        return gt_err_set(err, GT_ERANGE, "problem: products of %s cannot be summed in %s",
                          gt_dtype_name(p->type), gt_dtype_name(p->acc));
    if (p->out == GT_S32 && p->acc != GT_S32)
        return gt_err_set(err, GT_ERANGE, "problem: D of s32 takes sums in s32, not in %s",
                          gt_dtype_name(p->acc));
    if (p->out == GT_S32 && p->epilogue)
        return gt_err_set(err, GT_ERANGE,
                          "problem: D of s32 takes no epilogue, such as %s; with out=f32 it would",
                          gt_epilogue_name(p->epilogue));
    if ((unsigned)p->accuracy > GT_ACCURACY_LOW)
        return gt_err_set(err, GT_ERANGE, "problem: accuracy is %d; there are strict to low",
                          (int)p->accuracy);
    return GT_OK;
}

bool gt_factor_valid(double factor, enum gt_dtype out)
{
    const float passed = (float)factor;

    return isfinite(passed) && (passed == 0) == (factor == 0) &&
           (out != GT_S32 || (gt_factor_is_s32(factor) && factor == (double)passed));
}

static int check_factor(const struct gt_problem *p, const char *name, double value,
                        struct gt_err *err)
{
    if (gt_factor_valid(value, p->out))
        return GT_OK;
    if (!gt_factor_valid(value, GT_F32))
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
    GT_STEP(rc, check_sizes(p, err));
    GT_STEP(rc, check_batch(p, err));
    return rc;
}

/* ---- "4096x4096x4096:f32:nn:lda=8192" to struct gt_problem and back ----
 *
 * The canonical text leaves out parts that have their default value, so that equal problems have
 * equal texts: databases and logs use the text as a key. */

#define QUOTED 100 /* characters of the text repeated in a sentence */

/* The parts that the text has specified so far; all other parts get defaults afterwards. */
struct said {
    const char *text;
    struct gt_err *err;
    unsigned keys; /* bit set over the table of keys */
    bool type, layout;
};

static int refuse(const struct said *said, int code, const char *part, size_t length,
                  const char *what)
{
    return gt_err_set(said->err, code, "problem \"%.*s\": \"%.*s\" %s", QUOTED, said->text,
                      (int)(length < QUOTED ? length : QUOTED), part, what);
}

/* Reads [-]digits. */
static int parse_integer(const struct said *said, const char *part, size_t length, int64_t *value)
{
    bool negative = length && *part == '-';
    size_t i = negative;

    *value = 0;
    if (i == length)
        return refuse(said, GT_ESYNTAX, part, length, "is not a whole number");
    for (; i < length; i++) {
        if (!isdigit((unsigned char)part[i]))
            return refuse(said, GT_ESYNTAX, part, length, "is not a whole number");
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, part[i] - '0', value))
            return refuse(said, GT_ERANGE, part, length, "does not fit 64 bits");
    }
    if (negative)
        *value = -*value;
    return GT_OK;
}

/* Reads a decimal number; one beyond double is infinite, which gt_problem_check refuses. */
static int parse_real(const struct said *said, const char *part, size_t length, double *value)
{
    char copy[64], *end;
    locale_t before;

    if (!length || length >= sizeof(copy) || strspn(part, "0123456789+-.eE") < length)
        return refuse(said, GT_ESYNTAX, part, length, "is not a decimal number");
    memcpy(copy, part, length);
    copy[length] = '\0';
    before = gt_locale_enter();
    *value = strtod(copy, &end);
    gt_locale_leave(before);
    if (*end)
        return refuse(said, GT_ESYNTAX, part, length, "is not a decimal number");
    return GT_OK;
}

/* Every key once, in canonical order; DTYPE and INTEGER values live at an offset. */
enum kind { KIND_DTYPE, KIND_INTEGER, KIND_REAL, KIND_EPILOGUE, KIND_ACCURACY, KIND_ALIGN };

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset;
} keys[] = {
    {"acc", KIND_DTYPE, offsetof(struct gt_problem, acc)},
    {"out", KIND_DTYPE, offsetof(struct gt_problem, out)},
    {"lda", KIND_INTEGER, offsetof(struct gt_problem, lda)},
    {"ldb", KIND_INTEGER, offsetof(struct gt_problem, ldb)},
    {"ldc", KIND_INTEGER, offsetof(struct gt_problem, ldc)},
    {"batch", KIND_INTEGER, offsetof(struct gt_problem, batch)},
    {"sa", KIND_INTEGER, offsetof(struct gt_problem, stride_a)},
    {"sb", KIND_INTEGER, offsetof(struct gt_problem, stride_b)},
    {"sc", KIND_INTEGER, offsetof(struct gt_problem, stride_c)},
    {"alpha", KIND_REAL, offsetof(struct gt_problem, alpha)},
    {"beta", KIND_REAL, offsetof(struct gt_problem, beta)},
    {"epi", KIND_EPILOGUE, 0},
    {"accuracy", KIND_ACCURACY, 0},
    {"align", KIND_ALIGN, 0},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

/* The member of the key's kind. */
static void *member(struct gt_problem *problem, size_t key)
{
    return (char *)problem + keys[key].offset;
}

static int parse_value(struct gt_problem *problem, const struct said *said, size_t key,
                       const char *part, size_t length)
{
    unsigned epilogue;
    int64_t integer;
    int rc;

    switch (keys[key].kind) {
    case KIND_DTYPE:
        return gt_dtype_parse(member(problem, key), part, length)
                   ? GT_OK
                   : refuse(said, GT_ENOTFOUND, part, length,
                            "is not a type; there are f32 tf32 f16 bf16 e4m3 e5m2 s8 s32");
    case KIND_INTEGER:
        return parse_integer(said, part, length, member(problem, key));
    case KIND_REAL:
        return parse_real(said, part, length, member(problem, key));
    case KIND_EPILOGUE:
        if (!gt_epilogue_parse(&epilogue, part, length))
            return refuse(said, GT_ENOTFOUND, part, length,
                          "is not an epilogue; there are none bias relu gelu bias+relu bias+gelu");
        problem->epilogue = (unsigned char)epilogue;
        return GT_OK;
    case KIND_ACCURACY:
        return gt_accuracy_parse(&problem->accuracy, part, length)
                   ? GT_OK
                   : refuse(said, GT_ENOTFOUND, part, length,
                            "is not an accuracy; there are strict f32 tf32 low");
    case KIND_ALIGN:
        rc = parse_integer(said, part, length, &integer);
        if (!rc && (integer < 1 || integer > 16))
            rc = refuse(said, GT_ERANGE, part, length, "is not an alignment: 1, 2, 4, 8 or 16");
        problem->align = rc ? 16 : (unsigned char)integer;
        return rc;
    }
    return GT_OK;
}

static int parse_key(struct gt_problem *problem, struct said *said, const char *part,
                     const char *equals, size_t length)
{
    size_t name = (size_t)(equals - part);

    for (size_t i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) != name || memcmp(keys[i].name, part, name))
            continue;
        if (said->keys & 1u << i)
            return refuse(said, GT_ESYNTAX, part, name, "is given twice");
        said->keys |= 1u << i;
        return parse_value(problem, said, i, equals + 1, length - name - 1);
    }
    return refuse(said, GT_ENOTFOUND, part, name,
                  "is not a key; there are acc out lda ldb ldc batch sa sb sc alpha beta epi "
                  "accuracy align");
}

/* Sets the sentence for an unknown part; it names our word if the part is another program's
 * word. */
static int unknown_part(const struct said *said, const char *part, size_t length)
{
    static const char *const own[] = {"f32", "tf32", "f16", "bf16", "e4m3", "e5m2",
                                      "s8",  "nn",   "nt",  "tn",   "tt"};
    const bool fp8 = gt_near_distance(part, length, "fp8") == 0;
    const char *near =
        fp8 ? "e4m3 or e5m2" : gt_near(part, length, own, sizeof(own) / sizeof(own[0]));
    char what[160];

    snprintf(what, sizeof(what),
             "is neither a type (f32 tf32 f16 bf16 e4m3 e5m2 s8) nor a layout (nn nt tn tt) nor "
             "key=value%s%s%s",
             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return refuse(said, GT_ENOTFOUND, part, length, what);
}

/* Parses one part between colons: "lda=64", a type or a layout. */
static int parse_part(struct gt_problem *problem, struct said *said, const char *part,
                      size_t length)
{
    const char *equals = memchr(part, '=', length);
    unsigned layout;

    if (equals)
        return parse_key(problem, said, part, equals, length);
    if (gt_layout_parse(&layout, part, length)) {
        if (said->layout)
            return refuse(said, GT_ESYNTAX, part, length, "is a second layout");
        said->layout = true;
        problem->trans_a = layout >> 1;
        problem->trans_b = layout & 1;
        return GT_OK;
    }
    if (gt_dtype_parse(&problem->type, part, length)) {
        if (said->type)
            return refuse(said, GT_ESYNTAX, part, length, "is a second type");
        said->type = true;
        return GT_OK;
    }
    return unknown_part(said, part, length);
}

/* The end of the first size.  The sign behind it, of *length bytes, also stands between the other
 * sizes: x, or a sign that other programs write: "512X512X64", "512*512*64", "512,512,64",
 * "512×512×64". */
static const char *first_sign(const char *at, const char *end, size_t *length)
{
    while (at < end && !strchr("xX*,\xc3", *at))
        at++;
    *length = end - at > 1 && !memcmp(at, "\u00d7", 2) ? 2 : 1;
    return at;
}

/* Parses "MxNxK"; the range is checked here so that the sentence names the text. */
static int parse_sizes(struct gt_problem *problem, const struct said *said, const char *part,
                       size_t length)
{
    int64_t *const size[3] = {&problem->m, &problem->n, &problem->k};
    const char *at = part, *end = part + length;
    size_t width;
    const char *sign = first_sign(part, end, &width);

    for (int i = 0; i < 3; i++) {
        const char *x = memmem(at, (size_t)(end - at), sign, width);
        int rc;

        if (sign == end || !x != (i == 2))
            return refuse(said, GT_ESYNTAX, part, length,
                          "is not a size; write MxNxK in one word, e.g. 4096x4096x4096");
        x = x ? x : end;
        rc = parse_integer(said, at, (size_t)(x - at), size[i]);
        if (rc)
            return rc;
        if (*size[i] < 0 || *size[i] > GT_MAX_EXTENT)
            return refuse(said, GT_ERANGE, at, (size_t)(x - at),
                          "is outside the allowed sizes 0 to 2147483647");
        at = x + width;
    }
    return GT_OK;
}

/* rows * ld of an operand; sizes that gt_problem_check refuses must not overflow here. */
static int64_t packed_stride(const struct gt_problem *problem, enum gt_operand operand)
{
    int64_t stride;

    if (__builtin_mul_overflow(gt_problem_rows(problem, operand), gt_problem_ld(problem, operand),
                               &stride))
        return INT64_MAX;
    return stride;
}

/* The default of an integer key; defaults of strides follow the leading dimensions of `problem`. */
static int64_t default_integer(const struct gt_problem *problem, size_t key)
{
    struct gt_problem packed = *problem;

    switch (keys[key].offset) {
    case offsetof(struct gt_problem, batch):
        return 1;
    case offsetof(struct gt_problem, stride_a):
        return packed_stride(problem, GT_OPERAND_A);
    case offsetof(struct gt_problem, stride_b):
        return packed_stride(problem, GT_OPERAND_B);
    case offsetof(struct gt_problem, stride_c):
        return packed_stride(problem, GT_OPERAND_C);
    default:
        gt_problem_pack(&packed);
        return *(int64_t *)member(&packed, key);
    }
}

static bool is_stride(size_t key)
{
    return keys[key].name[0] == 's';
}

/* Gives every part that the text did not specify its default.  Strides of a single matrix have no
 * meaning and also get their default, so that equal problems stay equal. */
static void fill_defaults(struct gt_problem *problem, const struct said *said)
{
    for (size_t i = 0; i < KEYS; i++) {
        bool given = said->keys & 1u << i && !(is_stride(i) && problem->batch == 1);

        if (!given && keys[i].kind == KIND_INTEGER)
            *(int64_t *)member(problem, i) = default_integer(problem, i);
        else if (!given && keys[i].kind == KIND_ACCURACY)
            problem->accuracy = gt_dtype_default_accuracy(problem->type);
        else if (!given && keys[i].offset == offsetof(struct gt_problem, acc))
            problem->acc = gt_dtype_default_acc(problem->type);
        else if (!given && keys[i].offset == offsetof(struct gt_problem, out))
            problem->out = gt_dtype_default_out(problem->type);
    }
}

int gt_problem_parse(struct gt_problem *problem, const char *text, struct gt_err *err)
{
    struct said said = {.text = text, .err = err};
    const char *part = text;
    size_t length = strcspn(part, ":");
    struct gt_err detail = {0};
    int rc;

    gt_problem_init(problem, 0, 0, 0);
    rc = parse_sizes(problem, &said, part, length);
    while (!rc && part[length]) {
        part += length + 1;
        length = strcspn(part, ":");
        rc = parse_part(problem, &said, part, length);
    }
    if (rc)
        return rc;
    fill_defaults(problem, &said);
    rc = gt_problem_check(problem, &detail);
    if (rc)
        gt_err_set(err, rc, "problem \"%.*s\"%s", QUOTED, text, detail.msg + strlen("problem"));
    return rc;
}

/* ---- writing ---- */

/* Writes the shortest decimal text that reads back as the same value. */
static void format_real(double value, char text[40])
{
    const locale_t before = gt_locale_enter();

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    gt_locale_leave(before);
}

/* Writes the value of a key; false if it is the default. */
static bool format_value(const struct gt_problem *problem, size_t key, char text[40])
{
    struct gt_problem copy = *problem;
    double real;

    switch (keys[key].kind) {
    case KIND_DTYPE:
        snprintf(text, 40, "%s", gt_dtype_name(*(enum gt_dtype *)member(&copy, key)));
        return *(enum gt_dtype *)member(&copy, key) !=
               (keys[key].offset == offsetof(struct gt_problem, acc)
                    ? gt_dtype_default_acc(problem->type)
                    : gt_dtype_default_out(problem->type));
    case KIND_INTEGER:
        snprintf(text, 40, "%lld", (long long)*(int64_t *)member(&copy, key));
        return *(int64_t *)member(&copy, key) != default_integer(problem, key) &&
               !(is_stride(key) && problem->batch == 1);
    case KIND_REAL:
        real = *(double *)member(&copy, key);
        format_real(real, text);
        return real != (keys[key].offset == offsetof(struct gt_problem, alpha) ? 1 : 0);
    case KIND_EPILOGUE:
        snprintf(text, 40, "%s", gt_epilogue_name(problem->epilogue));
        return problem->epilogue != GT_EPILOGUE_NONE;
    case KIND_ACCURACY:
        snprintf(text, 40, "%s", gt_accuracy_name(problem->accuracy));
        return problem->accuracy != gt_dtype_default_accuracy(problem->type);
    case KIND_ALIGN:
        snprintf(text, 40, "%d", problem->align);
        return problem->align != 16;
    }
    return false;
}

void gt_problem_format(const struct gt_problem *problem, char text[GT_PROBLEM_TEXT_MAX])
{
    size_t used =
        (size_t)snprintf(text, GT_PROBLEM_TEXT_MAX, "%lldx%lldx%lld:%s:%s", (long long)problem->m,
                         (long long)problem->n, (long long)problem->k, gt_dtype_name(problem->type),
                         gt_layout_name(gt_problem_layout(problem)));

    for (size_t i = 0; i < KEYS; i++) {
        char value[40];

        if (format_value(problem, i, value) && used < GT_PROBLEM_TEXT_MAX)
            used += (size_t)snprintf(text + used, GT_PROBLEM_TEXT_MAX - used, ":%s=%s",
                                     keys[i].name, value);
    }
}
