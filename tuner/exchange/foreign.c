/* foreign.c - finds the products in what other programs have written, line by line; foreign.h says
 * which forms there are. */
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

/* What the files foreign*.c share; nobody else includes it. */

/* A piece of the text. */
struct gt_piece {
    const char *at; /* NULL: not there */
    int length;
};

/* A product as BLAS has it: matrices by columns, D = op(A) op(B) of m x n. */
struct gt_product {
    int64_t m, n, k, batch;   /* batch 0: 1 */
    int64_t ld[3], stride[3]; /* of A, B, D; 0 of ld and -1 of stride: packed */
    bool trans[2];            /* op(A), op(B) */
    struct gt_piece type[3];  /* of A, B, D by whatever name; D's may be missing: A's */
    struct gt_piece compute;  /* the type of the sums; may be missing */
    bool tf32;                /* allowed for products of float */
    bool beta;                /* is not 0 */
    bool bias, scaled;
    struct gt_piece activation; /* may be missing */
    double times;               /* 0: 1 */
    bool counted;
};

struct gt_foreign_reader {
    struct gt_foreign *foreign;
    gt_foreign_visit *visit;
    void *context;
    struct gt_err *err;
};

/* Makes a problem of a product that another program wrote down. */

/* Whether the piece is the word, whatever its capitals. */
static bool gt_piece_is(struct gt_piece piece, const char *word)
{
    return piece.at && strncasecmp(piece.at, word, (size_t)piece.length) == 0 &&
           !word[piece.length];
}

/* Whether the word stands somewhere in the piece. */
static bool contains(struct gt_piece piece, const char *word)
{
    const int length = (int)strlen(word);

    for (int i = 0; i + length <= piece.length; i++)
        if (strncasecmp(piece.at + i, word, (size_t)length) == 0)
            return true;
    return false;
}

/* Counts a product that is left out: "of double". */
static void gt_foreign_leave(struct gt_foreign_reader *reader, const char *what,
                             struct gt_piece name)
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

/* The name without what surrounds it: "CUDA_R_16F(2)", "f16_r", "c10::Half". */
static struct gt_piece bare_type(struct gt_piece type)
{
    static const char *const before[] = {"c10::", "at::", "CUDA_", "HIP_", "R_"};
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

static bool type_of(enum gt_dtype *type, struct gt_piece piece)
{
    static const struct {
        const char *name;
        enum gt_dtype type;
    } known[] = {{"32F", GT_F32},      {"s", GT_F32},   {"xf32", GT_TF32},
                 {"16F", GT_F16},      {"h", GT_F16},   {"16BF", GT_BF16},
                 {"8F_E4M3", GT_E4M3}, {"f8", GT_E4M3}, {"8F_E5M2", GT_E5M2},
                 {"bf8", GT_E5M2},     {"8I", GT_S8},   {"signed char", GT_S8},
                 {"Char", GT_S8},      {"32I", GT_S32}, {"int", GT_S32}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (gt_piece_is(piece, known[i].name)) {
            *type = known[i].type;
            return true;
        }
    return gt_dtype_parse(type, piece.at, (size_t)piece.length);
}

/* Whether the sums are of a kind that a kernel has for these operands. */
static bool sums_as_kernels(struct gt_product *product, enum gt_dtype type)
{
    const struct gt_piece compute = bare_type(product->compute);

    if (!compute.at || contains(compute, "32F") || contains(compute, "f32")) {
        product->tf32 |= contains(compute, "TF32") || contains(compute, "xf32");
        return type == GT_F32 ? !contains(compute, "16") : !contains(compute, "PEDANTIC");
    }
    if (type == GT_S8)
        return contains(compute, "32I") || gt_piece_is(compute, "i32");
    return gt_piece_is(compute, "s") || gt_piece_is(compute, "float");
}

/* Whether a kernel has such a D; the same as what tune serve takes. */
static bool has_out(enum gt_dtype type, enum gt_dtype out)
{
    switch (type) {
    case GT_F32:
    case GT_TF32:
        return out == GT_F32;
    case GT_F16:
    case GT_BF16:
        return out == type || out == GT_F32;
    case GT_S8:
        return out == GT_S32;
    default:
        return (type == GT_E4M3 || type == GT_E5M2) && out != GT_S32;
    }
}

/* Sets types and accuracy; false: the product was counted as left out. */
static bool take_types(struct gt_foreign_reader *reader, struct gt_problem *problem,
                       struct gt_product *product)
{
    const struct gt_piece none = {NULL, 0};
    struct gt_piece name[3];
    enum gt_dtype type[3];

    for (int i = 0; i < 3; i++) {
        name[i] = bare_type(i == 2 && !product->type[i].at ? product->type[0] : product->type[i]);
        if (!name[i].at) {
            gt_foreign_leave(reader, "without a type", none);
            return false;
        }
        if (!type_of(&type[i], name[i])) {
            gt_foreign_leave(reader, "of ", name[i]);
            return false;
        }
    }
    if (!product->type[2].at)
        type[2] = gt_dtype_default_out(type[0]);
    if (type[2] == GT_TF32)
        type[2] = GT_F32;
    if (!sums_as_kernels(product, type[0])) {
        gt_foreign_leave(reader, "with sums of ", bare_type(product->compute));
        return false;
    }
    if (type[0] != type[1] || !has_out(type[0], type[2])) {
        gt_foreign_leave(reader, "of mixed types", none);
        return false;
    }
    gt_problem_retype(problem, type[0] == GT_F32 && product->tf32 ? GT_TF32 : type[0]);
    problem->out = type[2];
    return true;
}

/* ---- the problem ---- */

/* "EPILOGUE_RELU_BIAS", "relu", "None"; false: no kernel has it. */
static bool take_epilogue(struct gt_problem *problem, const struct gt_product *product)
{
    const struct gt_piece word = product->activation;
    const bool bias = product->bias || contains(word, "BIAS");
    const bool relu = gt_piece_is(word, "relu") || gt_piece_is(word, "EPILOGUE_RELU") ||
                      gt_piece_is(word, "EPILOGUE_RELU_BIAS");
    const bool plain = !word.at || !word.length || gt_piece_is(word, "none") ||
                       gt_piece_is(word, "EPILOGUE_DEFAULT") || gt_piece_is(word, "EPILOGUE_BIAS");

    problem->epilogue =
        (unsigned char)((bias ? GT_EPILOGUE_BIAS : 0) | (relu ? GT_EPILOGUE_RELU : 0));
    return relu || plain;
}

/* Columns of the operand as BLAS stores it. */
static int64_t columns(const struct gt_product *product, int operand)
{
    if (operand == 2)
        return product->n;
    if (operand == 0)
        return product->trans[0] ? product->m : product->k;
    return product->trans[1] ? product->k : product->n;
}

static int64_t rows(const struct gt_product *product, int operand)
{
    if (operand == 2)
        return product->m;
    if (operand == 0)
        return product->trans[0] ? product->k : product->m;
    return product->trans[1] ? product->n : product->k;
}

/* Sets leading dimensions and strides.  An overflow is found by the check of the problem. */
static void take_layout(struct gt_problem *problem, const struct gt_product *product)
{
    int64_t ld[3], stride[3];

    for (int i = 0; i < 3; i++) {
        ld[i] = product->ld[i] ? product->ld[i] : rows(product, i);
        stride[i] = product->stride[i];
        if (stride[i] < 0 && __builtin_mul_overflow(ld[i], columns(product, i), &stride[i]))
            stride[i] = -1;
    }
    problem->trans_a = product->trans[1];
    problem->trans_b = product->trans[0];
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
static int gt_foreign_take(struct gt_foreign_reader *reader, const struct gt_product *from)
{
    const struct gt_piece none = {NULL, 0};
    struct gt_product product = *from;
    struct gt_problem problem;

    if (!is_size(product.m, 1) || !is_size(product.n, 1) || !is_size(product.k, 0)) {
        gt_foreign_leave(reader, "of sizes that cannot be", none);
        return GT_OK;
    }
    gt_problem_init(&problem, product.n, product.m, product.k);
    if (product.scaled) {
        gt_foreign_leave(reader, "with scales", none);
        return GT_OK;
    }
    if (!take_types(reader, &problem, &product))
        return GT_OK;
    if (!take_epilogue(&problem, &product)) {
        gt_foreign_leave(reader, "with ", product.activation);
        return GT_OK;
    }
    take_layout(&problem, &product);
    problem.beta = product.beta;
    if (gt_problem_check(&problem, NULL)) {
        gt_foreign_leave(reader, "of sizes that cannot be", none);
        return GT_OK;
    }
    reader->foreign->products++;
    return reader->visit(reader->context, &problem, product.times > 0 ? product.times : 1,
                         product.counted, reader->err);
}

/* The products in a trace of PyTorch's profiler: events such as aten::mm, whose
 * "Input Dims" and "Input Strides" describe their operands, which are stored by rows. */

/* The operations that compute a product themselves: matmul, linear and einsum call these. */
static const struct operation {
    const char *name;
    int a;            /* which input A is; B follows */
    bool batch;       /* of three dimensions */
    bool adds;        /* input 0 is added: a bias if it has one dimension */
    const char *with; /* what no kernel has; NULL: nothing */
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

/* foreign.c: a trace of PyTorch's profiler. */
static bool gt_foreign_is_torch(const char *text, size_t length)
{
    const char first = text[strspn(text, " \t\r\n")];

    return (first == '{' || first == '[') && (memmem(text, length, "\"traceEvents\"", 13) ||
                                              memmem(text, length, "\"Input Dims\"", 12));
}

/* Element `index` of a list of numbers; -1: there is none. */
static int64_t number(const cJSON *list, int index)
{
    int64_t value;

    return gt_json_whole(cJSON_GetArrayItem(list, index), 0, INT32_MAX, &value) ? value : -1;
}

/* How an operand of `rows` x `cols` lies in memory: by rows, or transposed.  PyTorch copies any
 * other one to packed rows. */
static void take_operand(struct gt_product *product, int operand, const cJSON *strides, bool batch,
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

static int take_event(struct gt_foreign_reader *reader, const struct operation *op,
                      const cJSON *args)
{
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(args, "Input Dims");
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(args, "Input type");
    const cJSON *strides = cJSON_GetObjectItemCaseSensitive(args, "Input Strides");
    const cJSON *a = cJSON_GetArrayItem(dims, op->a), *b = cJSON_GetArrayItem(dims, op->a + 1);
    const cJSON *added = op->adds ? cJSON_GetArrayItem(dims, 0) : NULL;
    const char *type = cJSON_GetStringValue(cJSON_GetArrayItem(types, op->a));
    const int first = op->batch;
    struct gt_product product = {
        .m = number(b, first + 1), /* BLAS's m and n, A and B are the other ones */
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
    if (op->with) {
        gt_foreign_leave(reader, "with ", (struct gt_piece){op->with, (int)strlen(op->with)});
        return GT_OK;
    }
    for (int i = 0; i < 3 && type; i++)
        product.type[i] = (struct gt_piece){type, (int)strlen(type)};
    if (strcmp(op->name, "aten::_int_mm") == 0)
        product.type[2] = (struct gt_piece){"int", 3};
    take_operand(&product, 0, cJSON_GetArrayItem(strides, op->a + 1), op->batch, product.k,
                 product.m);
    take_operand(&product, 1, cJSON_GetArrayItem(strides, op->a), op->batch, product.n, product.k);
    return gt_foreign_take(reader, &product);
}

static const struct operation *find_operation(const cJSON *event)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));

    for (size_t i = 0; name && i < sizeof(operations) / sizeof(*operations); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

/* One event after the other is held as JSON: a trace has millions. */
static int gt_foreign_read_torch(struct gt_foreign_reader *reader, const char *text)
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

/* What a line may say of a product, by the names that the programs have for it, without capitals
 * and underscores. */
enum field {
    M,
    N,
    K,
    LDA,
    LDB,
    LDC,
    LDD,
    STRIDE_A,
    STRIDE_B,
    STRIDE_C,
    STRIDE_D,
    BATCH,
    TIMES,
    TRANS_A,
    TRANS_B,
    TYPE,
    TYPE_A,
    TYPE_B,
    TYPE_C,
    TYPE_D,
    COMPUTE,
    FUNCTION,
    BETA,
    BIAS,
    ACTIVATION,
    SCALE,
    FIELDS
};

static const struct {
    const char *name;
    enum field field;
} names[] = {{"m", M},
             {"sizem", M},
             {"n", N},
             {"sizen", N},
             {"k", K},
             {"sizek", K},
             {"lda", LDA},
             {"ldb", LDB},
             {"ldc", LDC},
             {"ldd", LDD},
             {"stridea", STRIDE_A},
             {"strideb", STRIDE_B},
             {"stridec", STRIDE_C},
             {"strided", STRIDE_D},
             {"batch", BATCH},
             {"batchcount", BATCH},
             {"callcount", TIMES},
             {"transa", TRANS_A},
             {"transposea", TRANS_A},
             {"transb", TRANS_B},
             {"transposeb", TRANS_B},
             {"r", TYPE},
             {"precision", TYPE},
             {"atype", TYPE_A},
             {"btype", TYPE_B},
             {"ctype", TYPE_C},
             {"dtype", TYPE_D},
             {"computetype", COMPUTE},
             {"f", FUNCTION},
             {"function", FUNCTION},
             {"rocblasfunction", FUNCTION},
             {"beta", BETA},
             {"biasvector", BIAS},
             {"activation", ACTIVATION},
             {"activationtype", ACTIVATION},
             {"epilogue", ACTIVATION},
             {"scalea", SCALE},
             {"scaleb", SCALE},
             {"ascalepointer", SCALE},
             {"bscalepointer", SCALE},
             {"cscalepointer", SCALE},
             {"dscalepointer", SCALE},
             {"ascalemode", SCALE},
             {"bscalemode", SCALE}};

struct fields {
    struct gt_piece piece[FIELDS];
};

static bool is_name(struct gt_piece key, const char *name)
{
    for (int i = 0; i < key.length; i++) {
        if (key.at[i] == '_')
            continue;
        if (tolower((unsigned char)key.at[i]) != *name++)
            return false;
    }
    return !*name;
}

static void set(struct fields *fields, struct gt_piece key, struct gt_piece value)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_name(key, names[i].name))
            fields->piece[names[i].field] = value;
}

static struct gt_piece piece_of(const char *at, const char *end)
{
    return (struct gt_piece){at, (int)(end - at)};
}

/* The whole number that the piece begins with; `absent` if there is none. */
static int64_t whole(struct gt_piece piece, int64_t absent)
{
    int64_t value = 0;
    int i = 0;

    for (; i < piece.length && isdigit((unsigned char)piece.at[i]); i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, piece.at[i] - '0', &value))
            return INT64_MAX;
    return i ? value : absent;
}

/* "T", "OP_T", "CUBLAS_OP_T(1)", "C" */
static bool transposed(struct gt_piece piece)
{
    const char *at = piece.at ? memmem(piece.at, (size_t)piece.length, "OP_", 3) : NULL;
    const char op = at && at + 3 < piece.at + piece.length ? at[3] : piece.length ? *piece.at : 'N';

    return strchr("TtCc", op) != NULL;
}

/* A number that is not 0; a pointer is none. */
static bool not_zero(struct gt_piece piece)
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

static bool is_set(struct gt_piece piece)
{
    return piece.at && !gt_piece_is(piece, "0") && !gt_piece_is(piece, "0X0") &&
           !gt_piece_is(piece, "false") && !gt_piece_is(piece, "none");
}

/* The operands' type in the name of a function: "cublasSgemm_v2", "rocblas_hgemm_strided". */
static struct gt_piece type_in(struct gt_piece function)
{
    static const struct {
        char letter;
        const char *type;
    } types[] = {
        {'s', "float"}, {'d', "double"}, {'h', "Half"}, {'c', "complex"}, {'z', "complex"}};
    const char *gemm = NULL;

    for (int i = 1; i + 4 <= function.length && !gemm; i++)
        if (strncasecmp(function.at + i, "gemm", 4) == 0)
            gemm = function.at + i;
    for (size_t i = 0; gemm && i < sizeof(types) / sizeof(*types); i++)
        if (tolower((unsigned char)gemm[-1]) == types[i].letter &&
            (gemm - 1 == function.at || gemm[-2] == '_' || gemm[-2] == 's'))
            return (struct gt_piece){types[i].type, (int)strlen(types[i].type)};
    return (struct gt_piece){NULL, 0};
}

static bool in_piece(struct gt_piece piece, const char *word)
{
    return piece.at && memmem(piece.at, (size_t)piece.length, word, strlen(word));
}

/* Makes a product of what a line says; most lines say only what is not usual. */
static int take_fields(struct gt_foreign_reader *reader, const struct fields *fields, bool counted)
{
    const struct gt_piece *f = fields->piece;
    const struct gt_piece type = f[TYPE].at ? f[TYPE] : type_in(f[FUNCTION]);
    const struct gt_piece out = f[TYPE_D].at ? f[TYPE_D] : f[TYPE_C];
    struct gt_product product = {
        .m = whole(f[M], 0),
        .n = whole(f[N], 0),
        .k = whole(f[K], 0),
        .batch = whole(f[BATCH], 1),
        .ld = {whole(f[LDA], 0), whole(f[LDB], 0), whole(f[f[LDD].at ? LDD : LDC], 0)},
        .stride = {whole(f[STRIDE_A], -1), whole(f[STRIDE_B], -1),
                   whole(f[f[STRIDE_D].at ? STRIDE_D : STRIDE_C], -1)},
        .trans = {transposed(f[TRANS_A]), transposed(f[TRANS_B])},
        .type = {f[TYPE_A].at ? f[TYPE_A] : type, f[TYPE_B].at ? f[TYPE_B] : type,
                 out.at ? out : type},
        .compute = f[COMPUTE],
        .beta = not_zero(f[BETA]),
        .bias = is_set(f[BIAS]),
        .scaled = is_set(f[SCALE]),
        .activation = f[ACTIVATION],
        .times = (double)whole(f[TIMES], 1),
        .counted = counted || f[TIMES].at,
    };

    if (in_piece(f[FUNCTION], "atched") && !in_piece(f[FUNCTION], "trided")) {
        gt_foreign_leave(reader, "in batches of pointers", (struct gt_piece){NULL, 0});
        return GT_OK;
    }
    return gt_foreign_take(reader, &product);
}

/* ---- TunableOp ---- */

/* "GemmTunableOp_float_NT,nt_256_512_1024_ld_256_512_256" and "...,tn_64_128_64_B_12_ld_64_64_64",
 * of results with more behind; early versions wrote no leading dimensions. */
static int take_tunable(struct gt_foreign_reader *reader, const char *line, const char *end)
{
    static const struct {
        const char *word;
        int values; /* how many follow */
        enum field field[3];
    } parts[] = {{"", 3, {M, N, K}}, {"B", 1, {BATCH}}, {"ld", 3, {LDA, LDB, LDC}}};
    const char *mark = memmem(line, (size_t)(end - line), "TunableOp_", 10), *at = mark + 10;
    const char *comma = memchr(line, ',', (size_t)(end - line)), *under = comma;
    struct fields fields = {0};
    bool bias = memmem(line, (size_t)(mark - line), "AndBias", 7) != NULL;

    while (under > at && *--under != '_')
        ;
    fields.piece[TYPE] = piece_of(at, under > at ? under : comma);
    fields.piece[BIAS] = bias ? (struct gt_piece){"1", 1} : (struct gt_piece){NULL, 0};
    if (memmem(line, (size_t)(mark - line), "Scaled", 6))
        fields.piece[SCALE] = (struct gt_piece){"1", 1};
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

/* "rocblas-bench -f gemm_ex --transposeA T -m 128 --bias_vector": a value does not begin as an
 * option does. */
static int take_bench(struct gt_foreign_reader *reader, const char *line, const char *end)
{
    struct fields fields = {0};
    struct gt_piece key = {NULL, 0};

    for (const char *at = line; at < end;) {
        const char *word = at + strspn(at, " \t\r\"'"), *after;

        after = word + strcspn(word, " \t\r\n\"'");
        if (word >= end || after == word)
            break;
        if (word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]))) {
            word += strspn(word, "-");
            key = piece_of(word, after);
            set(&fields, key, (struct gt_piece){"1", 1});
        } else if (key.at) {
            set(&fields, key, piece_of(word, after));
            key.at = NULL;
        }
        at = after;
    }
    if (!fields.piece[TYPE].at && memmem(line, (size_t)(end - line), "rocblas-bench", 13))
        fields.piece[TYPE] = (struct gt_piece){"f32_r", 5}; /* its default */
    return take_fields(reader, &fields, false);
}

/* "- { rocblas_function: "rocblas_gemm_ex", transA: 'N', M: 128, ..., call_count: 3 }" */
static int take_yaml(struct gt_foreign_reader *reader, const char *line, const char *end)
{
    static const char blanks[] = " \t\"'{-";
    struct fields fields = {0};

    for (const char *at = line; at < end;) {
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

/* A call in cuBLAS's log: a line that names the function, lines "i!  m: type=int; val=128". */
static int take_call(struct gt_foreign_reader *reader, const char *line, const char *end)
{
    const char *name = memmem(line, (size_t)(end - line), "cublasStatus_t ", 15);
    const char *tf32 = memmem(line, (size_t)(end - line), "MathMode=CUBLAS_TF32", 20);
    struct fields fields = {0};

    if (!name)
        return GT_OK;
    name += 15;
    fields.piece[FUNCTION] = piece_of(name, name + strcspn(name, "( \r\n"));
    if (!in_piece(fields.piece[FUNCTION], "gemm") && !in_piece(fields.piece[FUNCTION], "Gemm"))
        return GT_OK;
    for (const char *at = line; at && at < end;) {
        const char *key, *value;

        at = memchr(at, '\n', (size_t)(end - at));
        if (!at || ++at >= end || strncmp(at, "i!", 2) != 0)
            continue;
        key = at + 2 + strspn(at + 2, " \t");
        value = key + strcspn(key, "\n");
        value = memmem(key, (size_t)(value - key), "val=", 4);
        if (value)
            set(&fields, piece_of(key, key + strcspn(key, ": \n")),
                piece_of(value + 4, value + 4 + strcspn(value + 4, "; \r\n")));
    }
    if (tf32 && !fields.piece[COMPUTE].at)
        fields.piece[COMPUTE] = (struct gt_piece){"32F_FAST_TF32", 13};
    return take_fields(reader, &fields, true);
}

/* ---- cublasLt's trace ---- */

/* The value behind "key=" in the piece. */
static struct gt_piece value_of(struct gt_piece in, const char *key)
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
    return (struct gt_piece){NULL, 0};
}

static bool other_order(struct gt_piece matrix)
{
    const struct gt_piece order = value_of(matrix, "order");

    return order.at && !gt_piece_is(order, "COL") && !gt_piece_is(order, "ORDER_COL");
}

/* What the descriptor of a matrix says beside its rows and columns. */
static void take_matrix(struct fields *fields, struct gt_piece matrix, enum field ld,
                        enum field stride, enum field type)
{
    fields->piece[ld] = value_of(matrix, "ld");
    fields->piece[type] = value_of(matrix, "type");
    fields->piece[stride] = value_of(matrix, "stridedBatchOffset");
    if (value_of(matrix, "batchCount").at)
        fields->piece[BATCH] = value_of(matrix, "batchCount");
}

/* "[...][cublasLtMatmul] A=0X7F00 Adesc=[type=R_16F rows=32 cols=16 ld=32] ... computeDesc=[...]",
 * which may be broken into lines. */
static int take_matmul(struct gt_foreign_reader *reader, const char *line, const char *end)
{
    static const char *const desc[] = {"transa", "transb", "computeType", "epilogue"};
    static const enum field desc_field[] = {TRANS_A, TRANS_B, COMPUTE, ACTIVATION};
    const struct gt_piece all = piece_of(line, end), compute = value_of(all, "computeDesc");
    const struct gt_piece a = value_of(all, "Adesc"), b = value_of(all, "Bdesc");
    struct gt_piece d = value_of(all, "Ddesc");
    struct fields fields = {0};
    static const char *const scales[] = {"aScalePointer", "bScalePointer", "cScalePointer",
                                         "dScalePointer", "aScaleMode",    "bScaleMode"};

    if (!a.at || !b.at || *a.at != '[') /* the lines of calls have pointers only */
        return GT_OK;
    if (!d.at)
        d = value_of(all, "Cdesc");
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
    fields.piece[BETA] = value_of(all, "beta");
    if (other_order(a) || other_order(b) || other_order(d)) {
        gt_foreign_leave(reader, "of other orders than columns", (struct gt_piece){NULL, 0});
        return GT_OK;
    }
    return take_fields(reader, &fields, true);
}

/* ---- lines ---- */

static bool has(const char *line, const char *end, const char *word)
{
    return memmem(line, (size_t)(end - line), word, strlen(word)) != NULL;
}

static bool is_tunable(const char *line, const char *end)
{
    const char *comma = memchr(line, ',', (size_t)(end - line));

    return comma && has(line, comma, "Gemm") && has(line, comma, "TunableOp_");
}

static bool is_matmul(const char *line, const char *end)
{
    return *line == '[' && (has(line, end, "atmul] ") || has(line, end, "_matmul]"));
}

static bool is_call(const char *line, const char *end)
{
    return strncmp(line, "I! cuBLAS", 9) == 0 && has(line, end, " called");
}

static bool is_bench(const char *line, const char *end)
{
    return (*line == '-' || has(line, end, "blas-bench ") || has(line, end, "blaslt-bench ")) &&
           has(line, end, "-m ") && has(line, end, "-n ") && has(line, end, "-k ");
}

static bool is_yaml(const char *line, const char *end)
{
    return strncmp(line, "- {", 3) == 0 && has(line, end, "M:") && has(line, end, "K:") &&
           (has(line, end, "gemm") || has(line, end, "matmul"));
}

/* How each kind of line is known and read; `more`: what the lines behind it, which belong to it, do
 * not begin with. */
static const struct kind {
    bool (*is)(const char *line, const char *end);
    int (*take)(struct gt_foreign_reader *reader, const char *line, const char *end);
    const char *more;
} kinds[] = {{is_tunable, take_tunable, NULL},
             {is_matmul, take_matmul, "["},
             {is_call, take_call, "I!"},
             {is_yaml, take_yaml, NULL},
             {is_bench, take_bench, NULL}};

static const char *line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

static const struct kind *kind_of(const char *line, const char *end)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (kinds[i].is(line, end))
            return &kinds[i];
    return NULL;
}

/* The first line that is not empty and no remark, in a list of ours, is a problem. */
static bool is_ours(const char *text)
{
    const char *line = text;

    while (*line && (*line == '#' || strchr(" \t\r\n", *line)))
        line += *line == '#' ? strcspn(line, "\n") : 1;
    return isdigit((unsigned char)*line) && memchr(line, 'x', strcspn(line, " \t\r\n"));
}

bool gt_foreign_is(const char *text, size_t length)
{
    if (gt_foreign_is_torch(text, length))
        return true;
    if (is_ours(text))
        return false;
    for (const char *line = text; *line;) {
        const char *start = line + strspn(line, " \t"), *end = line_end(start);

        if (kind_of(start, end) || strncmp(start, "Validator,", 10) == 0)
            return true;
        line = end + (*end == '\n');
    }
    return false;
}

int gt_foreign_read(struct gt_foreign *foreign, const char *text, size_t length,
                    gt_foreign_visit *visit, void *context, struct gt_err *err)
{
    struct gt_foreign_reader reader = {foreign, visit, context, err};
    int rc = GT_OK;

    *foreign = (struct gt_foreign){0};
    if (gt_foreign_is_torch(text, length))
        return gt_foreign_read_torch(&reader, text);
    for (const char *line = text; *line && !rc;) {
        const char *start = line + strspn(line, " \t"), *end = line_end(start);
        const struct kind *kind = kind_of(start, end);

        while (kind && kind->more && *end && end[1] && end[1] != '\n' &&
               strncmp(end + 1, kind->more, strlen(kind->more)) != 0)
            end = line_end(end + 1);
        if (kind)
            rc = kind->take(&reader, start, end);
        line = end + (*end == '\n');
    }
    return rc;
}
