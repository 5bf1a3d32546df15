/* warp_tile.cuh - a block's tile divided over its warps, and over slices of k.
 *
 *         WN
 *      +------+------+------+
 *      |  w0  |  w1  |  w2  | WM      slice 0: the warps that cover the tile once
 *      +------+------+------+
 *      |  w3  |  w4  |  w5  |         slice 1: w6 to w11, the same tiles with another part of
 *      +------+------+------+         every tile's k; and so on
 */
#ifndef GT_WARP_TILE_CUH
#define GT_WARP_TILE_CUH

/* What a warp works on. */
struct gt_warp_tile {
    int row, column; /* of its tile's first element in the block's tile */
    int slice;       /* of k */
};

/* Of the calling thread's warp; block_m x block_n elements a block, warp_m x warp_n a warp. */
template <int block_m, int block_n, int warp_m, int warp_n> GT_DEVICE gt_warp_tile gt_warp_tile_of()
{
    constexpr int across = block_n / warp_n, tiles = block_m / warp_m * across;
    const int warp = threadIdx.x / 32, tile = warp % tiles;
    gt_warp_tile place;
    place.slice = warp / tiles;
    place.row = tile / across * warp_m;
    place.column = tile % across * warp_n;
    return place;
}

/* Adds the `count` sums of a thread's fellows in the other slices, in the order of the slices, to
 * those of slice 0, which alone has the result. A slice has `threads` threads; the sums travel
 * through `shared`, (slices - 1) * count * threads of them, which nobody uses any more. */
template <int count, int threads, int slices, class Sum, class Add>
GT_DEVICE void gt_add_slices(Sum *own, int slice, Sum *shared, Add add)
{
    const int thread = threadIdx.x % threads;

    if (slice > 0)
#pragma unroll
        for (int e = 0; e < count; e++)
            shared[((slice - 1) * count + e) * threads + thread] = own[e];
    gt_sync();
    if (slice == 0)
        for (int s = 0; s < slices - 1; s++)
#pragma unroll
            for (int e = 0; e < count; e++)
                own[e] = add(own[e], shared[(s * count + e) * threads + thread]);
}

#endif
