/* gemm_accumulate.cuh - part of gemm.cu, whose parameters it uses: the loop over k in which copies,
 * loads from shared memory and products overlap. */
#ifndef GT_SIMT_GEMM_ACCUMULATE_CUH
#define GT_SIMT_GEMM_ACCUMULATE_CUH

#include "simt/gemm_operand.cuh"

#if SWAP_AB
typedef Operand<BM, GT_TRANS_B == 1, PATH_B, VEC_B> X;
typedef Operand<BN, GT_TRANS_A == 0, PATH_A, VEC_A> Y;
#else
typedef Operand<BM, GT_TRANS_A == 0, PATH_A, VEC_A> X;
typedef Operand<BN, GT_TRANS_B == 1, PATH_B, VEC_B> Y;
#endif

#include "simt/accumulator.cuh"
#include "simt/work.cuh"

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
