/* gemv_operand.cuh - part of gemv.cu, whose parameters it uses: which elements of B a lane has, how
 * they come to its registers, and how A comes to shared memory. */
#ifndef GT_SKINNY_GEMV_OPERAND_CUH
#define GT_SKINNY_GEMV_OPERAND_CUH

#include "common/tensor.cuh"
#include "common/stream.cuh"

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

static_assert(V >= 1 && PANEL % TILE_K == 0, "loads of whole elements, panels of whole tiles");
static_assert(GT_TRANS_B ? DEPTH % COLUMNS == 0 : COLUMNS == 1 && DEPTH % 4 == 0,
              "whole steps; along n, k goes by fours");

typedef gt_run<GT_IN, V> Run;

/* A as it lies in shared memory: floats, or bytes where products are taken by fours. */
#if GT_TYPE == GT_S8
typedef signed char Staged;
#else
typedef float Staged;
#endif

/* What a lane loads of B. */
struct Lane {
    const GT_IN *from[GT_TRANS_B ? COLUMNS : 1]; /* its elements in tile 0 */
    int k;                                       /* of the first of them */
    int valid;  /* neighbouring columns that exist, V unless the matrix ends among them */
    bool whole; /* the same for all lanes of the block */
};

/* Column in the block of sum i of a lane. */
GT_DEVICE int lane_column(int warp, int lane, int i)
{
    return warp % WARPS_N * WARP_N +
           (GT_TRANS_B ? lane / LANES + i * GROUPS : lane % LANES * V + i);
}

/* Columns beyond the matrix are computed from one that exists, and never stored. */
GT_DEVICE Lane make_lane(const gt_args &args, long long batch)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const long long first = block_column(args);
    const GT_IN *b = gt_typed_b(args, batch);
    Lane own;

    own.k = warp / WARPS_N * WARP_K + (GT_TRANS_B ? lane % LANES * V : lane / LANES * 4);
    own.valid = V;
    own.whole = true;
    if (GT_TRANS_B) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            long long column = first + lane_column(warp, lane, c);
            own.from[c] = b + (column < args.n ? column : args.n - 1) * args.ldb + own.k;
        }
    } else {
        long long column = first + lane_column(warp, lane, 0);
        column = column < args.n ? column : 0;
        own.valid = args.n - column < V ? (int)(args.n - column) : V;
        own.whole = args.n % V == 0;
        own.from[0] = b + own.k * args.ldb + column;
    }
    return own;
}

/* The first `valid` elements of a run, zeros for the rest.  A function of its own: in line, it
 * would fill the instruction cache with code that is hardly ever run. */
__device__ __noinline__ Run::word_type edge(const GT_IN *from, int valid)
{
    Run run;
    run.word = Run::word_type();
#pragma unroll
    for (int i = 0; i < V; i++)
        if (i < valid)
            run.at[i] = from[i];
    return run.word;
}

/* Loads the lane's part of a tile that begins at `k`; of a tile that is not WHOLE, zeros where the
 * operand has ended. */
template <bool WHOLE>
GT_DEVICE void fetch(const gt_args &args, const Lane &lane, long long k, Run *run)
{
    const long long depth = gt_depth(args);
#pragma unroll
    for (int i = 0; i < DEPTH; i++) {
        constexpr int across = GT_TRANS_B ? COLUMNS : 1;
        /* Of the lane's k: lines follow each other, or fours of every group of lanes. */
        int step = GT_TRANS_B ? i / across * LINE : i / 4 * 4 * GROUPS + i % 4;
        const GT_IN *from = lane.from[i % across] + (GT_TRANS_B ? k + step : (k + step) * args.ldb);
        long long left = depth - (k + lane.k + step);
        if (WHOLE)
            run[i] = gt_stream_run<GT_IN, V>(from);
        else
            run[i] = gt_load_run_masked<GT_IN, V>(from, GT_TRANS_B ? left
                                                        : left > 0 ? lane.valid
                                                                   : 0);
    }
}

/* Where element k of a row of the panel lies: in the order in which lanes read it, four floats of
 * each lane side by side, if they take more than four of them. */
GT_DEVICE int panel_place(int k)
{
    constexpr bool dealt = GT_TRANS_B && sizeof(Staged) == 4 && V > 4;
    int within = k % LINE;
    return dealt ? k - within + within % V / 4 * (LANES * 4) + within / V * 4 + within % 4 : k;
}

GT_DEVICE Staged staged(GT_IN element)
{
#if GT_TYPE == GT_S8
    return element;
#else
    return gt_to_float<GT_TYPE>(element);
#endif
}

/* Stages ROWS x PANEL elements of op(A) from `first` on, by loads of `count` elements along k;
 * zeros beyond the matrix. */
template <int count>
GT_DEVICE void stage_by(const gt_args &args, const GT_IN *a, long long first, Staged *panel)
{
    constexpr int pieces = PANEL / count;
    const long long first_row = block_row(args), rows = args.m - first_row;
#pragma unroll 2
    for (int i = (int)threadIdx.x; i < ROWS * pieces; i += THREADS) {
        int row = i / pieces, k = i % pieces * count;
        long long left = row < rows ? gt_depth(args) - (first + k) : 0;
        gt_run<GT_IN, count> run = gt_load_run_masked<GT_IN, count>(
            a + gt_offset_a(args, first_row + row, first + k), left);
#pragma unroll
        for (int e = 0; e < count; e++)
            panel[row * PANEL + panel_place(k + e)] = staged(run.at[e]);
    }
}

GT_DEVICE void stage(const gt_args &args, const GT_IN *a, long long first, Staged *panel)
{
    constexpr int wide = 16 / (int)sizeof(GT_IN);
    bool aligned = reinterpret_cast<unsigned long long>(a) % 16 == 0 && args.lda % wide == 0;
    if (!GT_TRANS_A && TILE_K % wide == 0 && aligned)
        stage_by<wide>(args, a, first, panel);
    else
        stage_by<1>(args, a, first, panel);
}

#endif
