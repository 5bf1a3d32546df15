/* schedule.cuh - of hopper/gemm.cu: which tiles a block computes, in which order.
 *
 * Work is numbered by cluster: tiles in the order of raster.cuh, those of the first part of the
 * depth before those of the second, matrix after matrix of the batch. Cluster c takes work c, c +
 * clusters, c + 2 * clusters... With SPLIT 2 a cluster has the same tiles once for each part
 * of the depth.
 *
 * STREAM: where the last round has tiles for some of the clusters only, each gets as many stages
 * of that round's tiles (2: of the last two rounds' tiles) as every other. They come behind whole
 * tiles, which the clusters take side by side, at one k, so that the L2 cache reads for several. */
#ifndef ROW_PHASES /* of templates that have none */
#define ROW_PHASES 1
#endif
#ifndef STREAM
#define STREAM 0
#endif
#ifndef SWAP_AB
#define SWAP_AB 0
#endif

struct work {
    int row, column;   /* first of the block's tile, in elements; may lie outside of D */
    int phase, shift; /* row phase of A; elements that its rows begin late: `row` counts its rows, k from as
                        * far before them */
    int batch, split;
    int k;      /* first of the depth; beyond it where there is nothing to multiply */
    int steps;  /* stages; at least one, which is all zeros where there is nothing */
    int stream; /* the tile's number if others have parts of its depth (STREAM), or -1 */
};

/* The block's place among those that share operands, which follow each other in the cluster. */
GT_DEVICE int cluster_place()
{
    return CLUSTER == 1 ? 0
           : SPLIT == 2 ? (int)gt_cluster_rank() % CLUSTER
                        : (int)gt_cluster_rank();
}

GT_DEVICE int cluster_row()
{
    return cluster_place() % CLUSTER_M;
}

GT_DEVICE int cluster_column()
{
    return cluster_place() / CLUSTER_M;
}

/* Rank in the cluster of the first of them. */
GT_DEVICE int cluster_first()
{
    return SPLIT == 2 ? (int)gt_cluster_rank() - cluster_place() : 0;
}

/* Parts of size `part` that cover `whole`: TMA counts in 32 bits. */
GT_DEVICE constexpr unsigned parts_of(unsigned whole, unsigned part)
{
    return (whole + part - 1) / part;
}

/* The first loads wait for these numbers, and their instructions come from memory at that time: a
 * division costs as much as a load, so that the common cases do without. */
struct schedule {
    unsigned rows, columns, tiles; /* clusters of tiles; work in all */
    unsigned first, step;          /* of the block's work */
    int depth, part;               /* of k; stages of a part of it */
    unsigned index;                /* of the block's next whole tile */
    unsigned streamed, share;      /* STREAM: tiles whose stages are divided; stages of a cluster */
    unsigned at, end;              /* the first of them still to do, and the first of another */

    GT_DEVICE schedule(const gt_args &args)
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
    }

    GT_DEVICE void divide()
    {
        part = max(part, 1);
        streamed = tiles < step ? tiles : tiles % step + (STREAM == 2 ? step : 0);
        share = parts_of(streamed * (unsigned)part, step);
        at = first * share;
        end = min(at + share, streamed * (unsigned)part);
    }

    GT_DEVICE void place(const gt_args &args, work &work, unsigned within) const
    {
        const unsigned outer = ORDER ? columns : rows, inner = ORDER ? rows : columns;
        gt_tile tile = {0, within};
        if (outer > 1)
            tile = gt_raster(within, outer, inner, GROUP);
        const int down = (int)(ORDER ? tile.column : tile.row);
        const int across = (int)(ORDER ? tile.row : tile.column);
        constexpr int size = (int)sizeof(in_type);
        work.phase = down % ROW_PHASES;
        work.shift = ROW_PHASES == 1 ? 0 : (int)(work.phase * args.lda * size & 15) / size;
        work.row = (down / ROW_PHASES * CLUSTER_M + cluster_row()) * BM;
        work.column = (across * CLUSTER_N + cluster_column()) * BN;
    }

    GT_DEVICE work work_of(const gt_args &args, unsigned index) const
    {
        const unsigned of_plane = rows * columns;
        const unsigned plane = index < of_plane ? 0 : index / of_plane;
        work work;

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
        if (work.steps <= 0) { /* TMA loads zeros without reading anything */
            work.k = (int)parts_of((unsigned)(args.k + work.shift), BK) * BK;
            work.steps = 1;
        }
        work.stream = -1;
        return work;
    }

    /* The block's next work, if there is more. */
    GT_DEVICE bool next(const gt_args &args, work &work)
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
