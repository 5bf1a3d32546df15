/* reduce.cuh - of the templates of f32acc: stores results to D or, where the depth is divided
 * (SPLIT 1), to the workspace, and adds the parts of the depth in a launch of its own. The template
 * defines partial_begin: where the sums begin in the workspace. */
#ifndef GT_F32ACC_REDUCE_CUH
#define GT_F32ACC_REDUCE_CUH

#include "f32acc/exact.cuh"

constexpr int REDUCE_THREADS = 256;

/* The workspace has m rows of sums of this length for each matrix of the batch and each part of the
 * depth. */
GT_DEVICE long long partial_row(const gt_args &args)
{
    return gt_cdiv(args.n, 4) * 4;
}

GT_DEVICE float *partial_sums(const gt_args &args, long long batch, long long split)
{
    return reinterpret_cast<float *>(static_cast<char *>(args.workspace) + partial_begin(args)) +
           (batch * SPLITS + split) * args.m * partial_row(args);
}

/* Where a block stores its results. */
struct Target {
    gt_typed_output output;
    float *partial; /* used with SPLIT 1 */
    long long row_length;

    GT_DEVICE Target(const gt_args &args, long long batch, long long split)
    {
        output = gt_typed_output_of(args, batch);
        if (SPLIT == 1) {
            partial = partial_sums(args, batch, split);
            row_length = partial_row(args);
        }
    }

    /* Stores `count` neighbours of a row; the first column is a multiple of count. */
    template <int count> GT_DEVICE void put(long long row, long long column, const float *sum) const
    {
        constexpr int part = SPLIT == 1 || count < VEC_C ? count : VEC_C;
#pragma unroll
        for (int first = 0; first < count; first += part) {
            if (SPLIT != 1) {
                gt_typed_output_store<part>(output, row, column + first, sum + first);
            } else if (row < output.m && column + first < output.n) {
                gt_vec<float, part> vec;
#pragma unroll
                for (int i = 0; i < part; i++)
                    vec.at[i] = sum[first + i];
                gt_store_vec<float, part>(partial + row * row_length + column + first, vec);
            }
        }
    }
};

/* Adds the sums of all parts of the depth in their order, and stores D. A thread has four columns
 * of a row. */
GT_DEVICE void reduce_sums(const gt_args &args)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
    if (row >= args.m * args.batch)
        return;

    const long long batch = row / args.m;
    const float *from = partial_sums(args, batch, 0) + row % args.m * partial_row(args) + column;
    gt_vec<float, 4> total = gt_load_vec_global<float, 4>(from);
    for (int split = 1; split < SPLITS; split++) {
        from += args.m * partial_row(args);
        const gt_vec<float, 4> more = gt_load_vec_global<float, 4>(from);
#pragma unroll
        for (int i = 0; i < 4; i++)
            total.at[i] += more.at[i];
    }
    const gt_typed_output output = gt_typed_output_of(args, batch);
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C)
        gt_typed_output_store<VEC_C>(output, row % args.m, column + i, total.at + i);
}

#endif
