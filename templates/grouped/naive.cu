/* naive.cu - groups of products, with sizes that lie in device memory: one thread, one element of
 * D.
 *
 *      by=m: D and A, the rows of all groups           by=k: A and B, the depth of all groups
 *      +--------------+  B of       +--------+            k: 0      end 0     end 1
 *      | group 0      |  group 0    |        |               +--------+---------+----
 *      +--------------+ end 0       +--------+            A  | group 0| group 1 | ...
 *      | group 1      |  B of       +--------+               +--------+---------+----
 *      |              |  group 1    |        |
 *      +--------------+ end 1       +--------+         D of group 0, D of group 1, ... (blockIdx.z)
 */
#include "common/tensor.cuh"
#include "common/groups.cuh"

GT_KERNEL_MORE_BOUNDS(gemm, BM *BN, 1)
{
    const unsigned tiles_m = (unsigned)gt_cdiv(args.m, BM);
    const long long row = (long long)(blockIdx.x % tiles_m) * BM + threadIdx.x / BN;
    const long long column = (long long)(blockIdx.x / tiles_m) * BN + threadIdx.x % BN;
    const bool by_k = GT_GROUPS_BY == GT_BY_K;

    if (row >= args.m || column >= args.n)
        return;
    const int group = by_k ? (int)blockIdx.z : gt_group_of(more, row);
    if (group >= more.groups)
        return;

    const long long first = by_k ? gt_group_begin(more, group) : 0;
    const long long depth =
        args.alpha == 0.0f ? 0 : by_k ? gt_group_end(more, group) - first : args.k;
    const gt_element<GT_TYPE>::type *a = gt_typed_a(args, 0) + gt_offset_a(args, row, first);
    const gt_element<GT_TYPE>::type *b =
        gt_typed_b(args, by_k ? 0 : group) + gt_offset_b(args, first, column);
    const long long step_a = gt_offset_a(args, 0, 1), step_b = gt_offset_b(args, 1, 0);
    float sum = 0.0f;
    for (long long k = 0; k < depth; k++)
        sum = fmaf(gt_to_float<GT_TYPE>(a[k * step_a]), gt_to_float<GT_TYPE>(b[k * step_b]), sum);

    gt_typed_output_store<1>(gt_typed_output_of(args, by_k ? group : 0), row, column, &sum);
}
