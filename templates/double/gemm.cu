/* gemm.cu - FP64 products by FMA on CUDA cores or, with MMA, on tensor cores (sm_80 and later).
 *
 *                    BN                   A block computes BM x BN elements of D. It goes along k
 *           +-----------------+           in tiles of depth BK, which lie in a ring of STAGES tiles
 *        BK |      op(B)      |           in shared memory; cp.async fills them (sm_80 and later,
 *           +-----------------+           before that loads and stores).
 *      BK     WN
 *    +----+ +-----+-----+-----+           A warp computes WM x WN of these elements, a lane TM x TN
 *    | op | | w0  | w1  | w2  | WM        of them in registers: pairs of neighbours that lie 2 WM /
 * BM | (A)| +-----+-----+-----+           TM or 2 WN / TN elements apart, so that the loads of a
 *    |    | | w3  | w4  | w5  |           warp from shared memory are contiguous.
 *    +----+ +-----+-----+-----+
 *
 * A tile lies in shared memory as k x m or k x n. An operand that is stored along k is transposed
 * on its way by copies of 8 bytes (PATH 0), or lies as it is stored and is read along m or n,
 * element by element (PATH 1).
 *
 * With MMA a lane's rows lie 8 apart, and of every 8 columns it has a pair: what an instruction
 * leaves in it (mma.cuh).
 *
 * With SPLIT 1 SPLIT_K blocks share a tile of D along k: they leave partial sums in the workspace,
 * which a second launch adds, always in the same order.
 */
#include "common/problem.cuh"

#include "common/split_k.cuh"
#include "common/more.cuh"

constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;

static_assert(LANES_M * LANES_N == 32, "a warp tile is covered by 32 lanes");
static_assert(TM % 2 == 0 && TN % 2 == 0, "a lane has pairs");
static_assert(STAGES >= 2, "the copies of a tile overlap the arithmetic of another one");

#include "double/mma.cuh"
#include "double/operand.cuh"
#include "double/store.cuh"

typedef Operand<BM, GT_TRANS_A == 0, PATH_A, VEC_A> X;
typedef Operand<BN, GT_TRANS_B == 1, PATH_B, VEC_B> Y;

constexpr int STAGE = X::SIZE + Y::SIZE; /* doubles */

/* Where this thread's elements are in the block's tile. */
struct Position {
    int row, column; /* of the warp's first element */
    int lane_m, lane_n;
};

GT_DEVICE Position position()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return Position{warp / (BN / WN) * WM, warp % (BN / WN) * WN, lane / LANES_N, lane % LANES_N};
}

/* The operands of one step of k. */
struct Fragment {
    double x[TM], y[TN];

    GT_DEVICE void load(const double *stage, const Position &p, int k)
    {
        load_elements<X>(x, stage + p.row * (X::ALONG_K ? X::LINE : 1), k, p.lane_m, LANES_M);
        load_elements<Y>(y, stage + X::SIZE + p.column * (Y::ALONG_K ? Y::LINE : 1), k, p.lane_n,
                         LANES_N);
    }
};

#if MMA
/* Adds the products of a tile by instructions of MMA of k; with 16 rows, where MMA_ROWS says so. */
GT_DEVICE void multiply(double (&sum)[TM][TN], const double *stage, const Position &p)
{
    constexpr int PARTS = MMA / 4, HIGH = MMA_ROWS / 8;
    const double *x = stage + (p.row + p.lane_m) * (X::ALONG_K ? X::LINE : 1);
    const double *y = stage + X::SIZE + (p.column + p.lane_m) * (Y::ALONG_K ? Y::LINE : 1);

    static_assert(LANES_M == 8 && BK % MMA == 0 && TM % HIGH == 0, "whole instructions");
#pragma unroll
    for (int k = 0; k < BK; k += MMA) {
        double b[TN / 2][PARTS];
#pragma unroll
        for (int j = 0; j < TN / 2; j++)
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                b[j][part] = y[Y::offset(8 * j, k + 4 * part + p.lane_n)];
#pragma unroll
        for (int i = 0; i < TM; i += HIGH) {
            double a[PARTS][HIGH];
#pragma unroll
            for (int part = 0; part < PARTS; part++)
#pragma unroll
                for (int u = 0; u < HIGH; u++)
                    a[part][u] = x[X::offset(8 * (i + u), k + 4 * part + p.lane_n)];
#pragma unroll
            for (int j = 0; j < TN / 2; j++) {
                double *rows[HIGH];
#pragma unroll
                for (int u = 0; u < HIGH; u++)
                    rows[u] = &sum[i + u][2 * j];
                mma<MMA_ROWS, MMA>(rows, a, b[j]);
            }
        }
    }
}
#else
/* Adds the products of a tile. */
GT_DEVICE void multiply(double (&sum)[TM][TN], const double *stage, const Position &p)
{
    Fragment values[FRAGMENTS];

    if (FRAGMENTS == 2)
        values[0].load(stage, p, 0);
#pragma unroll
    for (int k = 0; k < BK; k++) {
        const Fragment &now = values[k % FRAGMENTS];
        if (FRAGMENTS == 1)
            values[0].load(stage, p, k);
        else if (k + 1 < BK)
            values[(k + 1) % FRAGMENTS].load(stage, p, k + 1);
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                sum[i][j] = fma(now.x[i], now.y[j], sum[i][j]);
    }
}

#endif

/* Adds the products of the block's part of k. */
GT_DEVICE void accumulate(double (&sum)[TM][TN], X &x, Y &y, long long depth, double *shared,
                          const Position &p)
{
    const long long tiles = gt_cdiv(depth, BK);
    int use = 0, fill = STAGES - 1; /* the stages that are read and written next */

#pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) {
            const long long left = depth - s * BK;
            x.begin(shared + s * STAGE, left < BK ? (int)left : BK);
            y.begin(shared + s * STAGE + X::SIZE, left < BK ? (int)left : BK);
        }
        gt_cp_async_commit();
    }
#pragma unroll 1
    for (long long tile = 0; tile < tiles; tile++) {
        gt_cp_async_wait<STAGES - 2>();
        gt_sync(); /* the tile is there, and nobody reads the one before it any more */
        if (tile + STAGES - 1 < tiles) {
            const long long left = depth - (tile + STAGES - 1) * BK;
            x.begin(shared + fill * STAGE, left < BK ? (int)left : BK);
            y.begin(shared + fill * STAGE + X::SIZE, left < BK ? (int)left : BK);
        }
        gt_cp_async_commit();
        multiply(sum, shared + use * STAGE, p);
        use = use + 1 == STAGES ? 0 : use + 1;
        fill = fill + 1 == STAGES ? 0 : fill + 1;
    }
}

/* Stores the sums; `row` and `column` are the block's first ones. */
GT_DEVICE void store(const double (&sum)[TM][TN], const gt_args &args, const gt_more &more,
                     long long batch, long long row, long long column, const Position &p)
{
    constexpr bool ROWS_APART = MMA || X::ALONG_K, COLUMNS_APART = !MMA && Y::ALONG_K;
    constexpr int COUNT = COLUMNS_APART ? 1 : SPLIT ? 2 : VEC_C; /* neighbours in a row of D */
    const Output output = output_of(args, more, batch);

#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j += COUNT) {
            const long long at_row = row + p.row + element<ROWS_APART>(i, p.lane_m, LANES_M);
            const long long at_column =
                column + p.column + element<COLUMNS_APART>(j, p.lane_n, LANES_N);
            if constexpr (SPLIT)
                store_part<COUNT>(args, batch, at_row, at_column, &sum[i][j]);
            else
                store_row<COUNT>(output, at_row, at_column, &sum[i][j]);
        }
}

GT_KERNEL_MORE_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(double, shared);
    const gt_tile tile = gt_raster(blockIdx.x, (unsigned)gt_cdiv(args.m, BM),
                                   (unsigned)gt_cdiv(args.n, BN), GROUP_M);
    const long long row = tile.row * BM, column = tile.column * BN;
    const gt_k_range k = gt_k_range_of(more.alpha != 0 ? args.k : 0, SPLIT ? SPLIT_K : 1,
                                       blockIdx.y, BK); /* A and B are not read where alpha is 0 */
    const Position p = position();

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        const double *a = static_cast<const double *>(args.a) + batch * args.stride_a;
        const double *b = static_cast<const double *>(args.b) + batch * args.stride_b;
        double sum[TM][TN] = {};
        X x;
        Y y;
        x.init(a, args.lda, row, k.first, args.m);
        y.init(b, args.ldb, column, k.first, args.n);
        accumulate(sum, x, y, k.end - k.first, shared, p);
        store(sum, args, more, batch, row, column, p);
        gt_cp_async_wait<0>();
        gt_sync(); /* the ring is filled again for the next matrix */
    }
}

#if SPLIT
/* D from the partial sums. */
GT_KERNEL_MORE_BOUNDS(reduce, 128, 1)
{
    const double *parts = static_cast<const double *>(args.workspace);
    const long long ld = partial_ld(args);

    gt_each_vector<2>(args, ld / 2, [&](long long row, long long column) {
        const Output output = output_of(args, more, row / args.m);
        double sum[2];
        gt_sum_splits(sum, parts + row * ld + column, args.batch * args.m * ld, SPLIT_K);
#pragma unroll
        for (int u = 0; u < 2; u += VEC_C)
            store_row<VEC_C>(output, row % args.m, column + u, sum + u);
    });
}
#endif
