/* foreign.c - finds the products in texts of other programs, line by line; foreign.h lists the
 * forms. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "exchange/foreign.h"
#include "problem/problem.h"

/* A piece of the text. */
struct piece {
    const char *at; /* NULL: missing */
    int length;
};

static const struct piece none;

/* A product in BLAS's terms: matrices by columns, D = op(A) op(B) of m x n. */
struct product {
    int64_t m, n, k, batch;   /* batch 0: 1 */
    int64_t ld[3], stride[3]; /* of A, B, D; 0 of ld and -1 of stride: packed */
    bool trans[2];            /* op(A), op(B) */
    bool conj[2];             /* op(A), op(B), of complex numbers */
    struct piece type[3];     /* of A, B, D, under any name; without D's it is A's */
    struct piece compute;     /* the type of the sums; may be missing */
    bool tf32;                /* allowed for products of float */
    bool beta;                /* beta is not 0 */
    bool bias, scaled;
    struct piece activation; /* may be missing */
    double times;            /* 0: 1 */
    bool counted;
};

struct reader {
    struct gt_foreign *foreign;
    gt_foreign_visit *visit;
    void *context;
    struct gt_err *err;
};

/* ---- pieces ---- */

static struct piece piece_of(const char *at, const char *end)
{
    return (struct piece){at, (int)(end - at)};
}

static struct piece text_piece(const char *text)
{
    return piece_of(text, text + strlen(text));
}

/* Whether the piece is the word, whatever its capitals. */
static bool is_word(struct piece piece, const char *word)
{
    return piece.at && strncasecmp(piece.at, word, (size_t)piece.length) == 0 &&
           !word[piece.length];
}

/* Where the piece has the word, in the same letters; NULL: nowhere. */
static const char *find(struct piece piece, const char *word)
{
    return piece.at ? memmem(piece.at, (size_t)piece.length, word, strlen(word)) : NULL;
}

/* Whether the word stands somewhere in the piece, whatever its capitals. */
static bool contains(struct piece piece, const char *word)
{
    const int length = (int)strlen(word);

    for (int i = 0; i + length <= piece.length; i++)
        if (strncasecmp(piece.at + i, word, (size_t)length) == 0)
            return true;
    return false;
}

/* Counts a product that is left out, with the reason: "of double". */
static int leave(struct reader *reader, const char *what, struct piece name)
{
    struct gt_foreign *foreign = reader->foreign;
    char text[sizeof(foreign->reason->what)];
    size_t i = 0;

    snprintf(text, sizeof(text), "%s%.*s", what, name.at ? name.length : 0, name.at ? name.at : "");
    for (char *c = text; *c; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
    foreign->products++;
    foreign->left_out++;
    while (i < foreign->reasons && strcmp(foreign->reason[i].what, text) != 0)
        i++;
    if (i == GT_FOREIGN_REASONS - 1 && i == foreign->reasons)
        snprintf(text, sizeof(text), "for other reasons");
    if (i == GT_FOREIGN_REASONS)
        i--;
    if (i == foreign->reasons)
        memcpy(foreign->reason[foreign->reasons++].what, text, sizeof(text));
    foreign->reason[i].count++;
    return GT_OK;
}

void gt_foreign_say(struct gt_strbuf *text, const struct gt_foreign *foreign)
{
    if (!foreign->left_out)
        return;
    gt_strbuf_addf(text, "left out: %zu of %zu product%s (", foreign->left_out, foreign->products,
                   foreign->products == 1 ? "" : "s");
    for (size_t i = 0; i < foreign->reasons; i++)
        gt_strbuf_addf(text, "%s%zu %s", i ? ", " : "", foreign->reason[i].count,
                       foreign->reason[i].what);
    gt_strbuf_add_char(text, ')');
}

/* ---- types ---- */

/* The name without its surroundings: "CUDA_R_16F(2)", "f16_r", "c10::Half". */
static struct piece bare_type(struct piece type)
{
    static const char *const before[] = {"c10::", "at::", "torch.", "CUDA_", "HIP_", "R_"};
    const char *end = type.at ? memchr(type.at, '(', (size_t)type.length) : NULL;

    if (end)
        type.length = (int)(end - type.at);
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        const int length = (int)strlen(before[i]);

        if (type.length > length && strncasecmp(type.at, before[i], (size_t)length) == 0) {
            type.at += length;
            type.length -= length;
        }
    }
    if (type.length > 2 && strncasecmp(type.at + type.length - 2, "_r", 2) == 0)
        type.length -= 2;
    return type;
}

static bool type_of(enum gt_dtype *type, struct piece piece)
{
    static const struct {
        const char *name;
        enum gt_dtype type;
    } known[] = {{"32F", GT_F32},
                 {"s", GT_F32},
                 {"xf32", GT_TF32},
                 {"16F", GT_F16},
                 {"h", GT_F16},
                 {"16BF", GT_BF16},
                 {"8F_E4M3", GT_E4M3},
                 {"f8", GT_E4M3},
                 {"8F_E5M2", GT_E5M2},
                 {"bf8", GT_E5M2},
                 {"8I", GT_S8},
                 {"signed char", GT_S8},
                 {"Char", GT_S8},
                 {"32I", GT_S32},
                 {"int", GT_S32},
                 {"64F", GT_F64},
                 {"d", GT_F64},
                 {"C_32F", GT_C64},
                 {"f32_c", GT_C64},
                 {"c", GT_C64},
                 {"complex<float>", GT_C64},
                 {"C_64F", GT_C128},
                 {"f64_c", GT_C128},
                 {"z", GT_C128},
                 {"complex<double>", GT_C128}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (is_word(piece, known[i].name)) {
            *type = known[i].type;
            return true;
        }
    return gt_dtype_parse(type, piece.at, (size_t)piece.length);
}

/* Whether a kernel for these operands has sums of this kind. */
static bool sums_as_kernels(struct product *product, enum gt_dtype type)
{
    const struct piece compute = bare_type(product->compute);

    if (type == GT_F64 || type == GT_C128)
        return !compute.at || contains(compute, "64F") || contains(compute, "f64") ||
               is_word(compute, "double");
    if (!compute.at || contains(compute, "32F") || contains(compute, "f32")) {
        product->tf32 |= contains(compute, "TF32") || contains(compute, "xf32");
        return type == GT_F32 ? !contains(compute, "16") : !contains(compute, "PEDANTIC");
    }
    if (type == GT_S8)
        return contains(compute, "32I") || is_word(compute, "i32");
    return is_word(compute, "s") || is_word(compute, "float");
}

/* Whether a kernel has such a D; tune serve takes the same. */
static bool has_out(enum gt_dtype type, enum gt_dtype out)
{
    if (type == GT_E4M3 || type == GT_E5M2)
        return out != GT_S32;
    return type != GT_S32 &&
           (out == gt_dtype_default_out(type) || (out == GT_F32 && type != GT_S8));
}

/* Sets types and accuracy; or returns why the product is left out, with the type in *which. */
static const char *take_types(struct gt_problem *problem, struct product *product,
                              struct piece *which)
{
    enum gt_dtype type[3];

    for (int i = 0; i < 3; i++) {
        *which = bare_type(i == 2 && !product->type[i].at ? product->type[0] : product->type[i]);
        if (!which->at)
            return "without a type";
        if (!type_of(&type[i], *which))
            return "of ";
    }
    if (!product->type[2].at)
        type[2] = gt_dtype_default_out(type[0]);
    if (type[2] == GT_TF32)
        type[2] = GT_F32;
    *which = bare_type(product->compute);
    if (!sums_as_kernels(product, type[0]))
        return "with sums of ";
    *which = none;
    if (type[0] != type[1] || !has_out(type[0], type[2]))
        return "of mixed types";
    gt_problem_retype(problem, type[0] == GT_F32 && product->tf32 ? GT_TF32 : type[0]);
    problem->out = type[2];
    return NULL;
}

/* ---- the problem ---- */

/* Takes an epilogue: "EPILOGUE_RELU_BIAS", "relu", "None"; false: no kernel has the epilogue. */
static bool take_epilogue(struct gt_problem *problem, const struct product *product)
{
    const struct piece word = product->activation;
    const bool bias = product->bias || contains(word, "BIAS");
    const bool relu = is_word(word, "relu") || is_word(word, "EPILOGUE_RELU") ||
                      is_word(word, "EPILOGUE_RELU_BIAS");
    const bool plain = !word.at || !word.length || is_word(word, "none") ||
                       is_word(word, "EPILOGUE_DEFAULT") || is_word(word, "EPILOGUE_BIAS");

    problem->epilogue =
        (unsigned char)((bias ? GT_EPILOGUE_BIAS : 0) | (relu ? GT_EPILOGUE_RELU : 0));
    return relu || plain;
}

/* Sets leading dimensions and strides.  The check of the problem finds an overflow. */
static void take_layout(struct gt_problem *problem, const struct product *product)
{
    /* of A, B, D as BLAS stores them, by columns */
    const bool ta = product->trans[0], tb = product->trans[1];
    const int64_t rows[3] = {ta ? product->k : product->m, tb ? product->n : product->k,
                             product->m};
    const int64_t columns[3] = {ta ? product->m : product->k, tb ? product->k : product->n,
                                product->n};
    int64_t ld[3], stride[3];

    for (int i = 0; i < 3; i++) {
        ld[i] = product->ld[i] ? product->ld[i] : rows[i];
        stride[i] = product->stride[i];
        if (stride[i] < 0 && __builtin_mul_overflow(ld[i], columns[i], &stride[i]))
            stride[i] = -1;
    }
    problem->trans_a = product->trans[1];
    problem->trans_b = product->trans[0];
    problem->conj_a = product->conj[1] && gt_type_complex(problem->type);
    problem->conj_b = product->conj[0] && gt_type_complex(problem->type);
    problem->lda = ld[1];
    problem->ldb = ld[0];
    problem->ldc = ld[2];
    problem->batch = product->batch ? product->batch : 1;
    if (problem->batch > 1) {
        problem->stride_a = stride[1];
        problem->stride_b = stride[0];
        problem->stride_c = stride[2];
    }
}

static bool is_size(int64_t size, int64_t least)
{
    return size >= least && size <= GT_MAX_EXTENT;
}

/* Passes a product on, or counts it as left out. */
static int take_product(struct reader *reader, const struct product *from)
{
    struct product product = *from;
    struct gt_problem problem;
    struct piece which;
    const char *why;

    if (!is_size(product.m, 1) || !is_size(product.n, 1) || !is_size(product.k, 0))
        return leave(reader, "of sizes that cannot be", none);
    gt_problem_init(&problem, product.n, product.m, product.k);
    if (product.scaled)
        return leave(reader, "with scales", none);
    why = take_types(&problem, &product, &which);
    if (why)
        return leave(reader, why, which);
    if (!take_epilogue(&problem, &product))
        return leave(reader, "with ", product.activation);
    take_layout(&problem, &product);
    problem.beta = product.beta;
    if (gt_problem_check(&problem, NULL))
        return leave(reader, "of sizes that cannot be", none);
    reader->foreign->products++;
    return reader->visit(reader->context, &problem,
                         product.times > 0 && product.times <= 1e18 ? product.times : 1,
                         product.counted, reader->err);
}

/* ---- traces of PyTorch's profiler ----
 * Their products are events such as aten::mm, whose "Input Dims" and "Input Strides" describe their
 * operands, which are stored by rows. */

/* The operations that compute a product themselves; matmul, linear and einsum call these. */
static const struct operation {
    const char *name;
    int a;            /* which input is A; B follows */
    bool batch;       /* the operands have three dimensions */
    bool adds;        /* input 0 is added; with one dimension it is a bias */
    const char *with; /* a feature that no kernel has; NULL: none */
} operations[] = {
    {"aten::mm", 0, false, false, NULL},
    {"aten::bmm", 0, true, false, NULL},
    {"aten::addmm", 1, false, true, NULL},
    {"aten::addmm_", 1, false, true, NULL},
    {"aten::baddbmm", 1, true, true, NULL},
    {"aten::baddbmm_", 1, true, true, NULL},
    {"aten::_int_mm", 0, false, false, NULL},
    {"aten::_scaled_mm", 0, false, false, "scales"},
    {"aten::_addmm_activation", 1, false, true, "an activation"},
};

static bool is_trace(const char *text, size_t length)
{
    const char first = text[strspn(text, " \t\r\n")];

    return (first == '{' || first == '[') && (memmem(text, length, "\"traceEvents\"", 13) ||
                                              memmem(text, length, "\"Input Dims\"", 12));
}

/* Element `index` of a list of numbers; -1: there is no such element. */
static int64_t number(const cJSON *list, int index)
{
    int64_t value;

    return gt_json_whole(cJSON_GetArrayItem(list, index), 0, INT32_MAX, &value) ? value : -1;
}

/* Sets the layout of an operand of `rows` x `cols`: by rows, or transposed.  PyTorch copies an
 * operand of another layout to packed rows. */
static void take_operand(struct product *product, int operand, const cJSON *strides, bool batch,
                         int64_t rows, int64_t cols)
{
    const int64_t row = number(strides, batch), col = number(strides, batch + 1);
    int64_t *ld = &product->ld[operand];

    product->stride[operand] = batch ? number(strides, 0) : -1;
    if (col == 1 && row >= cols) {
        *ld = row;
    } else if (row == 1 && col >= rows) {
        *ld = col;
        product->trans[operand] = true;
    } else {
        *ld = rows == 1 && row == 1 && col == 1 ? cols : 0;
        product->stride[operand] = -1;
    }
}

static int take_event(struct reader *reader, const struct operation *op, const cJSON *args)
{
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(args, "Input type");
    const cJSON *strides = cJSON_GetObjectItemCaseSensitive(args, "Input Strides");
    const cJSON *a = cJSON_GetArrayItem(dims, op->a), *b = cJSON_GetArrayItem(dims, op->a + 1);
    const cJSON *added = op->adds ? cJSON_GetArrayItem(dims, 0) : NULL;
    const char *type = cJSON_GetStringValue(cJSON_GetArrayItem(types, op->a));
    const int first = op->batch;
    struct product product = {
        .m = number(b, first + 1), /* BLAS's m and n, A and B are swapped */
        .n = number(a, first),
        .k = number(a, first + 1),
        .batch = op->batch ? number(a, 0) : 1,
        .stride = {-1, -1, -1},
        .bias = cJSON_GetArraySize(added) == 1,
        .beta = cJSON_GetArraySize(added) > 1,
        .counted = true,
    };

    if (!dims || number(b, first) != product.k)
        return GT_OK;
    if (op->with)
        return leave(reader, "with ", text_piece(op->with));
    for (int i = 0; i < 3 && type; i++)
        product.type[i] = text_piece(type);
    if (strcmp(op->name, "aten::_int_mm") == 0)
        product.type[2] = text_piece("int");
    take_operand(&product, 0, cJSON_GetArrayItem(strides, op->a + 1), op->batch, product.k,
                 product.m);
    take_operand(&product, 1, cJSON_GetArrayItem(strides, op->a), op->batch, product.n, product.k);
    return take_product(reader, &product);
}

static const struct operation *find_operation(const cJSON *event)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));

    for (size_t i = 0; name && i < sizeof(operations) / sizeof(*operations); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

/* Only one event at a time is held as JSON, because a trace has millions. */
static int read_trace(struct reader *reader, const char *text)
{
    const char *at = text + strspn(text, " \t\r\n"), *list = strstr(text, "\"traceEvents\"");
    size_t without = 0;
    int rc = GT_OK;

    at = strchr(*at == '{' && list ? list : at, '[');
    if (!at)
        return gt_err_set(reader->err, GT_ECONFIG, "\"traceEvents\" is no list");
    at += 1 + strspn(at + 1, " \t\r\n");
    while (*at && *at != ']' && !rc) {
        const struct operation *op;
        cJSON *event;

        errno = 0; /* cJSON does not say why it failed, but its allocator sets errno */
        event = cJSON_ParseWithOpts(at, &at, 0);
        if (!event)
            return errno == ENOMEM
                       ? gt_err_nomem(reader->err)
                       : gt_err_set(reader->err, GT_ECONFIG, "malformed JSON near \"%.40s\"", at);
        op = find_operation(event);
        if (op) {
            const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");

            without += !cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
            rc = take_event(reader, op, args);
        }
        cJSON_Delete(event);
        at += strspn(at, " \t\r\n,");
    }
    if (!rc && without && !reader->foreign->products)
        rc = gt_err_set(reader->err, GT_ECONFIG,
                        "the trace names %zu product%s without sizes: record it with "
                        "profile(record_shapes=True)",
                        without, without == 1 ? "" : "s");
    return rc;
}

/* ---- lines ----
 * The facts of a product that a line may have, by the programs' names for them, without capitals
 * and underscores. */
#define FIELD_MAP(X)                                                    \
    X(M, "m sizem dimm")                                                \
    X(N, "n sizen dimn")                                                \
    X(K, "k sizek dimk")                                                \
    X(LDA, "lda")                                                       \
    X(LDB, "ldb")                                                       \
    X(LDC, "ldc")                                                       \
    X(LDD, "ldd")                                                       \
    X(STRIDE_A, "stridea")                                              \
    X(STRIDE_B, "strideb")                                              \
    X(STRIDE_C, "stridec")                                              \
    X(STRIDE_D, "strided")                                              \
    X(BATCH, "batch batchcount")                                        \
    X(TIMES, "callcount count calls numcalls ncalls frequency freq")    \
    X(WEIGHT, "weight")                                                 \
    X(LAYOUT, "layout")                                                 \
    X(TRANS_A, "transa transposea at")                                  \
    X(TRANS_B, "transb transposeb bt")                                  \
    X(TYPE, "r precision datatype type")                                \
    X(TYPE_A, "atype")                                                  \
    X(TYPE_B, "btype")                                                  \
    X(TYPE_C, "ctype")                                                  \
    X(TYPE_D, "dtype")                                                  \
    X(COMPUTE, "computetype")                                           \
    X(FUNCTION, "f function rocblasfunction")                           \
    X(BETA, "beta")                                                     \
    X(BIAS, "biasvector bias")                                          \
    X(ACTIVATION, "activation activationtype epilogue")                 \
    X(SCALE, "scalea scaleb ascalepointer bscalepointer cscalepointer " \
             "dscalepointer ascalemode bscalemode")

enum field {
#define FIELD_ENUM(field, names) field,
    FIELD_MAP(FIELD_ENUM)
#undef FIELD_ENUM
        FIELDS
};

static const char *const names[FIELDS] = {
#define FIELD_NAMES(field, names) names,
    FIELD_MAP(FIELD_NAMES)
#undef FIELD_NAMES
};

struct fields {
    struct piece piece[FIELDS];
};

/* Whether the key is one of the words, which blanks separate. */
static bool is_name(struct piece key, const char *words)
{
    for (; *words; words += strspn(words, " ")) {
        int i = 0;

        for (; i < key.length && (key.at[i] == '_' || tolower((unsigned char)key.at[i]) == *words);
             i++)
            words += key.at[i] != '_';
        if (i == key.length && (!*words || *words == ' '))
            return true;
        words += strcspn(words, " ");
    }
    return false;
}

static void set(struct fields *fields, struct piece key, struct piece value)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (is_name(key, names[i]))
            fields->piece[i] = value;
}

/* The whole number that the piece is; INT64_MAX if it is something else, `absent` if it is
 * missing. */
static int64_t whole(struct piece piece, int64_t absent)
{
    int64_t value = 0;
    int i = 0;

    for (; i < piece.length && isdigit((unsigned char)piece.at[i]); i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, piece.at[i] - '0', &value))
            return INT64_MAX;
    return i < piece.length ? INT64_MAX : i ? value : absent;
}

/* Whether the piece means one of these operations: "T", "OP_T", "CUBLAS_OP_T(1)", "C". */
static bool operates(struct piece piece, const char *operations)
{
    const char *at = find(piece, "OP_");
    const char op = at && at + 3 < piece.at + piece.length ? at[3] : piece.length ? *piece.at : 'N';

    return strchr(operations, op) != NULL;
}

static bool transposed(struct piece piece)
{
    return operates(piece, "TtCc");
}

/* Whether the piece is a number other than 0; a pointer is no number. */
static bool not_zero(struct piece piece)
{
    char text[32], *end;
    double number;

    if (!piece.at || piece.length >= (int)sizeof(text) || memchr(piece.at, 'x', piece.length) ||
        memchr(piece.at, 'X', piece.length))
        return false;
    memcpy(text, piece.at, (size_t)piece.length);
    text[piece.length] = '\0';
    number = strtod(text, &end);
    return end != text && number != 0;
}

static bool is_set(struct piece piece)
{
    return piece.at && !is_word(piece, "0") && !is_word(piece, "0X0") && !is_word(piece, "false") &&
           !is_word(piece, "none");
}

/* The operands' type, from the name of a function: "cublasSgemm_v2", "rocblas_hgemm_strided". */
static struct piece type_in(struct piece function)
{
    static const struct {
        char letter;
        const char *type;
    } types[] = {{'s', "float"}, {'d', "double"}, {'h', "Half"}, {'c', "c64"}, {'z', "c128"}};
    const char *gemm = NULL;

    for (int i = 1; i + 4 <= function.length && !gemm; i++)
        if (strncasecmp(function.at + i, "gemm", 4) == 0)
            gemm = function.at + i;
    for (size_t i = 0; gemm && i < sizeof(types) / sizeof(*types); i++)
        if (tolower((unsigned char)gemm[-1]) == types[i].letter &&
            (gemm - 1 == function.at || gemm[-2] == '_' || gemm[-2] == 's'))
            return text_piece(types[i].type);
    return none;
}

/* Makes a product from the fields of a line; most lines have only the unusual ones. */
static int take_fields(struct reader *reader, const struct fields *fields, bool counted)
{
    const struct piece *f = fields->piece;
    const struct piece type = f[TYPE].at ? f[TYPE] : type_in(f[FUNCTION]);
    const struct piece out = f[TYPE_D].at ? f[TYPE_D] : f[TYPE_C];
    struct product product = {
        .m = whole(f[M], 0),
        .n = whole(f[N], 0),
        .k = whole(f[K], 0),
        .batch = whole(f[BATCH], 1),
        .ld = {whole(f[LDA], 0), whole(f[LDB], 0), whole(f[f[LDD].at ? LDD : LDC], 0)},
        .stride = {whole(f[STRIDE_A], -1), whole(f[STRIDE_B], -1),
                   whole(f[f[STRIDE_D].at ? STRIDE_D : STRIDE_C], -1)},
        .trans = {transposed(f[TRANS_A]), transposed(f[TRANS_B])},
        .conj = {operates(f[TRANS_A], "Cc"), operates(f[TRANS_B], "Cc")},
        .type = {f[TYPE_A].at ? f[TYPE_A] : type, f[TYPE_B].at ? f[TYPE_B] : type,
                 out.at ? out : type},
        .compute = f[COMPUTE],
        .beta = not_zero(f[BETA]),
        .bias = is_set(f[BIAS]),
        .scaled = is_set(f[SCALE]),
        .activation = f[ACTIVATION],
        .times = f[WEIGHT].at ? strtod(f[WEIGHT].at, NULL) : (double)whole(f[TIMES], 1),
        .counted = counted || f[TIMES].at,
    };

    if (find(f[FUNCTION], "atched") && !find(f[FUNCTION], "trided"))
        return leave(reader, "in batches of pointers", none);
    return take_product(reader, &product);
}

/* ---- TunableOp ---- */

/* Reads "GemmTunableOp_float_NT,nt_256_512_1024_ld_256_512_256" and
 * "...,tn_64_128_64_B_12_ld_64_64_64".  Lines of results have more behind; early versions wrote no
 * leading dimensions. */
static int take_tunable(struct reader *reader, struct piece line)
{
    static const struct {
        const char *word;
        int values; /* how many values follow */
        enum field field[3];
    } parts[] = {{"", 3, {M, N, K}}, {"B", 1, {BATCH}}, {"ld", 3, {LDA, LDB, LDC}}};
    const char *mark = find(line, "TunableOp_"), *at = mark + 10, *end;
    const char *comma = find(line, ","), *under = comma;
    const struct piece kind = piece_of(line.at, mark);
    struct fields fields = {0};

    while (under > at && *--under != '_')
        ;
    fields.piece[TYPE] = piece_of(at, under > at ? under : comma);
    if (find(kind, "AndBias"))
        fields.piece[BIAS] = text_piece("1");
    if (find(kind, "Scaled"))
        fields.piece[SCALE] = text_piece("1");
    at = comma + 1;
    end = at + strcspn(at, ",\r\n");
    if (end - at > 2) {
        fields.piece[TRANS_A] = piece_of(at, at + 1);
        fields.piece[TRANS_B] = piece_of(at + 1, at + 2);
    }
    for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
        const size_t length = strlen(parts[p].word);
        const char *from = p ? at : at + 2;

        if (p && (end - from <= (long)length || strncmp(from + 1, parts[p].word, length) != 0))
            continue;
        from += p ? length + 1 : 0;
        for (int i = 0; i < parts[p].values && from < end && *from == '_'; i++) {
            const char *value = from + 1;

            from = value + strcspn(value, "_,\r\n");
            fields.piece[parts[p].field[i]] = piece_of(value, from);
        }
        at = from;
    }
    return take_fields(reader, &fields, false);
}

/* ---- lines of keys and values ---- */

/* Reads "rocblas-bench -f gemm_ex --transposeA T -m 128 --bias_vector".  A value does not begin
 * like an option. */
static int take_bench(struct reader *reader, struct piece line)
{
    const char *end = line.at + line.length;
    struct fields fields = {0};
    struct piece key = none;

    for (const char *at = line.at; at < end;) {
        const char *word = at + strspn(at, " \t\r\"'"), *after;

        after = word + strcspn(word, " \t\r\n\"'");
        if (word >= end || after == word)
            break;
        if (word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]))) {
            word += strspn(word, "-");
            key = piece_of(word, after);
            set(&fields, key, text_piece("1"));
        } else if (key.at) {
            set(&fields, key, piece_of(word, after));
            key.at = NULL;
        }
        at = after;
    }
    if (!fields.piece[TYPE].at && find(line, "rocblas-bench"))
        fields.piece[TYPE] = text_piece("f32_r"); /* rocblas-bench's default */
    return take_fields(reader, &fields, false);
}

/* Reads "- { rocblas_function: "rocblas_gemm_ex", transA: 'N', M: 128, ..., call_count: 3 }" */
static int take_yaml(struct reader *reader, struct piece line)
{
    static const char blanks[] = " \t\"'{-";
    const char *end = line.at + line.length;
    struct fields fields = {0};

    for (const char *at = line.at; at < end;) {
        const char *key = at + strspn(at, blanks), *colon = key + strcspn(key, ":,}\n"), *value;

        at = colon;
        if (colon < end && *colon == ':') {
            value = colon + 1 + strspn(colon + 1, " \t\"'");
            at = value + strcspn(value, "\"',} \n");
            set(&fields, piece_of(key, colon), piece_of(value, at));
            at += strcspn(at, ",}\n");
        }
        if (at >= end || *at != ',')
            break;
        at++;
    }
    return take_fields(reader, &fields, false);
}

/* Reads a call in cuBLAS's log: a line that names the function, then lines "i!  m: type=int;
 * val=128". */
static int take_call(struct reader *reader, struct piece line)
{
    const char *name = find(line, "cublasStatus_t "), *end = line.at + line.length;
    struct fields fields = {0};

    if (!name)
        return GT_OK;
    name += 15;
    fields.piece[FUNCTION] = piece_of(name, name + strcspn(name, "( \r\n"));
    if (!find(fields.piece[FUNCTION], "gemm") && !find(fields.piece[FUNCTION], "Gemm"))
        return GT_OK;
    for (const char *at = line.at; at && at < end;) {
        const char *key, *value;

        at = memchr(at, '\n', (size_t)(end - at));
        if (!at || ++at >= end || strncmp(at, "i!", 2) != 0)
            continue;
        key = at + 2 + strspn(at + 2, " \t");
        value = find(piece_of(key, key + strcspn(key, "\n")), "val=");
        if (value)
            set(&fields, piece_of(key, key + strcspn(key, ": \n")),
                piece_of(value + 4, value + 4 + strcspn(value + 4, "; \r\n")));
    }
    if (!fields.piece[COMPUTE].at && find(line, "MathMode=CUBLAS_TF32"))
        fields.piece[COMPUTE] = text_piece("32F_FAST_TF32");
    return take_fields(reader, &fields, true);
}

/* ---- cublasLt's trace ---- */

/* The value behind "key=" in the piece. */
static struct piece value_of(struct piece in, const char *key)
{
    const int length = (int)strlen(key);

    for (int i = 0; i + length < in.length; i++)
        if (in.at[i + length] == '=' && strncasecmp(in.at + i, key, (size_t)length) == 0 &&
            (!i || !isalnum((unsigned char)in.at[i - 1]))) {
            const char *value = in.at + i + length + 1;
            const char *end = value + (*value == '[' ? strcspn(value, "]") : 0);

            end += strcspn(end, " ]\r\n");
            return piece_of(value, end < in.at + in.length ? end : in.at + in.length);
        }
    return none;
}

static bool other_order(struct piece matrix)
{
    const struct piece order = value_of(matrix, "order");

    return order.at && !is_word(order, "COL") && !is_word(order, "ORDER_COL");
}

/* Takes the facts of a matrix descriptor other than rows and columns. */
static void take_matrix(struct fields *fields, struct piece matrix, enum field ld,
                        enum field stride, enum field type)
{
    fields->piece[ld] = value_of(matrix, "ld");
    fields->piece[type] = value_of(matrix, "type");
    fields->piece[stride] = value_of(matrix, "stridedBatchOffset");
    if (value_of(matrix, "batchCount").at)
        fields->piece[BATCH] = value_of(matrix, "batchCount");
}

/* "[...][cublasLtMatmul] A=0X7F00 Adesc=[type=R_16F rows=32 cols=16 ld=32] ... computeDesc=[...]",
 * which may span several lines. */
static int take_matmul(struct reader *reader, struct piece line)
{
    static const char *const desc[] = {"transa", "transb", "computeType", "epilogue"};
    static const enum field desc_field[] = {TRANS_A, TRANS_B, COMPUTE, ACTIVATION};
    const struct piece compute = value_of(line, "computeDesc");
    const struct piece a = value_of(line, "Adesc"), b = value_of(line, "Bdesc");
    struct piece d = value_of(line, "Ddesc");
    struct fields fields = {0};
    static const char *const scales[] = {"aScalePointer", "bScalePointer", "cScalePointer",
                                         "dScalePointer", "aScaleMode",    "bScaleMode"};

    if (!a.at || !b.at || *a.at != '[') /* lines of calls have only pointers */
        return GT_OK;
    if (!d.at)
        d = value_of(line, "Cdesc");
    for (size_t i = 0; i < sizeof(desc) / sizeof(*desc); i++)
        fields.piece[desc_field[i]] = value_of(compute, desc[i]);
    for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++)
        if (is_set(value_of(compute, scales[i])))
            fields.piece[SCALE] = value_of(compute, scales[i]);
    take_matrix(&fields, a, LDA, STRIDE_A, TYPE_A);
    take_matrix(&fields, b, LDB, STRIDE_B, TYPE_B);
    take_matrix(&fields, d, LDD, STRIDE_D, TYPE_D);
    fields.piece[M] = value_of(d, "rows");
    fields.piece[N] = value_of(d, "cols");
    fields.piece[K] = value_of(a, transposed(fields.piece[TRANS_A]) ? "rows" : "cols");
    if (whole(value_of(a, transposed(fields.piece[TRANS_A]) ? "cols" : "rows"), -1) !=
            whole(fields.piece[M], -1) ||
        whole(value_of(b, transposed(fields.piece[TRANS_B]) ? "cols" : "rows"), -1) !=
            whole(fields.piece[K], -1))
        return leave(reader, "of sizes that cannot be", none);
    fields.piece[BETA] = value_of(line, "beta");
    if (other_order(a) || other_order(b) || other_order(d))
        return leave(reader, "of other orders than columns", none);
    return take_fields(reader, &fields, true);
}

/* ---- tables ----
 * A line of names, m, n and k among them, then a line for each product, as spreadsheets, pandas and
 * databases write them; or three numbers on each line, which are m, n and k. */

#define TABLE_COLUMNS 64

struct table {
    char mark; /* between cells; ' ': any number of blanks */
    int columns;
    enum field field[TABLE_COLUMNS]; /* FIELDS: none that is known */
    bool named;                      /* the table has a line of names */
    bool by_columns;                 /* operands are stored as BLAS stores them */
};

/* The next cell, without quotes, blanks around it and ".0"; false: the line has no more. */
static bool next_cell(const char **at, const char *end, char mark, struct piece *cell)
{
    const char *from = *at, *to;

    while (from < end && strchr(" \t\r", *from) && (mark == ' ' || *from != mark))
        from++;
    if (from >= end)
        return false;
    to = *from == '"' ? memchr(from + 1, '"', (size_t)(end - from - 1)) : NULL;
    *cell = to ? piece_of(from + 1, to) : piece_of(from, from);
    for (to = to ? to : from; to < end && *to != mark && !(mark == ' ' && *to == '\t');)
        to++;
    if (!cell->length && *from != '"')
        *cell = piece_of(from, to);
    *at = to + (to < end);
    while (cell->length && strchr(" \t\r", cell->at[cell->length - 1]))
        cell->length--;
    for (to = cell->at + cell->length; to > cell->at + 1 && to[-1] == '0'; to--)
        ;
    if (to > cell->at + 1 && to[-1] == '.' && isdigit((unsigned char)*cell->at))
        cell->length = (int)(to - 1 - cell->at);
    return true;
}

static bool has_column(const struct table *table, enum field field)
{
    for (int i = 0; i < table->columns; i++)
        if (table->field[i] == field)
            return true;
    return false;
}

/* A line without the marks of Markdown, of remarks and of Windows around it. */
static struct piece row_of(const char *text)
{
    const char *start = text + strspn(text, " "), *end = text + strcspn(text, "\n");

    start += *start == '|' || *start == '#';
    while (end > start && strchr("| \r", end[-1]))
        end--;
    return piece_of(start, end > start ? end : start);
}

/* Reads the names of the columns; false: the line does not name m, n and k. */
static bool read_names(struct table *table, struct piece line)
{
    const char *at, *end;
    struct piece cell;
    int numbers = 0;

    *table = (struct table){.mark = ' '};
    at = line.at, end = at + line.length;
    for (const char *mark = "|;\t,"; *mark && table->mark == ' '; mark++)
        if (memchr(at, *mark, (size_t)line.length))
            table->mark = *mark;
    for (; table->columns < TABLE_COLUMNS && next_cell(&at, end, table->mark, &cell);
         table->columns++) {
        numbers += whole(cell, 0) > 0 && whole(cell, 0) < INT64_MAX;
        table->field[table->columns] = FIELDS;
        for (int i = 0; i < FIELDS && cell.length; i++)
            if (is_name(cell, names[i]))
                table->field[table->columns] = (enum field)i;
    }
    table->named = numbers != 3 || table->columns != 3;
    if (!table->named)
        memcpy(table->field, (enum field[]){M, N, K}, 3 * sizeof(enum field));
    for (int i = 0; i < table->columns; i++)
        if (table->field[i] == TYPE_D && !has_column(table, TYPE_A))
            table->field[i] = TYPE; /* "dtype" */
    table->by_columns = has_column(table, LDA) || has_column(table, TRANS_A);
    return has_column(table, M) && has_column(table, N) && has_column(table, K);
}

/* The fields of the transposed product, for a table of operands by rows. */
static void swap_operands(struct fields *fields)
{
    const struct piece n = fields->piece[N];

    fields->piece[N] = fields->piece[M];
    fields->piece[M] = n;
    if (fields->piece[LAYOUT].length == 2) {
        fields->piece[TRANS_B] = piece_of(fields->piece[LAYOUT].at, fields->piece[LAYOUT].at + 1);
        fields->piece[TRANS_A] =
            piece_of(fields->piece[LAYOUT].at + 1, fields->piece[LAYOUT].at + 2);
    }
}

static int take_row(struct reader *reader, const struct table *table, struct piece line)
{
    const char *at = line.at, *end = at + line.length;
    struct fields fields = {0};
    struct piece cell;
    int cells = 0;

    if (strspn(at, "-:| +\t\r") >= (size_t)line.length)
        return GT_OK;
    while (table->mark == ' ' && next_cell(&at, end, ' ', &cell))
        cells++;
    at = line.at;
    if (cells == table->columns + 1) /* the first is a number of the line, without a name */
        next_cell(&at, end, ' ', &cell);
    for (int i = 0; i < table->columns && next_cell(&at, end, table->mark, &cell); i++)
        if (table->field[i] < FIELDS && cell.length)
            fields.piece[table->field[i]] = cell;
    for (enum field i = TRANS_A; i <= TRANS_B; i++)
        if (is_word(fields.piece[i], "1"))
            fields.piece[i] = text_piece("T");
    if (!fields.piece[TYPE].at && !fields.piece[TYPE_A].at)
        fields.piece[TYPE] = text_piece("f32"); /* as of a problem without a type */
    if (!table->by_columns)
        swap_operands(&fields);
    return take_fields(reader, &fields, false);
}

/* ---- kinds of lines ---- */

static bool is_tunable(struct piece line)
{
    const char *comma = find(line, ",");

    return comma && find(piece_of(line.at, comma), "Gemm") &&
           find(piece_of(line.at, comma), "TunableOp_");
}

static bool is_matmul(struct piece line)
{
    return *line.at == '[' && (find(line, "atmul] ") || find(line, "_matmul]"));
}

static bool is_call(struct piece line)
{
    return strncmp(line.at, "I! cuBLAS", 9) == 0 && find(line, " called");
}

static bool is_bench(struct piece line)
{
    return (*line.at == '-' || find(line, "blas-bench ") || find(line, "blaslt-bench ")) &&
           find(line, "-m ") && find(line, "-n ") && find(line, "-k ");
}

static bool is_yaml(struct piece line)
{
    return strncmp(line.at, "- {", 3) == 0 && find(line, "M:") && find(line, "K:") &&
           (find(line, "gemm") || find(line, "matmul"));
}

/* How each kind of line is recognised and read.  `more`: the lines behind a line belong to it as
 * long as they do not begin with this. */
static const struct kind {
    bool (*is)(struct piece line);
    int (*take)(struct reader *reader, struct piece line);
    const char *more;
} kinds[] = {{is_tunable, take_tunable, NULL},
             {is_matmul, take_matmul, "["},
             {is_call, take_call, "I!"},
             {is_yaml, take_yaml, NULL},
             {is_bench, take_bench, NULL}};

static const struct kind *kind_of(struct piece line)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (kinds[i].is(line))
            return &kinds[i];
    return NULL;
}

static struct piece next_line(const char *text)
{
    const char *start = text + strspn(text, " \t");

    return piece_of(start, start + strcspn(start, "\n"));
}

/* Whether the text is a list of ours: its first line that is not empty and no remark is a
 * problem. */
static bool is_ours(const char *text)
{
    const char *line = text;

    while (*line && (*line == '#' || strchr(" \t\r\n", *line)))
        line += *line == '#' ? strcspn(line, "\n") : 1;
    return isdigit((unsigned char)*line) && memchr(line, 'x', strcspn(line, " \t\r\n"));
}

/* Finds the names of a table at the beginning of the text, behind remarks.  *rows: the lines of its
 * products. */
static bool is_table(struct table *table, const char *text, const char **rows)
{
    for (const char *behind; *text; text = behind) {
        behind = text + strcspn(text, "\n");
        behind += *behind == '\n';
        if (read_names(table, row_of(text))) {
            *rows = table->named ? behind : text;
            return true;
        }
        if (!strchr("#\r\n", text[strspn(text, " \t")]))
            return false;
    }
    return false;
}

bool gt_foreign_is(const char *text, size_t length)
{
    const char *rows;

    if (is_trace(text, length) || is_table(&(struct table){0}, text, &rows))
        return true;
    if (is_ours(text))
        return false;
    while (*text) {
        const struct piece line = next_line(text);

        if (kind_of(line) || strncmp(line.at, "Validator,", 10) == 0)
            return true;
        text = line.at + line.length;
        text += *text == '\n';
    }
    return false;
}

int gt_foreign_read(struct gt_foreign *foreign, const char *text, size_t length,
                    gt_foreign_visit *visit, void *context, struct gt_err *err)
{
    struct reader reader = {foreign, visit, context, err};
    struct table table;
    int rc = GT_OK;

    *foreign = (struct gt_foreign){0};
    if (is_trace(text, length))
        return read_trace(&reader, text);
    if (is_table(&table, text, &text)) {
        for (; *text && !rc; text += *text == '\n') {
            rc = *text == '#' ? GT_OK : take_row(&reader, &table, row_of(text));
            text += strcspn(text, "\n");
        }
        return rc;
    }
    while (*text && !rc) {
        struct piece line = next_line(text);
        const struct kind *kind = kind_of(line);
        const char *end = line.at + line.length;

        while (kind && kind->more && *end && end[1] && end[1] != '\n' &&
               strncmp(end + 1, kind->more, strlen(kind->more)) != 0)
            end += 1 + strcspn(end + 1, "\n");
        line = piece_of(line.at, end);
        if (kind)
            rc = kind->take(&reader, line);
        text = end + (*end == '\n');
    }
    return rc;
}
