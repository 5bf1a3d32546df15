/* thread2d.cu - rung 5: each thread computes TM x TN elements of D as outer products.
 *
 *                      BN                 for each k, a thread loads TM elements of A's tile and
 *                  +--------+             TN of B's into registers, and multiplies each with
 *                BK|   B    |             each: TM + TN shared loads for TM * TN multiplications
 *                  +--------+
 *         BK         TN
 *      +------+    +--+-----+
 *      |      |  TM|t0|t1...|             threads are numbered along the columns first
 *    BM|  A   |    +--+-----+
 *      |      |    |        |
 *      +------+    +--------+
 */

#include "common/gemm.cuh"

#define THREADS (BM / TM * (BN / TN))

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_STATIC_SHARED(float, tile_a, [BM][BK + GT_TRANS_A]); /* see tiled.cu */
    GT_STATIC_SHARED(float, tile_b, [BK][BN + GT_TRANS_B]);
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long first_row = (long long)(blockIdx.x / tiles_n) * BM;
    long long first_column = (long long)(blockIdx.x % tiles_n) * BN;
    long long depth = gt_depth(args);
    int thread = threadIdx.x, row = thread / (BN / TN) * TM, column = thread % (BN / TN) * TN;
    gt_staged<BM, BK, !GT_TRANS_A, 1, THREADS> a;
    gt_staged<BN, BK, GT_TRANS_B, 1, THREADS> b;
    a.begin(gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, first_row, 0), args.lda, thread);
    b.begin(gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, first_column), args.ldb, thread);
    float acc[TM][TN] = {};

    for (long long k0 = 0; k0 < depth; k0 += BK) {
        a.load_next(args.m - first_row, depth - k0);
        b.load_next(args.n - first_column, depth - k0);
        a.store<BK + GT_TRANS_A, 1>(&tile_a[0][0]);
        b.store<1, BN + GT_TRANS_B>(&tile_b[0][0]);
        gt_sync();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a_values[TM], b_values[TN];
#pragma unroll
            for (int i = 0; i < TM; i++)
                a_values[i] = tile_a[row + i][k];
#pragma unroll
            for (int j = 0; j < TN; j++)
                b_values[j] = tile_b[k][column + j];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    acc[i][j] = fmaf(a_values[i], b_values[j], acc[i][j]);
        }
        gt_sync();
    }

    gt_output output = gt_output_of(args, blockIdx.z);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
            gt_output_store<1>(output, first_row + row + i, first_column + column + j, &acc[i][j]);
}
