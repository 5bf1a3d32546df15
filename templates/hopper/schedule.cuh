/* schedule.cuh - of hopper/gemm.cu: which tiles a block computes, in which order.
 *
 * Work is numbered by cluster: tiles in the order of raster.cuh, those of the first part of the
 * depth before those of the second, matrix after matrix of the batch. Cluster c takes work c, c +
 * clusters, c + 2 * clusters... With SPLIT 2 a cluster has the same tiles once for each part
 * of the depth. */
struct work {
    int row, column; /* first of the block's tile, in elements; may lie outside of D */
    int batch, split;
    int k;     /* first of the depth; beyond it where there is nothing to multiply */
    int steps; /* stages; at least one, which is all zeros where there is nothing */
};

struct schedule {
    unsigned rows, columns, tiles; /* clusters of tiles; work in all */
    unsigned first, step;          /* of the block's work */
    int depth, part;               /* of k; stages of a part of it */

    GT_DEVICE schedule(const gt_args &args)
    {
        rows = (unsigned)gt_cdiv(args.m, BM * CLUSTER_M);
        columns = (unsigned)gt_cdiv(args.n, BN * CLUSTER_N);
        tiles = rows * columns * (unsigned)args.batch * (SPLIT == 1 ? (unsigned)SPLITS : 1u);
        first = blockIdx.x / (unsigned)(SPLIT == 2 ? SPLITS * CLUSTER : CLUSTER);
        step = gridDim.x / (unsigned)(SPLIT == 2 ? SPLITS * CLUSTER : CLUSTER);
        depth = (int)gt_depth(args);
        part = (int)gt_cdiv(depth, BK);
        if (SPLIT)
            part = (int)(((unsigned)part + (unsigned)SPLITS - 1) / (unsigned)SPLITS);
    }

    GT_DEVICE work work_of(const gt_args &args, unsigned index) const
    {
        const unsigned tiles_of_plane = rows * columns;
        /* A division takes as long as a load: the first tiles do without. */
        unsigned plane = index < tiles_of_plane ? 0 : index / tiles_of_plane;
        unsigned within = index - plane * tiles_of_plane;
        gt_tile tile = {0, within};
        if ((ORDER ? columns : rows) > 1)
            tile = ORDER ? gt_raster(within, columns, rows, GROUP)
                         : gt_raster(within, rows, columns, GROUP);
        int down = (int)(ORDER ? tile.column : tile.row);
        int across = (int)(ORDER ? tile.row : tile.column);
        work work;

        work.row = (down * CLUSTER_M + cluster_row()) * BM;
        work.column = (across * CLUSTER_N + cluster_column()) * BN;
        work.split = SPLIT == 1 ? (int)(plane % SPLITS) : SPLIT == 2 ? (int)gt_cluster_rank() / CLUSTER : 0;
        work.batch = SPLIT == 1 ? (int)(plane / SPLITS) : (int)plane;
        work.k = work.split * part * BK;
        work.steps = min(part, (int)gt_cdiv(depth - work.k, BK));
        if (work.steps <= 0) { /* TMA loads zeros without reading anything */
            work.k = (int)gt_cdiv(args.k, BK) * BK;
            work.steps = 1;
        }
        return work;
    }
};
