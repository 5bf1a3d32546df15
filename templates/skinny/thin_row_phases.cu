/* thin_row_phases.cu - products of up to 64 rows on Hopper's tensor cores (f16, bf16, tf32) where B
 * lies along n and its rows begin anywhere modulo 16 bytes. The one reading of B, by TMA, is what
 * bounds them.
 *
 *   k      memory, 16 bytes a cell                Of every ROW_PHASES rows of B each has another
 *   0  |aaaa|aaaa|aaaa|aaaa|                      row phase. Rows of one phase begin at the same
 *   1  |.bbb|bbbb|bbbb|bbbb|b...                  place modulo 16 bytes and have a tensor map of
 *   2  |..cc|cccc|cccc|cccc|cc..                  their own, which begins with the 16 bytes in
 *   3  |...d|dddd|dddd|dddd|ddd.                  which the first of them begins. What TMA loads
 *   4  |aaaa| ...                                 of a phase lies `shift` elements too far right.
 *
 * A stage holds WIDTH columns of TILE_K rows, phase by phase. An mma multiplies rows of one phase,
 * and the warp shifts their columns back by `shift` when it loads them
 * (thin_row_phases_lines.cuh). For this the last columns of a stage lack their neighbours, so that
 * blocks overlap by 16 bytes. A goes through registers to shared memory, phase by phase, too
 * (thin_row_phases_rows.cuh).
 *
 *                  warps along n: 16 TILES columns each
 *              +----------+----------+
 *      warps   | warp 0   | warp 1   |    The product is transposed: columns of D are the 16 of an
 *      along k +----------+----------+    mma, rows of D its 8. skinny_finish.cuh says how the sums
 *              | warp 2   | warp 3   |    of warps along k are added.
 *              +----------+----------+
 *
 * STAGES - 1 stages of B are loaded while one is multiplied. */
#ifndef GT_TYPE
#define GT_TYPE 2 /* f16: there is no tensor core for the usual default */
#endif
#define GT_MAPS ROW_PHASES

#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/mma_typed.cuh"

constexpr int SIZE = (int)sizeof(GT_IN);
constexpr int DEEP = 32 / SIZE;      /* k of an mma */
constexpr int VECTOR = 16 / SIZE;    /* elements of 16 bytes */
constexpr int BOX = 128 / SIZE;      /* columns of a box */
constexpr int LINES = DEEP * GROUPS; /* rows of a box: of a phase in a stage */
constexpr int TILE_K = ROW_PHASES * LINES;
constexpr int UNITS = ROW_PHASES * GROUPS; /* of a stage: the rows of a phase that an mma takes */
constexpr int WARP_N = 16 * TILES, WIDTH = WARPS_N * WARP_N;
constexpr int BLOCK_N = ROW_PHASES == 1 ? WIDTH : WIDTH - VECTOR; /* columns of D of a block */
constexpr int THREADS = 32 * WARPS_K * WARPS_N;
constexpr int EIGHTS = ROWS / 8;

constexpr int BOX_BYTES = LINES * 128, BOXES = WIDTH / BOX; /* of a phase */
constexpr int STAGE_BYTES = BOXES * ROW_PHASES * BOX_BYTES;
constexpr int ROWS_BYTES = ROWS * TILE_K * SIZE; /* of A's part of a stage */
static_assert(WIDTH % BOX == 0 && UNITS % WARPS_K == 0, "whole boxes, the same work for all warps");

#include "skinny/skinny_finish.cuh"
#include "skinny/thin_row_phases_rows.cuh"
#include "skinny/thin_row_phases_lines.cuh"

typedef Sum Accumulator[EIGHTS][TILES][4];

/* Shared memory: the stages of B, two of A, and the barriers. At the end the sums of the warps take
 * the place of the stages. */
struct Ring {
    unsigned char *stages, *rows;
    gt_mbarrier *full;

    GT_DEVICE Ring(unsigned char *shared)
    {
        constexpr int sums = 4 * WARPS_K * ROWS * BLOCK_N;
        constexpr int tiles = STAGES * STAGE_BYTES + 2 * ROWS_BYTES;
        stages = shared;
        rows = stages + STAGES * STAGE_BYTES;
        full = (gt_mbarrier *)(shared + (sums > tiles ? (sums + 7) / 8 * 8 : tiles));
    }
};

/* Elements by which the columns of a phase lie too far right. */
GT_DEVICE int shift_of(const gt_args &args, int phase)
{
    return (int)((unsigned)phase * (unsigned)args.ldb * SIZE & 15) / SIZE;
}

/* Starts the loads of a tile of B that are the warp's. */
GT_DEVICE void load_tile(const gt_args &args, const gt_maps &maps, const Ring &ring, int slot,
                         long long tile, long long batch)
{
    constexpr int warps = THREADS / 32, share = (BOXES * ROW_PHASES + warps - 1) / warps;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int box = lane * warps + warp;
    if (threadIdx.x == 0)
        gt_mbarrier_arrive_expect_tx(ring.full + slot, STAGE_BYTES);
    if (lane < share && box < BOXES * ROW_PHASES)
        gt_tma_load(ring.stages + slot * STAGE_BYTES + box * BOX_BYTES, &maps.map[box % ROW_PHASES],
                    ring.full + slot, (int)block_column(args) + box / ROW_PHASES * BOX,
                    (int)tile * LINES, (int)batch);
}

/* Adds the products of the warp's units of a stage. */
GT_DEVICE void accumulate(const gt_args &args, const unsigned char *stage,
                          const unsigned char *rows, Accumulator &sum)
{
    constexpr int step =
        WARPS_K > ROW_PHASES ? WARPS_K / ROW_PHASES : 1; /* warps that have rows of one phase */
    const int warp = (int)threadIdx.x / 32, number = warp / WARPS_N;
#pragma unroll 1
    for (int phase = number % ROW_PHASES; phase < ROW_PHASES; phase += WARPS_K) {
        Lines lines(warp % WARPS_N, phase, shift_of(args, phase));
#pragma unroll 1
        for (int group = number / ROW_PHASES; group < GROUPS; group += step) {
            unsigned a[EIGHTS][2];
            read_rows(rows, group * ROW_PHASES + phase, a);
            lines.load(stage + group * DEEP * 128);
#pragma unroll
            for (int t = 0; t < TILES; t++) {
                unsigned b[4];
                lines.get(t, b);
#pragma unroll
                for (int x = 0; x < EIGHTS; x++)
                    gt_mma<GT_TYPE>(sum[x][t], b, a[x]);
            }
        }
    }
}

/* How many tiles the block has started to load, and has read, since it began. */
struct Progress {
    unsigned loaded, read;
};

/* Adds the products of tiles first .. last-1. */
GT_DEVICE void sum_tiles(const gt_args &args, const gt_maps &maps, const Ring &ring,
                         Progress &progress, long long batch, long long first, long long last,
                         Accumulator &sum)
{
    Rows now, next; /* A's part of a tile, loaded two tiles ahead */
    for (long long tile = first; tile < last && tile < first + STAGES - 1; tile++)
        load_tile(args, maps, ring, (int)(progress.loaded++ % STAGES), tile, batch);
    now.load(args, batch, first);
    if (first + 1 < last)
        next.load(args, batch, first + 1);
#pragma unroll 1
    for (long long tile = first; tile < last; tile++, progress.read++) {
        unsigned char *const rows = ring.rows + progress.read % 2 * ROWS_BYTES;
        now.store(rows);
        now = next;
        if (tile + 2 < last)
            next.load(args, batch, tile + 2);
        gt_sync(); /* A is there; all have read the tiles before this one */
        if (tile + STAGES - 1 < last)
            load_tile(args, maps, ring, (int)(progress.loaded++ % STAGES), tile + STAGES - 1,
                      batch);
        gt_mbarrier_wait(ring.full + progress.read % STAGES, progress.read / STAGES & 1);
        accumulate(args, ring.stages + progress.read % STAGES * STAGE_BYTES, rows, sum);
    }
    gt_sync(); /* the sums take the place of the tiles */
}

/* Stores the sums of lanes in shared memory, from where `finish` adds them. */
GT_DEVICE void stage_sums(const Accumulator &sum, Sum *slices)
{
    const int warp = (int)threadIdx.x / 32, group = (int)threadIdx.x % 32 / 4;
    Sum *slice = slices + warp / WARPS_N * ROWS * BLOCK_N;

#pragma unroll
    for (int x = 0; x < EIGHTS; x++)
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int row = x * 8 + (int)threadIdx.x % 4 * 2 + e % 2;
                const int column = warp % WARPS_N * WARP_N + t * 16 + e / 2 * 8 + group;
                if (column < BLOCK_N)
                    slice[row * BLOCK_N + column] = sum[x][t][e];
            }
    gt_sync();
}

/* Adds the slices of all blocks of the cluster into D, in the order of `finish`: first those of a
 * block, then the sums of the blocks. Each block finishes some rows, each thread four neighbours at
 * a time. */
GT_DEVICE void finish_by_fours(const gt_args &args, long long batch, const Sum *slices)
{
    constexpr int across = BLOCK_N / 4;
    const gt_typed_output output = gt_typed_output_of(args, batch);
    const int exist = (int)min(args.m - block_row(args), (long long)ROWS);

    gt_cluster_sync();
#pragma unroll 1
    for (int e = (int)(blockIdx.y * THREADS + threadIdx.x); e < exist * across;
         e += SPLIT_K * THREADS) {
        const int row = e / across, column = e % across * 4;
        Sum total[4] = {};
#pragma unroll 4
        for (unsigned rank = 0; rank < (unsigned)SPLIT_K; rank++) {
            Sum part[WARPS_K][4];
#pragma unroll
            for (int w = 0; w < WARPS_K; w++)
                gt_cluster_load<4>(part[w], slices + (w * ROWS + row) * BLOCK_N + column, rank);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                Sum block = 0;
#pragma unroll
                for (int w = 0; w < WARPS_K; w++)
                    block += part[w][i];
                total[i] += block;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            gt_typed_output_store<1>(output, block_row(args) + row, block_column(args) + column + i,
                                     &total[i]);
    }
    gt_cluster_sync(); /* no block reads this one's shared memory any more */
}

GT_KERNEL_MAPS_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    const Ring ring(shared);
    const long long tiles = gt_cdiv(gt_depth(args), TILE_K);
    const long long first = tiles * blockIdx.y / SPLIT_K, last = tiles * (blockIdx.y + 1) / SPLIT_K;
    Progress progress = {};

    if (threadIdx.x >= 32 && threadIdx.x < 32 + ROW_PHASES)
        gt_tma_prefetch(&maps.map[threadIdx.x - 32]);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++)
            gt_mbarrier_init(ring.full + s, 1);
        gt_mbarrier_publish();
    }
    gt_sync();
    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator sum = {};
        sum_tiles(args, maps, ring, progress, batch, first, last, sum);
        stage_sums(sum, (Sum *)shared);
        if (SPLIT_MODE == 2)
            finish_by_fours(args, batch, (Sum *)shared);
        else
            finish(args, batch, (Sum *)shared);
        gt_tma_fence(); /* the next tiles take the place of the sums */
        gt_sync();
    }
}

GT_KERNEL_BOUNDS(reduce, 128, 1)
{
    reduce_splits(args);
}
