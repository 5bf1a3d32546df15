/* gemm_multiply.cuh - part of gemm.cu, whose parameters it uses: fragments of a tile from shared
 * memory to registers, the products, and the loop over k in which copies, loads and products
 * overlap. */
#ifndef GT_MMA_GEMM_MULTIPLY_CUH
#define GT_MMA_GEMM_MULTIPLY_CUH

#include "mma/gemm_operand.cuh"

typedef Operand<BM, !GT_PACKED_TRANS_A, PATH_A, COPY_A> X;
typedef Operand<BN, GT_PACKED_TRANS_B, PATH_B, COPY_B> Y;

constexpr int STAGE = X::BYTES + Y::BYTES;

/* 16 x 8 sums in the registers of a lane, and the type in which they are added further. */
#if GT_ACC == GT_F16
typedef unsigned SumRegister;
typedef float Sum;
constexpr int SUM_REGISTERS = 2;
#elif GT_ACC == GT_S32
typedef int SumRegister;
typedef int Sum;
constexpr int SUM_REGISTERS = 4;
#else
typedef float SumRegister;
typedef float Sum;
constexpr int SUM_REGISTERS = 4;
#endif

/* Which warp tile and slice of k a thread works on, and its lane (mma.cuh). */
struct Position : gt_warp_tile {
    int lane, group, member;
};

GT_DEVICE Position position(unsigned thread)
{
    const int lane = thread % 32;
    Position p;
    static_cast<gt_warp_tile &>(p) = gt_warp_tile_of<BM, BN, WM, WN>();
    p.lane = lane;
    p.group = lane / 4;
    p.member = lane % 4;
    return p;
}

/* The part of an operand's tile that a warp multiplies in a step: EXTENT rows of A (LEFT) or
 * columns of B, 32 bytes of k, in tiles of 16 rows or columns.
 *
 * By words (BY_WORDS) 32 rows or columns are loaded at once. Four neighbours that a lane loads then
 * serve as row or column `group` of four blocks of 8, so that the order of rows or columns in the
 * warp tile changes; at() gives it. */
template <class OPERAND, int EXTENT, bool LEFT> struct Fragment {
    static constexpr int TILES = EXTENT / 16;
    static constexpr bool ALONG_K = OPERAND::ALONG_K, BY_WORDS = OPERAND::BY_WORDS;
    static constexpr int PITCH = OPERAND::PITCH;
    static_assert(!BY_WORDS || EXTENT % 32 == 0, "four blocks of 8 are loaded at once");
    static_assert(!SWIZZLE || (STEPS & (STEPS - 1)) == 0, "steps are bits of the place");
    unsigned value[REG_DOUBLE ? 2 : 1][TILES][4];

    /* The register of a tile that holds half `mn` of its rows or columns and half `k` of its depth;
     * and the other way: which half of m or n, and of k, register `r` holds. */
    static GT_DEVICE int place(int mn, int k)
    {
        return LEFT ? k * 2 + mn : mn * 2 + k;
    }
    static GT_DEVICE int half_mn(int r)
    {
        return LEFT ? r % 2 : r / 2;
    }
    static GT_DEVICE int half_k(int r)
    {
        return LEFT ? r / 2 : r % 2;
    }

    /* Row or column of the warp tile that row or column `e` of block `block` of 8 is. */
    static GT_DEVICE int at(int block, int e)
    {
        return BY_WORDS ? block / 4 * 32 + e * 4 + block % 4 : block * 8 + e;
    }

    /* `origin`: the warp tile's first row or column; `first`: its slice's first step. */
    GT_DEVICE void load(const char *stage, int lane, int origin, int first, int step)
    {
        unsigned(&to)[TILES][4] = value[step % (REG_DOUBLE ? 2 : 1)];
        if constexpr (BY_WORDS)
            load_words(to, stage, origin, first + step, lane / 4, lane % 4);
        else if constexpr (ALONG_K)
            load_along(to, stage, origin + half_mn(lane / 8) * 8 + lane % 8,
                       first * 2 + half_k(lane / 8), step);
        else
            load_across(to, stage, origin / 8 + half_mn(lane / 8),
                        (first + step) * 16 + half_k(lane / 8) * 8 + lane % 8);
    }

    /* line, chunk: the address of the lane for the first tile in step 0. */
    static GT_DEVICE void load_along(unsigned (&to)[TILES][4], const char *stage, int line,
                                     int chunk, int step)
    {
        int offset = line * PITCH + OPERAND::swizzled(line, chunk) * 16;
        offset = SWIZZLE ? offset ^ step * 32 : offset + step * 32;
#pragma unroll
        for (int i = 0; i < TILES; i++)
            gt_ldmatrix_x4(to[i], stage + offset + i * 16 * PITCH);
    }
    static GT_DEVICE void load_across(unsigned (&to)[TILES][4], const char *stage, int chunk,
                                      int line)
    {
#pragma unroll
        for (int i = 0; i < TILES; i++)
            gt_ldmatrix_x4_trans(to[i], stage + line * PITCH +
                                            OPERAND::swizzled(line, chunk + i * 2) * 16);
    }
    static GT_DEVICE void load_words(unsigned (&to)[TILES][4], const char *stage, int origin,
                                     int step, int group, int member)
    {
#pragma unroll
        for (int i = 0; i < TILES; i += 2)
#pragma unroll
            for (int k = 0; k < 2; k++) {
                unsigned word[4];
                load_words_of(word, stage, origin + i * 16, step * (32 / SIZE) + k * (16 / SIZE),
                              group, member);
#pragma unroll
                for (int block = 0; block < 4; block++)
                    to[i + block / 2][place(block % 2, k)] = word[block];
            }
    }
    /* The lane's register of four blocks of 8 rows or columns, from `first` on; of k, 16 bytes from
     * `line` on. */
    static GT_DEVICE void load_words_of(unsigned (&word)[4], const char *stage, int first, int line,
                                        int group, int member)
    {
        if constexpr (SIZE == 4) {
            line += member;
            const gt_vec<unsigned, 4> vector =
                gt_load_vec<unsigned, 4>(reinterpret_cast<const unsigned *>(
                    stage + line * PITCH + OPERAND::swizzled(line, first / 4 + group) * 16));
#pragma unroll
            for (int i = 0; i < 4; i++)
                word[i] = vector.at[i];
        } else {
            line += member * 4;
            int offset =
                line * PITCH + OPERAND::swizzled(line, first / 16 + group / 4) * 16 + group % 4 * 4;
#pragma unroll
            for (int i = 0; i < 4; i++)
                word[i] = *reinterpret_cast<const unsigned *>(stage + offset + i * PITCH);
            gt_transpose_bytes(word);
        }
    }

    /* To be called once between the load of a step and its products. */
    GT_DEVICE void convert(int step)
    {
#if GT_TYPE == GT_TF32
#pragma unroll
        for (int i = 0; i < TILES; i++)
#pragma unroll
            for (int r = 0; r < 4; r++) {
                unsigned &word = value[step % (REG_DOUBLE ? 2 : 1)][i][r];
                word = gt_round_tf32(word);
            }
#endif
    }
};

typedef Fragment<X, WM, true> Rows;
typedef Fragment<Y, WN, false> Columns;

constexpr int SUMS = WM / 16 * (WN / 8) * SUM_REGISTERS; /* registers of a lane that hold sums */

struct Accumulator {
    Rows x;
    Columns y;
    SumRegister sum[WM / 16][WN / 8][SUM_REGISTERS];

    GT_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int j = 0; j < WN / 8; j++)
#pragma unroll
                for (int r = 0; r < SUM_REGISTERS; r++)
                    sum[i][j][r] = 0;
    }
    /* In tile i and block j: element `e` (0, 1) of the two in row group + 8 * half. */
    GT_DEVICE Sum get(int i, int j, int half, int e) const
    {
#if GT_ACC == GT_F16
        return gt_f16_value(sum[i][j][half] >> 16 * e & 0xffff);
#else
        return sum[i][j][half * 2 + e];
#endif
    }
    GT_DEVICE void load(const char *stage, const Position &p, int step)
    {
        x.load(stage, p.lane, p.row, p.slice * STEPS, step);
        y.load(stage + X::BYTES, p.lane, p.column, p.slice * STEPS, step);
    }
    GT_DEVICE void multiply(int step)
    {
        constexpr int BUFFERS = REG_DOUBLE ? 2 : 1;
        x.convert(step);
        y.convert(step);
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int e = 0; e < WN / 8; e++) {
                int j = i % 2 ? WN / 8 - 1 - e : e; /* back and forth, which reuses B's registers */
                const unsigned(&from)[4] = y.value[step % BUFFERS][j / 2];
                const unsigned b[2] = {from[j % 2 * 2], from[j % 2 * 2 + 1]};
                if constexpr (SMALL_MMA)
                    gt_mma_small<GT_TYPE>(sum[i][j], x.value[step % BUFFERS][i], b);
                else
                    gt_mma<GT_TYPE>(sum[i][j], x.value[step % BUFFERS][i], b);
            }
    }
};

/* The block's part of the product: which tile of D, and which k. */
struct Work {
    long long row, column;       /* first of the tile */
    int skip_rows, skip_columns; /* the first ones, which another block stores */
    gt_k_range k;
};

/* The copies of both operands, a ring of stages. */
struct Ring {
    X x;
    Y y;
    char *shared;
    int first_whole, whole; /* tiles first_whole ... whole - 1 lie in both operands as a whole */
    int fill, use;          /* stages written and read next */

    GT_DEVICE Ring(const gt_args &args, const Work &work, long long batch, char *memory)
    {
        const Element *a = gt_typed_a(args, batch), *b = gt_typed_b(args, batch);
        shared = memory;
        fill = use = 0;
        whole = work.row + BM <= args.m && work.column + BN <= args.n
                    ? (int)((work.k.end - work.k.first) / BK)
                    : 0;
        whole = min(X::safe_tiles(whole, a, args.lda, work.row, work.k.first, args.m, args.k),
                    Y::safe_tiles(whole, b, args.ldb, work.column, work.k.first, args.n, args.k));
        first_whole = X::unsafe_start(a, work.row, work.k.first) ||
                      Y::unsafe_start(b, work.column, work.k.first);
        x.init(a, args.lda, work.row, work.k.first);
        y.init(b, args.ldb, work.column, work.k.first);
        if (first_whole)
            advance(args);
    }
    static GT_DEVICE int next(int stage)
    {
        return stage + 1 == STAGES ? 0 : stage + 1;
    }
    GT_DEVICE void advance(const gt_args &args)
    {
        x.advance(X::ALONG_K ? BK_BYTES : BK_BYTES * args.lda);
        y.advance(Y::ALONG_K ? BK_BYTES : BK_BYTES * args.ldb);
    }
    GT_DEVICE bool is_whole(int tile) const
    {
        return tile < whole && (!(X::SHIFTED || Y::SHIFTED) || tile >= first_whole);
    }
    /* Starts part `part` of `parts` of the copies of a tile, if it is whole. */
    GT_DEVICE void begin(const gt_args &args, int tile, int part, int parts)
    {
        if (!is_whole(tile))
            return;
        char *to = shared + fill * STAGE;
        if (PATH_A < 3)
            x.begin(to, args.lda, part, parts);
        if (PATH_B < 3)
            y.begin(to + X::BYTES, args.ldb, part, parts);
        if (part == parts - 1)
            advance(args);
    }
    /* All of them, if it is not; also of an operand whose copies all have masks. */
    GT_DEVICE void begin_edge(const gt_args &args, const Work &work, long long batch, int tile)
    {
        if (!MASKED && is_whole(tile))
            return;
        long long k = work.k.first + (long long)tile * BK, left = work.k.end - k;
        char *to = shared + fill * STAGE;
        if (PATH_A == 3 || !MASKED || !is_whole(tile))
            x.begin_edge(to, gt_typed_a(args, batch), args.lda, work.row, k, args.m - work.row,
                         left);
        if (PATH_B == 3 || !MASKED || !is_whole(tile))
            y.begin_edge(to + X::BYTES, gt_typed_b(args, batch), args.ldb, work.column, k,
                         args.n - work.column, left);
    }
    /* Stores the copies that went through registers in the stage, if there is such a tile. */
    GT_DEVICE void end(int tile, int tiles)
    {
        if (X::STAGED && (PATH_A == 3 ? tile < tiles : is_whole(tile)))
            x.end(shared + fill * STAGE);
        if (Y::STAGED && (PATH_B == 3 ? tile < tiles : is_whole(tile)))
            y.end(shared + fill * STAGE + X::BYTES);
    }
};

/* Sums A B over the block's k into acc, the ring of stages running ahead of the arithmetic. With
 * EARLY it also finds the thread's position. */
GT_DEVICE void accumulate(const gt_args &args, const Work &work, long long batch, char *shared,
                          Position &p, Accumulator &acc)
{
    Ring ring(args, work, batch, shared);
    const int tiles = (int)gt_cdiv(work.k.end - work.k.first, BK);
    constexpr int PARTS = STEPS - 1; /* of the copies, in the steps before the last */

#pragma unroll 1
    for (int tile = 0; tile < STAGES - 1; tile++) {
        if (tile < tiles) {
            ring.begin(args, tile, 0, 1);
            ring.begin_edge(args, work, batch, tile);
            ring.end(tile, tiles);
        }
        gt_cp_async_commit();
        ring.fill = Ring::next(ring.fill);
    }
    if (EARLY) /* not before: the first loads do not wait for it */
        p = position((unsigned)gt_reload_thread_index());
    gt_cp_async_wait<STAGES - 2>();
    gt_sync();
    if (REG_DOUBLE && tiles > 0)
        acc.load(shared, p, 0);
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        const int coming = tile + STAGES - 1;
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            const char *now = shared + ring.use * STAGE;
            if (step == 0 && coming < tiles) /* while few registers hold fragments */
                ring.begin_edge(args, work, batch, coming);
            if (!REG_DOUBLE)
                acc.load(now, p, step);
            else if (step < STEPS - 1)
                acc.load(now, p, step + 1);
            if (step < PARTS && coming < tiles)
                ring.begin(args, coming, step, PARTS);
            if (step == PARTS - 1)
                gt_cp_async_commit();
            if (step == STEPS - 1) {
                if (!REG_DOUBLE)
                    acc.multiply(step);
                ring.end(coming, tiles);
                gt_cp_async_wait<STAGES - 2>();
                gt_sync();
                ring.fill = Ring::next(ring.fill);
                ring.use = Ring::next(ring.use);
                if (REG_DOUBLE && tile + 1 < tiles)
                    acc.load(shared + ring.use * STAGE, p, 0);
            }
            if (REG_DOUBLE || step < STEPS - 1)
                acc.multiply(step);
        }
    }
}

GT_DEVICE SumRegister add_sums(SumRegister x, SumRegister y)
{
#if GT_ACC == GT_F16
    unsigned sum[2];
#pragma unroll
    for (int e = 0; e < 2; e++)
        sum[e] = gt_from_float<GT_F16>(gt_f16_value(x >> 16 * e & 0xffff) +
                                       gt_f16_value(y >> 16 * e & 0xffff))
                     .bits;
    return sum[0] | sum[1] << 16;
#else
    return x + y;
#endif
}

#endif
