/* schedule.cuh - of f32acc/gemm.cu: sizes that follow from its parameters, which tiles a block
 * computes, and the ring that the producer fills.
 *
 *   shared memory:  | A high mid low | B high mid low | next stage ... | full[STAGES] empty[STAGES]
 */
#ifndef GT_F32ACC_SCHEDULE_CUH
#define GT_F32ACC_SCHEDULE_CUH

constexpr int BM = 64 * CONSUMERS;
constexpr int THREADS = 128 * (CONSUMERS + 1);
constexpr int ROW_BYTES = 2 * BK; /* of a part in a stage, and the swizzle */
constexpr int A_PART = BM * ROW_BYTES, B_PART = BN * ROW_BYTES;
constexpr int STAGE_BYTES = PARTS * (A_PART + B_PART);
constexpr int WINDOW = PROMOTE / BK; /* stages between promotions */
constexpr int MAP_A = 0, MAP_B = 1;  /* places in the list of tensor maps of the description */

static_assert(BK == 32 || BK == 64, "rows of 64 or 128 bytes, as wide as the swizzle");
static_assert(PROMOTE % BK == 0 && WINDOW > 0, "whole stages between promotions");

constexpr int EMPTY_ARRIVALS = CONSUMERS, TURNS = 0, BARRIERS_AT = STAGES * STAGE_BYTES;
constexpr int PRODUCER_LEAST = CONSUMERS == 3 ? 32 : 40; /* registers of a producer's thread */
constexpr int PRODUCER_MOST = PRODUCER_LEAST;

struct Work {
    int row, column; /* first of the tile, in elements */
    int batch, split;
    int k, k_end; /* its part of the depth */
    int windows;  /* of WINDOW stages; the last may reach beyond the operands, into zeros */
};

/* Work is numbered: tiles in the order of raster.cuh, those of the first part of the depth before
 * those of the second, matrix after matrix. Block b takes work b, b + blocks, b + 2 * blocks... */
struct Schedule {
    unsigned rows, columns, works; /* of tiles; tiles of all parts and matrices */
    int depth, part;               /* of k; windows of a part of it */

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
