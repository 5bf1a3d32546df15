/* tma_ring.cuh - part of tma.cu, whose parameters it uses: operands' tiles in shared memory, the
 * ring of stages that TMA fills, and the loop over k in which loads and products overlap. */
#ifndef GT_SIMT_TMA_RING_CUH
#define GT_SIMT_TMA_RING_CUH

/* The tile of an operand in a stage, as its box arrives. MN: its extent along m or n. */
template <int MN, bool K_CONTIGUOUS> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS;
    static constexpr int LINE = ALONG_K ? BK : MN; /* floats */
    static constexpr int SIZE = MN * BK;           /* floats of a stage */
    static_assert(SIZE * 4 % 1024 == 0, "stages begin where the pattern of the swizzle does");

    /* TMA's swizzle, as wide as a row of BK floats. */
    static GT_DEVICE int swizzled(int row, int chunk)
    {
        constexpr int ROWS = 32 / BK; /* rows of 128 bytes */
        return chunk ^ (row / ROWS & (BK / 4 - 1));
    }
    /* Asks for the box at (mn, k) of matrix z. */
    static GT_DEVICE void load(float *to, const gt_map *map, gt_mbarrier *full, int mn, int k,
                               int z)
    {
        gt_tma_load(to, map, full, ALONG_K ? k : mn, ALONG_K ? mn : k, z);
    }
};

#if SWAP_AB
typedef Operand<BM, GT_PACKED_TRANS_B> X;
typedef Operand<BN, !GT_PACKED_TRANS_A> Y;
#else
typedef Operand<BM, !GT_PACKED_TRANS_A> X;
typedef Operand<BN, GT_PACKED_TRANS_B> Y;
#endif

static_assert(!(X::ALONG_K || Y::ALONG_K) || BODY % (REG_DOUBLE ? 8 : 4) == 0,
              "a body reads four steps of k at once, in turns into two buffers");

#include "simt/accumulator.cuh"
#include "simt/work.cuh"

/* Indices in the description's list of tensor maps. */
constexpr int MAP_A = PACK_A ? 2 : 0, MAP_B = PACK_B ? 3 : 1;
constexpr int MAP_X = SWAP_AB ? MAP_B : MAP_A, MAP_Y = SWAP_AB ? MAP_A : MAP_B;

/* Floats of the ring, whose place sums of slices and of a cluster take afterwards. The barriers
 * stand behind it. */
constexpr int SUMS = (WARPS_K > 1 ? WARPS_K - 1 : SPLIT_MODE == 3 ? 1 : 0) * BM * BN;
constexpr int RING = STAGES * STAGE > SUMS ? STAGES * STAGE : SUMS;

/* Without a producer, thread 0 asks for what a stage holds next when a barrier of the block says that
 * the stage has been read. With one, a thread of a warpgroup of its own asks, and each warp that
 * multiplies says of each stage that it has read it. */
struct Ring {
    const gt_map *map_x, *map_y;
    float *stages;
    gt_mbarrier *full, *empty; /* empty: if there is a producer */
    int row, column, first_k; /* of the boxes of the block's first tile */
    int tiles;                /* of its part of k */
    int use;                  /* the stage that is read; for the producer, filled */
    unsigned parity;          /* of the phase of full[use] that this tile's bytes complete */

    GT_DEVICE Ring(const gt_maps &maps, const Work &work, float *shared)
    {
        map_x = &maps.map[MAP_X];
        map_y = &maps.map[MAP_Y];
        stages = shared;
        full = reinterpret_cast<gt_mbarrier *>(shared + RING);
        empty = full + STAGES;
        row = (int)work.row;
        column = (int)work.column;
        first_k = (int)work.k.first;
        tiles = (int)gt_cdiv(work.k.end - work.k.first, BK);
        use = 0;
        parity = 0;
    }
    /* By thread 0, before a barrier of the block; without a producer that is the one in start. */
    GT_DEVICE void init() const
    {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(full + s, 1);
            if (PRODUCER)
                gt_mbarrier_init(empty + s, THREADS / 32);
        }
        gt_mbarrier_publish();
    }
    /* Asks for tile `tile` of matrix `batch`, which stage s holds next. */
    GT_DEVICE void ask(int s, int tile, int batch) const
    {
        float *stage = stages + s * STAGE;
        const int k = first_k + tile * BK;
        gt_mbarrier_arrive_expect_tx(full + s, STAGE * 4);
        X::load(stage, map_x, full + s, row, k, batch);
        Y::load(stage + X::SIZE, map_y, full + s, column, k, batch);
    }
    /* Asks for the first tiles of a matrix. All threads call it when every stage is free. */
    GT_DEVICE void start(int batch) const
    {
        if (threadIdx.x == 0)
            for (int tile = 0; tile < STAGES && tile < tiles; tile++)
                ask((use + tile) % STAGES, tile, batch);
        gt_sync(); /* the barriers are initialised */
    }
    /* By the producer's thread: asks for all tiles of a matrix, as stages become free. */
    GT_DEVICE void produce(int batch)
    {
        for (int tile = 0; tile < tiles; tile++) {
            gt_mbarrier_wait(empty + use, parity ^ 1);
            ask(use, tile, batch);
            next();
        }
    }
    /* Waits for tile `tile`, if there is one. */
    GT_DEVICE void wait(int tile) const
    {
        if (tile < tiles)
            gt_mbarrier_wait(full + use, parity);
    }
    GT_DEVICE void next()
    {
        use = use + 1 == STAGES ? 0 : use + 1;
        parity ^= use == 0;
    }
    /* The calling thread has read tile `tile`: the next one is in the next stage. */
    GT_DEVICE void advance(int tile, int batch)
    {
        /* Its last loads may be under way still, and nothing else makes TMA's next box wait. */
        gt_tma_fence();
        if (PRODUCER) {
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                gt_mbarrier_arrive(empty + use);
        } else {
            gt_sync();
            if (threadIdx.x == 0 && tile + STAGES < tiles)
                ask(use, tile + STAGES, batch);
        }
        next();
    }
};

/* Where a lane reads: of an operand across k, its first element of the body's first step; of one
 * along k, the operand's tile in the stage. It moves by constants, as few instructions as possible:
 * each takes the place of a multiplication. */
struct Cursor {
    const float *stages;
    unsigned x, y; /* bytes behind `stages`: integers, so that the compiler sees shared memory */

    template <class OPERAND, int T, int L>
    static GT_DEVICE unsigned first(int stage, int slice, int origin, int lane)
    {
        return 4 * (OPERAND::ALONG_K ? stage
                                     : stage + slice * STEPS * OPERAND::LINE + origin +
                                           Fragment<OPERAND, T, L>::at(0, lane));
    }
    GT_DEVICE Cursor(const Ring &ring, const Position &p)
    {
        stages = ring.stages;
        x = first<X, TM, LANES_M>(ring.use * STAGE, p.slice, p.row, p.lane_row);
        y = first<Y, TN, LANES_N>(ring.use * STAGE + X::SIZE, p.slice, p.column, p.lane_column);
    }
    GT_DEVICE const float *at(unsigned bytes) const
    {
        return reinterpret_cast<const float *>(reinterpret_cast<const char *>(stages) + bytes);
    }
    /* From body to body of a tile. */
    GT_DEVICE void move()
    {
        x += X::ALONG_K ? 0 : 4 * BODY * X::LINE;
        y += Y::ALONG_K ? 0 : 4 * BODY * Y::LINE;
    }
    /* From the last body of a tile to the first of the next, which is in the ring's first stage if
     * `wraps`. */
    GT_DEVICE void turn(bool wraps)
    {
        const int stage = wraps ? 4 * (STAGE - STAGES * STAGE) : 4 * STAGE;
        x += stage - (X::ALONG_K ? 0 : 4 * (STEPS - BODY) * X::LINE);
        y += stage - (Y::ALONG_K ? 0 : 4 * (STEPS - BODY) * Y::LINE);
    }
    /* Load number `load` for step k of the body that starts at step `body`. */
    GT_DEVICE void load(Accumulator &acc, const Position &p, int body, int k, int load) const
    {
        constexpr int FIRST = Fragment<X, TM, LANES_M>::LOADS;
        if (load < FIRST) {
            if constexpr (X::ALONG_K)
                acc.x.load(at(x), p.row, p.lane_row, p.slice * STEPS + body, k, load);
            else
                acc.x.load_from(at(x), k, load);
        } else {
            if constexpr (Y::ALONG_K)
                acc.y.load(at(y), p.column, p.lane_column, p.slice * STEPS + body, k, load - FIRST);
            else
                acc.y.load_from(at(y), k, load - FIRST);
        }
    }
    GT_DEVICE void load(Accumulator &acc, const Position &p, int body, int k) const
    {
#pragma unroll
        for (int i = 0; i < Accumulator::LOADS; i++)
            load(acc, p, body, k, i);
    }
    /* The products of step k of a body with the loads of the next step between their lines; `body`:
     * that step's body. */
    GT_DEVICE void multiply_and_load(Accumulator &acc, const Position &p, int k, int body) const
    {
        constexpr int LOADS = Accumulator::LOADS, LINES = Accumulator::LINES;
#pragma unroll
        for (int line = 0; line < LINES; line++) {
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                if (i * LINES / LOADS == line)
                    load(acc, p, body, (k + 1) % BODY, LOAD_ORDER ? LOADS - 1 - i : i);
            acc.multiply(k, line);
        }
    }
};

/* The BODY steps of tile `tile` from step `body` on, with the loads of later ones between them. */
GT_DEVICE void multiply_body(Ring &ring, Cursor &cursor, const Position &p, int tile, int body,
                             int batch, Accumulator &acc)
{
    const bool last = BODY == STEPS || body == STEPS - BODY;

#pragma unroll
    for (int k = 0; k < BODY; k++) {
        if (!REG_DOUBLE)
            cursor.load(acc, p, body, k);
        if (k == BODY - 1) {
            if (last) {
                ring.advance(tile, batch);
                cursor.turn(ring.use == 0);
                if (REG_DOUBLE)
                    ring.wait(tile + 1);
            } else {
                cursor.move();
            }
        }
        if (!REG_DOUBLE)
            acc.multiply(k);
        else /* after the last tile this loads old values, which costs less than a branch */
            cursor.multiply_and_load(acc, p, k, k < BODY - 1 ? body : last ? 0 : body + BODY);
    }
}

/* Sums X Y over the block's part of k into acc. */
GT_DEVICE void accumulate(Ring &ring, int batch, const Position &p, Accumulator &acc)
{
    Cursor cursor(ring, p);

    if (!PRODUCER)
        ring.start(batch);
    ring.wait(0);
    if (REG_DOUBLE)
        cursor.load(acc, p, 0, 0);
#pragma unroll 1
    for (int tile = 0; tile < ring.tiles; tile++) {
        if (!REG_DOUBLE)
            ring.wait(tile);
#pragma unroll 1
        for (int body = 0; body < STEPS; body += BODY)
            multiply_body(ring, cursor, p, tile, body, batch, acc);
    }
}

#endif
