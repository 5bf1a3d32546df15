/* vectorised.cu - rung 6: as thread2d.cu, with global memory read VEC elements at a time, A
 * transposed on its way to shared memory, and shared memory read 4 elements at a time.
 *
 *                      BN                 A's tile lies in shared memory as k x m, so that the TM
 *                  +--------+             elements a thread needs for one k are neighbours, as
 *                BK|   B    |             the TN of B are
 *                  +--------+
 *         BM           BN                 SPREAD 0: a thread's rows and columns are neighbours
 *      +------+    +--------+             SPREAD 1: in groups of 4, those of all threads side by
 *    BK| A^T  |    |   D    | BM          side, so that a warp's loads have no bank conflicts
 *      +------+    +--------+
 */

#include "common/gemm.cuh"

#define THREADS (BM / TM * (BN / TN))
#define LD_A    (BM + (GT_TRANS_A ? 0 : SKEW)) /* elements between rows of the tiles */
#define LD_B    (BN + (GT_TRANS_B ? SKEW : 0))

/* Element i of `count` of the thread in place `thread` of `threads`: where it lies in the block. */
GT_DEVICE int place(int i, int count, int thread, int threads)
{
    return SPREAD ? i / 4 * 4 * threads + thread * 4 + i % 4 : thread * count + i;
}

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_STATIC_SHARED(float, tile_a, [BK][LD_A]);
    GT_STATIC_SHARED(float, tile_b, [BK][LD_B]);
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long first_row = (long long)(blockIdx.x / tiles_n) * BM;
    long long first_column = (long long)(blockIdx.x % tiles_n) * BN;
    long long depth = gt_depth(args);
    int thread = threadIdx.x, thread_m = thread / (BN / TN), thread_n = thread % (BN / TN);
    gt_staged<BM, BK, !GT_TRANS_A, VEC, THREADS> a;
    gt_staged<BN, BK, GT_TRANS_B, VEC, THREADS> b;
    a.begin(gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, first_row, 0), args.lda, thread);
    b.begin(gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, first_column), args.ldb, thread);
    float acc[TM][TN] = {};

    for (long long k0 = 0; k0 < depth; k0 += BK) {
        a.load_next(args.m - first_row, depth - k0);
        b.load_next(args.n - first_column, depth - k0);
        a.store<1, LD_A>(&tile_a[0][0]);
        b.store<1, LD_B>(&tile_b[0][0]);
        gt_sync();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a_values[TM], b_values[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                gt_load<4>(&a_values[i], &tile_a[k][place(i, TM, thread_m, BM / TM)]);
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                gt_load<4>(&b_values[j], &tile_b[k][place(j, TN, thread_n, BN / TN)]);
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
        for (int j = 0; j < TN; j += VEC)
            gt_output_store<VEC>(output, first_row + place(i, TM, thread_m, BM / TM),
                                 first_column + place(j, TN, thread_n, BN / TN), &acc[i][j]);
}
