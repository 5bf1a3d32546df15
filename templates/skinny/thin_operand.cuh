/* thin_operand.cuh - part of thin_mma.cu, whose parameters it uses: B from memory to the registers
 * of tensor cores, A to shared memory.
 *
 * An mma of 16 x 8 takes of each operand, per lane (group = lane / 4, member = lane % 4), words of
 * 4 bytes that are neighbours along k. The order of k within an mma is free, as long as both
 * operands have the same one. Here a member has a vector of 16 bytes along k, whose four words
 * serve one mma after the other. The vectors of the four members follow each other: together they
 * are a chunk of 64 bytes along k.
 *
 *      B along k: a vector is one load           B along n: loads of LANE_COLUMNS columns for each k
 *      of a column                               of the vector, transposed in registers
 *
 *        member 0  1  2  3                         group 0        1       ...
 *      n +--+--+--+--+ group 0                   k +-------+-------+--   member 0
 *        +--+--+--+--+ group 1 ...                 |       |       |
 *                                                  +-------+-------+--   member 1 ...          */
#ifndef GT_SKINNY_THIN_OPERAND_CUH
#define GT_SKINNY_THIN_OPERAND_CUH

#include "common/tensor.cuh"
#include "common/stream.cuh"
#include "skinny/edge.cuh"
#include "skinny/widen.cuh"

constexpr int SIZE = (int)sizeof(GT_IN);
constexpr int VECTOR = 16 / SIZE;       /* values of k of a member */
constexpr int CHUNK = 4 * VECTOR;       /* and of all members */
constexpr int LANE_COLUMNS = 2 * TILES; /* columns of a lane: in each tile of 16 two */
constexpr int WARP_N = 16 * TILES;      /* columns of a warp */
constexpr int BLOCK_N = WARPS_N * WARP_N;
constexpr int WARP_K = CHUNKS * CHUNK;
constexpr int TILE_K = WARPS_K * WARP_K; /* values of k that a block takes at a time */
constexpr int THREADS = 32 * WARPS_K * WARPS_N;

/* Operands as tensor cores take them: 8-bit floats are widened in registers. */
#if WIDENED
typedef gt_f16 Taken;
#else
typedef GT_IN Taken;
#endif

constexpr int EIGHTS = ROWS / 8;                       /* groups of rows of D */
constexpr int STEPS = VECTOR * (int)sizeof(Taken) / 8; /* mma's of a vector: each takes two words */

constexpr int SIDE_BY_SIDE =
    GT_TRANS_B ? VECTOR : LANE_COLUMNS; /* elements of a lane in a line of B */
constexpr int V = VEC / SIZE < SIDE_BY_SIDE ? VEC / SIZE : SIDE_BY_SIDE;
constexpr int LINES =
    GT_TRANS_B ? LANE_COLUMNS : VECTOR; /* lines of B that a lane has elements of */
constexpr int LOADS = SIDE_BY_SIDE / V;

#include "skinny/skinny_finish.cuh"

static_assert(V >= 1 && LOADS >= 1, "whole loads");

/* A lane's elements of a chunk of B, as loaded: 8 TILES words. */
union ChunkOfB {
    gt_vec<GT_IN, V> load[LINES][LOADS];
    unsigned word[LINES][(LOADS * V * SIZE + 3) / 4];
};

/* What a lane loads of a tile. */
struct Tile {
    ChunkOfB b[CHUNKS];
    uint4 a[CHUNKS][EIGHTS]; /* the member's vector of a row of each eight */
};

/* Where a lane's elements are. */
struct Lane {
    const GT_IN *b;   /* the first in tile 0 */
    const GT_IN *a;   /* the first in tile 0 */
    long long column; /* of its first sum */
    int row, rows;    /* of the block: the lane's among the first eight; how many exist */
    int k;            /* of its first elements */
    bool vectors;     /* A can be loaded by vectors */
};

/* Column within the warp's of a lane's element `half` (rows group, group + 8 of the mma) of `tile`.
 */
GT_DEVICE int column_in_warp(int group, int tile, int half)
{
    return GT_TRANS_B || RING > 0 ? tile * 16 + half * 8 + group
                                  : group * LANE_COLUMNS + tile * 2 + half;
}

GT_DEVICE Lane make_lane(const gt_args &args, long long batch)
{
    const int warp = (int)threadIdx.x / 32, group = (int)threadIdx.x % 32 / 4;
    const GT_IN *a = gt_typed_a(args, batch), *b = gt_typed_b(args, batch);
    const long long left = args.m - block_row(args);
    Lane own;

    own.k = warp / WARPS_N * WARP_K + (int)threadIdx.x % 4 * VECTOR;
    own.column = block_column(args) + warp % WARPS_N * WARP_N + column_in_warp(group, 0, 0);
    own.b = GT_TRANS_B ? b + own.column * args.ldb + own.k : b + own.k * args.ldb + own.column;
    own.row = group < left ? group : (int)left - 1;
    own.rows = left < ROWS ? (int)left : ROWS;
    own.a = a + gt_offset_a(args, block_row(args) + own.row, own.k);
    own.vectors =
        !GT_TRANS_A && reinterpret_cast<unsigned long long>(a) % 16 == 0 && args.lda % VECTOR == 0;
    return own;
}

/* Whether every load of a block's tiles lies within the columns of B. */
GT_DEVICE bool columns_exist(const gt_args &args)
{
    return block_column(args) + BLOCK_N <= args.n;
}

/* Loads the lane's part of the rows of A for a tile that begins at `k`. Rows beyond the matrix are
 * computed from one that exists, and never stored. */
template <bool WHOLE>
GT_DEVICE void fetch_a(const gt_args &args, const Lane &lane, long long k, Tile &tile)
{
    const long long next_row = GT_TRANS_A ? 1 : args.lda;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const GT_IN *from = lane.a + gt_offset_a(args, 0, k + c * CHUNK);
        const long long left = gt_depth(args) - (k + c * CHUNK + lane.k);
#pragma unroll
        for (int x = 0; x < EIGHTS; x++) {
            if (lane.vectors && (WHOLE || left >= VECTOR))
                tile.a[c][x] = gt_load_vec_global<GT_IN, VECTOR>(from).word;
            else
                tile.a[c][x] = edge<VECTOR>(from, GT_TRANS_A ? args.lda : 1,
                                            left >= VECTOR ? VECTOR
                                            : left > 0     ? (int)left
                                                           : 0);
            from += lane.row + 8 * (x + 1) < lane.rows ? 8 * next_row : 0;
        }
    }
}

/* Loads the lane's part of a tile of B that begins at `k`; of one that is not WHOLE, zeros where
 * the operand has ended. */
template <bool WHOLE>
GT_DEVICE void fetch_b(const gt_args &args, const Lane &lane, long long k, Tile &tile)
{
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const GT_IN *line = lane.b + (GT_TRANS_B ? k + c * CHUNK : (k + c * CHUNK) * args.ldb);
#pragma unroll
        for (int i = 0; i < LINES; i++) {
#pragma unroll
            for (int j = 0; j < LOADS; j++) {
                long long left_k =
                    gt_depth(args) - (k + c * CHUNK + (GT_TRANS_B ? j * V : i) + lane.k);
                long long left_n = args.n - (lane.column + (GT_TRANS_B ? i * 8 : j * V));
                long long along = GT_TRANS_B ? left_k : left_n;
                long long across = GT_TRANS_B ? left_n : left_k;
                gt_vec<GT_IN, V> &load = tile.b[c].load[i][j];
                if (WHOLE || (along >= V && across > 0))
                    load = gt_stream_vec<GT_IN, V>(line + j * V);
                else
                    load.word = edge<V>(line + j * V, across > 0 && along > 0 ? (int)along : 0);
            }
            line += GT_TRANS_B ? 8 * args.ldb : args.ldb;
        }
    }
}

/* Word `q` of the vector of every column of the lane. */
GT_DEVICE void words_of(const ChunkOfB &vector, int q, unsigned (&word)[LANE_COLUMNS])
{
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++)
        if constexpr (GT_TRANS_B || SIZE == 4)
            word[i] =
                GT_TRANS_B ? vector.word[i % LINES][q] : vector.word[q % LINES][i % (LOADS * V)];
        else if constexpr (SIZE == 2)
            word[i] = __byte_perm(vector.word[2 * q % LINES][i / 2],
                                  vector.word[(2 * q + 1) % LINES][i / 2], i % 2 ? 0x7632 : 0x5410);
        else {
            constexpr unsigned pick[4] = {0x0040, 0x0051, 0x0062, 0x0073};
            unsigned low = __byte_perm(vector.word[4 * q % LINES][i / 4],
                                       vector.word[(4 * q + 1) % LINES][i / 4], pick[i % 4]);
            unsigned high = __byte_perm(vector.word[(4 * q + 2) % LINES][i / 4],
                                        vector.word[(4 * q + 3) % LINES][i / 4], pick[i % 4]);
            word[i] = __byte_perm(low, high, 0x5410);
        }
}

#endif
