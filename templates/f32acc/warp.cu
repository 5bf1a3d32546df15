/* warp.cu - FP32 products on tensor cores by warp (mma.sync, sm_80 and later), as accurate as FP32
 * arithmetic; operands of any alignment are split between shared memory and registers.
 *
 *                 BN                A block of WARPS_M x WARPS_N warps computes BM x BN elements of
 *            +----+----+----+       D, 32 of k at a time, from a ring of STAGES tiles of floats in
 *         32 | B  |    |    |       shared memory. A warp computes WM x WN of them.
 *            +----+----+----+
 *      32        WN                 A warp takes 16 of k at a time. It splits each float it loads
 *    +----+  +----+----+----+       into three bfloat16 numbers (parts.cuh), high, mid and low, and
 *    | A  |  | w0 | w1 | w2 | WM    adds six products of parts on the tensor cores, the small ones
 * BM +----+  +----+----+----+       first. Tensor cores truncate when they add. So a step's sum
 *    |    |  | w3 | w4 | w5 |       is added to the sums so far by FP32 additions, which round.
 *    +----+  +----+----+----+
 *
 * SPLIT 1 (split-K): the depth is divided over SPLITS blocks; the entry `reduce` adds their sums.
 *
 * Infinities and values that would round to infinity have no parts: a warp that meets one, or whose
 * sums are beyond float (exact.cuh), computes its tile again from A and B by FP32 FMAs. Parts below
 * 2^-126 are subnormal, and what is below 2^-134 is lost, where FP32 would have kept 2^-150. */
#include "common/tensor.cuh"
#include "common/mma.cuh"

constexpr int BK = 32; /* depth of a tile */
constexpr int BM = WM * WARPS_M, BN = WN * WARPS_N, THREADS = 32 * WARPS_M * WARPS_N;

/* The workspace holds nothing but the sums of parts of the depth. */
GT_DEVICE long long partial_begin(const gt_args &)
{
    return 0;
}

#include "f32acc/reduce.cuh"
#include "f32acc/warp_operand.cuh"
#include "f32acc/warp_products.cuh"

/* The block's tile and its part of the depth. */
GT_DEVICE Work work_of(const gt_args &args)
{
    const gt_tile tile =
        gt_raster(blockIdx.x, (unsigned)gt_cdiv(args.m, BM), (unsigned)gt_cdiv(args.n, BN), GROUP);
    const long long depth = gt_depth(args);
    const long long part = SPLIT ? gt_cdiv(gt_cdiv(depth, BK), SPLITS) * BK : depth;
    Work work;
    work.row = tile.row * BM;
    work.column = tile.column * BN;
    work.k = min(blockIdx.y * part, depth);
    work.k_end = min(work.k + part, depth);
    return work;
}

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(float, shared);
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Sums sums;
        multiply(args, work, batch, shared, sums);
        const Target target(args, batch, blockIdx.y);
        if (sums.is_special())
            store_special(args, work, batch, target);
        else
            sums.store(work, target);
        gt_sync(); /* before the ring is filled for the next matrix */
    }
}

#if SPLIT
GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    reduce_sums(args);
}
#endif
