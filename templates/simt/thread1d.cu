/* thread1d.cu - rung 4: each thread computes TM elements of a column of D.
 *
 *                      BN                 a thread keeps one element of B's tile in a register
 *                  +--------+             and multiplies it with TM elements of A's:
 *                BK|   B    |             TM + 1 shared loads for TM multiplications,
 *                  +--------+             where tiled.cu needs 2 for 1
 *         BK
 *      +------+    +--+-----+
 *      |      |    |t0|t1...| TM          threads are numbered along the columns first
 *    BM|  A   |    +--+-----+
 *      |      |    |tBN ... | TM
 *      +------+    +--------+
 */

#include "common/gemm.cuh"

#define THREADS (BM / TM * BN)

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_STATIC_SHARED(float, tile_a, [BM][BK + GT_TRANS_A]); /* see tiled.cu */
    GT_STATIC_SHARED(float, tile_b, [BK][BN + GT_TRANS_B]);
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long first_row = (long long)(blockIdx.x / tiles_n) * BM;
    long long first_column = (long long)(blockIdx.x % tiles_n) * BN;
    long long depth = gt_depth(args);
    int thread = threadIdx.x, row = thread / BN * TM, column = thread % BN;
    gt_staged<BM, BK, !GT_TRANS_A, 1, THREADS> a;
    gt_staged<BN, BK, GT_TRANS_B, 1, THREADS> b;
    a.begin(gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, first_row, 0), args.lda, thread);
    b.begin(gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, first_column), args.ldb, thread);
    float acc[TM] = {};

    for (long long k0 = 0; k0 < depth; k0 += BK) {
        a.load_next(args.m - first_row, depth - k0);
        b.load_next(args.n - first_column, depth - k0);
        a.store<BK + GT_TRANS_A, 1>(&tile_a[0][0]);
        b.store<1, BN + GT_TRANS_B>(&tile_b[0][0]);
        gt_sync();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float b_value = tile_b[k][column];
#pragma unroll
            for (int i = 0; i < TM; i++)
                acc[i] = fmaf(tile_a[row + i][k], b_value, acc[i]);
        }
        gt_sync();
    }

    gt_output output = gt_output_of(args, blockIdx.z);
#pragma unroll
    for (int i = 0; i < TM; i++)
        gt_output_store<1>(output, first_row + row + i, first_column + column, &acc[i]);
}
