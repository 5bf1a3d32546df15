/* coalesced.cu - rung 2: as naive.cu, with the threads numbered along the rows of D.
 *
 *      D, a block of BM x BN elements          a warp (BN = 32)
 *      +--BN---+                                reads one element of A, 32 neighbours of a row
 *      | 0  1  |  number of the thread:         of B, and writes 32 neighbours of a row of D
 *    BM| 32 33 |  along the columns first
 *      +-------+
 */

#include "common/gemm.cuh"

GT_KERNEL_BOUNDS(gemm, BM *BN, 1)
{
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long row = (long long)(blockIdx.x / tiles_n) * BM + threadIdx.x / BN;
    long long column = (long long)(blockIdx.x % tiles_n) * BN + threadIdx.x % BN;
    if (row >= args.m || column >= args.n)
        return;

    const float *a = gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, row, 0);
    const float *b = gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, column);
    long long step_a = gt_offset_a(args, 0, 1), step_b = gt_offset_b(args, 1, 0);
    long long depth = gt_depth(args);
    float acc = 0.0f;
#pragma unroll UNROLL
    for (long long k = 0; k < depth; k++)
        acc = fmaf(a[k * step_a], b[k * step_b], acc);

    gt_output_store<1>(gt_output_of(args, blockIdx.z), row, column, &acc);
}
