/* split_k.cuh - what kernels share whose blocks divide the k of a tile of D between them: the part
 * of k that a block has, and the launches before and after the product.
 *
 * The split of a block is blockIdx.y. Either the blocks leave partial results in the workspace,
 * [split][matrix][row][ld], and a second launch adds them, always in the same order, and finishes D;
 * or they add to D by atomics, after a launch that wrote beta*C (+ bias) there. */
#ifndef GT_SPLIT_K_CUH
#define GT_SPLIT_K_CUH

#include "common/types.cuh"

/* Values of k from `first` up to, not including, `end`. */
struct gt_k_range {
    long long first, end;
};

/* Part `split` of `splits` of the k that a kernel runs over, in whole tiles of `tile` values; the
 * last parts may be shorter, or empty. */
GT_DEVICE gt_k_range gt_k_range_of(long long depth, long long splits, long long split, int tile)
{
    const long long length = gt_cdiv(gt_cdiv(depth, tile), splits) * tile;
    gt_k_range range;
    range.first = split * length;
    range.first = range.first < depth ? range.first : depth;
    range.end = range.first + length < depth ? range.first + length : depth;
    return range;
}

/* The threads of the launch share the vectors of `count` elements of all rows of all matrices, each
 * row with `per_row` of them: calls visit(row, column) for those of this thread, where rows are
 * counted through all matrices. */
template <int count, class Visit>
GT_DEVICE void gt_each_vector(const gt_args &args, long long per_row, Visit visit)
{
    const long long vectors = args.batch * args.m * per_row;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < vectors;
         i += (long long)gridDim.x * blockDim.x)
        visit(i / per_row, i % per_row * count);
}

/* Sums of `count` neighbours over all splits: `parts` points to those of split 0, those of the next
 * split lie `stride` elements behind. */
template <int count, class Sum>
GT_DEVICE void gt_sum_splits(Sum (&sum)[count], const Sum *parts, long long stride, int splits)
{
    constexpr int LOADED = count < 4 ? count : 4; /* of a load, at most 16 bytes */
#pragma unroll
    for (int u = 0; u < count; u++)
        sum[u] = 0;
    for (int s = 0; s < splits; s++)
#pragma unroll
        for (int u = 0; u < count; u += LOADED) {
            const gt_vec<Sum, LOADED> value = gt_load_vec<Sum, LOADED>(parts + s * stride + u);
#pragma unroll
            for (int v = 0; v < LOADED; v++)
                sum[u + v] += value.at[v];
        }
}

#endif
