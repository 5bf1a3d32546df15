/* thin_mma.cu - products of up to 64 rows on tensor cores, for every type that they have. The one
 * reading of B bounds them.
 *
 *                  warps along n: 16 TILES columns each
 *              +----------+----------+
 *      warps   | warp 0   | warp 1   |  CHUNKS chunks of 64 bytes of k   The product is transposed:
 *      along k +----------+----------+                                   columns of D are the 16 rows
 *              | warp 2   | warp 3   |                                   of an mma, rows of D its 8
 *              +----------+----------+                                   columns.
 *
 * Each warp loads B from memory to registers once, a tile ahead of the arithmetic, in the order in
 * which mma takes it (thin_operand.cuh), and so A, out of the caches. No warp waits for another
 * before its sums are complete; skinny_finish.cuh says how they are added. Operands whose rows are
 * not aligned go through shared memory, some tiles ahead (RING, thin_ring.cuh). */
#ifndef GT_TYPE
#define GT_TYPE 2 /* f16: there is no tensor core for the usual default */
#endif

#include "skinny/thin_operand.cuh"
#include "skinny/thin_ring.cuh"
#include "common/mma_typed.cuh"

typedef Sum Accumulator[EIGHTS][TILES][4];

/* The products of two words along k: b has columns group and group + 8 of the first, then of the
 * second word; a has a row of A. */
GT_DEVICE void multiply(Sum (&sum)[4], const unsigned (&b)[4], const unsigned (&a)[2])
{
#if GT_TYPE == GT_F16 && !defined(GT_EMULATE) && __CUDA_ARCH__ < 800
    gt_mma_small<GT_F16>(sum, b, a);
#elif GT_TYPE == GT_TF32
    const unsigned b_tf32[4] = {gt_round_tf32(b[0]), gt_round_tf32(b[1]), gt_round_tf32(b[2]),
                                gt_round_tf32(b[3])};
    const unsigned a_tf32[2] = {gt_round_tf32(a[0]), gt_round_tf32(a[1])};
    gt_mma<GT_TF32>(sum, b_tf32, a_tf32);
#else
    gt_mma<TAKEN_TYPE>(sum, b, a);
#endif
}

/* A lane's part of a chunk of B in the order in which mma takes it. */
template <class Part> GT_DEVICE void arrange(const Part &vector, unsigned (&b)[STEPS][TILES][4])
{
#pragma unroll
    for (int q = 0; q < 4; q++) {
        unsigned word[LANE_COLUMNS];
        words_of(vector, q, word);
#pragma unroll
        for (int i = 0; i < LANE_COLUMNS; i++)
            if (WIDENED)
                widen(word[i], b[q % STEPS][i / 2][i % 2], b[q % STEPS][i / 2][2 + i % 2]);
            else
                b[q / 2][i / 2][q % 2 * 2 + i % 2] = word[i];
    }
}

/* Adds the products of a chunk. */
template <class Part>
GT_DEVICE void accumulate(const Part &part, const uint4 (&a_part)[EIGHTS], Accumulator &sum)
{
    unsigned b[STEPS][TILES][4];
    arrange(part, b);
#pragma unroll
    for (int x = 0; x < EIGHTS; x++) {
        const uint4 own = a_part[x];
        const unsigned word[4] = {own.x, own.y, own.z, own.w};
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            unsigned a[2] = {word[2 * s % 4], word[(2 * s + 1) % 4]};
            if (WIDENED)
                widen(word[s % 4], a[0], a[1]);
#pragma unroll
            for (int t = 0; t < TILES; t++)
                multiply(sum[x][t], b[s][t], a);
        }
    }
}

/* Adds the products of a tile. */
GT_DEVICE void accumulate(const Tile &tile, Accumulator &sum)
{
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        accumulate(tile.b[c], tile.a[c], sum);
}

/* Adds the products of tiles first .. last-1, which go through shared memory. A slot is filled
 * again once all lanes have read it, which is known a tile later. */
GT_DEVICE void sum_ring(const gt_args &args, long long batch, long long first, long long last,
                        char *shared, Accumulator &sum)
{
    const Ring ring = make_ring(args, batch, shared);
    int slot = 0, free = 0;

#pragma unroll 1
    for (long long tile = first - (SLOTS - 1); tile < last; tile++) {
        await_tile(ring);
        copy_tiles(args, ring, tile + SLOTS - 1, last, free);
        free = free + 1 < SLOTS ? free + 1 : 0;
        if (tile < first)
            continue;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
            Columns b;
            uint4 a[EIGHTS];
            read_chunk(ring, slot, c, b, a);
            accumulate(b, a, sum);
        }
        slot = slot + 1 < SLOTS ? slot + 1 : 0;
    }
    gt_sync(); /* the sums take the place of the tiles */
}

#include "skinny/lookahead.cuh"

/* Stores the sums of lanes in shared memory, from where `finish` adds them. */
GT_DEVICE void stage_sums(const Accumulator &sum, Sum *slices)
{
    const int warp = (int)threadIdx.x / 32, group = (int)threadIdx.x % 32 / 4;
    Sum *slice = slices + warp / WARPS_N * ROWS * BLOCK_N + warp % WARPS_N * WARP_N;

#pragma unroll
    for (int x = 0; x < EIGHTS; x++)
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int row = x * 8 + (int)threadIdx.x % 4 * 2 + e % 2;
                slice[row * BLOCK_N + column_in_warp(group, t, e / 2)] = sum[x][t][e];
            }
    gt_sync();
}

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(Sum, slices);
    const long long tiles = gt_cdiv(gt_depth(args), TILE_K);
    const long long first = tiles * blockIdx.y / SPLIT_K, last = tiles * (blockIdx.y + 1) / SPLIT_K;

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator sum = {};
        if constexpr (RING > 0)
            sum_ring(args, batch, first, last, reinterpret_cast<char *>(slices), sum);
        else
            sum_tiles(args, make_lane(args, batch), columns_exist(args), first, last, sum);
        stage_sums(sum, slices);
        finish(args, batch, slices);
    }
}

GT_KERNEL_BOUNDS(reduce, 128, 1)
{
    reduce_splits(args);
}
