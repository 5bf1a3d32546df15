/* gemm.cu - products of narrow floats whose factors belong to blocks along k, which the tensor
 * cores multiply by themselves (sm_120a, mma.sync with block_scale): mma's tiles, copies and
 * stores.
 *
 *                        BN
 *               +-----------------+  x  a factor for each column of B and block of k
 *            BK |        B        |
 *               +-----------------+     A block computes BM x BN elements of D as in mma/gemm.cu.
 * Its BK     WN                     warps load the factors of their rows and columns one tile of
 *       +----+ +-----+-----+-----+      k ahead, four neighbours along k in a word (factors.cuh),
 * and x   |    | | w0  | w1  | w2  | WM   give a word of either operand to each instruction | A  |
 * +-----+-----+-----+      (multiply.cuh). What parts of the depth leave in the |    | | w3  | w4
 * | w5  |      workspace has its factors already.
 *       +----+ +-----+-----+-----+
 *
 * Sums stay in the tensor cores' accumulators. FP4 (NVFP4) has two numbers in a byte, and perhaps a
 * factor for a whole operand, which multiplies sums. Never run on a GPU: proved in the emulator. */

/* Two numbers of four bits lie in a byte, neighbours along k: tiles and copies see bytes. */
#define GT_E2M1 13
#if GT_TYPE == GT_E2M1
#define PAIRS 1
#undef GT_TYPE
#define GT_TYPE GT_E4M3
#else
#define PAIRS 0
#endif

#include "common/tensor.cuh"
#include "common/more.cuh"
#include "common/operands.cuh"

#include "common/mma_block.cuh"
#include "common/mma_typed.cuh"
#include "common/split_k.cuh"
#include "common/warp_tile.cuh"

/* What this kernel does not choose. */
#define PACK_A    0
#define PACK_B    0
#define SMALL_MMA 0
#define SWIZZLE   1
#define ORDER     0
#define WARPS_K   1
#define EARLY     0

#include "mma/gemm_layout.cuh"

constexpr int DEPTH_OF_FACTOR = PAIRS ? 16 : 32;
constexpr int TYPE_OF_FACTOR = PAIRS ? GT_FACTOR_UE4M3 : GT_FACTOR_UE8M0;
static_assert(GT_SCALE_A == GT_SCALE_BLOCK && GT_SCALE_A_ROWS == 1 &&
                  GT_SCALE_A_DEPTH == DEPTH_OF_FACTOR && GT_SCALE_A_TYPE == TYPE_OF_FACTOR,
              "a factor for each row of A and 32, or 16, of k");
static_assert(GT_SCALE_B == GT_SCALE_BLOCK && GT_SCALE_B_ROWS == 1 &&
                  GT_SCALE_B_DEPTH == DEPTH_OF_FACTOR && GT_SCALE_B_TYPE == TYPE_OF_FACTOR,
              "a factor for each column of B and 32, or 16, of k");

constexpr int BLOCKS = BK_BYTES * (PAIRS ? 2 : 1) / DEPTH_OF_FACTOR; /* k blocks of a tile */
constexpr int WORDS = BLOCKS / 4;            /* words of factors of a tile's row */
constexpr int STEPS_OF_WORD = PAIRS ? 1 : 4; /* steps that a word serves */

#include "pack/pack.cuh"

#include "mma/gemm_operand.cuh"
#include "mma/gemm_multiply.cuh"
#include "mma/gemm_store.cuh"
#include "mma/gemm_work.cuh"
#include "mma_block/factors.cuh"
#include "mma_block/multiply.cuh"

/* The product with bytes of A and B as its elements. */
GT_DEVICE gt_args in_bytes(gt_args args)
{
    if (PAIRS) {
        args.k /= 2;
        args.lda /= 2;
        args.ldb /= 2;
        args.stride_a /= 2;
        args.stride_b /= 2;
    }
    return args;
}

/* Multiplies the sums by the factors of whole operands, if these have them beside those of blocks.
 */
GT_DEVICE void scale_sums(const gt_more &more, Accumulator &acc)
{
    const float factor = (GT_SCALE_A_TENSOR ? __ldg(more.scale_a_tensor) : 1.0f) *
                         (GT_SCALE_B_TENSOR ? __ldg(more.scale_b_tensor) : 1.0f);
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int j = 0; j < WN / 8; j++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                acc.sum[i][j][r] *= factor;
}

GT_KERNEL_MORE_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    const gt_args product = in_bytes(args);
    const Position p = position(threadIdx.x);
    const Work work = work_of(product);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
        accumulate_blocks(product, more, work, batch, shared, p, acc);
        if (GT_SCALE_A_TENSOR || GT_SCALE_B_TENSOR)
            scale_sums(more, acc);
        gt_cp_async_wait<0>();
        gt_sync(); /* the last tile has been read */
        store_tile(args, work, batch, shared, p, acc);
        gt_sync(); /* the ring is filled again for the next matrix */
    }
}

#include "mma/gemm_split.cuh"
