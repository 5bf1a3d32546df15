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

constexpr int CLUSTER = 1; /* no clusters */
constexpr bool CLUSTER_SPLIT = false, PACKS = true; /* the launch `split` comes before this one */
constexpr bool EARLY_START = false; /* it makes the code longer: up to 2 KB of 50 */
constexpr int EMPTY_ARRIVALS = CONSUMERS, TURNS = 0, BARRIERS_AT = STAGES * STAGE_BYTES;
constexpr int PRODUCER_LEAST = CONSUMERS == 3 ? 32 : 40; /* bounds on the registers of a
                                                          * producer's thread */
constexpr int PRODUCER_MOST = PRODUCER_LEAST;

struct Work {
    int row, column; /* of the tile's first element */
    int batch, split;
    int k, k_end; /* its part of the depth */
    int windows;  /* of WINDOW stages; the last one may reach beyond the operands, where TMA
                   * loads zeros */
};

/* Work is numbered: tiles in the order of raster.cuh; those of the first part of the depth before
 * those of the second; one matrix of the batch after the other. Block b takes the work numbered b,
 * b + blocks, b + 2 * blocks, ... */
struct Schedule {
    unsigned rows, columns, works; /* of tiles; work in all */
    int depth, part;               /* k in all; windows of a part of it */

    GT_DEVICE Schedule(const gt_args &args)
    {
        rows = (unsigned)gt_cdiv(args.m, BM);
        columns = (unsigned)gt_cdiv(args.n, BN);
        works = rows * columns * (unsigned)args.batch * (SPLIT ? (unsigned)SPLITS : 1u);
        depth = (int)gt_depth(args);
        part = (int)gt_cdiv(depth, PROMOTE);
        if (SPLIT)
            part = (int)gt_cdiv(part, SPLITS);
    }

    GT_DEVICE Work work_of(const gt_args &args, unsigned index) const
    {
        const unsigned plane = index / (rows * columns), within = index % (rows * columns);
        const gt_tile tile = ORDER ? gt_raster(within, columns, rows, GROUP)
                                   : gt_raster(within, rows, columns, GROUP);
        Work work;

        work.row = (int)(ORDER ? tile.column : tile.row) * BM;
        work.column = (int)(ORDER ? tile.row : tile.column) * BN;
        work.split = SPLIT ? (int)(plane % SPLITS) : 0;
        work.batch = SPLIT ? (int)(plane / SPLITS) : (int)plane;
        work.k = min(work.split * part * PROMOTE, depth);
        work.k_end = min(work.k + part * PROMOTE, depth);
        work.windows = (int)gt_cdiv(work.k_end - work.k, PROMOTE);
        return work;
    }
};

#endif
