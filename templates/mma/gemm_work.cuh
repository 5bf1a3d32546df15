/* gemm_work.cuh - part of gemm.cu, whose parameters it uses: which tile of D, and which k, a block
 * has. */
#ifndef GT_MMA_GEMM_WORK_CUH
#define GT_MMA_GEMM_WORK_CUH

#include "mma/gemm_multiply.cuh"
#include "mma/gemm_store.cuh"

/* First row or column of a tile, shifted back inside if it would reach beyond the edge and its
 * operand can be read from there. The block then computes elements of its neighbour again instead
 * of elements outside of D, and none of its copies needs a mask. */
template <class OPERAND> GT_DEVICE long long shifted(long long first, int extent, long long end)
{
    bool aligned = OPERAND::ALONG_K || end * SIZE % OPERAND::WIDTH == 0;
    return first + extent > end && end >= extent && aligned ? end - extent : first;
}

/* The tile of this block and, with split-K, its part of the tiles along k. */
GT_DEVICE Work work_of(const gt_args &args)
{
    unsigned tile_rows = (unsigned)gt_cdiv(args.m, BM);
    unsigned tile_columns = (unsigned)gt_cdiv(args.n, BN);
    Work work;
    const gt_tile tile =
        MASKED || EARLY ? gt_tile{blockIdx.x, blockIdx.y}
                        : gt_raster_by(ORDER, blockIdx.x, tile_rows, tile_columns, GROUP_M);
    work.row = MASKED ? tile.row * BM : shifted<X>(tile.row * BM, BM, args.m);
    work.column = tile.column * BN;
    if (!MASKED && args.n % OUT_VECTOR == 0)
        work.column = shifted<Y>(work.column, BN, args.n);
    work.skip_rows = (int)(tile.row * BM - work.row);
    work.skip_columns = (int)(tile.column * BN - work.column);
    /* Known not to be negative, it is divided by a shift. */
    const long long depth = EARLY ? (long long)(unsigned)gt_depth(args) : gt_depth(args);
    work.k = SPLIT_MODE == 0 ? gt_k_range{0, depth} : gt_k_range_of(depth, SPLIT_K, blockIdx.y, BK);
    return work;
}

#endif
