/* warptile.cu - rung 7: the block's tile is split over warps, a warp's over its lanes.
 *
 *      D of a block, BM x BN          D of a warp, WM x WN (LANES_M 4, LANES_N 8, TM 8, TN 8)
 *      +------+------+                +----+----+----+----+----+----+----+----+---- ... again
 *      |warp 0|warp 1|                | l0 | l1 | l2 | l3 | l4 | l5 | l6 | l7 | l0
 *    WM+------+------+                +----+----+----+----+----+----+----+----+----
 *      |warp 2|warp 3|                | l8 | l9 | ...                    |l15 | l8
 *      +------+------+                +----+--- ...        each cell is 4 x 4 elements of D
 *         WN                          and a lane has (TM / 4) x (TN / 4) of them: a warp's load of
 *                                     4 elements a lane covers neighbouring words of shared memory
 *
 * A's tile lies in shared memory as k x m.  PREFETCH 0: load a tile, barrier, multiply, barrier;
 * 1: the next tile is on its way to registers while this one is multiplied; 2: and then written to
 * a second buffer, so that one barrier a tile is enough.
 */

#include "common/gemm.cuh"

#define LANES_N (32 / LANES_M)
#define WM      (LANES_M * TM)
#define WN      (LANES_N * TN)
#define THREADS (BM / WM * (BN / WN) * 32)
#define LD_A    (BM + (GT_TRANS_A ? 0 : SKEW)) /* elements between rows of the tiles */
#define LD_B    (BN + (GT_TRANS_B ? SKEW : 0))
#define SIZE_A  (BK * LD_A)
#define SIZE_B  (BK * LD_B)

/* The operands of one k: a thread's rows of A and columns of B, in groups of 4. */
struct fragment {
    float a[TM], b[TN];

    GT_DEVICE void load(const float *tile_a, const float *tile_b, int k)
    {
#pragma unroll
        for (int i = 0; i < TM; i += 4)
            gt_load<4>(&a[i], tile_a + k * LD_A + i * LANES_M);
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            gt_load<4>(&b[j], tile_b + k * LD_B + j * LANES_N);
    }
};

/* Multiplies a tile; tile_a and tile_b point to the thread's first element in it. */
GT_DEVICE void multiply(float (&acc)[TM][TN], const float *tile_a, const float *tile_b)
{
    fragment values[FRAGMENTS];
    if (FRAGMENTS == 2)
        values[0].load(tile_a, tile_b, 0);
#pragma unroll
    for (int k = 0; k < BK; k++) {
        if (FRAGMENTS == 1)
            values[0].load(tile_a, tile_b, k);
        else if (k + 1 < BK)
            values[(k + 1) % FRAGMENTS].load(tile_a, tile_b, k + 1);
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                acc[i][j] = fmaf(values[k % FRAGMENTS].a[i], values[k % FRAGMENTS].b[j], acc[i][j]);
    }
}

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(float, shared); /* of each buffer: A's tile, B's tile */
    constexpr int BUFFER = SIZE_A + SIZE_B;
    gt_tile tile = gt_raster(blockIdx.x, (unsigned)gt_cdiv(args.m, BM),
                             (unsigned)gt_cdiv(args.n, BN), GROUP_M);
    long long first_row = tile.row * BM, first_column = tile.column * BN;
    long long left_m = args.m - first_row, left_n = args.n - first_column;
    long long depth = gt_depth(args);
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int row = warp / (BN / WN) * WM + lane / LANES_N * 4;
    int column = warp % (BN / WN) * WN + lane % LANES_N * 4;
    gt_staged<BM, BK, !GT_TRANS_A, VEC, THREADS> a;
    gt_staged<BN, BK, GT_TRANS_B, VEC, THREADS> b;
    a.begin(gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, first_row, 0), args.lda, thread);
    b.begin(gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, first_column), args.ldb, thread);
    float acc[TM][TN] = {};
    int buffer = 0;

    if (PREFETCH && depth > 0) {
        a.load_next(left_m, depth);
        b.load_next(left_n, depth);
        a.store<1, LD_A>(shared);
        b.store<1, LD_B>(shared + SIZE_A);
        gt_sync();
    }
    for (long long k0 = 0; k0 < depth; k0 += BK) {
        /* Without prefetch this tile is fetched, otherwise the next. */
        long long left_k = depth - k0 - (PREFETCH ? BK : 0);
        if (left_k > 0) {
            a.load_next(left_m, left_k);
            b.load_next(left_n, left_k);
        }
        if (PREFETCH == 0) {
            a.store<1, LD_A>(shared);
            b.store<1, LD_B>(shared + SIZE_A);
            gt_sync();
        }
        multiply(acc, shared + buffer + row, shared + buffer + SIZE_A + column);
        if (PREFETCH < 2)
            gt_sync();
        if (PREFETCH == 2)
            buffer = BUFFER - buffer;
        if (PREFETCH && left_k > 0) {
            a.store<1, LD_A>(shared + buffer);
            b.store<1, LD_B>(shared + buffer + SIZE_A);
            gt_sync();
        }
    }

    gt_output output = gt_output_of(args, blockIdx.z);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j += VEC)
            gt_output_store<VEC>(output, first_row + row + i / 4 * 4 * LANES_M + i % 4,
                                 first_column + column + j / 4 * 4 * LANES_N + j % 4, &acc[i][j]);
}
