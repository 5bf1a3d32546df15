/* gemm.cu - FP32 products on Hopper's tensor cores (sm_90a), as accurate as FP32 arithmetic.
 *
 *   A, B (float) --split--> high, mid, low (bfloat16) --gemm--> D (float)
 *
 *      BK of k                     BN
 *    +------+                +-------------+      `split` writes each operand as a sum of three
 *    | high |  three boxes   | consumer 0  | 64   bfloat16 numbers (split_three.cuh). In `gemm`, which is
 *    | mid  |  of A, three   +-------------+      persistent, a block has tile after tile of D.
 *    | low  |  of B: a stage | consumer 1  | 64   One thread fills a ring of STAGES stages by TMA,
 *    +------+                +-------------+      and the CONSUMERS warpgroups multiply.
 *
 * Six of the nine products of parts (PRODUCTS 6) are enough for FP32's last bit; high * high is 2^8
 * times as large as the others. Tensor cores truncate when they add. So after every PROMOTE values
 * of k (a window of WINDOW stages) their sums are promoted: FP32 additions, which round, take them
 * over. Within a stage the small products come first, while the sum is small.
 *
 * SPLIT 1 (split-K): the depth is divided over SPLITS blocks; the entry `reduce` adds their sums.
 * CLUSTER_M, CLUSTER_N: blocks of a cluster load operands for each other
 * (hopper/cluster_share.cuh).
 *
 * Infinities: their parts would give inf - inf or inf * 0 where FP32 gives inf. Tiles of D that
 * depend on such an operand are computed again from A and B, by FP32 FMAs. So are 16 rows of a tile
 * whose sums are beyond float (exact.cuh). */
#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#define WGMMA_TYPE GT_BF16
#include "common/wgmma.cuh"

#define PACK_TILE 64 /* rows and columns of a tile of the launch `split` */
#define STORED 3
#include "f32acc/split_operand.cuh"
#include "f32acc/split_three.cuh"
#include "f32acc/split.cuh"
#include "f32acc/schedule.cuh"
#include "hopper/ring.cuh"
#include "f32acc/produce.cuh"
#include "f32acc/products.cuh"
#include "f32acc/store.cuh"

GT_KERNEL_BOUNDS(split, GT_PACK_THREADS, 6)
{
    split_both(args);
}

/* All tiles of the block, by one of its consumers. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &, const Ring &ring, int consumer)
{
    const Schedule schedule(args);
    Position position;

    for (unsigned index = schedule.first(args); index < schedule.works; index += schedule.step()) {
        const Work work = schedule.work_of(args, index);
        float sum[BN / 2];
        multiply(ring, position, consumer, work.windows, sum);
        if (is_special(args, work, consumer) || is_beyond_float<BN / 2>(sum))
            store_special(args, work, consumer);
        else
            store_sums(args, work, consumer, sum);
    }
}

#include "hopper/entry.cuh"

#if SPLIT
GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    reduce_sums(args);
}
#endif
