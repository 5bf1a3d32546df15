/* operands.c - test: operands and the plain reference (operands.h). */
#include "operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "problem.h"

/* Every rule of BLAS at least once, sizes of one, sizes around and beyond the tiles. */
const struct gt_emu_case gt_emu_cases[] = {
    /*  m    n   k  mult  pads     batch alpha beta align in place */
    {64, 64, 64, 4, 0, 0, 0, 1, 1, 0, 16, false},
    {33, 65, 17, 1, 0, 0, 0, 1, 1, 0, 4, false},
    {33, 65, 17, 4, 4, 8, 4, 1, 2, 1, 16, true},
    {129, 130, 19, 4, 0, 4, 8, 1, 0.5, -1, 16, false},
    {7, 5, 3, 1, 2, 3, 1, 1, 1, 0, 4, false},
    {1, 1, 1, 1, 0, 0, 0, 1, -1, 0.5, 4, true},
    {1, 1, 1, 4, 0, 0, 0, 1, 1, 0, 16, false},
    {1, 67, 35, 4, 4, 0, 0, 1, 1, 0, 16, false},
    {70, 1, 9, 4, 0, 4, 4, 1, -1, 2, 16, true},
    {40, 41, 0, 4, 0, 0, 4, 1, 1, 2, 16, false},
    {41, 36, 0, 4, 0, 4, 0, 1, 1, 0, 16, false},
    {31, 29, 1, 1, 1, 2, 3, 1, -1, 0.5, 4, true},
    {45, 37, 50, 4, 0, 0, 4, 1, 0, 1, 16, false},
    {21, 24, 40, 4, 0, 4, 0, 1, 0, 0, 16, false},
    {35, 50, 21, 4, 4, 4, 4, 2, 1, 1, 16, false},
    {34, 46, 22, 2, 0, 0, 0, 2, 0.5, 0, 8, false},
    {19, 23, 26, 1, 3, 0, 5, 2, 2, -1, 4, true},
    {66, 67, 130, 4, 0, 4, 0, 1, 1, 0, 16, false},
    {261, 259, 37, 4, 4, 0, 4, 1, 1, 0.5, 16, false},
};
const size_t gt_emu_case_count = sizeof gt_emu_cases / sizeof *gt_emu_cases;

/* Smallest product first. */
const struct gt_emu_scale gt_emu_scales[] = {
    {1, 1, 1},  {2, 1, 1},  {1, 2, 1},  {2, 2, 1},  {4, 1, 1},  {1, 4, 1}, {1, 1, 8},
    {4, 2, 1},  {2, 4, 1},  {8, 1, 1},  {1, 8, 1},  {1, 1, 16}, {2, 1, 8}, {1, 2, 8},
    {4, 4, 1},  {8, 2, 1},  {2, 8, 1},  {16, 1, 1}, {2, 2, 8},  {4, 8, 1}, {8, 4, 1},
    {1, 16, 1}, {1, 1, 64}, {2, 2, 16}, {8, 8, 1},
};
const size_t gt_emu_scale_count = sizeof gt_emu_scales / sizeof *gt_emu_scales;

static int64_t stride(int64_t row, int multiple, int pad)
{
    return (row + multiple - 1) / multiple * multiple + pad;
}

void gt_emu_case_problem(struct gt_problem *problem, const struct gt_emu_case *cases,
                         struct gt_emu_scale by, bool trans_a, bool trans_b, unsigned epilogue)
{
    gt_problem_init(problem, cases->m * by.m, cases->n * by.n, cases->k * by.k);
    problem->trans_a = trans_a;
    problem->trans_b = trans_b;
    problem->epilogue = (unsigned char)epilogue;
    problem->align = (unsigned char)cases->align;
    problem->batch = cases->batch;
    problem->alpha = cases->alpha;
    problem->beta = cases->beta;
    problem->lda = stride(gt_problem_cols(problem, GT_OPERAND_A), cases->multiple, cases->pad_a);
    problem->ldb = stride(gt_problem_cols(problem, GT_OPERAND_B), cases->multiple, cases->pad_b);
    problem->ldc = stride(problem->n, cases->multiple, cases->pad_c);
    if (problem->lda == 0)
        problem->lda = cases->multiple;
    if (problem->ldb == 0)
        problem->ldb = cases->multiple;
    problem->stride_a = problem->lda * gt_problem_rows(problem, GT_OPERAND_A);
    problem->stride_b = problem->ldb * gt_problem_rows(problem, GT_OPERAND_B);
    problem->stride_c = problem->ldc * problem->m;
    if (cases->batch > 1) { /* matrices apart by more than their rows */
        problem->stride_a += cases->multiple;
        problem->stride_b += 2 * (int64_t)cases->multiple;
        problem->stride_c += cases->multiple;
    }
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static float *allocate(struct gt_emu_operands *operands, int slot, int64_t elements, int align)
{
    /* The address is a multiple of `align` bytes and, below 16, of no larger power of two. */
    size_t shift = align < 16 ? (size_t)align / sizeof(float) : 0;
    float *block = malloc(((size_t)elements + shift) * sizeof(float) + (elements == 0));
    if (!block)
        abort();
    for (size_t i = 0; i < (size_t)elements + shift; i++)
        block[i] = NAN;
    operands->block[slot] = block;
    return block + shift;
}

/* A matrix per batch, NaN elsewhere. */
static void fill(float *to, int64_t rows, int64_t columns, int64_t ld, int64_t batch,
                 int64_t batch_stride, unsigned seed)
{
    for (int64_t z = 0; z < batch; z++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                to[z * batch_stride + i * ld + j] = (float)((int)(next(&seed) % 9) - 4);
}

void gt_emu_operands_init(struct gt_emu_operands *operands, const struct gt_problem *problem,
                          bool in_place, unsigned seed)
{
    const struct gt_problem *p = problem;
    size_t elements_c = (size_t)gt_problem_elements(p, GT_OPERAND_C);

    operands->a = allocate(operands, 0, gt_problem_elements(p, GT_OPERAND_A), p->align);
    operands->b = allocate(operands, 1, gt_problem_elements(p, GT_OPERAND_B), p->align);
    operands->d = allocate(operands, 2, (int64_t)elements_c, p->align);
    operands->c = in_place ? operands->d : allocate(operands, 3, (int64_t)elements_c, p->align);
    operands->bias = allocate(operands, 4, p->n, p->align);
    operands->original_d = allocate(operands, 5, (int64_t)elements_c, 16);
    if (in_place)
        operands->block[3] = NULL;
    operands->block[6] = NULL;
    if (p->alpha != 0) {
        fill(operands->a, gt_problem_rows(p, GT_OPERAND_A), gt_problem_cols(p, GT_OPERAND_A),
             p->lda, p->batch, p->stride_a, seed + 1);
        fill(operands->b, gt_problem_rows(p, GT_OPERAND_B), gt_problem_cols(p, GT_OPERAND_B),
             p->ldb, p->batch, p->stride_b, seed + 2);
    }
    if (p->beta != 0)
        fill(operands->c, p->m, p->n, p->ldc, p->batch, p->stride_c, seed + 3);
    fill(operands->bias, 1, p->n, p->n, 1, 0, seed + 4);
    memcpy(operands->original_d, operands->d, elements_c * sizeof(float));
}

void gt_emu_operands_release(struct gt_emu_operands *operands)
{
    for (size_t i = 0; i < sizeof operands->block / sizeof *operands->block; i++)
        free(operands->block[i]);
}

void gt_emu_operands_args(struct gt_args *args, const struct gt_emu_operands *operands,
                          const struct gt_problem *problem)
{
    bool bias = problem->epilogue & GT_EPILOGUE_BIAS;
    *args = (struct gt_args){
        .a = operands->a,
        .b = operands->b,
        .c = problem->beta != 0 ? operands->c : NULL,
        .d = operands->d,
        .bias = bias ? operands->bias : NULL,
        .m = problem->m,
        .n = problem->n,
        .k = problem->k,
        .lda = problem->lda,
        .ldb = problem->ldb,
        .ldc = problem->ldc,
        .stride_a = problem->stride_a,
        .stride_b = problem->stride_b,
        .stride_c = problem->stride_c,
        .batch = problem->batch,
        .alpha = (float)problem->alpha,
        .beta = (float)problem->beta,
    };
}

static double reference(const struct gt_emu_operands *operands, const struct gt_problem *p,
                        int64_t z, int64_t i, int64_t j)
{
    const float *a = operands->a + z * p->stride_a, *b = operands->b + z * p->stride_b;
    double value = 0;
    if (p->alpha != 0)
        for (int64_t k = 0; k < p->k; k++)
            value += (double)a[p->trans_a ? k * p->lda + i : i * p->lda + k] *
                     b[p->trans_b ? j * p->ldb + k : k * p->ldb + j];
    value *= p->alpha;
    if (p->beta != 0) {
        const float *c = operands->c == operands->d ? operands->original_d : operands->c;
        value += p->beta * c[z * p->stride_c + i * p->ldc + j];
    }
    if (p->epilogue & GT_EPILOGUE_BIAS)
        value += operands->bias[j];
    if (p->epilogue & GT_EPILOGUE_RELU)
        value = value < 0 ? 0 : value;
    if (p->epilogue & GT_EPILOGUE_GELU)
        value = value / 2 * (1 + erf(value / sqrt(2.0)));
    return value;
}

int gt_emu_operands_check(const struct gt_emu_operands *operands, const struct gt_problem *problem,
                          struct gt_err *err)
{
    const struct gt_problem *p = problem;
    /* erff rounds, and 1 + erf cancels for negative values; all else is exact. */
    double tolerance = p->epilogue & GT_EPILOGUE_GELU ? 4e-6 : 0;

    for (int64_t at = 0; at < gt_problem_elements(p, GT_OPERAND_C); at++) {
        int64_t z = p->batch > 1 ? at / p->stride_c : 0;
        int64_t i = (at - z * p->stride_c) / p->ldc, j = (at - z * p->stride_c) % p->ldc;
        if (i >= p->m || j >= p->n) {
            if (memcmp(operands->d + at, operands->original_d + at, sizeof(float)) != 0)
                return gt_err_set(err, GT_ERANGE,
                                  "written beside D: %g in row %lld, column %lld of matrix %lld",
                                  operands->d[at], (long long)i, (long long)j, (long long)z);
            continue;
        }
        double want = reference(operands, p, z, i, j), got = operands->d[at];
        if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
            return gt_err_set(err, GT_ERANGE, "D[%lld,%lld] of matrix %lld is %g where %g is right",
                              (long long)i, (long long)j, (long long)z, got, want);
    }
    return GT_OK;
}
