/* stub_reference.c - part of the stub driver: computes the float64 reference that the proof
 * compares with (templates/proof/reference.cu). */
#include "stub_gemm.h"

#include <math.h>

#include "stub_values.h"

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
    double x = args->alpha * sum;

    bound *= fabs(args->alpha);
    if (args->beta != 0) {
        double c =
            args->beta * stub_load(args->c, b * args->stride_c + i * args->ldc + j, args->out);

        x += c;
        bound += fabs(c);
    }
    if (args->epilogue & 1) {
        x += stub_load(args->bias, j, args->out);
        bound += fabs(stub_load(args->bias, j, args->out));
    }
    x = stub_saturate(activate(x, args->epilogue), args->out);
    if (args->ref)
        args->ref[at] = x;
    if (args->bound)
        args->bound[at] = (float)bound;
    if (args->exact)
        stub_store(args->exact, at, args->out, x);
}

/* One row; b: op(B) as doubles, k x n. */
STUB_VECTORS static void reference_row(const struct gt_reference_args *args, long long batch,
                                       long long i, const double *b, double *sum, double *bound)
{
    long long from_a = batch * args->stride_a;

    memset(sum, 0, sizeof(*sum) * (size_t)args->n);
    memset(bound, 0, sizeof(*bound) * (size_t)args->n);
    for (long long k = 0; k < (args->alpha != 0 ? args->k : 0); k++) {
        long long at = args->trans_a ? k * args->lda + i : i * args->lda + k;
        double a = stub_load(args->a, from_a + at, args->type);

        for (long long j = 0; j < args->n; j++) {
            double product = a * b[k * args->n + j];

            sum[j] += product;
            bound[j] += fabs(product);
        }
    }
    for (long long j = 0; j < args->n; j++)
        reference_element(args, batch, i, j, sum[j], bound[j]);
}

static void reference_b(const struct gt_reference_args *args, long long batch, double *to)
{
    for (long long k = 0; k < args->k; k++)
        for (long long j = 0; j < args->n; j++) {
            long long at = args->trans_b ? j * args->ldb + k : k * args->ldb + j;

            to[k * args->n + j] = stub_load(args->b, batch * args->stride_b + at, args->type_b);
        }
}

void stub_reference(const struct gt_reference_args *args, const unsigned grid[3])
{
    double *sum = malloc(sizeof(double) * (size_t)args->n * 2);
    double *b = malloc(sizeof(double) * (size_t)(args->k * args->n + 1));
    long long end = args->row + 64ll * grid[1];

    for (long long batch = args->first; batch < args->first + grid[2]; batch++) {
        reference_b(args, batch, b);
        for (long long i = args->row; i < end && i < args->m; i++)
            reference_row(args, batch, i, b, sum, sum + args->n);
    }
    free(b);
    free(sum);
}
