/* skinny_finish.cuh - part of the kernels for few rows, whose parameters it uses: adds the sums of
 * a block's warps, in shared memory, and stores them in D.
 *
 * Slices of k are added in a fixed order, so that the bits are the same every time: first the
 * WARPS_K slices of a block, then those of the SPLIT_K blocks that share k, which is blockIdx.y.
 * These are read from the shared memory of their cluster (SPLIT_MODE 2) or, in a second launch,
 * from the workspace (SPLIT_MODE 1). */
#ifndef GT_SKINNY_FINISH_CUH
#define GT_SKINNY_FINISH_CUH

#include "common/tensor.cuh"
#include "common/cluster.cuh"
#include "skinny/partial.cuh"

/* The block's first row and column of D: blocks that read the same columns of B follow each other.
 */
GT_DEVICE long long block_row(const gt_args &args)
{
    return blockIdx.x % (unsigned)gt_cdiv(args.m, ROWS) * (long long)ROWS;
}

GT_DEVICE long long block_column(const gt_args &args)
{
    return blockIdx.x / (unsigned)gt_cdiv(args.m, ROWS) * (long long)BLOCK_N;
}

/* The sum at `own` in the shared memory of block `rank` of the cluster. */
GT_DEVICE Sum cluster_sum(const Sum *own, unsigned rank)
{
    union {
        float loaded;
        Sum sum;
    } either;
    gt_cluster_load<1>(&either.loaded, reinterpret_cast<const float *>(own), rank);
    return either.sum;
}

constexpr int IN_FLIGHT = 4; /* sums that a thread loads from another block at a time */

/* Adds slice 0 of all blocks of the cluster into D; each block finishes a part of it. */
GT_DEVICE void finish_cluster(const gt_args &args, const gt_typed_output &output, const Sum *slices)
{
    const long long row = block_row(args), column = block_column(args);
    const int step = SPLIT_K * THREADS;

    gt_cluster_sync();
    for (int first = (int)(blockIdx.y * THREADS + threadIdx.x); first < ROWS * BLOCK_N;
         first += IN_FLIGHT * step) {
        Sum total[IN_FLIGHT] = {};
        for (unsigned rank = 0; rank < (unsigned)SPLIT_K; rank++)
#pragma unroll
            for (int i = 0; i < IN_FLIGHT; i++)
                total[i] += cluster_sum(slices + min(first + i * step, ROWS * BLOCK_N - 1), rank);
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            const int e = first + i * step;
            if (e < ROWS * BLOCK_N)
                gt_typed_output_store<1>(output, row + e / BLOCK_N, column + e % BLOCK_N,
                                         &total[i]);
        }
    }
    gt_cluster_sync(); /* no block reads this one's shared memory any more */
}

/* slices: WARPS_K x ROWS x BLOCK_N sums in shared memory, complete. */
GT_DEVICE void finish(const gt_args &args, long long batch, Sum *slices)
{
    const gt_typed_output output = gt_typed_output_of(args, batch);

    for (int e = (int)threadIdx.x; e < ROWS * BLOCK_N; e += THREADS) {
        long long row = block_row(args) + e / BLOCK_N, column = block_column(args) + e % BLOCK_N;
        Sum total = 0;
#pragma unroll
        for (int w = 0; w < WARPS_K; w++)
            total += slices[w * ROWS * BLOCK_N + e];
        if (SPLIT_MODE == 0)
            gt_typed_output_store<1>(output, row, column, &total);
        else if (SPLIT_MODE == 2)
            slices[e] = total;
        else if (row < args.m && column < args.n)
            partial(args, blockIdx.y, batch, row)[column] = total;
    }
    if (SPLIT_MODE == 2)
        finish_cluster(args, output, slices);
    else
        gt_sync();
}

/* Adds the partial sums of the workspace into D: 128 columns of a row a block. */
GT_DEVICE void reduce_splits(const gt_args &args)
{
    const long long column = blockIdx.x * 128LL + threadIdx.x, row = blockIdx.y;

    if (column < args.n)
        for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
            Sum total = 0;
#pragma unroll 8
            for (int split = 0; split < SPLIT_K; split++)
                total += partial(args, split, batch, row)[column];
            gt_typed_output_store<1>(gt_typed_output_of(args, batch), row, column, &total);
        }
}

#endif
