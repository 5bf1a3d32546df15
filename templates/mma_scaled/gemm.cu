/* gemm.cu - products of 8-bit numbers with factors, by warp (mma.sync), sm_80 and later (of floats
 * sm_89): mma's tiles, copies and stores.
 *
 *                        BN
 *               +-----------------+  x  a factor for each column of B, or one for all
 *            BK |        B        |
 *               +-----------------+     A block computes BM x BN elements of D as in mma/gemm.cu. A
 *         BK     WN                     lane's sums are multiplied by the factors of their rows and
 *       +----+ +-----+-----+-----+      columns when the block's part of k is done (factors.cuh):
 *   x   |    | | w0  | w1  | w2  | WM   what parts of the depth leave in the workspace, or in the
 *       | A  | +-----+-----+-----+      shared memory of a cluster, has its factors already.
 *       |    | | w3  | w4  | w5  |
 *       +----+ +-----+-----+-----+      With promoted sums each instruction's 32 of k are added in
 *                                       FP32 (promote.cuh). Factors of blocks along k multiply
 *                                       the sums of each 128 of k (blocks.cuh). Sums of integers
 *                                       become floats when they get their factors.
 */
#include "common/tensor.cuh"
#include "common/factors.cuh"

#include "common/mma_typed.cuh"
#include "common/split_k.cuh"
#include "common/warp_tile.cuh"

/* What this kernel does not choose. */
#define PACK_A    0
#define PACK_B    0
#define SMALL_MMA 0
#define SWIZZLE   1
#define ORDER     0

#include "mma_scaled/promote.cuh"
#include "mma/gemm_layout.cuh"
#include "pack/pack.cuh"

#include "mma/gemm_operand.cuh"
#include "mma/gemm_multiply.cuh"
#include "mma_scaled/sums.cuh"
#include "mma/gemm_store.cuh"
#include "mma/gemm_work.cuh"
#include "mma_scaled/factors.cuh"
#include "mma_scaled/blocks.cuh"

GT_KERNEL_MORE_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    Position p;
    if (!EARLY) /* else behind the first loads */
        p = position(threadIdx.x);
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Products products;
        products.clear();
#if GT_SCALE_A == GT_SCALE_BLOCK
        accumulate_blocks(args, more, work, batch, shared, p, products);
#else
        accumulate(args, work, batch, shared, p, products);
#endif
        gt_cp_async_wait<0>();
        gt_sync(); /* the last tile has been read */
        if (WARPS_K > 1) {
            gt_add_slices<SUMS, THREADS / WARPS_K, WARPS_K>(
                &products.sum[0][0][0], p.slice, reinterpret_cast<SumRegister *>(shared), add_sums);
            gt_sync();
        }
        ScaledSums acc;
        if (p.slice == 0)
            scale_sums(args, more, work, p, products, acc);
#if SPLIT_MODE == 3
        store_part(args, work, batch, shared, p, acc);
#else
        if (p.slice == 0)
            store_tile(args, work, batch, shared, p, acc);
#endif
        if (EARLY)
            break; /* the grid has a block for every matrix */
        gt_sync(); /* the ring is filled again for the next matrix */
    }
}

#include "mma/gemm_split.cuh"
