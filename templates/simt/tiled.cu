/* tiled.cu - rung 3: tiles of A and B staged in shared memory; one thread, one element of D.
 *
 *                      BN                 for each step of BK along k:
 *                  +--------+               all threads copy both tiles to shared memory
 *                BK|   B    |               barrier
 *                  +--------+               each thread: a row of A's tile times a column of B's
 *         BK                                barrier
 *      +------+    +--------+
 *    BM|  A   |    |   D    |
 *      +------+    +--------+
 */

#include "common/gemm.cuh"

#define THREADS (BM * BN)

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    /* The tile of an operand that is stored the other way round is written down its columns: one
     * element more per row keeps those writes on different banks. */
    GT_STATIC_SHARED(float, tile_a, [BM][BK + GT_TRANS_A]);
    GT_STATIC_SHARED(float, tile_b, [BK][BN + GT_TRANS_B]);
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long first_row = (long long)(blockIdx.x / tiles_n) * BM;
    long long first_column = (long long)(blockIdx.x % tiles_n) * BN;
    long long depth = gt_depth(args);
    int thread = threadIdx.x, row = thread / BN, column = thread % BN;
    gt_staged<BM, BK, !GT_TRANS_A, 1, THREADS> a;
    gt_staged<BN, BK, GT_TRANS_B, 1, THREADS> b;
    a.begin(gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, first_row, 0), args.lda, thread);
    b.begin(gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, first_column), args.ldb, thread);
    float acc = 0.0f;

    for (long long k0 = 0; k0 < depth; k0 += BK) {
        a.load_next(args.m - first_row, depth - k0);
        b.load_next(args.n - first_column, depth - k0);
        a.store<BK + GT_TRANS_A, 1>(&tile_a[0][0]);
        b.store<1, BN + GT_TRANS_B>(&tile_b[0][0]);
        gt_sync();
#pragma unroll
        for (int k = 0; k < BK; k++)
            acc = fmaf(tile_a[row][k], tile_b[k][column], acc);
        gt_sync();
    }

    gt_output_store<1>(gt_output_of(args, blockIdx.z), first_row + row, first_column + column,
                       &acc);
}
