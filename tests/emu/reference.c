/* reference.c - test: what D is to be, by the plain definition in double (operands.h). */
#include "operands.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "numbers.h"
#include "problem/problem.h"

/* The factor of element (i, k) of op(A), or (k, i) of op(B); 1 without a scale. */
static double factor_of(const struct gt_problem *p, enum gt_operand operand, const void *factors,
                        int64_t i, int64_t k)
{
    const struct gt_scale *scale = gt_problem_scale(p, operand);
    return scale->kind ? gt_emu_factor_get(scale->type, factors, gt_emu_factor_at(p, operand, i, k))
                       : 1;
}

/* The operands as numbers, those of TF32 rounded: they are read many times. */
struct numbers {
    double *a, *b;
};

static double *numbers_of(const struct gt_problem *p, enum gt_operand operand, const void *from)
{
    int64_t count = gt_problem_elements(p, operand);
    double *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
    if (!numbers)
        abort();
    for (int64_t i = 0; i < count; i++) {
        numbers[i] = gt_emu_get(p->type, from, i);
        if (p->type == GT_TF32)
            numbers[i] = gt_emu_tf32((float)numbers[i]);
    }
    return numbers;
}

/* What an element of D is to be, and by how much a kernel's own arithmetic in floats may differ. */
struct wanted {
    double value, slack;
    bool overflows; /* a step may be an infinity, though the sum is none */
};

/* The group that has row i of D. */
static int64_t group_of(const struct gt_emu_operands *operands, int64_t i)
{
    int64_t group = 0;
    while (operands->sizes[group] <= i)
        group++;
    return group;
}

/* The rows of D that are written: those of the groups. */
static int64_t written_rows(const struct gt_emu_operands *operands, const struct gt_problem *p)
{
    return p->groups && p->by == GT_GROUPS_BY_M ? operands->sizes[p->groups - 1] : p->m;
}

/* The sum of the products; *sizes: of their magnitudes. */
static double product(const struct numbers *numbers, const struct gt_emu_operands *operands,
                      const struct gt_problem *p, int64_t z, int64_t i, int64_t j, double *sizes)
{
    const bool by_k = p->groups && p->by == GT_GROUPS_BY_K;
    const int64_t first = by_k && z ? operands->sizes[z - 1] : 0;
    const int64_t end = by_k ? operands->sizes[z] : p->k;
    const int64_t of_b = p->groups ? by_k ? 0 : group_of(operands, i) : z;
    const double *a =
        numbers->a + (p->groups ? 0 : z) * p->stride_a + (p->trans_a ? i : i * p->lda);
    const double *b = numbers->b + of_b * p->stride_b + (p->trans_b ? j * p->ldb : j);
    int64_t step_a = p->trans_a ? p->lda : 1, step_b = p->trans_b ? 1 : p->ldb;
    double sum = 0;
    *sizes = 0;
    for (int64_t k = first; k < end; k++) {
        double term = a[k * step_a] * b[k * step_b];
        if (operands->scale_a || operands->scale_b)
            term *= factor_of(p, GT_OPERAND_A, operands->scale_a, i, k) *
                    factor_of(p, GT_OPERAND_B, operands->scale_b, j, k);
        sum += term;
        *sizes += fabs(term);
    }
    const double tensors = (operands->tensor_a ? *operands->tensor_a : 1) *
                           (operands->tensor_b ? *operands->tensor_b : 1);
    *sizes *= tensors;
    return sum * tensors;
}

/* Kernels get alpha and beta in the type of their sums, which is float or double. */
static double given(const struct gt_problem *p, double factor)
{
    return p->acc == GT_F64 ? factor : (float)factor;
}

/* The greatest power of two that a number is a whole multiple of; infinity for 0. */
static double unit_of(double number)
{
    int exponent, shift = 0;
    double digits = frexp(number, &exponent);
    if (number == 0)
        return INFINITY;
    while (digits != rint(digits)) {
        digits *= 2;
        shift++;
    }
    return ldexp(1, exponent - shift);
}

/* How far sums in floats or doubles may be off where the products' magnitudes add up to `sizes`,
 * and all magnitudes with alpha and beta to `most`.  Operands are whole numbers: what is added is a
 * multiple of one unit, and where the type has all its multiples up to `most`, no order of the
 * operations rounds. Else each of about k operations may (alpha goes into A in a kernel, and others
 * add up parts that have been multiplied by it); below the least normal float it rounds by a fixed
 * amount. */
static double rounding(const struct gt_problem *p, double sizes, double most)
{
    const double roundoff = p->acc == GT_F64 ? 0x1p-53 : 0x1p-24;
    const double least = p->acc == GT_F64 ? 0x1p-1074 : 0x1p-149;
    double unit =
        fmin(unit_of(given(p, p->alpha)) / (p->scale_a.kind ? 4 : 1) / (p->scale_b.kind ? 4 : 1),
             unit_of(given(p, p->beta)));
    if (p->epilogue & GT_EPILOGUE_BIAS)
        unit = fmin(unit, 1);
    if (most <= unit / roundoff || !isfinite(most))
        return 0;
    return (double)(p->k + 4) * roundoff * most + (sizes + (double)p->k + 4) * least;
}

/* 32-bit integer arithmetic wraps around. */
static double wrapped(double whole)
{
    double rest = fmod(whole, 0x1p32);
    return rest >= 0x1p31 ? rest - 0x1p32 : rest < -0x1p31 ? rest + 0x1p32 : rest;
}

/* What the product is in column j before an activation; an s32 result is complete.  In long double,
 * so that the reference of doubles adds no error of its own. */
static struct wanted linear(const struct gt_emu_operands *operands, const struct numbers *numbers,
                            const struct gt_problem *p, int64_t z, int64_t i, int64_t j)
{
    const void *c = operands->c == operands->d ? operands->original_d : operands->c;
    const double alpha = given(p, p->alpha), beta = given(p, p->beta);
    double sizes = 0, most, value;
    long double sum = 0, term;
    if (alpha != 0)
        sum = (long double)alpha * product(numbers, operands, p, z, i, j, &sizes);
    most = fabs(alpha) * sizes;
    if (beta != 0) {
        term = (long double)beta * gt_emu_get(p->out, c, z * p->stride_c + i * p->ldc + j);
        sum += term;
        most += (double)fabsl(term);
    }
    if (p->out == GT_S32)
        return (struct wanted){.value = wrapped((double)sum)};
    if (p->epilogue & GT_EPILOGUE_BIAS) {
        term = gt_emu_get(p->out, operands->bias, j);
        sum += term;
        most += (double)fabsl(term);
    }
    value = (double)sum;
    return (struct wanted){value, rounding(p, sizes, most),
                           isfinite(most) && most > (p->acc == GT_F64 ? DBL_MAX : FLT_MAX)};
}

/* The activation, or that of a gate. */
static double activate(unsigned epilogue, double x)
{
    switch (GT_ACTIVATION(epilogue)) {
    case GT_EPILOGUE_RELU:
        return x < 0 ? 0 : x;
    case GT_EPILOGUE_GELU:
    case GT_EPILOGUE_GEGLU:
        return x / 2 * (1 + erf(x / sqrt(2.0)));
    case GT_EPILOGUE_SWIGLU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

/* Column j of D of a gated product: from a column of gates and one of values. */
static struct wanted gated(const struct gt_emu_operands *operands, const struct numbers *numbers,
                           const struct gt_problem *p, int64_t z, int64_t i, int64_t j)
{
    const int64_t half = p->n / 2;
    const int64_t of_gate = p->gate == GT_GATE_FIRST    ? j
                            : p->gate == GT_GATE_SECOND ? half + j
                                                        : 2 * j;
    const int64_t of_value = p->gate == GT_GATE_FIRST    ? half + j
                             : p->gate == GT_GATE_SECOND ? j
                                                         : 2 * j + 1;
    const struct wanted gate = linear(operands, numbers, p, z, i, of_gate);
    const struct wanted value = linear(operands, numbers, p, z, i, of_value);
    const double active = activate(p->epilogue, gate.value);
    return (struct wanted){active * value.value,
                           fabs(active) * value.slack +
                               fabs(value.value) *
                                   (1.2 * gate.slack + 4e-6 * fmax(1, fabs(active))),
                           gate.overflows || value.overflows};
}

static struct wanted reference(const struct gt_emu_operands *operands,
                               const struct numbers *numbers, const struct gt_problem *p, int64_t z,
                               int64_t i, int64_t j)
{
    if (gt_epilogue_gated(p->epilogue))
        return gated(operands, numbers, p, z, i, j);
    struct wanted wanted = linear(operands, numbers, p, z, i, j);
    wanted.value = activate(p->epilogue, wanted.value);
    if (GT_ACTIVATION(p->epilogue) == GT_EPILOGUE_GELU)
        wanted.slack *= 1.2; /* GELU rises by at most 1.13 */
    return wanted;
}

/* Whether `got` is the value rounded.  Of GELU, erff rounds and 1 + erf cancels for negative
 * values, so that the neighbour of the rounded value may be right.  Kernels of FP32 arithmetic do
 * not round operands of TF32: each of k products is off by up to 16 * 2^-22.  All else is exact, up
 * to what alpha and beta make of it. */
static bool right(const struct gt_problem *p, double got, struct wanted wanted)
{
    double value = wanted.value, slack = wanted.slack;
    if (!isfinite(value) && gt_epilogue_gated(p->epilogue))
        return !isfinite(got); /* what the gate makes 0 in floats turns an infinity into NaN */
    if (!isfinite(value)) {
        double rounded = gt_emu_round(p->out, value);
        return isnan(rounded) ? isnan(got) : got == rounded;
    }
    if (wanted.overflows && !isfinite(got))
        return true;
    if (GT_ACTIVATION(p->epilogue) == GT_EPILOGUE_GELU)
        slack += (p->acc == GT_F64 ? 8e-15 : 4e-6) * fmax(1, fabs(value));
    if (p->type == GT_TF32)
        slack += fabs((float)p->alpha) * (double)p->k * 0x1p-18;
    return got >= gt_emu_round(p->out, value - slack) && got <= gt_emu_round(p->out, value + slack);
}

/* Judges one element of what D spans. */
static int check_element(const struct gt_emu_operands *operands, const struct numbers *numbers,
                         const struct gt_problem *p, int64_t at, struct gt_err *err)
{
    int64_t z = gt_problem_matrices(p, GT_OPERAND_C) > 1 ? at / p->stride_c : 0;
    int64_t size = gt_dtype_size(p->out);
    int64_t i = (at - z * p->stride_c) / p->ldc, j = (at - z * p->stride_c) % p->ldc;
    const char *now = (const char *)operands->d + at * size;
    const char *before = (const char *)operands->original_d + at * size;
    double got = gt_emu_get(p->out, operands->d, at);
    const int digits = p->out == GT_F64 ? 17 : 9;

    if (i >= written_rows(operands, p) || j >= gt_problem_columns(p)) {
        if (memcmp(now, before, (size_t)size) == 0)
            return GT_OK;
        return gt_err_set(err, GT_ERANGE,
                          "written beside D: %.*g in row %lld, column %lld of matrix %lld", digits,
                          got, (long long)i, (long long)j, (long long)z);
    }
    struct wanted wanted = reference(operands, numbers, p, z, i, j);
    if (right(p, got, wanted))
        return GT_OK;
    return gt_err_set(err, GT_ERANGE, "D[%lld,%lld] of matrix %lld is %.*g where %.*g is right",
                      (long long)i, (long long)j, (long long)z, digits, got, digits,
                      gt_emu_round(p->out, wanted.value));
}

int gt_emu_operands_check(const struct gt_emu_operands *operands, const struct gt_problem *problem,
                          struct gt_err *err)
{
    struct numbers numbers = {numbers_of(problem, GT_OPERAND_A, operands->a),
                              numbers_of(problem, GT_OPERAND_B, operands->b)};
    int64_t count = gt_problem_elements(problem, GT_OPERAND_C);
    int status = GT_OK;

    for (int64_t at = 0; at < count && !status; at++)
        status = check_element(operands, &numbers, problem, at, err);
    free(numbers.a);
    free(numbers.b);
    return status;
}
