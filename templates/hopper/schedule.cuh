/* schedule.cuh - of hopper/gemm.cu: which tiles a block computes, and in which order.
 *
 * Work is numbered by cluster: tiles in the order of raster.cuh; those of the first part of the
 * depth before those of the second; one matrix of the batch after the other. Cluster c takes the
 * work numbered c, c + clusters, c + 2 * clusters, ... With SPLIT 2 a cluster has the same tiles
 * once for each part of the depth.
 *
 * STREAM: where the last round would have tiles for some of the clusters only, the stages of that
 * round's tiles (STREAM 2: of the last two rounds' tiles) are divided evenly over all clusters.
 * They come after the whole tiles. The clusters compute whole tiles side by side at the same k, so
 * that the L2 cache reads for several of them. */
#ifndef GT_HOPPER_SCHEDULE_CUH
#define GT_HOPPER_SCHEDULE_CUH

#ifndef ROW_PHASES /* for templates without it */
#define ROW_PHASES 1
#endif
#ifndef STREAM
#define STREAM 0
#endif
#ifndef SWAP_AB
#define SWAP_AB 0
#endif
#ifndef HALVES
#define HALVES 0
#endif
#ifndef EARLY
#define EARLY 0
#endif

#include "hopper/cluster_share.cuh"

/* The product whose tiles are computed. */
#if SWAP_AB
GT_DEVICE gt_args product_of(const gt_args &args); /* in swapped.cuh */
#else
GT_DEVICE const gt_args &product_of(const gt_args &args)
{
    return args;
}
#endif

struct Work {
    int row, column;  /* of the first element of the block's tile; may lie outside of D */
    int phase, shift; /* row phase of A, in which `row` counts; elements by which its rows begin
                       * late, and by which k begins early */
    int batch, split;
    int k;      /* first of the depth; beyond the depth where there is nothing to multiply */
    int steps;  /* stages; at least one, which is all zeros where there is nothing to multiply */
    int stream; /* STREAM: the tile's number if other blocks have parts of its depth, else -1 */
};

/* The number of parts of size `part` that cover `whole`, in 32 bits because TMA counts in 32
 * bits. */
GT_DEVICE constexpr unsigned parts_of(unsigned whole, unsigned part)
{
    return (whole + part - 1) / part;
}

/* The first loads wait for these numbers, and at that time their instructions still come from
 * memory. There a division costs as much as a load, so that the common cases do without divisions.
 */
struct Schedule {
    unsigned rows, columns, tiles; /* clusters of tiles along m and n; work in all */
    unsigned first, step;          /* the block's first work, and the distance to the next */
    int depth, part;               /* k in all; stages of a part of it */
    unsigned index;                /* of the block's next whole tile */
    unsigned streamed, share;      /* STREAM: tiles whose stages are divided; stages that a
                                    * cluster has of them */
    unsigned at, end;              /* STREAM: the block's next such stage, and the first that is
                                    * another block's */

    GT_DEVICE Schedule(const gt_args &args)
    {
        const unsigned cluster = SPLIT == 2 ? (unsigned)SPLITS * CLUSTER : CLUSTER;
        rows = ROW_PHASES * parts_of(parts_of((unsigned)args.m, ROW_PHASES), BM * CLUSTER_M);
        columns = parts_of((unsigned)args.n, BN * CLUSTER_N);
        tiles = rows * columns * (unsigned)args.batch * (SPLIT == 1 ? (unsigned)SPLITS : 1u);
        first = blockIdx.x / cluster;
        step = gridDim.x / cluster;
        depth = (int)gt_depth(args);
        part = (int)parts_of((unsigned)depth, BK);
        if (SPLIT)
            part = (int)parts_of((unsigned)part, (unsigned)SPLITS);
        index = first;
        if (STREAM)
            divide();
        if (EARLY) { /* one work, whose place is the cluster's in the grid */
            index = 0;
            tiles = 1;
            step = gridDim.x;
        }
    }

    GT_DEVICE void divide()
    {
        part = max(part, 1);
        streamed = tiles < step ? tiles : tiles % step + (STREAM == 2 ? step : 0);
        share = parts_of(streamed * (unsigned)part, step);
        at = first * share;
        end = min(at + share, streamed * (unsigned)part);
    }

    GT_DEVICE void place(const gt_args &args, Work &work, unsigned within) const
    {
        const unsigned outer = ORDER ? columns : rows, inner = ORDER ? rows : columns;
        gt_tile tile = {0, within};
        if (EARLY)
            tile = {blockIdx.x / CLUSTER, blockIdx.y};
        else if (outer > 1)
            tile = gt_raster(within, outer, inner, GROUP);
        const int down = (int)(ORDER && !EARLY ? tile.column : tile.row);
        const int across = (int)(ORDER && !EARLY ? tile.row : tile.column);
        constexpr int size = (int)sizeof(In);
        work.phase = down % ROW_PHASES;
        work.shift = ROW_PHASES == 1 ? 0 : (int)(work.phase * args.lda * size & 15) / size;
        work.row = (down / ROW_PHASES * CLUSTER_M + cluster_row()) * BM;
        work.column = (across * CLUSTER_N + cluster_column()) * BN;
    }

    GT_DEVICE Work work_of(const gt_args &args, unsigned index) const
    {
        const unsigned of_plane = rows * columns;
        const unsigned plane = EARLY ? blockIdx.z : index < of_plane ? 0 : index / of_plane;
        Work work;

        place(args, work, index - plane * of_plane);
        work.batch = (int)plane;
        work.split = SPLIT == 2 ? (int)gt_cluster_rank() / CLUSTER : 0;
        if (SPLIT == 1) {
            work.batch = plane < (unsigned)SPLITS ? 0 : (int)(plane / (unsigned)SPLITS);
            work.split = (int)plane - work.batch * SPLITS;
        }
        work.k = work.split * part * BK;
        work.steps = STREAM && depth == 0 ? 0 : part;
        if (SPLIT && depth - work.k < part * BK)
            work.steps = (depth - work.k + BK - 1) / BK;
        if (ROW_PHASES > 1)
            work.steps = depth ? (depth + work.shift + BK - 1) / BK : 0;
        if (work.steps <= 0) { /* a box outside of its map is all zeros: TMA reads nothing */
            work.k = (int)parts_of((unsigned)(args.k + work.shift), BK) * BK;
            work.steps = 1 + HALVES;
        }
        work.stream = -1;
        return work;
    }

    /* The block's next work; false if there is none. */
    GT_DEVICE bool next(const gt_args &args, Work &work)
    {
        if (index < tiles - (STREAM ? streamed : 0)) {
            work = work_of(args, index);
            index += step;
            return true;
        }
        if (!STREAM || at >= end)
            return false;
        const unsigned tile = at / (unsigned)part, from = at - tile * (unsigned)part;
        work = work_of(args, tiles - streamed + tile);
        if (from > 0 || end - at < (unsigned)part) {
            work.stream = (int)tile;
            work.k = (int)from * BK;
            work.steps = (int)min((unsigned)part - from, end - at);
        }
        at += (unsigned)work.steps;
        return true;
    }
};

#endif
