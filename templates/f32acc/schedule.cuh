/* schedule.cuh - of f32acc/gemm.cu and pair.cu: sizes that follow from their parameters, and which
 * tiles a block computes. A stage in shared memory (pair.cu has two parts, high and low):
 *
 *   +--------+-------+-------+--------+-------+-------+
 *   | A high | A mid | A low | B high | B mid | B low |    rows of ROW_BYTES, one for each m or n
 *   +--------+-------+-------+--------+-------+-------+ */
#ifndef GT_F32ACC_SCHEDULE_CUH
#define GT_F32ACC_SCHEDULE_CUH

constexpr int BM = 64 * CONSUMERS;
constexpr int THREADS = 128 * (CONSUMERS + 1);
constexpr int ROW_BYTES = 2 * BK; /* of a part in a stage; also the width of the swizzle */
constexpr int A_PART = BM * ROW_BYTES, B_PART = BN * ROW_BYTES;
constexpr int STAGE_BYTES = STORED * (A_PART + B_PART);
constexpr int WINDOW = PROMOTE / BK; /* stages between promotions */
constexpr int MAP_A = 0, MAP_B = 1;  /* indices in the description's list of tensor maps */

static_assert(BK == 32 || BK == 64, "rows of 64 or 128 bytes, as wide as the swizzle");
static_assert(PROMOTE % BK == 0 && WINDOW > 0, "whole stages between promotions");

constexpr int CLUSTER = CLUSTER_M * CLUSTER_N; /* blocks that share operands; with SPLIT 2 a cluster
                                                * has SPLITS times as many */
constexpr bool CLUSTER_SPLIT = SPLIT == 2;
constexpr bool PACKS = true; /* the launch `split` comes before this one */
constexpr bool EARLY_START = false; /* it makes the code longer: up to 2 KB of 50 */
enum { TURN_ARRIVALS = 4 }; /* of a consumer: each warp */
constexpr int EMPTY_ARRIVALS = CONSUMERS * (CLUSTER_M + CLUSTER_N - 1);
constexpr int TURNS = STORED == 2 && CONSUMERS == 2 ? 2 : 0, BARRIERS_AT = STAGES * STAGE_BYTES;
constexpr int PRODUCER_LEAST = CONSUMERS == 3 ? 32 : 40; /* bounds on the registers of a
                                                          * producer's thread */
constexpr int PRODUCER_MOST = PRODUCER_LEAST;

#include "hopper/cluster_share.cuh"

struct Work {
    int row, column; /* of the tile's first element; in a cluster it may lie outside of D */
    int batch, split;
    int k, k_end; /* its part of the depth */
    int windows;  /* of WINDOW stages; the last one may reach beyond the operands, where TMA
                   * loads zeros */
};

/* Work is numbered by cluster: tiles in the order of raster.cuh; those of the first part of the
 * depth before those of the second; one matrix of the batch after the other. Cluster c takes the
 * work numbered c, c + clusters, c + 2 * clusters, ... With SPLIT 2 a cluster has one work, and its
 * tiles once for each part of the depth. */
struct Schedule {
    unsigned rows, columns, works; /* clusters of tiles along m and n; work in all */
    int depth, part;               /* k in all; windows of a part of it */

    GT_DEVICE Schedule(const gt_args &args)
    {
        rows = (unsigned)gt_cdiv(args.m, BM * CLUSTER_M);
        columns = (unsigned)gt_cdiv(args.n, BN * CLUSTER_N);
        works = rows * columns * (unsigned)args.batch * (SPLIT == 1 ? (unsigned)SPLITS : 1u);
        depth = (int)gt_depth(args);
        part = (int)gt_cdiv(depth, PROMOTE);
        if (SPLIT)
            part = (int)gt_cdiv(part, SPLITS);
    }

    /* The block's first work, and the distance to the next. */
    GT_DEVICE unsigned first(const gt_args &args) const
    {
        return blockIdx.x / (SPLIT == 2 ? (unsigned)SPLITS * CLUSTER : CLUSTER);
    }
    GT_DEVICE unsigned step() const
    {
        return SPLIT == 2 ? works : gridDim.x / CLUSTER;
    }

    GT_DEVICE Work work_of(const gt_args &args, unsigned index) const
    {
        const unsigned plane = index / (rows * columns), within = index % (rows * columns);
        const gt_tile tile = ORDER ? gt_raster(within, columns, rows, GROUP)
                                   : gt_raster(within, rows, columns, GROUP);
        Work work;

        work.row = ((int)(ORDER ? tile.column : tile.row) * CLUSTER_M + cluster_row()) * BM;
        work.column = ((int)(ORDER ? tile.row : tile.column) * CLUSTER_N + cluster_column()) * BN;
        work.split = SPLIT == 2   ? (int)gt_cluster_rank() / CLUSTER
                     : SPLIT == 1 ? (int)(plane % SPLITS)
                                  : 0;
        work.batch = SPLIT == 1 ? (int)(plane / SPLITS) : (int)plane;
        work.k = min(work.split * part * PROMOTE, depth);
        work.k_end = min(work.k + part * PROMOTE, depth);
        work.windows = (int)gt_cdiv(work.k_end - work.k, PROMOTE);
        return work;
    }
};

#endif
