/* schedule.cuh - of hopper/gemm.cu: which tiles a block computes, in which order.
 *
 * Work is numbered by cluster: tiles in the order of raster.cuh, those of the first part of the
 * depth before those of the second, matrix after matrix of the batch. Cluster c takes work c, c +
 * clusters, c + 2 * clusters... With SPLIT 2 a cluster's blocks have the same tile and a part of
 * the depth each. */
#ifndef STRANDS_A /* of templates that have none */
#define STRANDS_A 1
#endif

struct work {
    int row, column;   /* first of the block's tile, in elements; may lie outside of D */
    int strand, shift; /* of A; elements that its rows begin late: `row` counts its rows, k from as
                        * far before them */
    int batch, split;
    int k;     /* first of the depth; beyond it where there is nothing to multiply */
    int steps; /* stages; at least one, which is all zeros where there is nothing */
};

/* The block's place in its cluster. */
GT_DEVICE int cluster_row()
{
    return CLUSTER > 1 ? (int)gt_cluster_rank() % CLUSTER_M : 0;
}

GT_DEVICE int cluster_column()
{
    return CLUSTER > 1 ? (int)gt_cluster_rank() / CLUSTER_M : 0;
}

struct schedule {
    unsigned rows, columns, tiles; /* clusters of tiles; work in all */
    unsigned first, step;          /* of the block's work */
    int depth, part;               /* of k; stages of a part of it */

    GT_DEVICE schedule(const gt_args &args)
    {
        rows = STRANDS_A * (unsigned)gt_cdiv(gt_cdiv(args.m, STRANDS_A), BM * CLUSTER_M);
        columns = (unsigned)gt_cdiv(args.n, BN * CLUSTER_N);
        tiles = rows * columns * (unsigned)args.batch * (SPLIT == 1 ? (unsigned)SPLITS : 1u);
        first = blockIdx.x / (SPLIT == 2 ? (unsigned)SPLITS : (unsigned)CLUSTER);
        step = gridDim.x / (SPLIT == 2 ? (unsigned)SPLITS : (unsigned)CLUSTER);
        depth = (int)gt_depth(args);
        part = (int)gt_cdiv(depth, BK);
        if (SPLIT)
            part = (int)gt_cdiv(part, SPLITS);
    }

    GT_DEVICE work work_of(const gt_args &args, unsigned index) const
    {
        unsigned plane = index / (rows * columns), within = index % (rows * columns);
        gt_tile tile = ORDER ? gt_raster(within, columns, rows, GROUP)
                             : gt_raster(within, rows, columns, GROUP);
        int down = (int)(ORDER ? tile.column : tile.row);
        int across = (int)(ORDER ? tile.row : tile.column);
        constexpr int SIZE = (int)sizeof(in_type);
        work work;

        work.strand = down % STRANDS_A;
        work.shift = STRANDS_A == 1 ? 0 : (int)(work.strand * args.lda * SIZE & 15) / SIZE;
        work.row = (down / STRANDS_A * CLUSTER_M + cluster_row()) * BM;
        work.column = (across * CLUSTER_N + cluster_column()) * BN;
        work.split = SPLIT == 1 ? (int)(plane % SPLITS) : SPLIT == 2 ? (int)gt_cluster_rank() : 0;
        work.batch = SPLIT == 1 ? (int)(plane / SPLITS) : (int)plane;
        work.k = work.split * part * BK;
        work.steps = min(part, (int)gt_cdiv(depth - work.k, BK));
        if (STRANDS_A > 1)
            work.steps = depth ? (int)gt_cdiv(depth + work.shift, BK) : 0;
        if (work.steps <= 0) { /* TMA loads zeros without reading anything */
            work.k = (int)gt_cdiv(args.k + work.shift, BK) * BK;
            work.steps = 1;
        }
        return work;
    }
};
