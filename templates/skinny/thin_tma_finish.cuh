/* thin_tma_finish.cuh - part of thin_tma.cu, whose parameters it uses: from the sums of lanes to D.
 *
 * A source is the sums of one ring. Each of the CLUSTER_K blocks that share k finishes BLOCK_N /
 * CLUSTER_K columns: every warp writes its sums at once to the shared memory of the block that has
 * the column, whose rings may still be at work, so that the blocks meet only once; then the sources
 * are added in their order, so that the bits are the same every time. With SPLIT the result is a
 * part of the sum, which goes to the workspace and is added to the others by a second launch. */
#ifndef GT_SKINNY_THIN_TMA_FINISH_CUH
#define GT_SKINNY_THIN_TMA_FINISH_CUH

#include "common/cluster_store.cuh"

constexpr int SHARE_N = BLOCK_N / CLUSTER_K; /* columns that a block finishes */
constexpr int SOURCES = CLUSTER_K * WARPS_K;
constexpr int PITCH = ROWS + 2; /* of columns, so that neighbours lie in other banks */

static_assert(SHARE_N % 16 == 0, "tiles as a whole");

/* Where the block's sources lie: beside the rings if others write there, else in their place. */
GT_DEVICE Sum *sources_of(char *shared)
{
    constexpr int beside = WARPS_K * RING * (SLOT + (int)sizeof(gt_mbarrier));
    return reinterpret_cast<Sum *>(shared + (CLUSTER_K > 1 ? beside : 0));
}

GT_DEVICE unsigned bits_of(float sum)
{
    return __float_as_uint(sum);
}

GT_DEVICE unsigned bits_of(int sum)
{
    return (unsigned)sum;
}

/* Writes a lane's sums to where they are finished. */
GT_DEVICE void leave(const Accumulator &sum, Sum *sources)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int source = (CLUSTER_K > 1 ? (int)gt_cluster_rank() : 0) * WARPS_K + warp / WARPS_N;

#pragma unroll
    for (int t = 0; t < TILES; t++) {
        const int column = warp % WARPS_N * WARP_N + t * 16;
        Sum *own = sources + (source * SHARE_N + column % SHARE_N) * PITCH + lane % 4 * 2;
        const gt_cluster_place place = gt_cluster_place_of(own, (unsigned)(column / SHARE_N));
#pragma unroll
        for (int x = 0; x < EIGHTS; x++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                gt_cluster_store_pair(place, 4 * (column_of(lane / 4, half) * PITCH + x * 8),
                                      bits_of(sum[x][t][2 * half]), bits_of(sum[x][t][2 * half + 1]));
    }
}

/* A row of sums in the workspace, of one of the parts of k. */
GT_DEVICE Sum *partial(const gt_args &args, long long part, long long batch, long long row)
{
    return static_cast<Sum *>(args.workspace) +
           ((part * args.batch + batch) * args.m + row) * args.n;
}

/* Adds the block's sources, complete, into its columns of D. */
GT_DEVICE void finish(const gt_args &args, const Sum *sources)
{
    const gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    const long long first_row = block_row(args), left = args.m - first_row;
    const int rows = left < ROWS ? (int)left : ROWS;
    const long long first_column =
        block_column(args) + (CLUSTER_K > 1 ? (int)gt_cluster_rank() : 0) * SHARE_N;

    for (int e = (int)threadIdx.x; e < rows * SHARE_N; e += THREADS) {
        const int row = e / SHARE_N, column = e % SHARE_N;
        Sum total = 0;
#pragma unroll 8
        for (int source = 0; source < SOURCES; source++)
            total += sources[(source * SHARE_N + column) * PITCH + row];
        if (!SPLIT)
            gt_typed_output_store<1>(output, first_row + row, first_column + column, &total);
        else if (first_column + column < args.n)
            partial(args, blockIdx.y / CLUSTER_K, blockIdx.z,
                    first_row + row)[first_column + column] = total;
    }
}

/* Adds the parts of k in the workspace into D: 128 columns of a row a block. */
GT_DEVICE void reduce_parts(const gt_args &args)
{
    const long long column = blockIdx.x * 128LL + threadIdx.x, row = blockIdx.y;
    Sum total = 0;

    gt_launch_wait();
    if (column >= args.n)
        return;
#pragma unroll 8
    for (int part = 0; part < PARTS; part++)
        total += partial(args, part, blockIdx.z, row)[column];
    gt_typed_output_store<1>(gt_typed_output_of(args, blockIdx.z), row, column, &total);
}

#endif
