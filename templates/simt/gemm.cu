/* gemm.cu - the production FP32 kernel for CUDA cores.
 *
 * X is op(A) and Y is op(B). With SWAP_AB the kernel computes the transposed product: X is op(B)^T
 * and Y is op(A)^T.
 *
 *                    BN                   A block computes BM x BN elements of X Y. It goes along k
 *           +-----------------+           in tiles of depth BK, which lie in a ring of STAGES tiles
 *        BK |        Y        |           in shared memory.
 *           +-----------------+
 *      BK     WN                          A warp computes WM x WN of these elements. With WARPS_K
 *    +----+ +-----+-----+-----+           > 1 several warps share a warp tile, and each of them
 *    |    | | w0  | w1  | w2  | WM        has a slice of the depth BK.
 * BM | X  | +-----+-----+-----+
 *    |    | | w3  | w4  | w5  |           A lane computes TM x TN elements in registers: vectors
 *    +----+ +-----+-----+-----+           of up to 4 that lie WM / TM lanes apart, so that the
 *                                         shared loads of a warp are contiguous.
 *
 * Each operand reaches shared memory by one of three paths, PATH_A and PATH_B, described below.
 *
 * Split-K: SPLIT_K blocks share a tile of D along k. SPLIT_MODE 1 sums their partial results from
 * the workspace in a second launch, always in the same order. SPLIT_MODE 2 adds them to D by
 * atomics, after a launch that wrote beta*C (+ bias). In SPLIT_MODE 3 the blocks are a cluster:
 * each of them finishes a part of the tile from the shared memory of all, in the same order, too.
 */
#include "common/gemm.cuh"

#include "common/split_k.cuh"
#include "common/warp_tile.cuh"

/* How an operand that is contiguous along k gets to shared memory: 0: 4-byte cp.async, transposed
 * on the way; 1: through registers, transposed; 2: as it is, read along k by 16-byte loads. One
 * that is contiguous along m or n: 0: cp.async; 1: through registers. */

constexpr int THREADS = (BM / WM) * (BN / WN) * WARPS_K * 32;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
constexpr int STEPS = BK / WARPS_K; /* k steps of a warp in a tile */

/* Steps in the loop body: a body that does not fit the instruction cache waits for instructions. */
constexpr int BODY = UNROLL ? UNROLL : STEPS;

/* Steps of the (last) body in which copies through registers reach shared memory: spread over the
 * arithmetic, or in one place that the other bodies jump over. */
constexpr int END_FIRST = BODY >= 4 ? BODY / 2 : BODY - 1;
constexpr int END_PARTS = BODY == STEPS && STEPS >= 4 ? STEPS - 1 - STEPS / 2 : 1;

static_assert(LANES_M * LANES_N == 32, "a warp tile is covered by 32 lanes");
static_assert(STEPS >= 2 && STAGES >= 2, "the pipeline overlaps at least two steps and two tiles");

#include "simt/gemm_operand.cuh"
#include "simt/gemm_accumulate.cuh"
#include "simt/gemm_store.cuh"

#if MAX_REGS > 0
GT_KERNEL(gemm) /* launch bounds would overrule the limit */
#else
GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
#endif
{
    GT_DYNAMIC_SHARED(float, shared);
    const Position p = position();
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
        accumulate(args, work, batch, shared, p, acc);
        gt_cp_async_wait<0>();
        if (WARPS_K > 1) {
            gt_sync(); /* the last tile has been read */
            gt_add_slices<TM * TN, THREADS / WARPS_K, WARPS_K>(
                &acc.sum[0][0], p.slice, shared, [](float x, float y) { return x + y; });
        }
        if constexpr (SPLIT_MODE == 3)
            store_part(args, work, batch, shared, p, acc);
        else if (p.slice == 0)
            store_tile(args, work, batch, p, acc);
        gt_sync(); /* the ring is filled again for the next matrix */
    }
}

#include "simt/reduce.cuh"

#if SPLIT_MODE == 2
/* D = beta*C (+ bias), which the splits then add to. */
GT_KERNEL(prepare)
{
    gt_each_vector<VEC_C>(args, gt_cdiv(args.n, VEC_C), [&](long long row, long long column) {
        const float zero[VEC_C] = {};
        gt_output_store<VEC_C>(gt_output_of(args, row / args.m), row % args.m, column, zero);
    });
}
#endif
