/* thin.cu - products of a few rows, FP32: bound by the one reading of B.
 *
 *                32 lanes x COLUMNS
 *            +--------------------+      A block computes ROWS rows of 32*COLUMNS columns of D over the
 *   warp 0   | k = 0..31          |      whole of k. Each warp takes 32 steps of k at a time: its lanes
 *            +--------------------+      hold those elements of A, one each, and pass them round by
 *   warp 1   | k = 32..63         |  B   shuffles; the elements of B go from memory to registers, DEPTH
 *            +--------------------+      steps ahead. B must lie along n.
 *   warp 0   | k = 32*WARPS...    |
 *            +--------------------+      The warps' sums meet in shared memory and are added in the
 *              ROWS x 32*COLUMNS  D      order of the warps: one launch, the same bits every time. */
#include "common/gemm.cuh"

#ifndef ROWS
#define ROWS 1 /* rows of D per block */
#endif
#ifndef COLUMNS
#define COLUMNS 1 /* neighbouring columns per lane: the floats of a load of B */
#endif
#ifndef WARPS
#define WARPS 16 /* warps of a block, which share k */
#endif
#ifndef DEPTH
#define DEPTH 32 /* loads of B in flight per lane */
#endif

constexpr int WIDTH = 32 * COLUMNS; /* columns of a block */

static_assert(32 % DEPTH == 0, "32 steps are whole rounds of loads");

/* Elements of A for 32 steps of k: lane i holds those of step k + i; zeros beyond the matrix. */
GT_DEVICE void load_a(const gt_args &args, const float *a, long long first, long long k, float *own)
{
    long long step = k + threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        own[r] = first + r < args.m && step < gt_depth(args)
                     ? __ldg(a + gt_offset_a(args, first + r, step))
                     : 0.0f;
}

/* Adds the products of 32 steps of k from `k` on, all of which exist if WHOLE. */
template <bool WHOLE>
GT_DEVICE void accumulate(const gt_args &args, const float *b, long long k, int valid,
                          const float *own, float (*sum)[COLUMNS])
{
#pragma unroll
    for (int base = 0; base < 32; base += DEPTH) {
        float piece[DEPTH][COLUMNS];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            bool exists = WHOLE || k + base + u < gt_depth(args);
            const float *from = b + (base + u) * args.ldb;
            if (exists && valid == COLUMNS)
                gt_load_global<COLUMNS>(piece[u], from);
            else
                gt_load_masked<COLUMNS>(piece[u], from, exists ? valid : 0);
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                float a = __shfl_sync(0xffffffffu, own[r], base + u);
#pragma unroll
                for (int c = 0; c < COLUMNS; c++)
                    sum[r][c] = fmaf(a, piece[u][c], sum[r][c]);
            }
    }
}

/* The sums of all warps, added in their order, into D. */
GT_DEVICE void finish(const gt_args &args, long long batch, long long first, float *shared,
                      const float (*sum)[COLUMNS])
{
    const gt_output output = gt_output_of(args, batch);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

#pragma unroll
    for (int r = 0; r < ROWS; r++)
        gt_store<COLUMNS>(shared + (warp * ROWS + r) * WIDTH + lane * COLUMNS, sum[r]);
    gt_sync();
    for (int e = threadIdx.x; e < ROWS * WIDTH; e += WARPS * 32) {
        float total = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            total += shared[w * ROWS * WIDTH + e];
        gt_output_store<1>(output, first + e / WIDTH,
                           blockIdx.x * (long long)WIDTH + e % WIDTH, &total);
    }
    gt_sync();
}

GT_KERNEL_BOUNDS(gemm, WARPS * 32, 1)
{
    GT_DYNAMIC_SHARED(float, shared);
    const long long column = blockIdx.x * (long long)WIDTH + threadIdx.x % 32 * COLUMNS;
    const long long left = args.n - column, first = blockIdx.y * (long long)ROWS;
    const int valid = left >= COLUMNS ? COLUMNS : left > 0 ? (int)left : 0;
    constexpr int STEP = WARPS * 32;

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        const float *a = gt_matrix_a(args, batch);
        const float *b = gt_matrix_b(args, batch) + column;
        float sum[ROWS][COLUMNS] = {}, own[ROWS], next[ROWS];
        long long k = threadIdx.x / 32 * 32;

        load_a(args, a, first, k, own);
        for (; k < gt_depth(args); k += STEP) {
            load_a(args, a, first, k + STEP, next);
            if (k + 32 <= gt_depth(args))
                accumulate<true>(args, b + k * args.ldb, k, valid, own, sum);
            else
                accumulate<false>(args, b + k * args.ldb, k, valid, own, sum);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                own[r] = next[r];
        }
        finish(args, batch, first, shared, sum);
    }
}
