/* fused_layout.cuh - of f32acc/fused.cu: sizes that follow from its parameters, the ring in shared
 * memory, and which tiles a block computes.
 *
 *   0           STAGE_BYTES                       BARRIERS_AT
 *   +-----------+-----------+- ... -+-----------+--------------+---------------+
 *   | stage 0   | stage 1   |       | ...       | full[STAGES] | empty[STAGES] |
 *   +-----------+-----------+- ... -+-----------+--------------+---------------+
 *
 * A stage holds the high, mid and low parts of BM rows of the first operand, unless OWN_ROWS, then
 * those of BN columns of the second one, BK deep (the "rows" and "columns" of D, or with SWAP_AB of
 * D^T).
 * full[s] counts the warps that have stored their share of a stage, empty[s] the consumers that
 * have read it. */
#ifndef GT_F32ACC_FUSED_LAYOUT_CUH
#define GT_F32ACC_FUSED_LAYOUT_CUH

typedef float Sum;

constexpr int BM = 64 * CONSUMERS;
constexpr int SPLIT_THREADS = 128 * SPLITTERS, SPLIT_WARPS = 4 * SPLITTERS;
constexpr int THREADS = SPLIT_THREADS + 128 * CONSUMERS;
constexpr bool ROWS_ALONG_K = SWAP_AB ? GT_TRANS_B : !GT_TRANS_A;
constexpr bool COLUMNS_ALONG_K = SWAP_AB ? !GT_TRANS_A : GT_TRANS_B;
constexpr int ROWS_PART = OWN_ROWS ? 0 : BM * BK * 2, COLUMNS_PART = BN * BK * 2; /* bytes */
constexpr int STAGE_BYTES = PARTS * (ROWS_PART + COLUMNS_PART);
constexpr int BARRIERS_AT = STAGES * STAGE_BYTES;

static_assert(BK == 32 || BK == 64, "rows of 64 or 128 bytes, as wide as the swizzle");
static_assert(SPLITTERS == 1 || SPLITTERS == 2, "one warpgroup before the consumers, one behind");

constexpr int CLUSTER = 1; /* blocks that share operands; a cluster divides the depth */

/* Of the 16 rows of a warp, which one is row r + 8 * half of wgmma's, r = lane / 4. */
constexpr int LANE_ROWS = OWN_ROWS && !ROWS_ALONG_K ? 2 : 1;
constexpr int HALF_ROWS = LANE_ROWS == 2 ? 1 : 8;
GT_DEVICE int row_of(int lane, int half)
{
    return lane / 4 * LANE_ROWS + half * HALF_ROWS;
}

/* Of 16 values of k, where value number k is in shared memory, in pairs of neighbours. */
GT_DEVICE int k_place(int k)
{
    return OWN_ROWS ? k % 4 / 2 * 8 + k / 4 * 2 + k % 2 : k;
}

/* SPLIT 2: each block leaves its sums where the stages were, arranged as in D. The rows are a few
 * words longer than the tile's, so that neighbouring rows begin in different banks. */
constexpr int SUMS_ROW = (SWAP_AB ? BM : BN) + 8;
static_assert(SPLIT != 2 || (SWAP_AB ? BN : BM) * SUMS_ROW * 4 <= STAGES * STAGE_BYTES,
              "room for the sums");

/* The block starts with LAUNCH_REGISTERS for each thread: __launch_bounds__ makes the compiler
 * choose this number. Then warpgroups exchange registers: consumers have BN for the sums, those of
 * the tensor cores and those of FP32, and 40 for addresses; the splitting ones have the rest.
 * With 40, a consumer that adds in a cluster beside two splitting warpgroups of two buffers spilled
 * 100 to 160 bytes; with 48, and with 96 in all for few columns, it spills nothing. One that has
 * its own rows has 16 floats on their way and 24 registers of parts for each 32 of k. */
GT_DEVICE constexpr int at_most(int a, int b)
{
    return a < b ? a : b;
}
constexpr int LAUNCH_REGISTERS = at_most(65536 / (THREADS * MIN_BLOCKS) / 8 * 8, 240);
constexpr int CONSUMER_REGISTERS =
    (OWN_ROWS ? BK / 32 * 40 : 0) +
    (SPLIT < 2 || BUFFERS < 2 || CONSUMERS >= SPLITTERS ? BN + 40
     : BN < 64                                          ? 96
                                                        : BN + 48);
constexpr int SPLITTER_REGISTERS = at_most(
    (LAUNCH_REGISTERS * (CONSUMERS + SPLITTERS) - CONSUMER_REGISTERS * CONSUMERS) / SPLITTERS / 8 *
        8,
    240);
/* Registers that the splitting warpgroups take (1) or give (-1); two warpgroups have enough. */
constexpr int EXCHANGE = LAUNCH_REGISTERS == 240                  ? 0
                         : SPLITTER_REGISTERS > LAUNCH_REGISTERS ? 1
                                                                 : -1;

struct Ring {
    unsigned char *stages;
    gt_mbarrier *full, *empty;

    GT_DEVICE Ring(unsigned char *shared)
    {
        stages = shared;
        full = reinterpret_cast<gt_mbarrier *>(shared + BARRIERS_AT);
        empty = full + STAGES;
    }
};

GT_DEVICE void init_barriers(const Ring &ring)
{
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        gt_mbarrier_init(ring.full + s, SPLIT_WARPS);
        gt_mbarrier_init(ring.empty + s, CONSUMERS);
    }
    gt_mbarrier_publish();
}

#include "hopper/position.cuh"

/* The block's only place in a cluster that shares operands (hopper/cluster_reduce.cuh). */
GT_DEVICE int cluster_place()
{
    return 0;
}

struct Work {
    int row, column; /* of the tile's first element */
    int batch, split;
    int k, k_end; /* its part of the depth */
    int stages;   /* the last one may reach beyond the depth, where it is zeros */
};

/* Work is numbered: tiles in the order of raster.cuh; those of the first part of the depth before
 * those of the second; one matrix of the batch after the other. Block b takes the work numbered b,
 * b + blocks, b + 2 * blocks, ... With SPLIT 2 the blocks of a cluster have the parts of the depth
 * of one tile instead, and a block has one tile. */
struct Schedule {
    unsigned rows, columns, works; /* of tiles; work in all */
    int depth, part;               /* k in all; stages of a part of it */

    GT_DEVICE Schedule(const gt_args &args)
    {
        rows = (unsigned)gt_cdiv(SWAP_AB ? args.n : args.m, BM);
        columns = (unsigned)gt_cdiv(SWAP_AB ? args.m : args.n, BN);
        works = rows * columns * (unsigned)args.batch * (SPLIT ? (unsigned)SPLITS : 1u);
        depth = (int)gt_depth(args);
        part = (int)gt_cdiv(depth, BK);
        if (SPLIT)
            part = (int)gt_cdiv(part, SPLITS);
    }

    GT_DEVICE Work work_of(const gt_args &args, unsigned index) const
    {
        const unsigned tiles = rows * columns;
        const unsigned tile_number = SPLIT == 2 ? index / (unsigned)SPLITS : index;
        const unsigned plane = tile_number / tiles, within = tile_number % tiles;
        const gt_tile tile = ORDER ? gt_raster(within, columns, rows, GROUP)
                                   : gt_raster(within, rows, columns, GROUP);
        Work work;

        work.row = (int)(ORDER ? tile.column : tile.row) * BM;
        work.column = (int)(ORDER ? tile.row : tile.column) * BN;
        work.split = SPLIT == 2 ? (int)(index % SPLITS) : SPLIT ? (int)(plane % SPLITS) : 0;
        work.batch = SPLIT == 1 ? (int)(plane / SPLITS) : (int)plane;
        work.k = min(work.split * part * BK, depth);
        work.k_end = min(work.k + part * BK, depth);
        work.stages = (int)gt_cdiv(work.k_end - work.k, BK);
        return work;
    }
};

#endif
