/* gemm_accumulate.cuh - part of gemm.cu, whose parameters it uses: loads from shared memory to
 * registers, the products, and the loop over k in which copies, loads and products overlap. */
#ifndef GT_SIMT_GEMM_ACCUMULATE_CUH
#define GT_SIMT_GEMM_ACCUMULATE_CUH

#include "simt/gemm_operand.cuh"

/* The part of an operand's tile that a lane multiplies: T elements, of L lanes' worth. They are
 * loaded in vectors of four; if T is no multiple of four, the last vector has VECTOR of them. */
template <class OPERAND, int T, int L> struct Fragment {
    static_assert(T % 4 != 3, "no load has three elements");
    static constexpr int VECTOR = T % 4 ? T % 4 : 4; /* the elements of all vectors divide by it */
    static constexpr bool ALONG_K = OPERAND::ALONG_K;
    static constexpr int DEPTH = ALONG_K ? 4 : 1; /* k steps of one load */
    static constexpr int BUFFERS = REG_DOUBLE ? 2 : 1;
    float value[BUFFERS][T][DEPTH];

    /* Place of element e of a lane in the warp tile. */
    static GT_DEVICE int at(int e, int lane)
    {
        if (ALONG_K)
            return e * L + lane;
        constexpr int whole = T / 4 * 4;
        if (whole == 0 || whole == T) /* vectors of one size */
            return e / VECTOR * (L * VECTOR) + lane * VECTOR + e % VECTOR;
        return e < whole ? e / 4 * (L * 4) + lane * 4 + e % 4
                         : whole * L + lane * VECTOR + e % 4;
    }

    static constexpr int LOADS = ALONG_K ? T : (T + 3) / 4;

    /* Load number `load` of the LOADS that step k of a stage needs, unless an earlier step has done
     * it. `origin`: the first element of the warp tile along m or n. */
    GT_DEVICE void load(const float *stage, int origin, int lane, int first, int k, int load)
    {
        int buffer = k / DEPTH % BUFFERS;
        if constexpr (ALONG_K) {
            if (k % DEPTH == 0) {
                int row = origin + at(load, lane), chunk = OPERAND::swizzled(row, (first + k) / 4);
                gt_load<4>(value[buffer][load], stage + row * OPERAND::LINE + chunk * 4);
            }
        } else {
            constexpr int most = T < 4 ? T : 4;
            const int count = T % 4 == 0 || load < T / 4 ? most : VECTOR;
            const float *from = stage + (first + k) * OPERAND::LINE + origin + at(load * 4, lane);
            float vector[most];
            if (count == most)
                gt_load<most>(vector, from);
            else
                gt_load<VECTOR>(vector, from);
#pragma unroll
            for (int u = 0; u < count; u++)
                value[buffer][load * 4 + u][0] = vector[u];
        }
    }
    GT_DEVICE float get(int e, int k) const
    {
        return value[k / DEPTH % BUFFERS][e][k % DEPTH];
    }
};

#if SWAP_AB
typedef Operand<BM, GT_TRANS_B == 1, PATH_B, VEC_B> X;
typedef Operand<BN, GT_TRANS_A == 0, PATH_A, VEC_A> Y;
#else
typedef Operand<BM, GT_TRANS_A == 0, PATH_A, VEC_A> X;
typedef Operand<BN, GT_TRANS_B == 1, PATH_B, VEC_B> Y;
#endif

constexpr int STAGE = X::SIZE + Y::SIZE; /* floats */

/* Which warp tile and slice of k a thread works on, and where in the warp tile its lane stands. */
struct Position : gt_warp_tile {
    int lane_row, lane_column;
};

GT_DEVICE Position position()
{
    const int lane = threadIdx.x % 32;
    Position p;
    static_cast<gt_warp_tile &>(p) = gt_warp_tile_of<BM, BN, WM, WN>();
    p.lane_row = lane / LANES_N;
    p.lane_column = lane % LANES_N;
    return p;
}

struct Accumulator {
    Fragment<X, TM, LANES_M> x;
    Fragment<Y, TN, LANES_N> y;
    float sum[TM][TN];

    GT_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0.0f;
    }
    static constexpr int LOADS = Fragment<X, TM, LANES_M>::LOADS + Fragment<Y, TN, LANES_N>::LOADS;

    /* Load number `load` of LOADS for step k of the body that starts at step `body` of the tile. */
    GT_DEVICE void load(const float *stage, const Position &p, int body, int k, int load)
    {
        constexpr int FIRST = Fragment<X, TM, LANES_M>::LOADS;
        if (load < FIRST)
            x.load(stage, p.row, p.lane_row, p.slice * STEPS + body, k, load);
        else
            y.load(stage + X::SIZE, p.column, p.lane_column, p.slice * STEPS + body, k,
                   load - FIRST);
    }
    GT_DEVICE void load(const float *stage, const Position &p, int body, int k)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            load(stage, p, body, k, i);
    }
    GT_DEVICE void fma(int i, int j, int k)
    {
        sum[i][j] = fmaf(x.get(i, k), y.get(j, k), sum[i][j]);
    }
    /* Row `line` of the products of step k, or column in the orders by columns. The order of the
     * products decides which operands the register reuse cache holds. */
    static constexpr int LINES = FMA_ORDER < 2 ? TM : TN;
    GT_DEVICE void multiply(int k, int line)
    {
        constexpr int LENGTH = FMA_ORDER < 2 ? TN : TM;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) {
            int at = FMA_ORDER % 2 && line % 2 ? LENGTH - 1 - e : e;
            fma(FMA_ORDER < 2 ? line : at, FMA_ORDER < 2 ? at : line, k);
        }
    }
    GT_DEVICE void multiply(int k)
    {
#pragma unroll
        for (int line = 0; line < LINES; line++)
            multiply(k, line);
    }
    /* The products of step k with the loads of another step between their lines. */
    GT_DEVICE void multiply_and_load(int k, const float *stage, const Position &p, int body,
                                     int k_load)
    {
#pragma unroll
        for (int line = 0; line < LINES; line++) {
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                if (i * LINES / LOADS == line)
                    load(stage, p, body, k_load, LOAD_ORDER ? LOADS - 1 - i : i);
            multiply(k, line);
        }
    }
};

/* The block's part of the product: which tile, and which k. */
struct Work {
    long long row, column;   /* the first of X, of Y */
    long long rows, columns; /* of X, of Y, in all */
    gt_k_range k;
};

GT_DEVICE int clamp(long long value, int limit)
{
    return value < limit ? (int)value : limit;
}

/* The copies of both operands into a ring of stages, which run ahead of the arithmetic. X and Y are
 * variables of the caller: as members of this struct they cost up to 26 registers more (NVRTC 13).
 */
struct Ring {
    X &x;
    Y &y;
    float *stages;
    long long step_x, step_y; /* elements from a tile to the next along k */
    int left_x, left_y;       /* rows of X, columns of Y that exist from the block's first on */
    int depth, tiles;         /* of the block's part of k: its values, its tiles */
    int whole_x, whole_y;     /* the first tiles are whole, so many of each operand */
    int fill, use;            /* the stages that are written and read next */

    GT_DEVICE Ring(X &copies_x, Y &copies_y, const gt_args &args, const Work &work, long long batch,
                   float *shared)
        : x(copies_x), y(copies_y)
    {
        const float *a = gt_matrix_a(args, batch), *b = gt_matrix_b(args, batch);
        const long long ld_x = SWAP_AB ? args.ldb : args.lda, ld_y = SWAP_AB ? args.lda : args.ldb;
        constexpr bool X_ALONG = SWAP_AB ? GT_TRANS_B == 1 : GT_TRANS_A == 0;
        constexpr bool Y_ALONG = SWAP_AB ? GT_TRANS_A == 0 : GT_TRANS_B == 1;
        stages = shared;
        step_x = X_ALONG ? BK : BK * ld_x;
        step_y = Y_ALONG ? BK : BK * ld_y;
        left_x = clamp(work.rows - work.row, BM);
        left_y = clamp(work.columns - work.column, BN);
        depth = (int)(work.k.end - work.k.first);
        tiles = (depth + BK - 1) / BK;
        whole_x = X::whole_across(left_x) ? depth / BK : 0;
        whole_y = Y::whole_across(left_y) ? depth / BK : 0;
        fill = use = 0;
        x.init(SWAP_AB ? b : a, ld_x, work.row, work.k.first, left_x);
        y.init(SWAP_AB ? a : b, ld_y, work.column, work.k.first, left_y);
    }
    /* Starts the copies of a tile. */
    GT_DEVICE void begin(int stage, int tile)
    {
        float *to = stages + stage * STAGE;
        x.begin(to, step_x, tile < whole_x, left_x, depth - tile * BK);
        y.begin(to + X::SIZE, step_y, tile < whole_y, left_y, depth - tile * BK);
    }
    /* Stores part `part` of `parts` of what went through registers. */
    GT_DEVICE void end(int stage, int part, int parts)
    {
        x.end(stages + stage * STAGE, part, parts);
        y.end(stages + stage * STAGE + X::SIZE, part, parts);
    }
    /* The first STAGES - 1 tiles. */
    GT_DEVICE void start()
    {
#pragma unroll 1
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < tiles) {
                begin(s, s);
                end(s, 0, 1);
            }
            gt_cp_async_commit();
        }
        fill = STAGES - 1;
    }
    /* The tile that stands STAGES - 1 tiles behind `tile`, if there is one. */
    GT_DEVICE void begin_ahead(int tile)
    {
        if (tile + STAGES - 1 < tiles)
            begin(fill, tile + STAGES - 1);
        gt_cp_async_commit();
    }
    /* Waits for the tile that is read next. */
    GT_DEVICE void wait() const
    {
        gt_cp_async_wait<STAGES - 2>();
        gt_sync();
    }
    GT_DEVICE void advance()
    {
        use = use + 1 == STAGES ? 0 : use + 1;
        fill = fill + 1 == STAGES ? 0 : fill + 1;
    }
};

/* The BODY steps of tile `tile` from step `body` on, with the copies and the loads of later ones
 * between them. */
GT_DEVICE void multiply_body(Ring &ring, const Position &p, int tile, int body, Accumulator &acc)
{
    const bool last = BODY == STEPS || body == STEPS - BODY;
    const float *now = ring.stages + ring.use * STAGE;
    const int next_body = last ? 0 : body + BODY;

#pragma unroll
    for (int k = 0; k < BODY; k++) {
        /* After the last tile this stores old values where nobody reads them: that is cheaper than
         * a branch. */
        if (k >= END_FIRST && k < END_FIRST + END_PARTS && last)
            ring.end(ring.fill, k - END_FIRST, END_PARTS);
        if (REG_DOUBLE && k == BODY - 1) {
            if (last) {
                ring.wait();
                ring.advance();
            }
            now = ring.stages + ring.use * STAGE;
        }
        if (!REG_DOUBLE)
            acc.load(now, p, body, k);
        if (k == 0 && (BODY == STEPS || body == 0))
            ring.begin_ahead(tile);
        if (REG_DOUBLE)
            acc.multiply_and_load(k, now, p, k == BODY - 1 ? next_body : body, (k + 1) % BODY);
        else
            acc.multiply(k);
    }
}

/* Sums X Y over the block's part of k into acc. */
GT_DEVICE void accumulate(const gt_args &args, const Work &work, long long batch, float *shared,
                          const Position &p, Accumulator &acc)
{
    X x;
    Y y;
    Ring ring(x, y, args, work, batch, shared);

    ring.start();
    if (REG_DOUBLE) {
        ring.wait();
        acc.load(ring.stages, p, 0, 0);
    }
#pragma unroll 1
    for (int tile = 0; tile < ring.tiles; tile++) {
        if (!REG_DOUBLE)
            ring.wait();
#pragma unroll 1
        for (int body = 0; body < STEPS; body += BODY)
            multiply_body(ring, p, tile, body, acc);
        if (!REG_DOUBLE)
            ring.advance();
    }
}

#endif
