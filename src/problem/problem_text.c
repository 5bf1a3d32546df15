/* problem_text.c - vocabulary: "4096x4096x4096:f32:nn:lda=8192" to struct gt_problem and back.
 *
 * The canonical text leaves out what has its default value, so that equal problems have equal
 * texts: databases and logs use it as a key. */
#include "problem/problem.h"

#include "base/err.h"
#include "base/near.h"
#include "base/plain_locale.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTED 100 /* characters of the text repeated in a sentence */

/* What the text has specified so far; the rest gets defaults afterwards. */
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

static int64_t *integer_of(struct gt_problem *problem, size_t key)
{
    return (int64_t *)(void *)((char *)problem + keys[key].offset);
}

static double *real_of(struct gt_problem *problem, size_t key)
{
    return (double *)(void *)((char *)problem + keys[key].offset);
}

static enum gt_dtype *dtype_of(struct gt_problem *problem, size_t key)
{
    return (enum gt_dtype *)(void *)((char *)problem + keys[key].offset);
}

static int parse_value(struct gt_problem *problem, const struct said *said, size_t key,
                       const char *part, size_t length)
{
    unsigned epilogue;
    int64_t integer;
    int rc;

    switch (keys[key].kind) {
    case KIND_DTYPE:
        return gt_dtype_parse(dtype_of(problem, key), part, length)
                   ? GT_OK
                   : refuse(said, GT_ENOTFOUND, part, length,
                            "is not a type; there are f32 tf32 f16 bf16 e4m3 e5m2 s8 s32");
    case KIND_INTEGER:
        return parse_integer(said, part, length, integer_of(problem, key));
    case KIND_REAL:
        return parse_real(said, part, length, real_of(problem, key));
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

/* Sets the sentence for an unknown part; it names our word for what other programs call so. */
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

/* Where the first size ends; the sign behind it, *length bytes, is also the second one: x, or what
 * others write, "512X512X64", "512*512*64", "512,512,64", "512×512×64". */
static const char *first_sign(const char *at, const char *end, size_t *length)
{
    while (at < end && !strchr("xX*,\xc3", *at))
        at++;
    *length = end - at > 1 && !memcmp(at, "\u00d7", 2) ? 2 : 1;
    return at;
}

/* "MxNxK"; range is checked here so that the sentence names the text. */
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
        return *integer_of(&packed, key);
    }
}

static bool is_stride(size_t key)
{
    return keys[key].name[0] == 's';
}

/* Gives everything that the text did not specify its default.  Strides of a single matrix have no
 * meaning and get their default, too, so that equal problems stay equal. */
static void fill_defaults(struct gt_problem *problem, const struct said *said)
{
    for (size_t i = 0; i < KEYS; i++) {
        bool given = said->keys & 1u << i && !(is_stride(i) && problem->batch == 1);

        if (!given && keys[i].kind == KIND_INTEGER)
            *integer_of(problem, i) = default_integer(problem, i);
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
        snprintf(text, 40, "%s", gt_dtype_name(*dtype_of(&copy, key)));
        return *dtype_of(&copy, key) != (keys[key].offset == offsetof(struct gt_problem, acc)
                                             ? gt_dtype_default_acc(problem->type)
                                             : gt_dtype_default_out(problem->type));
    case KIND_INTEGER:
        snprintf(text, 40, "%lld", (long long)*integer_of(&copy, key));
        return *integer_of(&copy, key) != default_integer(problem, key) &&
               !(is_stride(key) && problem->batch == 1);
    case KIND_REAL:
        real = *real_of(&copy, key);
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
    size_t used;

    used =
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
