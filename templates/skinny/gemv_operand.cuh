/* gemv_operand.cuh - part of gemv.cu, whose parameters it uses: which elements of the operands a
 * lane has, and how it loads them. */
#ifndef GT_SKINNY_GEMV_OPERAND_CUH
#define GT_SKINNY_GEMV_OPERAND_CUH

#include "common/tensor.cuh"
#include "common/stream.cuh"
#include "skinny/edge.cuh"

constexpr int V = VEC / (int)sizeof(GT_IN);                 /* elements of a load of B */
constexpr int GROUPS = 32 / LANES;                          /* of lanes in a warp */
constexpr int STEPS = GT_TRANS_B ? DEPTH / COLUMNS : DEPTH; /* loads of a column, or of a lane */
constexpr int LINE = LANES * V; /* elements that a group of lanes loads together */

constexpr int SUMS = GT_TRANS_B ? COLUMNS : V; /* columns of D that a lane sums */
constexpr int WARP_N = GT_TRANS_B ? COLUMNS * GROUPS : LINE;
constexpr int WARP_K = GT_TRANS_B ? STEPS * LINE : STEPS * GROUPS;
constexpr int BLOCK_N = WARPS_N * WARP_N;
constexpr int TILE_K = WARPS_K * WARP_K; /* values of k that a block takes at a time */
constexpr int THREADS = 32 * WARPS_K * WARPS_N;

#include "skinny/skinny_finish.cuh"

static_assert(V >= 1, "loads of whole elements");
static_assert(GT_TRANS_B ? DEPTH % COLUMNS == 0 : COLUMNS == 1 && DEPTH % 4 == 0,
              "whole steps; along n, k goes by fours");

typedef gt_vec<GT_IN, V> Vector;

/* Elements of A along k that a lane loads together: those of a load of B, or of four of them. */
constexpr int ALONG = GT_TRANS_B ? V : 4;
constexpr int OF_A = GT_TRANS_B ? STEPS : STEPS / 4; /* such loads of a row */
typedef gt_vec<GT_IN, ALONG> VectorA;

/* What a lane loads of a tile. */
struct Tile {
    Vector b[DEPTH];
    VectorA a[OF_A][ROWS];
};

/* Where a lane's elements are. */
struct Lane {
    const GT_IN *b[GT_TRANS_B ? COLUMNS : 1]; /* in tile 0 */
    const GT_IN *a;                           /* in tile 0, in the block's first row */
    int k;                                    /* of the first of them */
    int rows;                                 /* of the block that exist */
    int valid;    /* neighbouring columns that exist, V unless the matrix ends among them */
    bool whole;   /* for all lanes of the block */
    bool vectors; /* A can be loaded by vectors */
};

/* Column in the block of sum i of a lane. */
GT_DEVICE int lane_column(int warp, int lane, int i)
{
    return warp % WARPS_N * WARP_N +
           (GT_TRANS_B ? lane / LANES + i * GROUPS : lane % LANES * V + i);
}

/* Columns beyond the matrix are computed from one that exists and never stored. */
GT_DEVICE Lane make_lane(const gt_args &args, long long batch)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const long long first = block_column(args);
    const GT_IN *a = gt_typed_a(args, batch), *b = gt_typed_b(args, batch);
    const long long left = args.m - block_row(args);
    Lane own;

    own.k = warp / WARPS_N * WARP_K + (GT_TRANS_B ? lane % LANES * V : lane / LANES * 4);
    own.a = a + gt_offset_a(args, block_row(args), own.k);
    own.rows = left < ROWS ? (int)left : ROWS;
    own.vectors = !GT_TRANS_A && reinterpret_cast<unsigned long long>(a) % sizeof(VectorA) == 0 &&
                  args.lda % ALONG == 0;
    own.valid = V;
    own.whole = true;
    if (GT_TRANS_B) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            long long column = first + lane_column(warp, lane, c);
            own.b[c] = b + (column < args.n ? column : args.n - 1) * args.ldb + own.k;
        }
    } else {
        long long column = first + lane_column(warp, lane, 0);
        column = column < args.n ? column : 0;
        own.valid = args.n - column < V ? (int)(args.n - column) : V;
        own.whole = args.n % V == 0;
        own.b[0] = b + own.k * args.ldb + column;
    }
    return own;
}

/* Loads the lane's part of a tile of B that begins at `k`; of one that is not WHOLE, zeros where
 * the operand has ended. */
template <bool WHOLE>
GT_DEVICE void fetch_b(const gt_args &args, const Lane &lane, long long k, Tile &tile)
{
    const GT_IN *row = lane.b[0] + k * args.ldb; /* where B lies along n */
#pragma unroll
    for (int i = 0; i < DEPTH; i++) {
        constexpr int across = GT_TRANS_B ? COLUMNS : 1;
        /* Of the lane's k: lines follow each other, or fours of every group of lanes. */
        int step = GT_TRANS_B ? i / across * LINE : i / 4 * 4 * GROUPS + i % 4;
        const GT_IN *from = GT_TRANS_B ? lane.b[i % across] + k + step : row;
        long long left = gt_depth(args) - (k + lane.k + step);
        long long valid = GT_TRANS_B ? left : left > 0 ? lane.valid : 0;
        if (WHOLE || valid >= V)
            tile.b[i] = gt_stream_vec<GT_IN, V>(from);
        else
            tile.b[i].word = edge<V>(from, valid > 0 ? (int)valid : 0);
        row += i % 4 == 3 ? (4 * GROUPS - 3) * args.ldb : args.ldb; /* needs few registers */
    }
}

/* The same of A. Rows beyond the matrix are computed from one that exists, and never stored. */
template <bool WHOLE>
GT_DEVICE void fetch_a(const gt_args &args, const Lane &lane, long long k, Tile &tile)
{
    const long long next_row = GT_TRANS_A ? 1 : args.lda;
#pragma unroll
    for (int i = 0; i < OF_A; i++) {
        const int step = GT_TRANS_B ? i * LINE : i * 4 * GROUPS;
        const GT_IN *from = lane.a + gt_offset_a(args, 0, k + step);
        const long long left = gt_depth(args) - (k + lane.k + step);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (lane.vectors && (WHOLE || left >= ALONG))
                tile.a[i][r] = gt_load_vec_global<GT_IN, ALONG>(from);
            else
                tile.a[i][r].word = edge<ALONG>(from, GT_TRANS_A ? args.lda : 1,
                                                left >= ALONG ? ALONG
                                                : left > 0    ? (int)left
                                                              : 0);
            from += r + 1 < lane.rows ? next_row : 0;
        }
    }
}

#endif
