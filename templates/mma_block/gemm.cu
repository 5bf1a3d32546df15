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
 * Sums stay in the tensor cores' accumulators. Never run on a GPU: proved in the emulator. */
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

static_assert(GT_SCALE_A == GT_SCALE_BLOCK && GT_SCALE_A_ROWS == 1 && GT_SCALE_A_DEPTH == 32 &&
                  GT_SCALE_A_TYPE == GT_FACTOR_UE8M0,
              "a factor for each row of A and 32 of k");
static_assert(GT_SCALE_B == GT_SCALE_BLOCK && GT_SCALE_B_ROWS == 1 && GT_SCALE_B_DEPTH == 32 &&
                  GT_SCALE_B_TYPE == GT_FACTOR_UE8M0,
              "a factor for each column of B and 32 of k");

constexpr int BLOCKS = BK_BYTES / 32; /* k blocks of a tile */
constexpr int WORDS = BLOCKS / 4;     /* words of factors of a tile's row */
constexpr int STEPS_OF_WORD = 4;      /* steps that a word serves */

#include "pack/pack.cuh"

#include "mma/gemm_operand.cuh"
#include "mma/gemm_multiply.cuh"
#include "mma/gemm_store.cuh"
#include "mma/gemm_work.cuh"
#include "mma_block/factors.cuh"
#include "mma_block/multiply.cuh"

GT_KERNEL_MORE_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    const Position p = position(threadIdx.x);
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
        accumulate_blocks(args, more, work, batch, shared, p, acc);
        gt_cp_async_wait<0>();
        gt_sync(); /* the last tile has been read */
        store_tile(args, work, batch, shared, p, acc);
        gt_sync(); /* the ring is filled again for the next matrix */
    }
}

#include "mma/gemm_split.cuh"
