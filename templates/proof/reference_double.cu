/* reference_double.cu - the product of doubles in twice their precision, and |A||B| beside it.
 *
 * A sum is a pair of doubles: the rounded sum, and what its roundings and those of the products
 * have left behind (Ogita, Rump, Oishi: Accurate sum and dot product, 2005), so that only the
 * rounding of the result is left. Blocks, threads and tiles are those of reference.cu, but with
 * slices of 8 along k.
 */
#include "proof/device.cuh"

#define DOUBLE_TILE  64
#define DOUBLE_SLICE 8

/* One rounded operation each, which the compiler does not join with another one to an FMA: the
 * rounding that is computed beside it would not be the one that took place. */
#ifdef GT_EMULATE
#define GT_PROOF_ADD(x, y) ((x) + (y))
#define GT_PROOF_MUL(x, y) ((x) * (y))
#else
#define GT_PROOF_ADD(x, y) __dadd_rn(x, y)
#define GT_PROOF_MUL(x, y) __dmul_rn(x, y)
#endif

/* high + low, where low is small against high. */
struct gt_pair {
    double high, low;
};

/* Adds x; what the rounding leaves behind goes to low (Knuth's TwoSum). */
GT_PROOF_DEVICE void gt_pair_add(gt_pair &sum, double x)
{
    double high = GT_PROOF_ADD(sum.high, x), part = GT_PROOF_ADD(high, -sum.high);
    double left = GT_PROOF_ADD(sum.high, -GT_PROOF_ADD(high, -part));

    sum.low += GT_PROOF_ADD(left, GT_PROOF_ADD(x, -part));
    sum.high = high;
}

/* Adds x * y; fma has the product's own rounding. */
GT_PROOF_DEVICE void gt_pair_add_product(gt_pair &sum, double x, double y)
{
    double product = GT_PROOF_MUL(x, y);

    sum.low += fma(x, y, -product);
    gt_pair_add(sum, product);
}

/* Not inlined, as in reference.cu. */
__device__ __noinline__ void gt_proof_store_pair(const gt_reference_args &args, long long batch,
                                                 long long i, long long j, gt_pair sum,
                                                 double bound)
{
    long long at = (batch * args.m + i) * args.n + j;
    gt_pair x = {0, args.alpha * sum.low};
    double value;

    gt_pair_add_product(x, args.alpha, sum.high);
    bound *= fabs(args.alpha);
    if (args.beta != 0) {
        double c = gt_proof_get(args.c, batch * args.stride_c + i * args.ldc + j, args.out);

        gt_pair_add_product(x, args.beta, c);
        bound += fabs(args.beta * c);
    }
    if (args.epilogue & 1) {
        double bias = gt_proof_get(args.bias, j, args.type_bias);

        gt_pair_add(x, bias);
        bound += fabs(bias);
    }
    value = gt_proof_activate(x.high + x.low, args.epilogue);
    if (args.ref)
        args.ref[at] = value;
    if (args.bound)
        args.bound[at] = (float)bound;
    if (args.exact)
        gt_proof_put(args.exact, at, args.out, value);
}

/* Element (i, k) of op(A), or (k, i) of op(B): k is the row of what is stored, or its column. */
GT_PROOF_DEVICE double gt_proof_double_at(const void *data, long long from, long long i,
                                          long long k, long long ld, bool k_is_row, bool inside)
{
    return inside ? static_cast<const double *>(data)[from + (k_is_row ? k * ld + i : i * ld + k)]
                  : 0.0;
}

GT_PROOF_KERNEL(proof_reference_double, gt_reference_args)
{
    GT_PROOF_SHARED(double, a, [DOUBLE_SLICE][DOUBLE_TILE]);
    GT_PROOF_SHARED(double, b, [DOUBLE_SLICE][DOUBLE_TILE]);
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    long long row = args.row + (long long)blockIdx.y * DOUBLE_TILE;
    long long col = (long long)blockIdx.x * DOUBLE_TILE, batch = args.first + blockIdx.z;
    gt_pair sum[4][4] = {};
    float bound[4][4] = {};

    /* alpha == 0 must not look at A and B. */
    for (long long k = 0; k < (args.alpha != 0 ? args.k : 0); k += DOUBLE_SLICE) {
        for (int at = threadIdx.x; at < DOUBLE_SLICE * DOUBLE_TILE; at += 256) {
            /* Neighbouring threads read neighbouring words, whichever way A and B are stored. */
            int ka = args.trans_a ? at / DOUBLE_TILE : at % DOUBLE_SLICE;
            int ia = args.trans_a ? at % DOUBLE_TILE : at / DOUBLE_SLICE;
            int kb = args.trans_b ? at % DOUBLE_SLICE : at / DOUBLE_TILE;
            int jb = args.trans_b ? at / DOUBLE_SLICE : at % DOUBLE_TILE;

            a[ka][ia] =
                gt_proof_double_at(args.a, batch * args.stride_a, row + ia, k + ka, args.lda,
                                   args.trans_a, k + ka < args.k && row + ia < args.m);
            b[kb][jb] =
                gt_proof_double_at(args.b, batch * args.stride_b, col + jb, k + kb, args.ldb,
                                   !args.trans_b, k + kb < args.k && col + jb < args.n);
        }
        __syncthreads();
#pragma unroll 2
        for (int s = 0; s < DOUBLE_SLICE; s++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    double x = a[s][ty + 16 * i], y = b[s][tx + 16 * j];

                    gt_pair_add_product(sum[i][j], x, y);
                    bound[i][j] = fmaf(fabsf((float)x), fabsf((float)y), bound[i][j]);
                }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (row + ty + 16 * i < args.m && col + tx + 16 * j < args.n)
                gt_proof_store_pair(args, batch, row + ty + 16 * i, col + tx + 16 * j, sum[i][j],
                                    bound[i][j]);
}
