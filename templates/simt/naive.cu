/* naive.cu - rung 1: one thread, one element of D, everything from global memory.
 *
 *      D, a block of BM x BN elements          a warp (BM = 32)
 *      +--BN--+                                 lane 0   row 0   one column of D:
 *      | 0 32 |  number of the thread:          lane 1   row 1   32 rows of A are read
 *    BM| 1 33 |  down the rows first            ...              at a time, each from a
 *      | 2 34 |                                 lane 31  row 31  cache line of its own
 *      +------+
 */

#include "common/gemm.cuh"

GT_KERNEL_BOUNDS(gemm, BM *BN, 1)
{
    unsigned tiles_m = (unsigned)gt_cdiv(args.m, BM);
    long long row = (long long)(blockIdx.x % tiles_m) * BM + threadIdx.x % BM;
    long long column = (long long)(blockIdx.x / tiles_m) * BN + threadIdx.x / BM;
    if (row >= args.m || column >= args.n)
        return;

    const float *a = gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, row, 0);
    const float *b = gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, column);
    long long step_a = gt_offset_a(args, 0, 1), step_b = gt_offset_b(args, 1, 0);
    long long depth = gt_depth(args);
    float acc = 0.0f;
    for (long long k = 0; k < depth; k++)
        acc = fmaf(a[k * step_a], b[k * step_b], acc);

    gt_output_store<1>(gt_output_of(args, blockIdx.z), row, column, &acc);
}
