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

/* The block starts with LAUNCH_REGISTERS for each thread, as __launch_bounds__ makes the compiler
 * choose; the producer needs few. */
GT_DEVICE constexpr int at_most(int a, int b)
{
    return a < b ? a : b;
}
constexpr int LAUNCH_REGISTERS = at_most(65536 / (THREADS * MIN_BLOCKS) / 8 * 8, 240);
constexpr int PRODUCER_REGISTERS = CONSUMERS == 3 ? 32 : 40;
constexpr int CONSUMER_REGISTERS =
    at_most((LAUNCH_REGISTERS * (CONSUMERS + 1) - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8, 240);

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

struct Ring {
    unsigned char *stages;
    gt_mbarrier *full, *empty; /* filled by TMA; read by all consumers */

    GT_DEVICE Ring(unsigned char *shared)
    {
        stages = shared;
        full = reinterpret_cast<gt_mbarrier *>(stages + STAGES * STAGE_BYTES);
        empty = full + STAGES;
    }

    GT_DEVICE void make_barriers() const
    {
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(full + s, 1);
            gt_mbarrier_init(empty + s, CONSUMERS);
        }
        gt_mbarrier_publish();
    }
};

/* The next stage to fill or to read, and how often the ring has been gone round, modulo 2. */
struct Position {
    int stage = 0;
    unsigned parity = 0;

    GT_DEVICE void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/* The producer thread. */
GT_DEVICE void produce_all(const gt_args &args, const gt_maps &maps, const Ring &ring)
{
    const Schedule schedule(args);
    Position position;

    gt_tma_prefetch(&maps.map[MAP_A]);
    gt_tma_prefetch(&maps.map[MAP_B]);
    for (unsigned index = blockIdx.x; index < schedule.works; index += gridDim.x) {
        const Work work = schedule.work_of(args, index);
        for (int i = 0; i < work.windows * WINDOW; i++) {
            unsigned char *stage = ring.stages + position.stage * STAGE_BYTES;
            gt_mbarrier *full = ring.full + position.stage;
            const int k = work.k + i * BK, part = work.batch * PARTS;

            gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
            gt_mbarrier_arrive_expect_tx(full, STAGE_BYTES);
            gt_tma_load(stage, &maps.map[MAP_A], full, k, work.row, part);
            gt_tma_load(stage + PARTS * A_PART, &maps.map[MAP_B], full, k, work.column, part);
            position.advance();
        }
    }
}

#endif
