/* work.cuh - of gemm.cu and tma.cu, whose parameters it uses: which tile of D a block computes, and
 * over which part of k. */
#ifndef GT_SIMT_WORK_CUH
#define GT_SIMT_WORK_CUH

/* The block's part of the product: which tile, and which k. */
struct Work {
    long long row, column;   /* the first of X, of Y */
    long long rows, columns; /* of X, of Y, in all */
    gt_k_range k;
};

/* The tile of this block and, with split-K, its part of the tiles along k. With EDGE 2 a tile that
 * would reach beyond the edge is shifted back inside, so that every tile is whole. Both blocks
 * compute the elements that the tile then shares with its neighbour, bit by bit the same. */
GT_DEVICE Work work_of(const gt_args &args)
{
    Work work;
    work.rows = SWAP_AB ? args.n : args.m;
    work.columns = SWAP_AB ? args.m : args.n;
    unsigned tile_rows = (unsigned)gt_cdiv(work.rows, BM);
    unsigned tile_columns = (unsigned)gt_cdiv(work.columns, BN);
    const gt_tile tile = gt_raster_by(ORDER, blockIdx.x, tile_rows, tile_columns, GROUP_M);
    work.row = tile.row * BM;
    work.column = tile.column * BN;
    if (EDGE == 2) {
        work.row = work.row + BM < work.rows ? work.row : work.rows - BM;
        work.column = work.column + BN < work.columns ? work.column : work.columns - BN;
    }
    const long long depth = gt_depth(args);
    work.k = SPLIT_MODE == 0 ? gt_k_range{0, depth} : gt_k_range_of(depth, SPLIT_K, blockIdx.y, BK);
    return work;
}

#endif
