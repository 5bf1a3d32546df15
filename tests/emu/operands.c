/* operands.c - test: problems and their operands (operands.h). */
#include "operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/gpu.h"
#include "numbers.h"
#include "problem/problem.h"

/* Every rule of BLAS at least once, sizes of one, sizes around and beyond the tiles. */
const struct gt_emu_case gt_emu_cases[] = {
    /*  m    n   k  mult  pads     batch alpha beta align in place, spoilt */
    {64, 64, 64, 4, 0, 0, 0, 1, 1, 0, 16, false, false},
    {33, 65, 17, 1, 0, 0, 0, 1, 1, 0, 4, false, false},
    {33, 65, 17, 4, 4, 8, 4, 1, 2, 1, 16, true, false},
    {129, 130, 19, 4, 0, 4, 8, 1, 0.5, -1, 16, false, false},
    {7, 5, 3, 1, 2, 3, 1, 1, 1, 0, 4, false, false},
    {1, 1, 1, 1, 0, 0, 0, 1, -1, 0.5, 4, true, false},
    {1, 1, 1, 4, 0, 0, 0, 1, 1, 0, 16, false, false},
    {1, 67, 35, 4, 4, 0, 0, 1, 1, 0, 16, false, false},
    {70, 1, 9, 4, 0, 4, 4, 1, -1, 2, 16, true, false},
    {40, 41, 0, 4, 0, 0, 4, 1, 1, 2, 16, false, false},
    {41, 36, 0, 4, 0, 4, 0, 1, 1, 0, 16, false, false},
    {31, 29, 1, 1, 1, 2, 3, 1, -1, 0.5, 4, true, false},
    {45, 37, 50, 4, 0, 0, 4, 1, 0, 1, 16, false, false},
    {21, 24, 40, 4, 0, 4, 0, 1, 0, 0, 16, false, false},
    {35, 50, 21, 4, 4, 4, 4, 2, 1, 1, 16, false, false},
    {34, 46, 22, 2, 0, 0, 0, 2, 0.5, 0, 8, false, false},
    {19, 23, 26, 1, 3, 0, 5, 2, 2, -1, 4, true, false},
    {66, 67, 130, 4, 0, 4, 0, 1, 1, 0, 16, false, false},
    {261, 259, 37, 4, 4, 0, 4, 1, 1, 0.5, 16, false, false},
    /* thin ones */
    {3, 100, 261, 1, 0, 0, 0, 1, 1, 0, 4, false, false},
    {8, 136, 300, 4, 0, 4, 0, 2, 1, 1, 16, false, false},
    {16, 72, 520, 4, 0, 0, 0, 1, 1, 0, 16, false, false},
    {50, 35, 264, 4, 4, 0, 4, 1, -1, 2, 16, true, false},
    /* infinities and NaN among the operands */
    {67, 70, 35, 4, 4, 0, 0, 1, 1, 1, 16, false, true},
    {33, 65, 70, 1, 0, 1, 0, 2, 2, 0, 4, false, true},
    /* whole tiles in the middle of rows of any alignment */
    {37, 45, 133, 1, 1, 2, 0, 2, 1, 1, 4, false, false},
    /* rows of any alignment behind an aligned base */
    {75, 37, 139, 1, 0, 0, 0, 1, 1, 1, 16, false, false},
    {132, 40, 200, 4, 2, 4, 0, 2, 0.5, 0, 16, false, false},
    {68, 50, 133, 4, 1, 1, 1, 1, 1, 0, 16, false, false},
    {12, 300, 72, 4, 0, 2, 0, 1, 1, 1, 16, false, false},
    {37, 75, 139, 1, 0, 0, 0, 1, 1, 1, 16, true, false},
    {40, 100, 136, 4, 1, 1, 1, 2, 0.5, 0, 16, false, false},
    /* infinities and NaN, few rows */
    {23, 75, 80, 1, 0, 2, 0, 1, 1, 0, 16, false, true},
    {8, 136, 300, 4, 0, 4, 0, 1, 1, 0, 16, false, true},
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

/* Elements of so many of the case's units of length: at least one, unless there are no units. */
static int64_t units(const struct gt_emu_case *cases, enum gt_dtype type, int count)
{
    int64_t elements = 32 * count / gt_dtype_bits(type);
    return cases->multiple == 1 ? count : count && !elements ? 1 : elements;
}

/* A leading dimension, at least 1, for rows of `row` elements. */
static int64_t leading(const struct gt_emu_case *cases, enum gt_dtype type, int64_t row, int pad)
{
    int64_t multiple = units(cases, type, cases->multiple);
    int64_t ld = (row + multiple - 1) / multiple * multiple + units(cases, type, pad);
    return ld ? ld : multiple;
}

/* A result of s32 takes whole alpha and beta only: halves become threes.  In a product of doubles
 * they become factors that no float has. */
static double factor(double from, enum gt_dtype out, double of_doubles)
{
    if (from != 0.5)
        return from;
    return out == GT_S32 ? 3 : out == GT_F64 ? of_doubles : from;
}

static void set_types(struct gt_problem *problem, const struct gt_emu_types *types, int align)
{
    int64_t in = gt_dtype_size(types->type), out = gt_dtype_size(types->out);
    problem->type = types->type;
    problem->out = types->out;
    problem->acc = gt_dtype_default_acc(types->type);
    problem->accuracy = types->accuracy;
    problem->scale_a = types->scale_a;
    problem->scale_b = types->scale_b;
    problem->sums = (unsigned char)types->sums;
    problem->groups = types->groups;
    problem->by = (unsigned char)types->by;
    problem->align = (unsigned char)(align > 4 ? align : in > out ? in : out);
}

void gt_emu_case_problem(struct gt_problem *problem, const struct gt_emu_case *cases,
                         struct gt_emu_scale by, const struct gt_emu_types *types, bool trans_a,
                         bool trans_b, unsigned epilogue)
{
    enum gt_dtype in = types->type, out = types->out;
    gt_problem_init(problem, cases->m * by.m, cases->n * by.n, cases->k * by.k);
    set_types(problem, types, cases->align);
    problem->trans_a = trans_a;
    problem->trans_b = trans_b;
    problem->epilogue = (unsigned char)epilogue;
    problem->batch = types->groups ? 1 : cases->batch;
    problem->alpha = factor(cases->alpha, out, 1.0 / 3);
    problem->beta = factor(cases->beta, out, 0.1);
    if (gt_epilogue_gated(epilogue)) { /* two columns make one of D, and C is not read */
        problem->gate = (unsigned char)types->gate;
        problem->n += problem->n % 2;
        problem->beta = 0;
    }
    problem->lda = leading(cases, in, gt_problem_cols(problem, GT_OPERAND_A), cases->pad_a);
    problem->ldb = leading(cases, in, gt_problem_cols(problem, GT_OPERAND_B), cases->pad_b);
    problem->ldc = leading(cases, out, gt_problem_columns(problem), cases->pad_c);
    problem->lsa = gt_problem_line(problem, GT_OPERAND_A);
    problem->lsb = gt_problem_line(problem, GT_OPERAND_B);
    if (cases->pad_a && problem->lsa)
        problem->lsa += 3;
    if (cases->pad_b && problem->lsb)
        problem->lsb += 3;
    problem->stride_a = problem->lda * gt_problem_rows(problem, GT_OPERAND_A);
    problem->stride_b = problem->ldb * gt_problem_rows(problem, GT_OPERAND_B);
    problem->stride_c = problem->ldc * problem->m;
    if (cases->batch > 1 || types->groups) { /* matrices apart by more than their rows */
        problem->stride_a += units(cases, in, cases->multiple);
        problem->stride_b += 2 * units(cases, in, cases->multiple);
        problem->stride_c += units(cases, out, cases->multiple);
    }
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

static void *allocate(struct gt_emu_operands *operands, int slot, enum gt_dtype type,
                      int64_t elements, int align)
{
    /* The address is a multiple of `align` bytes and, below 16, of no larger power of two. */
    size_t shift = align < 16 ? (size_t)align : 0;
    size_t bytes = (size_t)((elements * gt_dtype_bits(type) + 7) / 8) + shift;
    char *block = malloc(bytes + (bytes == 0));
    if (!block)
        abort();
    memset(block, gt_emu_poison(type), bytes);
    operands->block[slot] = block;
    return block + shift;
}

/* A whole number from `least` to `most`. Of TF32 it is the float before or after it, which a kernel
 * must round; 0 stays. */
static double draw(enum gt_dtype type, int64_t least, int64_t most, unsigned *seed)
{
    uint64_t drawn = next(seed) << 16;
    drawn |= next(seed);
    if (most >> 30)
        drawn = drawn << 32 | next(seed) << 16 | next(seed);
    int64_t whole = (int64_t)(drawn % (uint64_t)(most - least + 1)) + least;
    return type == GT_TF32 && whole ? nextafterf((float)whole, drawn >> 31 ? INFINITY : -INFINITY)
                                    : (double)whole;
}

/* A matrix per batch of whole numbers from `least` to `most`, poison elsewhere. */
static void fill(void *to, const struct gt_problem *p, enum gt_operand operand, int64_t least,
                 int64_t most, unsigned seed)
{
    enum gt_dtype type = gt_problem_dtype(p, operand);
    for (int64_t z = 0; z < gt_problem_matrices(p, operand); z++)
        for (int64_t i = 0; i < gt_problem_rows(p, operand); i++)
            for (int64_t j = 0; j < gt_problem_cols(p, operand); j++)
                gt_emu_set(type, to,
                           z * gt_problem_stride(p, operand) + i * gt_problem_ld(p, operand) + j,
                           draw(type, least, most, &seed));
}

/* The largest number in A or B.  Of 8-bit floats, and narrower ones, only ones: tensor cores add
 * their products with few bits.  Where the product is to be as exact as FP32 numbers are large, by
 * turns in A, in B and in both: kernels that add up products of parts of them need all the parts.
 * Sums stay whole numbers that a float has, or a double in a product of doubles, halved or doubled.
 */
static int64_t range_of(const struct gt_problem *p, enum gt_operand operand, unsigned seed)
{
    int64_t most = p->type == GT_F64 ? (int64_t)1 << 50 : 1 << 21;
    int64_t budget = most / (p->k > 1 ? p->k : 1);
    if (gt_type_f8(p->type))
        return 1;
    if ((p->type != GT_F32 && p->type != GT_F64) || p->accuracy > GT_ACCURACY_F32 || budget < 16)
        return 4;
    switch ((seed + (unsigned)p->n) % 3) {
    case 0:
        return (int64_t)sqrt((double)budget);
    case 1:
        return operand == GT_OPERAND_A ? budget / 4 : 4;
    default:
        return operand == GT_OPERAND_B ? budget / 4 : 4;
    }
}

/* Fills A or B.  Promoted sums of 8-bit floats get seven and eight, by turns: what 128 of k add up
 * to has 14 bits, the sum of all has more, which tensor cores alone would lose.  Only a D in FP32
 * shows it, and only few of the other faults show in such sums. */
static void fill_factor(void *to, const struct gt_problem *p, enum gt_operand operand,
                        unsigned turn, unsigned seed)
{
    const int64_t range = range_of(p, operand, turn);
    const bool large = p->sums == GT_SUMS_PROMOTED && p->out == GT_F32 && turn & 4;

    fill(to, p, operand, large ? 7 : -range, large ? 8 : range, seed);
}

/* Infinities of both signs and a NaN, each in a row of its own (operand A) or column (B); only NaN
 * where the type has no infinity. */
static void spoil(const struct gt_emu_operands *operands, const struct gt_problem *p)
{
    static const double values[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) {
        int64_t row = (5 + 9 * i) % p->m, column = 5 + 9 * i, k = 3 + 11 * i;
        double value = p->type == GT_E4M3 ? NAN : values[i];
        gt_emu_set(p->type, operands->a, p->trans_a ? k * p->lda + row : row * p->lda + k, value);
        gt_emu_set(p->type, operands->b, p->trans_b ? column * p->ldb + k : k * p->ldb + column,
                   value);
    }
}

int64_t gt_emu_factor_at(const struct gt_problem *p, enum gt_operand operand, int64_t i, int64_t k)
{
    const struct gt_scale *scale = gt_problem_scale(p, operand);
    const int64_t ls = operand == GT_OPERAND_A ? p->lsa : p->lsb;
    if (scale->kind != GT_SCALE_BLOCK)
        return scale->kind == GT_SCALE_VECTOR ? i : 0;
    i /= scale->rows;
    k /= scale->depth;
    if (scale->order == GT_SCALE_TILED) { /* 128 rows by 4 of k */
        const int64_t across = (p->k + scale->depth * 4 - 1) / (scale->depth * 4);
        return (i / 128 * across + k / 4) * 512 + i % 32 * 16 + i / 32 % 4 * 4 + k % 4;
    }
    return scale->order == GT_SCALE_K ? i * ls + k : k * ls + i;
}

/* Factors from 1/4 to 4, other ones for neighbours; poison between them. NULL: the operand has no
 * scale. */
static void *factors(struct gt_emu_operands *operands, int slot, const struct gt_problem *p,
                     enum gt_operand operand, unsigned seed)
{
    const struct gt_scale *scale = gt_problem_scale(p, operand);
    const int bytes = gt_scale_bits(scale->type) / 8;
    const int64_t rows = scale->kind == GT_SCALE_TENSOR ? 1 : operand == GT_OPERAND_A ? p->m : p->n;
    const int64_t depth = scale->kind == GT_SCALE_BLOCK ? p->k : 1;
    void *factor;
    operands->block[slot] = NULL;
    if (!scale->kind)
        return NULL;
    factor = allocate(operands, slot,
                      bytes == 4   ? GT_F32
                      : bytes == 2 ? GT_F16
                                   : GT_E4M3,
                      gt_problem_factors(p, operand), 16);
    for (int64_t i = 0; i < rows; i += scale->rows ? scale->rows : 1)
        for (int64_t k = 0; k < depth; k += scale->depth ? scale->depth : 1)
            gt_emu_factor_set(scale->type, factor, gt_emu_factor_at(p, operand, i, k),
                              (int)(next(&seed) % 5) - 2);
    return factor;
}

/* The factor of a whole operand beside those of its blocks, if it has one. */
static float *tensor_factor(struct gt_emu_operands *operands, int slot,
                            const struct gt_scale *scale, float factor)
{
    operands->block[slot] = NULL;
    if (!scale->tensor)
        return NULL;
    float *to = allocate(operands, slot, GT_F32, 1, 16);
    *to = factor;
    return to;
}

/* The ends of the groups: of the first four one is empty, one has a row (or a step of k) and one
 * the half; the others share the rest, but for a ninth that is no group's. */
static int *group_ends(struct gt_emu_operands *operands, const struct gt_problem *p, unsigned seed)
{
    const int64_t whole = p->by == GT_GROUPS_BY_K ? p->k : p->m, all = whole - whole / 9;
    int *ends = allocate(operands, 9, GT_S32, p->groups, 4);
    int64_t end = 0;
    for (int64_t g = 0; g < p->groups; g++) {
        const int64_t size = (g + seed) % 4 == 0   ? 0
                             : (g + seed) % 4 == 1 ? 1
                             : (g + seed) % 4 == 2 ? whole / 2
                                                   : all / p->groups;
        end = g + 1 == p->groups ? all : end + size < all ? end + size : all;
        ends[g] = (int)end;
    }
    return ends;
}

void gt_emu_operands_init(struct gt_emu_operands *operands, const struct gt_problem *problem,
                          const struct gt_emu_case *cases, unsigned seed)
{
    const struct gt_problem *p = problem;
    int64_t elements_c = gt_problem_elements(p, GT_OPERAND_C);

    operands->c_given = p->beta != 0;

    operands->a = allocate(operands, 0, p->type, gt_problem_elements(p, GT_OPERAND_A), p->align);
    operands->b = allocate(operands, 1, p->type, gt_problem_elements(p, GT_OPERAND_B), p->align);
    operands->d = allocate(operands, 2, p->out, elements_c, p->align);
    operands->c =
        cases->in_place ? operands->d : allocate(operands, 3, p->out, elements_c, p->align);
    operands->bias = allocate(operands, 4, p->out, p->n, p->align);
    operands->original_d = allocate(operands, 5, p->out, elements_c, 16);
    if (cases->in_place)
        operands->block[3] = NULL;
    operands->block[6] = NULL;
    if (p->alpha != 0) {
        fill_factor(operands->a, p, GT_OPERAND_A, seed, seed + 1);
        fill_factor(operands->b, p, GT_OPERAND_B, seed, seed + 2);
        if (cases->spoilt && gt_emu_format(p->type))
            spoil(operands, p);
    }
    operands->scale_a = factors(operands, 7, p, GT_OPERAND_A, seed + 4);
    operands->scale_b = factors(operands, 8, p, GT_OPERAND_B, seed + 5);
    operands->tensor_a = tensor_factor(operands, 10, &p->scale_a, 2);
    operands->tensor_b = tensor_factor(operands, 11, &p->scale_b, 8);
    operands->block[9] = NULL;
    operands->sizes = p->groups ? group_ends(operands, p, seed) : NULL;
    if (p->beta != 0)
        fill(operands->c, p, GT_OPERAND_C, -4, 4, seed + 3);
    for (int64_t j = 0; j < p->n; j++)
        gt_emu_set(p->out, operands->bias, j, (int)((seed + 7 * j) % 9) - 4);
    memcpy(operands->original_d, operands->d, (size_t)(elements_c * gt_dtype_size(p->out)));
}

void gt_emu_operands_release(struct gt_emu_operands *operands)
{
    for (size_t i = 0; i < sizeof operands->block / sizeof *operands->block; i++)
        free(operands->block[i]);
}

void gt_emu_operands_args(struct gt_args *args, struct gt_more *more,
                          const struct gt_emu_operands *operands, const struct gt_problem *problem)
{
    gt_module_args(args, problem);
    gt_module_more(more, problem);
    more->scale_a = operands->scale_a;
    more->scale_b = operands->scale_b;
    more->scale_a_tensor = operands->tensor_a;
    more->scale_b_tensor = operands->tensor_b;
    more->sizes = operands->sizes;
    args->a = operands->a;
    args->b = operands->b;
    args->c = operands->c_given ? operands->c : NULL;
    args->d = operands->d;
    args->bias = problem->epilogue & GT_EPILOGUE_BIAS ? operands->bias : NULL;
}
