/* lookahead.cuh - part of gemv.cu and thin_mma.cu, whose parameters, Lane, Tile and accumulate it
 * uses: the loop over the tiles of k of a block, which go from memory to registers. */
#ifndef GT_SKINNY_LOOKAHEAD_CUH
#define GT_SKINNY_LOOKAHEAD_CUH

/* Adds the products of tiles first .. last-1. Of whole tiles the next one is loaded while one is
 * multiplied (LOOKAHEAD). The others are loaded with masks: the tile in which k ends and, where the
 * columns of the block are not whole, all of them. */
template <class Accumulator>
GT_DEVICE void sum_tiles(const gt_args &args, const Lane &lane, bool whole_columns, long long first,
                         long long last, Accumulator &sum)
{
    const long long in_k = gt_depth(args) / TILE_K;
    const long long whole = !whole_columns ? 0 : in_k < last ? in_k : last;
    Tile now, next;
    long long tile = first;

    if (first < whole && LOOKAHEAD > 0)
        fetch_b<true>(args, lane, first * TILE_K, next);
    if (first < whole && LOOKAHEAD > 1)
        fetch_a<true>(args, lane, first * TILE_K, next);
#pragma unroll(LOOKAHEAD > 0 ? 2 : 1)
    for (; tile < whole; tile++) {
        if (LOOKAHEAD > 0)
            now = next;
        else
            fetch_b<true>(args, lane, tile * TILE_K, now);
        if (LOOKAHEAD < 2)
            fetch_a<true>(args, lane, tile * TILE_K, now);
        if (LOOKAHEAD > 0 && tile + 1 < whole)
            fetch_b<true>(args, lane, (tile + 1) * TILE_K, next);
        if (LOOKAHEAD > 1 && tile + 1 < whole)
            fetch_a<true>(args, lane, (tile + 1) * TILE_K, next);
        accumulate(now, sum);
    }
#pragma unroll 1
    for (; tile < last; tile++) {
        fetch_b<false>(args, lane, tile * TILE_K, now);
        fetch_a<false>(args, lane, tile * TILE_K, now);
        accumulate(now, sum);
    }
}

#endif
