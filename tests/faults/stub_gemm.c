/* stub_gemm.c - part of the stub driver: computes the result of a GEMM kernel and damages it as the
 * source asks.  The planted faults of the device, by name:
 *
 *   wrong           one element is 1 off                    zeroed        one element is 0
 *   off_permille    the largest element is 0.1 % off        off_ulp       one by its last bit
 *   swapped         two elements have changed places        last_k        a tile lacks the last k
 *   half_tile       a tile is accumulated in fp16           round_half    D went through fp16
 *   round_bfloat    D went through bf16                     nan           one element is NaN
 *   truncate_a      A is cut to TF32's bits                 truncate_b    B is
 *   oob_write       a word behind D is written              oob_pad       a word between rows is
 *   input_modified  A is written to                         workspace     a word behind it is
 *   nondeterministic  the last bit changes from run to run  beta_twice    beta C is added twice
 *   reads_c         0 * C is added where beta is 0          reads_a       0 * A where alpha is 0
 *   reads_pad       A's row padding is read                 partial       the last row is missing
 *   wrong_later     one element is off from launch 30 on    far_write     far behind D is written
 *   float_sums      doubles are added as floats             float_factors alpha and beta are floats
 *   group_begin     a group begins with the last of another group_rest    rows of no group are
 * written
 *
 * illegal_address, misaligned, endless, slow, launch_invalid, impossible: see stub_cuda.c. */
#include "stub_gemm.h"

#include <math.h>

#include "gemmtune.h"
#include "stub_values.h"

/* The nearest FP16 number, ties to even: not every compiler has _Float16.  11 bits of significand,
 * the least subnormal is 2^-24, and from 65520 on the nearest is infinity. */
static float round_to_half(double value)
{
    double unit, rounded;
    int exponent;

    if (value == 0 || !isfinite(value))
        return (float)value;
    frexp(value, &exponent);
    unit = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11);
    rounded = nearbyint(value / unit) * unit;
    return (float)(fabs(rounded) >= 65520 ? copysign(INFINITY, value) : rounded);
}

#define FAR 1000 /* elements: beyond the next matrix of a batch, or in the guard */

/* ---- the product ---- */

struct product {
    const struct gt_args *args;
    double alpha, beta;
    int type, out, trans_a, trans_b, epilogue;
    bool last_k, half_tile;
    enum stub_reading a, b;
};

static float read_float(float x, enum stub_reading how)
{
    unsigned bits;

    if (how == STUB_READ_WHOLE || !isfinite(x))
        return x;
    memcpy(&bits, &x, 4);
    bits += how == STUB_READ_ROUNDED ? 0xfff + (bits >> 13 & 1) : 0;
    bits &= 0xffffe000u;
    memcpy(&x, &bits, 4);
    return x;
}

static float element_a(const struct product *p, long long b, long long i, long long k)
{
    const struct gt_args *args = p->args;
    long long at = p->trans_a ? k * args->lda + i : i * args->lda + k;

    return read_float((float)stub_load(args->a, b * args->stride_a + at, p->type), p->a);
}

static float element_b(const struct product *p, long long b, long long k, long long j)
{
    const struct gt_args *args = p->args;
    long long at = p->trans_b ? j * args->ldb + k : k * args->ldb + j;

    return read_float((float)stub_load(args->b, b * args->stride_b + at, p->type), p->b);
}

static long long place(const struct gt_args *args, long long b, long long i, long long j)
{
    return b * args->stride_c + i * args->ldc + j;
}

static double read_d(const struct product *p, long long at)
{
    return stub_load(p->args->d, at, p->out);
}

static void write_d(const struct product *p, long long at, double value)
{
    stub_store(p->args->d, at, p->out, value);
}

/* op(B) of one matrix as floats, k x n. */
static void load_b(const struct product *p, long long b, float *to)
{
    for (long long k = 0; k < p->args->k; k++)
        for (long long j = 0; j < p->args->n; j++)
            to[k * p->args->n + j] = element_b(p, b, k, j);
}

/* One row of op(A) op(B), k ascending, four at a time: with one, storing the sums took half of the
 * time. */
STUB_VECTORS static void row_sums(const struct product *p, long long b, long long i,
                                  const float *from, float *sum)
{
    const long long n = p->args->n, depth = p->args->alpha == 0 ? 0 : p->args->k;
    long long k = 0;

    for (long long j = 0; j < n; j++)
        sum[j] = 0;
    for (; k + 4 <= depth; k += 4) {
        const float a0 = element_a(p, b, i, k), a1 = element_a(p, b, i, k + 1),
                    a2 = element_a(p, b, i, k + 2), a3 = element_a(p, b, i, k + 3);
        const float *row = from + k * n;

        for (long long j = 0; j < n; j++)
            sum[j] = (((sum[j] + a0 * row[j]) + a1 * row[n + j]) + a2 * row[2 * n + j]) +
                     a3 * row[3 * n + j];
    }
    for (; k < depth; k++) {
        const float a = element_a(p, b, i, k);

        for (long long j = 0; j < n; j++)
            sum[j] += a * from[k * n + j];
    }
}

/* Computes the first 16 x 16 elements with a fault. */
static float bad_sum(const struct product *p, long long b, long long i, long long j)
{
    long long k_end = p->last_k ? p->args->k - 1 : p->args->k;
    float sum = 0;

    for (long long k = 0; k < k_end; k++) {
        sum += element_a(p, b, i, k) * element_b(p, b, k, j);
        if (p->half_tile)
            sum = round_to_half(sum);
    }
    return sum;
}

static float finish(const struct product *p, long long b, long long i, long long j, float sum)
{
    const struct gt_args *args = p->args;
    float x = args->alpha * sum;

    if (args->beta != 0)
        x += args->beta * (float)stub_load(args->c, place(args, b, i, j), p->out);
    if (p->epilogue & 1)
        x += (float)stub_load(args->bias, j, p->out);
    if (p->epilogue & 2)
        x = x > 0 ? x : 0;
    if (p->epilogue & 4)
        x = 0.5f * x * (1 + erff(x * 0.70710678f));
    return x;
}

/* A product of doubles, for which there are fewer faults. */
static void multiply_doubles(const struct product *p, bool float_sums)
{
    const struct gt_args *args = p->args;
    const long long depth = p->alpha == 0 ? 0 : args->k - (p->last_k && args->k > 0);
    const double *a = args->a, *b = args->b;

    for (long long z = 0; z < args->batch; z++)
        for (long long i = 0; i < args->m; i++)
            for (long long j = 0; j < args->n; j++) {
                double sum = 0;

                for (long long k = 0; k < depth; k++) {
                    const double x = a[z * args->stride_a +
                                       (p->trans_a ? k * args->lda + i : i * args->lda + k)];
                    const double y = b[z * args->stride_b +
                                       (p->trans_b ? j * args->ldb + k : k * args->ldb + j)];

                    sum = float_sums ? (double)((float)sum + (float)x * (float)y) : fma(x, y, sum);
                }
                sum *= p->alpha;
                if (p->beta != 0)
                    sum = fma(p->beta, ((const double *)args->c)[place(args, z, i, j)], sum);
                if (p->epilogue & 1)
                    sum += ((const double *)args->bias)[j];
                if (p->epilogue & 2)
                    sum = sum > 0 ? sum : 0;
                if (p->epilogue & 4)
                    sum = 0.5 * sum * (1 + erf(sum * 0.70710678118654752440));
                write_d(p, place(args, z, i, j), sum);
            }
}

static size_t at_least_one(long long count)
{
    return (size_t)(count ? count : 1);
}

static void multiply(const struct product *p)
{
    const struct gt_args *args = p->args;
    float *sum = malloc(sizeof(float) * at_least_one(args->n));
    float *from = malloc(sizeof(float) * at_least_one(args->k * args->n));

    for (long long b = 0; b < args->batch; b++) {
        load_b(p, b, from);
        for (long long i = 0; i < args->m; i++) {
            row_sums(p, b, i, from, sum);
            for (long long j = 0; j < args->n; j++) {
                if ((p->last_k || p->half_tile) && i < 16 && j < 16 && args->alpha != 0)
                    sum[j] = bad_sum(p, b, i, j);
                write_d(p, place(args, b, i, j), finish(p, b, i, j, sum[j]));
            }
        }
    }
    free(from);
    free(sum);
}

/* ---- faults ---- */

static float bfloat(float x)
{
    unsigned bits;

    memcpy(&bits, &x, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &bits, 4);
    return x;
}

/* Place of the element of the first matrix that is largest in magnitude. */
static long long largest(const struct product *p)
{
    long long found = 0;

    for (long long i = 0; i < p->args->m; i++)
        for (long long j = 0; j < p->args->n; j++)
            if (fabs(read_d(p, place(p->args, 0, i, j))) > fabs(read_d(p, found)))
                found = place(p->args, 0, i, j);
    return found;
}

static void damage_everywhere(const struct stub_faults *faults, const struct product *p)
{
    const struct gt_args *args = p->args;
    bool half = stub_has(faults, "round_half"), narrow = stub_has(faults, "round_bfloat");
    bool twice = stub_has(faults, "beta_twice") && args->beta != 0;
    bool reads_c = stub_has(faults, "reads_c") && args->beta == 0;
    bool reads_a = stub_has(faults, "reads_a") && args->alpha == 0 && args->k;
    bool reads_pad = stub_has(faults, "reads_pad");

    if (!(half || narrow || twice || reads_c || reads_a || reads_pad))
        return;
    for (long long b = 0; b < args->batch; b++)
        for (long long i = 0; i < args->m; i++)
            for (long long j = 0; j < args->n; j++) {
                long long at = place(args, b, i, j);
                double d = read_d(p, at);

                if (half)
                    d = round_to_half(d);
                if (narrow)
                    d = bfloat((float)d);
                if (twice)
                    d += p->beta * stub_load(args->c, at, p->out);
                if (reads_c) /* as it was before this launch */
                    d += 0 * NAN;
                if (reads_a)
                    d += 0 * (double)element_a(p, b, i, 0);
                if (reads_pad)
                    d += 0 * stub_load(args->a, p->trans_a ? args->m : args->k, p->type);
                write_d(p, at, d);
            }
}

/* The next number of D's type away from zero, for those that are stored as sign and magnitude. */
static void step_up(const struct product *p, long long at)
{
    unsigned char *bytes = (unsigned char *)p->args->d + at * stub_bytes(p->out);

    for (long long i = 0; i < stub_bytes(p->out) && ++bytes[i] == 0; i++)
        ;
}

static void damage_elements(const struct stub_faults *faults, const struct product *p,
                            unsigned long launches)
{
    const struct gt_args *args = p->args;
    long long last = place(args, 0, args->m - 1, args->n - 1);
    long long middle = place(args, 0, args->m / 2, args->n / 2);
    double kept = read_d(p, 0);

    if (stub_has(faults, "off_permille"))
        write_d(p, largest(p), read_d(p, largest(p)) * 1.001);
    if (stub_has(faults, "off_ulp"))
        step_up(p, middle);
    if (stub_has(faults, "wrong"))
        write_d(p, middle, read_d(p, middle) + 1);
    if (stub_has(faults, "wrong_later") && launches >= 30)
        write_d(p, largest(p), read_d(p, largest(p)) * 1.01);
    if (stub_has(faults, "zeroed"))
        write_d(p, largest(p), 0);
    if (stub_has(faults, "swapped")) {
        write_d(p, 0, read_d(p, last));
        write_d(p, last, kept);
    }
    if (stub_has(faults, "nan"))
        write_d(p, last, NAN);
    if (stub_has(faults, "nondeterministic") && launches % 2 &&
        read_d(p, last) != rint(read_d(p, last)))
        step_up(p, last);
}

static void damage_outside(const struct stub_faults *faults, const struct product *p)
{
    const struct gt_args *args = p->args;
    long long end = place(args, args->batch - 1, args->m - 1, args->n - 1) + 1;

    if (stub_has(faults, "oob_write"))
        write_d(p, end, 1);
    if (stub_has(faults, "far_write"))
        write_d(p, end + FAR, 1);
    if (stub_has(faults, "workspace"))
        ((float *)args->workspace)[0] = 1; /* none was asked for */
    if (stub_has(faults, "oob_pad") && args->ldc > args->n && args->m > 1)
        write_d(p, args->n, 1);
    if (stub_has(faults, "input_modified"))
        stub_store((void *)(uintptr_t)args->a, 0, p->type, stub_load(args->a, 0, p->type) + 1);
}

/* Copies the last row of the first matrix out of D or back into it. */
static void last_row(const struct product *p, void *kept, bool back)
{
    const struct gt_args *args = p->args;
    char *row = (char *)args->d + place(args, 0, args->m - 1, 0) * stub_bytes(p->out);
    size_t bytes = (size_t)(args->n * stub_bytes(p->out));

    memcpy(back ? row : kept, back ? kept : row, bytes);
}

/* Computes the product and applies the faults of the source. */
static void multiply_badly(const struct stub_faults *faults, const struct product *p,
                           unsigned long launches)
{
    void *kept = malloc((size_t)(p->args->n * stub_bytes(p->out)));

    last_row(p, kept, false);
    if (p->type == GT_F64)
        multiply_doubles(p, stub_has(faults, "float_sums"));
    else
        multiply(p);
    damage_everywhere(faults, p);
    damage_elements(faults, p, launches);
    damage_outside(faults, p);
    if (stub_has(faults, "partial"))
        last_row(p, kept, true);
    free(kept);
}

/* The products of groups, one after the other.  Their ends lie in memory that the device shares
 * with the host. */
static void multiply_groups(const struct stub_faults *faults, const struct product *whole,
                            const struct gt_more *more, bool by_k, unsigned long launches)
{
    const struct gt_args *args = whole->args;

    for (long long g = 0; g < more->groups; g++) {
        const bool early = stub_has(faults, "group_begin") && g && more->sizes[g - 1] > 0;
        const bool rest = stub_has(faults, "group_rest") && g + 1 == more->groups && !by_k;
        const long long first = (g ? more->sizes[g - 1] : 0) - early;
        const long long count = (rest ? args->m : more->sizes[g]) - first;
        struct gt_args one = *args;
        struct product product = *whole;
        long long a = first * (whole->trans_a ? 1 : args->lda), b = g * args->stride_b;
        long long c = first * args->ldc;

        *(by_k ? &one.k : &one.m) = count;
        if (by_k) {
            a = first * (whole->trans_a ? args->lda : 1);
            b = first * (whole->trans_b ? 1 : args->ldb);
            c = g * args->stride_c;
        }
        one.a = (const char *)args->a + a * stub_bytes(whole->type);
        one.b = (const char *)args->b + b * stub_bytes(whole->type);
        one.d = (char *)args->d + c * stub_bytes(whole->out);
        if (args->c)
            one.c = (const char *)args->c + c * stub_bytes(whole->out);
        product.args = &one;
        if (one.m)
            multiply_badly(faults, &product, launches);
    }
}

enum stub_outcome stub_gemm(const char *source, const struct stub_faults *faults,
                            const struct gt_args *args, const struct gt_more *more,
                            const enum stub_reading reading[2], unsigned long launches)
{
    const bool doubles = more && !stub_has(faults, "float_factors");
    struct product product = {.args = args,
                              .alpha = doubles ? more->alpha : (double)args->alpha,
                              .beta = doubles ? more->beta : (double)args->beta,
                              .type = (int)stub_define(source, "GT_TYPE", 0),
                              .out = (int)stub_define(source, "GT_OUT", 0),
                              .trans_a = (int)stub_define(source, "GT_TRANS_A", 0),
                              .trans_b = (int)stub_define(source, "GT_TRANS_B", 0),
                              .epilogue = (int)stub_define(source, "GT_EPILOGUE", 0),
                              .last_k = stub_has(faults, "last_k"),
                              .half_tile = stub_has(faults, "half_tile"),
                              .a = stub_has(faults, "truncate_a") ? STUB_READ_CUT : reading[0],
                              .b = stub_has(faults, "truncate_b") ? STUB_READ_CUT : reading[1]};

    if (stub_has(faults, "illegal_address"))
        return STUB_ILLEGAL_ADDRESS;
    if (stub_has(faults, "misaligned"))
        return STUB_MISALIGNED;
    if (stub_has(faults, "endless"))
        return STUB_HUNG;
    if (!args->m || !args->n)
        return STUB_DONE;
    if (more && more->groups)
        multiply_groups(faults, &product, more, stub_define(source, "GT_GROUPS_BY", 0) == 1,
                        launches);
    else
        multiply_badly(faults, &product, launches);
    return STUB_DONE;
}
