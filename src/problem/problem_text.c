/* problem_text.c - vocabulary: the text of a problem, "4096x4096x4096:f32:nn:lda=8192", and of its
 * scales.
 *
 * The canonical text leaves out parts that have their default value, so that equal problems have
 * equal texts: databases and logs use the text as a key. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"

#define QUOTED 100 /* characters of the text repeated in a sentence */

/* The parts that the text has specified so far; all other parts get defaults afterwards. */
struct said {
    const char *text;
    struct gt_err *err;
    uint64_t keys; /* bit set over the table of keys */
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
    *value = strtod(copy, &end) + 0.0; /* -0 is 0, which the canonical text leaves out */
    gt_locale_leave(before);
    if (*end)
        return refuse(said, GT_ESYNTAX, part, length, "is not a decimal number");
    return GT_OK;
}

/* ---- scales ---- */

static const char *const scale_types[] = {"f32", "ue8m0", "ue4m3", "bf16", "f16"};
static const char *const scale_orders[] = {"mn", "k", "tiled"};

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && !strncasecmp(word, text, length);
}

/* Finds text[0..length) among count words; -1: it is none of them. */
static int find_word(const char *const *words, size_t count, const char *text, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (is_word(words[i], text, length))
            return (int)i;
    return -1;
}

static bool parse_granularity(struct gt_scale *scale, const char *text, size_t length)
{
    int rows, depth, used = 0;
    char copy[12];

    if (is_word("tensor", text, length) || is_word("vector", text, length)) {
        scale->kind = tolower((unsigned char)*text) == 't' ? GT_SCALE_TENSOR : GT_SCALE_VECTOR;
        return true;
    }
    if (length >= sizeof(copy) || !isdigit((unsigned char)*text))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (sscanf(copy, "%3dx%3d%n", &rows, &depth, &used) < 2 || (size_t)used != length ||
        (rows != 1 && rows != 128) || (depth != 16 && depth != 32 && depth != 64 && depth != 128))
        return false;
    scale->kind = GT_SCALE_BLOCK;
    scale->rows = (unsigned char)rows;
    scale->depth = (unsigned char)depth;
    scale->order = rows == 1 ? GT_SCALE_MN : GT_SCALE_K;
    return true;
}

/* Characters before the next slash, or the end. */
static size_t text_until(const char *word, const char *end)
{
    const char *slash = memchr(word, '/', (size_t)(end - word));

    return (size_t)((slash ? slash : end) - word);
}

bool gt_scale_parse(struct gt_scale *scale, const char *text, size_t length)
{
    /* PyTorch's ScalingType and cuBLASLt's cublasLtMatmulMatrixScale_t. */
    static const char *const other[][2] = {
        {"tensorwise", "tensor"},
        {"rowwise", "vector"},
        {"blockwise1x128", "1x128"},
        {"blockwise128x128", "128x128"},
        {"blockwise1x32", "1x32/ue8m0/tiled"},
        {"blockwise1x16", "1x16/ue4m3/tiled"},
        {"scalar_32f", "tensor"},
        {"outer_vec_32f", "vector"},
        {"vec128_32f", "1x128"},
        {"blk128x128_32f", "128x128"},
        {"vec32_ue8m0", "1x32/ue8m0/tiled"},
        {"vec16_ue4m3", "1x16/ue4m3/tiled"},
    };
    size_t part;

    *scale = (struct gt_scale){0};
    if (is_word("none", text, length))
        return true;
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
        if (is_word(other[i][0], text, length))
            return gt_scale_parse(scale, other[i][1], strlen(other[i][1]));
    if (length > 7 && is_word("+tensor", text + length - 7, 7)) {
        scale->tensor = 1;
        length -= 7;
    }
    part = text_until(text, text + length);
    if (!parse_granularity(scale, text, part))
        return false;
    while (part < length) {
        const char *word = text + part + 1;
        const size_t size = text_until(word, text + length);
        const int type = find_word(scale_types, 5, word, size);
        const int order = find_word(scale_orders, 3, word, size);

        if (type < 0 && (order < 0 || scale->kind != GT_SCALE_BLOCK))
            return false;
        if (type >= 0)
            scale->type = (unsigned char)type;
        else
            scale->order = (unsigned char)order;
        part += size + 1;
    }
    return true;
}

void gt_scale_format(const struct gt_scale *scale, char text[GT_SCALE_TEXT_MAX])
{
    const unsigned standard = scale->rows == 1 ? GT_SCALE_MN : GT_SCALE_K;
    char block[12];

    snprintf(block, sizeof(block), "%dx%d", scale->rows, scale->depth);
    snprintf(text, GT_SCALE_TEXT_MAX, "%s%s%s%s%s%s",
             scale->kind == GT_SCALE_NONE     ? "none"
             : scale->kind == GT_SCALE_TENSOR ? "tensor"
             : scale->kind == GT_SCALE_VECTOR ? "vector"
                                              : block,
             scale->type ? "/" : "", scale->type ? scale_types[scale->type] : "",
             scale->kind == GT_SCALE_BLOCK && scale->order != standard ? "/" : "",
             scale->kind == GT_SCALE_BLOCK && scale->order != standard ? scale_orders[scale->order]
                                                                       : "",
             scale->tensor ? "+tensor" : "");
}

/* ---- keys ---- */

enum kind {
    KIND_DTYPE,
    KIND_INTEGER,
    KIND_STRIDE,
    KIND_REAL,
    KIND_EPILOGUE,
    KIND_ACCURACY,
    KIND_ALIGN,
    KIND_SCALE,
    KIND_WORD,
    KIND_CONJ,
};

/* Every key once, in canonical order; a value lies at its offset. */
static const struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *words; /* KIND_WORD: the values 0, 1 ... "-": no text says the value */
} keys[] = {
#define AT(member) offsetof(struct gt_problem, member)
    {"acc", KIND_DTYPE, AT(acc), NULL},
    {"out", KIND_DTYPE, AT(out), NULL},
    {"lda", KIND_INTEGER, AT(lda), NULL},
    {"ldb", KIND_INTEGER, AT(ldb), NULL},
    {"ldc", KIND_INTEGER, AT(ldc), NULL},
    {"batch", KIND_INTEGER, AT(batch), NULL},
    {"sa", KIND_STRIDE, AT(stride_a), NULL},
    {"sb", KIND_STRIDE, AT(stride_b), NULL},
    {"sc", KIND_STRIDE, AT(stride_c), NULL},
    {"alpha", KIND_REAL, AT(alpha), NULL},
    {"beta", KIND_REAL, AT(beta), NULL},
    {"epi", KIND_EPILOGUE, 0, NULL},
    {"accuracy", KIND_ACCURACY, 0, NULL},
    {"align", KIND_ALIGN, 0, NULL},
    {"b", KIND_DTYPE, AT(type_b), NULL},
    {"conj", KIND_CONJ, 0, NULL},
    {"scale_a", KIND_SCALE, AT(scale_a), NULL},
    {"scale_b", KIND_SCALE, AT(scale_b), NULL},
    {"lsa", KIND_INTEGER, AT(lsa), NULL},
    {"lsb", KIND_INTEGER, AT(lsb), NULL},
    {"zero_a", KIND_WORD, AT(zero_a), "0 1"},
    {"zero_b", KIND_WORD, AT(zero_b), "0 1"},
    {"sums", KIND_WORD, AT(sums), GT_SUMS_WORDS},
    {"scale_d", KIND_SCALE, AT(scale_d), NULL},
    {"bias", KIND_DTYPE, AT(bias), NULL},
    {"gate", KIND_WORD, AT(gate), GT_GATE_WORDS},
    {"groups", KIND_INTEGER, AT(groups), NULL},
    {"by", KIND_WORD, AT(by), GT_BY_WORDS},
    {"sizes", KIND_WORD, AT(sizes), GT_SIZES_WORDS},
    {"symmetric", KIND_WORD, AT(symmetric), "none lower upper full"},
    {"same_bits", KIND_WORD, AT(same_bits), "0 1"},
};
#define KEYS (sizeof(keys) / sizeof(*keys))
_Static_assert(KEYS <= 64, "said.keys has a bit for each key");

/* The member of the key's kind. */
static void *member(const struct gt_problem *problem, size_t key)
{
    return (char *)(uintptr_t)problem + keys[key].offset;
}

/* The default of a key whose value is a type. */
static enum gt_dtype default_type(const struct gt_problem *problem, size_t key)
{
    return keys[key].offset == offsetof(struct gt_problem, acc)
               ? gt_dtype_default_acc(problem->type)
           : keys[key].offset == offsetof(struct gt_problem, out)
               ? gt_dtype_default_out(problem->type)
               : GT_DTYPE_SAME;
}

/* The default of a key whose value is a word. */
static unsigned char default_word(const struct gt_problem *problem, size_t key)
{
    return keys[key].offset == offsetof(struct gt_problem, sums)
               ? (unsigned char)gt_problem_default_sums(problem)
               : 0;
}

/* Reads RE or RE,IM; the imaginary part lies two members behind the real one. */
static int parse_factor(struct gt_problem *problem, const struct said *said, size_t key,
                        const char *part, size_t length)
{
    const bool alpha = keys[key].offset == offsetof(struct gt_problem, alpha);
    const char *comma = memchr(part, ',', length);
    const size_t real = comma ? (size_t)(comma - part) : length;
    int rc = parse_real(said, part, real, member(problem, key));

    if (comma)
        GT_STEP(rc, parse_real(said, comma + 1, length - real - 1,
                               alpha ? &problem->alpha_im : &problem->beta_im));
    return rc;
}

bool gt_word_parse(unsigned *index, const char *words, const char *text, size_t length)
{
    for (*index = 0; *words; (*index)++) {
        const size_t size = strcspn(words, " ");

        if (size == length && !strncasecmp(words, text, size))
            return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

static int parse_word(struct gt_problem *problem, const struct said *said, size_t key,
                      const char *part, size_t length)
{
    unsigned value;
    char what[96];

    if (gt_word_parse(&value, keys[key].words, part, length)) {
        *(unsigned char *)member(problem, key) = (unsigned char)value;
        return GT_OK;
    }
    snprintf(what, sizeof(what), "is no value of %s; there are %s", keys[key].name,
             keys[key].words);
    return refuse(said, GT_ENOTFOUND, part, length, what);
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
                            "is not a type; there are " GT_OPERAND_TYPES " s32");
    case KIND_INTEGER:
    case KIND_STRIDE:
        return parse_integer(said, part, length, member(problem, key));
    case KIND_REAL:
        return parse_factor(problem, said, key, part, length);
    case KIND_EPILOGUE:
        if (!gt_epilogue_parse(&epilogue, part, length))
            return refuse(said, GT_ENOTFOUND, part, length,
                          "is not an epilogue; there are " GT_EPILOGUE_WORDS);
        problem->epilogue = (unsigned char)epilogue;
        return GT_OK;
    case KIND_ACCURACY:
        return gt_accuracy_parse(&problem->accuracy, part, length)
                   ? GT_OK
                   : refuse(said, GT_ENOTFOUND, part, length,
                            "is not an accuracy; there are strict f32 f64 tf32 low");
    case KIND_ALIGN:
        rc = parse_integer(said, part, length, &integer);
        if (!rc && (integer < 1 || integer > 16))
            rc = refuse(said, GT_ERANGE, part, length, "is not an alignment: 1, 2, 4, 8 or 16");
        problem->align = rc ? 16 : (unsigned char)integer;
        return rc;
    case KIND_SCALE:
        return gt_scale_parse(member(problem, key), part, length)
                   ? GT_OK
                   : refuse(said, GT_ENOTFOUND, part, length,
                            "is not a scale; there are tensor, vector and ROWSxK (rows 1 or 128, K "
                            "16, 32, 64 or 128), then /ue8m0 /ue4m3 /bf16 /f16, /mn /k /tiled, "
                            "+tensor");
    case KIND_WORD:
        return parse_word(problem, said, key, part, length);
    case KIND_CONJ:
        problem->conj_a = length && tolower((unsigned char)part[0]) == 'a';
        problem->conj_b = length && tolower((unsigned char)part[length - 1]) == 'b';
        return problem->conj_a + problem->conj_b == (int)length
                   ? GT_OK
                   : refuse(said, GT_ENOTFOUND, part, length, "is not a, b or ab");
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
        if (said->keys & (uint64_t)1 << i)
            return refuse(said, GT_ESYNTAX, part, name, "is given twice");
        said->keys |= (uint64_t)1 << i;
        return parse_value(problem, said, i, equals + 1, length - name - 1);
    }
    return refuse(said, GT_ENOTFOUND, part, name,
                  "is not a key; there are acc out lda ldb ldc batch sa sb sc alpha beta epi "
                  "accuracy align b conj scale_a scale_b lsa lsb zero_a zero_b sums scale_d bias "
                  "gate groups by sizes symmetric same_bits");
}

/* Sets the sentence for an unknown part; it names our word if the part is another program's
 * word. */
static int unknown_part(const struct said *said, const char *part, size_t length)
{
    static const char *const own[] = {"f32",  "tf32", "f16", "bf16", "e4m3", "e5m2",
                                      "s8",   "f64",  "c64", "c128", "s4",   "u4",
                                      "e2m1", "nn",   "nt",  "tn",   "tt"};
    const bool fp8 = gt_near_distance(part, length, "fp8") == 0;
    const char *near =
        fp8 ? "e4m3 or e5m2" : gt_near(part, length, own, sizeof(own) / sizeof(own[0]));
    char what[200];

    snprintf(what, sizeof(what),
             "is neither a type (" GT_OPERAND_TYPES
             ") nor a layout (nn nt tn tt) nor key=value%s%s%s",
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
    case offsetof(struct gt_problem, groups):
        return 0;
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

/* Whether the key is the stride of an operand that is a single matrix, which has no meaning. */
static bool idle_stride(const struct gt_problem *problem, size_t key)
{
    return keys[key].kind == KIND_STRIDE &&
           gt_problem_matrices(problem, keys[key].offset == offsetof(struct gt_problem, stride_a)
                                            ? GT_OPERAND_A
                                        : keys[key].offset == offsetof(struct gt_problem, stride_b)
                                            ? GT_OPERAND_B
                                            : GT_OPERAND_C) == 1;
}

/* Gives every part that the text did not specify its default.  Strides of a single matrix and types
 * that are those of another operand also get their default, so that equal problems stay equal. */
static void fill_defaults(struct gt_problem *problem, const struct said *said)
{
    for (size_t i = 0; i < KEYS; i++) {
        bool given = said->keys & (uint64_t)1 << i && !idle_stride(problem, i);

        if (given)
            continue;
        if (keys[i].kind == KIND_INTEGER || keys[i].kind == KIND_STRIDE)
            *(int64_t *)member(problem, i) = default_integer(problem, i);
        else if (keys[i].kind == KIND_ACCURACY)
            problem->accuracy = gt_dtype_default_accuracy(problem->type);
        else if (keys[i].kind == KIND_DTYPE)
            *(enum gt_dtype *)member(problem, i) = default_type(problem, i);
        else if (keys[i].kind == KIND_WORD)
            *(unsigned char *)member(problem, i) = default_word(problem, i);
    }
    if (problem->type_b == problem->type)
        problem->type_b = GT_DTYPE_SAME;
    if (problem->bias == problem->out)
        problem->bias = GT_DTYPE_SAME;
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

#define VALUE_MAX 80 /* characters of the longest value, with the final NUL */

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

/* The word of that number among words. */
static void format_word(const char *words, unsigned char value, char text[VALUE_MAX])
{
    for (; value && *words; value--)
        words += strcspn(words, " ") + 1;
    snprintf(text, VALUE_MAX, "%.*s", (int)strcspn(words, " "), words);
}

static bool format_factor(const struct gt_problem *p, size_t key, char text[VALUE_MAX])
{
    const bool alpha = keys[key].offset == offsetof(struct gt_problem, alpha);
    const double real = *(double *)member(p, key), im = alpha ? p->alpha_im : p->beta_im;

    format_real(real, text);
    if (im != 0) {
        char part[40];

        format_real(im, part);
        snprintf(text + strlen(text), VALUE_MAX - strlen(text), ",%s", part);
    }
    return real != (alpha ? 1 : 0) || im != 0;
}

/* Writes the value of a key; false if it is the default. */
static bool format_value(const struct gt_problem *problem, size_t key, char text[VALUE_MAX])
{
    const void *value = member(problem, key);

    switch (keys[key].kind) {
    case KIND_DTYPE:
        snprintf(text, VALUE_MAX, "%s", gt_dtype_name(*(const enum gt_dtype *)value));
        if (keys[key].offset == offsetof(struct gt_problem, type_b))
            return gt_problem_type_b(problem) != problem->type;
        if (keys[key].offset == offsetof(struct gt_problem, bias))
            return gt_problem_bias(problem) != problem->out;
        return *(const enum gt_dtype *)value != default_type(problem, key);
    case KIND_INTEGER:
    case KIND_STRIDE:
        snprintf(text, VALUE_MAX, "%lld", (long long)*(const int64_t *)value);
        return *(const int64_t *)value != default_integer(problem, key) &&
               !idle_stride(problem, key);
    case KIND_REAL:
        return format_factor(problem, key, text);
    case KIND_EPILOGUE:
        snprintf(text, VALUE_MAX, "%s", gt_epilogue_name(problem->epilogue));
        return problem->epilogue != GT_EPILOGUE_NONE;
    case KIND_ACCURACY:
        snprintf(text, VALUE_MAX, "%s",
                 problem->accuracy == GT_ACCURACY_F32 && gt_type_double(problem->type)
                     ? "f64"
                     : gt_accuracy_name(problem->accuracy));
        return problem->accuracy != gt_dtype_default_accuracy(problem->type);
    case KIND_ALIGN:
        snprintf(text, VALUE_MAX, "%d", problem->align);
        return problem->align != 16;
    case KIND_SCALE:
        gt_scale_format(value, text);
        return ((const struct gt_scale *)value)->kind;
    case KIND_WORD:
        format_word(keys[key].words, *(const unsigned char *)value, text);
        return *(const unsigned char *)value != default_word(problem, key);
    case KIND_CONJ:
        snprintf(text, VALUE_MAX, "%s%s", problem->conj_a ? "a" : "", problem->conj_b ? "b" : "");
        return *text;
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
        char value[VALUE_MAX];

        if (format_value(problem, i, value) && used < GT_PROBLEM_TEXT_MAX)
            used += (size_t)snprintf(text + used, GT_PROBLEM_TEXT_MAX - used, ":%s=%s",
                                     keys[i].name, value);
    }
}

bool gt_problem_word(const struct gt_problem *problem, unsigned number, char text[GT_WORD_TEXT_MAX])
{
    size_t key = 0;

    while (key < KEYS && strcmp(keys[key].name, "b"))
        key++; /* the keys before it belong to plain products, too */
    for (; key < KEYS; key++) {
        char value[VALUE_MAX];

        if (keys[key].offset == offsetof(struct gt_problem, lsa) ||
            keys[key].offset == offsetof(struct gt_problem, lsb) ||
            !format_value(problem, key, value) || number--)
            continue;
        snprintf(text, GT_WORD_TEXT_MAX, "%s=%s", keys[key].name, value);
        return true;
    }
    return false;
}
