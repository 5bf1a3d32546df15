/* gemm.cu - the production kernel for tensor cores by warp (mma.sync), sm_75 and later: operands of
 * two, four or one bytes in any layout and of any alignment.
 *
 *                    BN                   A block computes BM x BN elements of D. It goes along k
 *           +-----------------+           in tiles of depth BK, which lie in a ring of STAGES tiles
 *        BK |        B        |           in shared memory.
 *           +-----------------+
 *      BK     WN                          A warp computes WM x WN of these elements. With WARPS_K
 *    +----+ +-----+-----+-----+           > 1 several warps share a warp tile, and each of them
 *    |    | | w0  | w1  | w2  | WM        has a slice of the depth BK.
 * BM | A  | +-----+-----+-----+
 *    |    | | w3  | w4  | w5  |           A step of a warp is 32 bytes of k. One ldmatrix loads 16
 *    +----+ +-----+-----+-----+           rows of A or 16 columns of B; for each pair of them two
 *                                         instructions multiply 16 x 8 elements of D each.
 *
 * An operand reaches shared memory in the layout of global memory, along k or along m and n, by
 * cp.async or through registers.
 *
 * Split-K: SPLIT_K blocks share a tile of D along k. SPLIT_MODE 1 sums their partial results from
 * the workspace in a second launch, always in the same order. SPLIT_MODE 2 adds them to D by
 * atomics, after a launch that wrote beta*C (+ bias). In SPLIT_MODE 3 the blocks are a cluster
 * (sm_90 and later): each of them finishes a part of the tile from the shared memory of all, in the
 * same order, too.
 *
 * EARLY, for short products: tile rows, tile columns and matrices are the dimensions of the grid, so
 * that no division comes before the first loads, and what only products and stores need is computed
 * behind these. */
#include "common/tensor.cuh"

#include "common/mma_typed.cuh"
#include "common/split_k.cuh"
#include "common/warp_tile.cuh"

#include "mma/gemm_layout.cuh"
#include "pack/pack.cuh"

#include "mma/gemm_operand.cuh"
#include "mma/gemm_multiply.cuh"
#include "mma/gemm_store.cuh"
#include "mma/gemm_work.cuh"

#if PACK_A || PACK_B
GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, GT_PACK_BLOCKS)
{
    gt_pack(args);
}
#endif

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    Position p;
    if (!EARLY) /* else behind the first loads */
        p = position(threadIdx.x);
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
#if PACK_A || PACK_B
        accumulate(gt_packed(args), work, batch, shared, p, acc);
#else
        accumulate(args, work, batch, shared, p, acc);
#endif
        gt_cp_async_wait<0>();
        gt_sync(); /* the last tile has been read */
        if (WARPS_K > 1) {
            gt_add_slices<SUMS, THREADS / WARPS_K, WARPS_K>(
                &acc.sum[0][0][0], p.slice, reinterpret_cast<SumRegister *>(shared), add_sums);
            gt_sync();
        }
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
