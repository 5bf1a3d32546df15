/* gemv.cu - products of a few rows on CUDA cores, for every type. The one reading of B bounds them.
 *
 *   B along n (k x n), LANES 8, 16-byte loads     B along k (n x k), LANES 32, COLUMNS 2
 *
 *      lanes 0..7 (V columns each)                   lanes 0..31 (V values of k each)
 *     +---------------------------+                 +--------------------------------+
 *     | k 0..3    lanes 0..7      |                 | column 0       lanes 0..31     | ...
 *     | k 4..7    lanes 8..15     | warp 0          | column 1       lanes 0..31     |
 *     | k 8..11   lanes 16..23    |                 +--------------------------------+
 *     | k 12..15  lanes 24..31    |                   warp 0        warp 1 ...  along k
 *     +---------------------------+ warp 1 ...
 *
 * A lane loads DEPTH vectors of VEC bytes of B, past the caches, ahead of those that it multiplies;
 * A comes from the caches. No warp waits for another before its sums are complete. Then the sums of
 * lanes are added by shuffles, those of warps and of blocks that share k as skinny_finish.cuh says.
 * The arithmetic is FP32; 8-bit integers are multiplied four at a time and summed in 32 bits. */

#include "skinny/gemv_operand.cuh"
#include "common/mma.cuh"

#if GT_TYPE == GT_S8

/* Four bytes of a vector from element i on; zeros follow if there are fewer. */
template <int count> GT_DEVICE unsigned quad(const gt_vec<GT_IN, count> &vector, int i)
{
    if constexpr (count >= 4) {
        union {
            gt_vec<GT_IN, count> vector;
            unsigned word[count / 4];
        } both;
        both.vector = vector;
        return both.word[i / 4];
    } else {
        unsigned word = 0;
#pragma unroll
        for (int e = 0; e < count; e++)
            word |= (unsigned)(unsigned char)vector.at[i + e] << 8 * e;
        return word;
    }
}

#if GT_TRANS_B

GT_DEVICE void accumulate(const Tile &tile, Sum (*sum)[SUMS])
{
#pragma unroll
    for (int i = 0; i < DEPTH; i++)
#pragma unroll
        for (int v = 0; v < V; v += 4)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                sum[r][i % COLUMNS] = __dp4a((int)quad(tile.a[i / COLUMNS][r], v),
                                             (int)quad(tile.b[i], v), sum[r][i % COLUMNS]);
}

#else

GT_DEVICE void accumulate(const Tile &tile, Sum (*sum)[SUMS])
{
#pragma unroll
    for (int i = 0; i < DEPTH; i += 4)
#pragma unroll
        for (int v = 0; v < V; v += 4) {
            unsigned word[4] = {quad(tile.b[i], v), quad(tile.b[i + 1], v), quad(tile.b[i + 2], v),
                                quad(tile.b[i + 3], v)};
            gt_transpose_bytes(word);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (int e = 0; e < 4 && e < V; e++)
                    sum[r][v + e] =
                        __dp4a((int)quad(tile.a[i / 4][r], 0), (int)word[e], sum[r][v + e]);
        }
}

#endif
#elif GT_TRANS_B

GT_DEVICE void accumulate(const Tile &tile, Sum (*sum)[SUMS])
{
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        float b[COLUMNS][V];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            gt_vec_to_floats<GT_TYPE, V>(b[c], tile.b[s * COLUMNS + c]);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            float a[V];
            gt_vec_to_floats<GT_TYPE, V>(a, tile.a[s][r]);
#pragma unroll
            for (int v = 0; v < V; v++)
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    sum[r][c] = fmaf(a[v], b[c][v], sum[r][c]);
        }
    }
}

#else

/* The smaller of both operands is kept as floats for four steps of k. */
GT_DEVICE void accumulate(const Tile &tile, Sum (*sum)[SUMS])
{
    constexpr bool keep_a = ROWS <= V;
#pragma unroll
    for (int i = 0; i < DEPTH; i += 4) {
        float a[keep_a ? ROWS : 1][4], b[keep_a ? 1 : 4][V];
#pragma unroll
        for (int x = 0; x < (keep_a ? ROWS : 4); x++)
            if constexpr (keep_a)
                gt_vec_to_floats<GT_TYPE, 4>(a[x], tile.a[i / 4][x]);
            else
                gt_vec_to_floats<GT_TYPE, V>(b[x], tile.b[i + x]);
#pragma unroll
        for (int y = 0; y < (keep_a ? 4 : ROWS); y++) {
            if constexpr (keep_a)
                gt_vec_to_floats<GT_TYPE, V>(b[0], tile.b[i + y]);
            else
                gt_vec_to_floats<GT_TYPE, 4>(a[0], tile.a[i / 4][y]);
#pragma unroll
            for (int x = 0; x < (keep_a ? ROWS : 4); x++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    if constexpr (keep_a)
                        sum[x][v] = fmaf(a[x][y], b[0][v], sum[x][v]);
                    else
                        sum[y][v] = fmaf(a[0][x], b[x][v], sum[y][v]);
        }
    }
}

#endif

/* Sums a lane's sums over all lanes that have the same columns. */
GT_DEVICE void sum_lanes(Sum (*sum)[SUMS])
{
    constexpr int first = GT_TRANS_B ? 1 : LANES, end = GT_TRANS_B ? LANES : 32;
#pragma unroll
    for (int bit = first; bit < end; bit *= 2)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sum[r][i] += __shfl_xor_sync(0xffffffffu, sum[r][i], bit);
}

/* Stores the sums of lanes in shared memory, from where `finish` adds them. */
GT_DEVICE void stage_sums(Sum (*sum)[SUMS], Sum *slices)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;

    sum_lanes(sum);
    if (GT_TRANS_B ? lane % LANES == 0 : lane < LANES)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                slices[(warp / WARPS_N * ROWS + r) * BLOCK_N + lane_column(warp, lane, i)] =
                    sum[r][i];
    gt_sync();
}

#include "skinny/lookahead.cuh"

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(Sum, slices);
    const long long tiles = gt_cdiv(gt_depth(args), TILE_K);
    const long long first = tiles * blockIdx.y / SPLIT_K, last = tiles * (blockIdx.y + 1) / SPLIT_K;

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Sum sum[ROWS][SUMS] = {};
        const Lane lane = make_lane(args, batch);
        sum_tiles(args, lane, lane.whole, first, last, sum);
        stage_sums(sum, slices);
        finish(args, batch, slices);
    }
}

GT_KERNEL_BOUNDS(reduce, 128, 1)
{
    reduce_splits(args);
}
