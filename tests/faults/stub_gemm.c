/* stub_gemm.c - part of the stub driver: computes what a GEMM kernel would, then damages it as the
 * source asks.  The planted faults of the device, by name:
 *
 *   wrong           one element is 1 off
 *   off_permille    the largest element is 0.1 % off        zeroed        one element is 0
 *   swapped         two elements have changed places        last_k        a tile lacks the last k
 *   half_tile       a tile is accumulated in fp16           round_half    D went through fp16
 *   round_bfloat    D went through bf16                     nan           one element is NaN
 *   oob_write       a word behind D is written              oob_pad       a word between rows is
 *   input_modified  A is written to                         workspace     a word behind it is
 *   nondeterministic  the last bit changes from run to run  beta_twice    beta C is added twice
 *   reads_c         0 * C is added where beta is 0          reads_a       0 * A where alpha is 0
 *   reads_pad       A's row padding is read                 partial       the last row is not
 * written wrong_later     one element is off from launch 30 on    far_write     far behind D is
 * written illegal_address, misaligned, endless, slow, launch_invalid, impossible (see stub_cuda.c)
 */
#include "stub_gemm.h"

#include <math.h>

#define FAR_WORDS 1000 /* beyond the next matrix of a batch, or in the guard */

/* ---- the product ---- */

struct product {
    const struct gt_args *args;
    int trans_a, trans_b, epilogue;
    bool last_k, half_tile;
};

static float element_a(const struct product *p, long long b, long long i, long long k)
{
    const float *a = (const float *)p->args->a + b * p->args->stride_a;

    return p->trans_a ? a[k * p->args->lda + i] : a[i * p->args->lda + k];
}

static float element_b(const struct product *p, long long b, long long k, long long j)
{
    const float *from = (const float *)p->args->b + b * p->args->stride_b;

    return p->trans_b ? from[j * p->args->ldb + k] : from[k * p->args->ldb + j];
}

static float *element_d(const struct gt_args *args, long long b, long long i, long long j)
{
    return (float *)args->d + b * args->stride_c + i * args->ldc + j;
}

/* One row of op(A) op(B), k ascending. */
static void row_sums(const struct product *p, long long b, long long i, float *sum)
{
    const struct gt_args *args = p->args;
    const float *from = (const float *)args->b + b * args->stride_b;

    for (long long j = 0; j < args->n; j++)
        sum[j] = 0;
    if (args->alpha == 0)
        return;
    for (long long k = 0; k < args->k; k++) {
        float a = element_a(p, b, i, k);

        if (p->trans_b)
            for (long long j = 0; j < args->n; j++)
                sum[j] += a * from[j * args->ldb + k];
        else
            for (long long j = 0; j < args->n; j++)
                sum[j] += a * from[k * args->ldb + j];
    }
}

/* The first 16 x 16 elements, done badly. */
static float bad_sum(const struct product *p, long long b, long long i, long long j)
{
    long long k_end = p->last_k ? p->args->k - 1 : p->args->k;
    float sum = 0;

    for (long long k = 0; k < k_end; k++) {
        sum += element_a(p, b, i, k) * element_b(p, b, k, j);
        if (p->half_tile)
            sum = (float)(_Float16)sum;
    }
    return sum;
}

static float finish(const struct product *p, long long b, long long i, long long j, float sum)
{
    const struct gt_args *args = p->args;
    float x = args->alpha * sum;

    if (args->beta != 0)
        x += args->beta * ((const float *)args->c)[b * args->stride_c + i * args->ldc + j];
    if (p->epilogue & 1)
        x += ((const float *)args->bias)[j];
    if (p->epilogue & 2)
        x = x > 0 ? x : 0;
    if (p->epilogue & 4)
        x = 0.5f * x * (1 + erff(x * 0.70710678f));
    return x;
}

static void multiply(const struct product *p)
{
    const struct gt_args *args = p->args;
    float *sum = malloc(sizeof(float) * (size_t)(args->n ? args->n : 1));

    for (long long b = 0; b < args->batch; b++)
        for (long long i = 0; i < args->m; i++) {
            row_sums(p, b, i, sum);
            for (long long j = 0; j < args->n; j++) {
                if ((p->last_k || p->half_tile) && i < 16 && j < 16 && args->alpha != 0)
                    sum[j] = bad_sum(p, b, i, j);
                *element_d(args, b, i, j) = finish(p, b, i, j, sum[j]);
            }
        }
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

static float *largest(const struct gt_args *args)
{
    float *found = args->d;

    for (long long i = 0; i < args->m; i++)
        for (long long j = 0; j < args->n; j++)
            if (fabsf(*element_d(args, 0, i, j)) > fabsf(*found))
                found = element_d(args, 0, i, j);
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
                float *d = element_d(args, b, i, j);
                long long at = b * args->stride_c + i * args->ldc + j;

                if (half)
                    *d = (float)(_Float16)*d;
                if (narrow)
                    *d = bfloat(*d);
                if (twice)
                    *d += args->beta * ((const float *)args->c)[at];
                if (reads_c) /* as it was before this launch */
                    *d += 0 * NAN;
                if (reads_a)
                    *d += 0 * element_a(p, b, i, 0);
                if (reads_pad)
                    *d += 0 * ((const float *)args->a)[p->trans_a ? args->m : args->k];
            }
}

static void damage_elements(const struct stub_faults *faults, const struct gt_args *args,
                            unsigned long launches)
{
    float *d = args->d, *last = element_d(args, 0, args->m - 1, args->n - 1), kept = d[0];

    if (stub_has(faults, "off_permille"))
        *largest(args) *= 1.001f;
    if (stub_has(faults, "wrong"))
        *element_d(args, 0, args->m / 2, args->n / 2) += 1;
    if (stub_has(faults, "wrong_later") && launches >= 30)
        *largest(args) *= 1.01f;
    if (stub_has(faults, "zeroed"))
        *largest(args) = 0;
    if (stub_has(faults, "swapped")) {
        d[0] = *last;
        *last = kept;
    }
    if (stub_has(faults, "nan"))
        *last = NAN;
    if (stub_has(faults, "partial"))
        for (long long j = 0; j < args->n; j++)
            memcpy(element_d(args, 0, args->m - 1, j), &(unsigned){GT_POISON}, 4);
    if (stub_has(faults, "nondeterministic") && launches % 2 && *last != rintf(*last))
        *last = nextafterf(*last, INFINITY);
}

static void damage_outside(const struct stub_faults *faults, const struct gt_args *args)
{
    float *end = element_d(args, args->batch - 1, args->m - 1, args->n - 1) + 1;

    if (stub_has(faults, "oob_write"))
        *end = 1;
    if (stub_has(faults, "far_write"))
        end[FAR_WORDS] = 1;
    if (stub_has(faults, "workspace"))
        ((float *)args->workspace)[0] = 1; /* none was asked for */
    if (stub_has(faults, "oob_pad") && args->ldc > args->n && args->m > 1)
        *element_d(args, 0, 0, args->n) = 1;
    if (stub_has(faults, "input_modified"))
        ((float *)(uintptr_t)args->a)[0] += 1;
}

enum stub_outcome stub_gemm(const char *source, const struct stub_faults *faults,
                            const struct gt_args *args, unsigned long launches)
{
    struct product product = {.args = args,
                              .trans_a = (int)stub_define(source, "GT_TRANS_A", 0),
                              .trans_b = (int)stub_define(source, "GT_TRANS_B", 0),
                              .epilogue = (int)stub_define(source, "GT_EPILOGUE", 0),
                              .last_k = stub_has(faults, "last_k"),
                              .half_tile = stub_has(faults, "half_tile")};

    if (stub_has(faults, "illegal_address"))
        return STUB_ILLEGAL_ADDRESS;
    if (stub_has(faults, "misaligned"))
        return STUB_MISALIGNED;
    if (stub_has(faults, "endless"))
        return STUB_HUNG;
    if (!args->m || !args->n)
        return STUB_DONE;
    multiply(&product);
    damage_everywhere(faults, &product);
    damage_elements(faults, args, launches);
    damage_outside(faults, args);
    return STUB_DONE;
}

/* ---- the reference ---- */

static double activate(double x, int epilogue)
{
    if (epilogue & 2)
        return x > 0 ? x : 0;
    return epilogue & 4 ? 0.5 * x * (1 + erf(x * 0.70710678118654752440)) : x;
}

static void reference_element(const struct gt_reference_args *args, long long b, long long i,
                              long long j, double sum, double bound)
{
    long long at = (b * args->m + i) * args->n + j;
    double x = (double)args->alpha * sum;

    bound *= fabs((double)args->alpha);
    if (args->beta != 0) {
        double c = (double)args->beta * args->c[b * args->stride_c + i * args->ldc + j];

        x += c;
        bound += fabs(c);
    }
    if (args->epilogue & 1) {
        x += args->bias[j];
        bound += fabs((double)args->bias[j]);
    }
    x = activate(x, args->epilogue);
    if (args->ref)
        args->ref[at] = x;
    if (args->bound)
        args->bound[at] = (float)bound;
    if (args->exact)
        args->exact[at] = (float)x;
}

static void reference_row(const struct gt_reference_args *args, long long b, long long i,
                          double *sum, double *bound)
{
    const float *from_a = args->a + b * args->stride_a, *from_b = args->b + b * args->stride_b;

    memset(sum, 0, sizeof(*sum) * (size_t)args->n);
    memset(bound, 0, sizeof(*bound) * (size_t)args->n);
    for (long long k = 0; k < (args->alpha != 0 ? args->k : 0); k++) {
        double a = args->trans_a ? from_a[k * args->lda + i] : from_a[i * args->lda + k];

        for (long long j = 0; j < args->n; j++) {
            double product =
                a * (args->trans_b ? from_b[j * args->ldb + k] : from_b[k * args->ldb + j]);

            sum[j] += product;
            bound[j] += fabs(product);
        }
    }
    for (long long j = 0; j < args->n; j++)
        reference_element(args, b, i, j, sum[j], bound[j]);
}

void stub_reference(const struct gt_reference_args *args, const unsigned grid[3])
{
    double *sum = malloc(sizeof(double) * (size_t)args->n * 2);
    long long end = args->row + 64ll * grid[1];

    for (long long b = args->first; b < args->first + grid[2]; b++)
        for (long long i = args->row; i < end && i < args->m; i++)
            reference_row(args, b, i, sum, sum + args->n);
    free(sum);
}
