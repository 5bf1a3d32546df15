/* thin_operand.cuh - part of thin_mma.cu, whose parameters it uses: B from memory to the registers
 * of tensor cores, A to shared memory.
 *
 * An mma of 16 x 8 takes of each operand, per lane (group = lane / 4, member = lane % 4), words of
 * 4 bytes that are neighbours along k. The order of k within an mma is free, as long as both
 * operands have the same one: here a member takes 16 bytes along k, whose four words serve one mma
 * after the other, and the members' pieces follow each other: a chunk of 64 bytes along k.
 *
 *      B along k: a piece is one load            B along n: loads of RUN columns for each of the
 *      of a column                               piece's k, turned in registers
 *
 *        member 0  1  2  3                         group 0        1       ...
 *      n +--+--+--+--+ group 0                   k +-------+-------+--   member 0
 *        +--+--+--+--+ group 1 ...                 |       |       |
 *                                                  +-------+-------+--   member 1 ...          */
#ifndef GT_SKINNY_THIN_OPERAND_CUH
#define GT_SKINNY_THIN_OPERAND_CUH

#include "common/tensor.cuh"
#include "common/stream.cuh"

constexpr int SIZE = (int)sizeof(GT_IN);
constexpr int PIECE = 16 / SIZE;   /* values of k of a member */
constexpr int CHUNK = 4 * PIECE;   /* and of all members */
constexpr int RUN = 2 * TILES;     /* columns of a lane: in each tile of 16 two */
constexpr int WARP_N = 16 * TILES; /* columns of a warp */
constexpr int BLOCK_N = WARPS_N * WARP_N;
constexpr int WARP_K = CHUNKS * CHUNK;
constexpr int TILE_K = WARPS_K * WARP_K; /* values of k that a block takes at a time */
constexpr int THREADS = 32 * WARPS_K * WARPS_N;

/* Operands as tensor cores take them. Eight-bit floats become f16, which has all their values,
 * because most architectures would do the same for each mma anew: A on its way to shared memory, B
 * in registers. */
#if GT_TYPE == GT_E4M3 || GT_TYPE == GT_E5M2
#define WIDENED 1
typedef gt_f16 Taken;
#else
#define WIDENED 0
typedef GT_IN Taken;
#endif
constexpr int WORDS = PIECE * (int)sizeof(Taken) / 4; /* of a member's piece, as taken */
constexpr int STEPS = WORDS / 2;                      /* an mma takes two of them */
/* Bytes from row to row of A: so that lanes that read 16 bytes together meet all banks. */
constexpr int PITCH = PANEL * (int)sizeof(Taken) + (WIDENED ? 16 : 64);

constexpr int SIDE_BY_SIDE = GT_TRANS_B ? PIECE : RUN; /* elements of a lane in a line of B */
constexpr int V = VEC / SIZE < SIDE_BY_SIDE ? VEC / SIZE : SIDE_BY_SIDE;
constexpr int LINES = GT_TRANS_B ? RUN : PIECE; /* lines of B that a lane has elements of */
constexpr int LOADS = SIDE_BY_SIDE / V;

#include "skinny/skinny_finish.cuh"

static_assert(V >= 1 && LOADS >= 1 && PANEL % TILE_K == 0, "whole loads, panels of whole tiles");

/* A lane's elements of a chunk of B, as loaded: 8 TILES words. */
union Piece {
    gt_run<GT_IN, V> run[LINES][LOADS];
    unsigned word[LINES][LOADS * V * SIZE / 4];
};

/* What a lane loads of B. */
struct Lane {
    const GT_IN *from; /* its first element in tile 0, where B lies along k without its column */
    long long column;  /* of its first sum */
    int k;             /* of its first element */
};

/* Column within the warp's of a lane's element `half` (rows group, group + 8 of the mma) of `tile`.
 */
GT_DEVICE int column_in_warp(int group, int tile, int half)
{
    return GT_TRANS_B ? tile * 16 + half * 8 + group : group * RUN + tile * 2 + half;
}

GT_DEVICE Lane make_lane(const gt_args &args, long long batch)
{
    const int warp = (int)threadIdx.x / 32, group = (int)threadIdx.x % 32 / 4;
    const GT_IN *b = gt_typed_b(args, batch);
    Lane own;

    own.k = warp / WARPS_N * WARP_K + (int)threadIdx.x % 4 * PIECE;
    own.column = block_column(args) + warp % WARPS_N * WARP_N + column_in_warp(group, 0, 0);
    own.from = GT_TRANS_B ? b + own.k : b + own.k * args.ldb + own.column;
    return own;
}

/* Whether every load of a block's tiles lies within the columns of B. */
GT_DEVICE bool columns_exist(const gt_args &args)
{
    return block_column(args) + BLOCK_N <= args.n;
}

/* The first `valid` elements of a load, zeros for the rest. A function of its own: in line, it
 * would fill the instruction cache with code that is hardly ever run. */
__device__ __noinline__ gt_run<GT_IN, V>::word_type edge(const GT_IN *from, int valid)
{
    gt_run<GT_IN, V> run;
    run.word = gt_run<GT_IN, V>::word_type();
#pragma unroll
    for (int i = 0; i < V; i++)
        if (i < valid)
            run.at[i] = from[i];
    return run.word;
}

/* Loads the lane's part of a tile that begins at `k`; of a tile that is not WHOLE, zeros where the
 * operand has ended. */
template <bool WHOLE>
GT_DEVICE void fetch(const gt_args &args, const Lane &lane, long long k, Piece *piece)
{
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
#pragma unroll
        for (int i = 0; i < LINES; i++)
#pragma unroll
            for (int j = 0; j < LOADS; j++) {
                long long at_k = k + c * CHUNK + (GT_TRANS_B ? j * V : i);
                long long column = lane.column + (GT_TRANS_B ? i * 8 : j * V);
                const GT_IN *from = GT_TRANS_B ? lane.from + column * args.ldb + at_k
                                               : lane.from + at_k * args.ldb + j * V;
                long long left_k = gt_depth(args) - (at_k + lane.k), left_n = args.n - column;
                long long along = GT_TRANS_B ? left_k : left_n,
                          across = GT_TRANS_B ? left_n : left_k;
                gt_run<GT_IN, V> &run = piece[c].run[i][j];
                if (WHOLE || (along >= V && across > 0))
                    run = gt_stream_run<GT_IN, V>(from);
                else
                    run.word = edge(from, across > 0 ? (int)(along > 0 ? along : 0) : 0);
            }
}

/* Word `q` of the piece of k of every column of the lane. */
GT_DEVICE void words_of(const Piece &piece, int q, unsigned (&word)[RUN])
{
#pragma unroll
    for (int i = 0; i < RUN; i++)
        if constexpr (GT_TRANS_B || SIZE == 4)
            word[i] =
                GT_TRANS_B ? piece.word[i % LINES][q] : piece.word[q % LINES][i % (LOADS * V)];
        else if constexpr (SIZE == 2)
            word[i] = __byte_perm(piece.word[2 * q % LINES][i / 2],
                                  piece.word[(2 * q + 1) % LINES][i / 2], i % 2 ? 0x7632 : 0x5410);
        else {
            constexpr unsigned pick[4] = {0x0040, 0x0051, 0x0062, 0x0073};
            unsigned low = __byte_perm(piece.word[4 * q % LINES][i / 4],
                                       piece.word[(4 * q + 1) % LINES][i / 4], pick[i % 4]);
            unsigned high = __byte_perm(piece.word[(4 * q + 2) % LINES][i / 4],
                                        piece.word[(4 * q + 3) % LINES][i / 4], pick[i % 4]);
            word[i] = __byte_perm(low, high, 0x5410);
        }
}

GT_DEVICE Taken taken(GT_IN element)
{
#if WIDENED
    return gt_from_float<GT_F16>(gt_to_float<GT_TYPE>(element));
#else
    return element;
#endif
}

/* Four 8-bit floats of a word as two words of f16; other words are taken as they are. */
GT_DEVICE void widen(unsigned word, unsigned &low, unsigned &high)
{
#if GT_TYPE == GT_E5M2
    low = __byte_perm(word, 0, 0x1404); /* an e5m2 is the upper half of an f16 */
    high = __byte_perm(word, 0, 0x3424);
#elif GT_TYPE == GT_E4M3 && !defined(GT_EMULATE) && __CUDA_ARCH__ >= 890
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(low) : "h"((unsigned short)word));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(high) : "h"((unsigned short)(word >> 16)));
#elif GT_TYPE == GT_E4M3
    low = high = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        low |= gt_f16_bits(__float_as_uint(gt_e4m3_value(word >> 8 * i & 0xff))) << 16 * i;
        high |= gt_f16_bits(__float_as_uint(gt_e4m3_value(word >> (8 * i + 16) & 0xff))) << 16 * i;
    }
#else
    low = high = word;
#endif
}

/* Stages a member's piece of a row of A, or what of it is `left`; of a row beyond A nothing. */
GT_DEVICE void stage_piece(const GT_IN *from, long long left, unsigned char *to)
{
#if WIDENED
    gt_run<GT_IN, PIECE> run = gt_load_run_masked<GT_IN, PIECE>(from, left);
    uint4 wide[2];
    widen(run.word.x, wide[0].x, wide[0].y);
    widen(run.word.y, wide[0].z, wide[0].w);
    widen(run.word.z, wide[1].x, wide[1].y);
    widen(run.word.w, wide[1].z, wide[1].w);
    reinterpret_cast<uint4 *>(to)[0] = wide[0];
    reinterpret_cast<uint4 *>(to)[1] = wide[1];
#else
    cp_async<16>(to, from, left >= PIECE ? 16 : left > 0 ? (int)left * SIZE : 0);
#endif
}

/* Stages ROWS x PANEL elements of op(A) from `first` on; zeros beyond the matrix. By pieces where A
 * lies along k and its rows allow it, else element by element. */
GT_DEVICE void stage(const gt_args &args, const GT_IN *a, long long first, unsigned char *panel)
{
    constexpr int pieces = PANEL / PIECE;
    const long long depth = gt_depth(args), first_row = block_row(args), rows = args.m - first_row;
    bool aligned = reinterpret_cast<unsigned long long>(a) % 16 == 0 && args.lda % PIECE == 0;

    if (!GT_TRANS_A && aligned)
#pragma unroll 2
        for (int i = (int)threadIdx.x; i < ROWS * pieces; i += THREADS) {
            int row = i / pieces, k = i % pieces * PIECE;
            long long left = row < rows ? depth - (first + k) : 0;
            stage_piece(left > 0 ? a + gt_offset_a(args, first_row + row, first + k) : a, left,
                        panel + row * PITCH + k * (int)sizeof(Taken));
        }
    else
#pragma unroll 4
        for (int i = (int)threadIdx.x; i < ROWS * PANEL; i += THREADS) {
            int row = GT_TRANS_A ? i % ROWS : i / PANEL, k = GT_TRANS_A ? i / ROWS : i % PANEL;
            GT_IN element = GT_IN();
            if (row < rows && first + k < depth)
                element = a[gt_offset_a(args, first_row + row, first + k)];
            *reinterpret_cast<Taken *>(panel + row * PITCH + k * (int)sizeof(Taken)) =
                taken(element);
        }
    cp_async_commit();
}

#endif
