/* foreign_product.c - makes a problem of a product that another program wrote down. */
#include "exchange/foreign_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "problem/problem.h"

bool gt_piece_is(struct gt_piece piece, const char *word)
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

void gt_foreign_leave(struct gt_foreign_reader *reader, const char *what, struct gt_piece name)
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

int gt_foreign_take(struct gt_foreign_reader *reader, const struct gt_product *from)
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
