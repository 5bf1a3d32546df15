/* foreign.c - finds the products in what other programs have written, line by line; foreign.h says
 * which forms there are. */
#include "exchange/foreign_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/strbuf.h"

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
