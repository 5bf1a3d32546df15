/* split.cuh - the launch `split` of the templates of f32acc that write FP32 operands to the
 * workspace in parts, along k (split_operand.cuh). The template defines split_begin, which one
 * thread calls for a tile, and behind a barrier split_store, which writes the tile's parts. */
#ifndef GT_F32ACC_SPLIT_CUH
#define GT_F32ACC_SPLIT_CUH

/* Splits tile `number` of one operand in every matrix of the batch. The thread's index is read again
 * for each: what follows from it, kept for all matrices, would spill registers. */
GT_DEVICE void split_tile(const gt_args &args, const SplitLayout &layout, const SplitOperand &x,
                          unsigned number)
{
    GT_STATIC_SHARED(gt_pack_tile<unsigned>, shared, );
    const unsigned deep = (unsigned)layout.deep;
    const long long row = (long long)(number / deep) * PACK_TILE;
    const long long k = (long long)(number % deep) * PACK_TILE;

    for (long long matrix = blockIdx.y; matrix < args.batch; matrix += gridDim.y) {
        const SplitTile tile = {
            shared,
            {x.from.first + matrix * x.stride, x.from.rows, x.from.cols, x.from.ld},
            x.rows,
            x.k,
            layout.ld,
            row,
            k,
            x.to + matrix * STORED * x.rows * layout.ld,
            layout.words(args, x.is_a, matrix, number / deep) + number % deep};
        const int thread = gt_reload_thread_index();
        if (thread == 0)
            split_begin(tile);
        const bool direct = is_direct(x, tile.from, row, k);
        if (!direct)
            shared.fill(tile.from, x.transposed ? k : row, x.transposed ? row : k, thread);
        gt_sync(); /* for the tile and for split_begin */
        if (direct)
            split_store<DIRECT>(tile, thread);
        else if (x.transposed)
            split_store<TRANSPOSED>(tile, thread);
        else
            split_store<BY_TILE>(tile, thread);
        gt_sync();
    }
}

/* The entry `split`: the first blocks have the tiles of A, the others those of B. */
GT_DEVICE void split_both(const gt_args &args)
{
    const SplitLayout layout = split_layout_of(args);
    const unsigned tiles_a = (unsigned)(layout.tiles_a * layout.deep);
    const unsigned tiles_b = (unsigned)(layout.tiles_b * layout.deep);

    gt_pdl_trigger(); /* the launch `gemm` may begin; it waits for this one before it reads */
    if (args.alpha == 0.0f || blockIdx.x >= tiles_a + tiles_b)
        return;
    const bool is_a = blockIdx.x < tiles_a;
    split_tile(args, layout, split_operand(args, layout, is_a),
               is_a ? blockIdx.x : blockIdx.x - tiles_a);
}

#endif
