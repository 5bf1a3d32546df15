/* pair.cu - FP32 products on Hopper's tensor cores (sm_90a) by pairs of FP16 numbers: three
 * products instead of the six of gemm.cu.
 *
 *   A, B (float) --split--> high, low (half) --gemm--> D (float)
 *
 *      BK of k                     BN
 *    +------+                +-------------+      `split` writes each operand as a sum of two half
 *    | high |   two boxes    | consumer 0  | 64   numbers; a tile of 64 x 64 has a factor of its
 *    | low  |   of A, two    +-------------+      own (split_pair.cuh). In `gemm`, one
 *    +------+   of B: a      | consumer 1  | 64   thread fills a ring of STAGES stages by TMA, and
 *               stage        +-------------+      the CONSUMERS warpgroups multiply
 *                                                 (pair_products.cuh).
 *
 * After 64 of k, where the factors change, sums are promoted: FP32 multiply-adds, which round, take
 * over what the tensor cores, which truncate, have added up.
 *
 * What is lost: a float has 24 bits, a pair 23, so that a quarter of all floats lose their last bit,
 * and low * low is left out. Both together are at most 8 u of a product |a||b| (u = 2^-24); of k
 * products with random signs they fall with the square root of k, while FP32 multiply-adds lose up
 * to u with each of k additions. Tiles with a value that a pair does not hold so well, and tiles with
 * rows of few nonzeros, whose products multiply-adds give exactly, are marked by `split`. What of D
 * depends on one is left out by `gemm`, and computed from A and B by three bfloat16 parts in the
 * launch `again` (pair_again.cuh). Where a few unmarked products make up an element, errors are
 * above those of multiply-adds: up to 7 u were seen (tests/emu/exactness.c).
 *
 * SPLIT 1 (split-K): the depth is divided over SPLITS blocks; the entry `reduce` adds their sums.
 * SPLIT 2: these blocks are a cluster, and add the sums in its shared memory; they store marked
 * elements as well, which `again` then stores anew. Otherwise `gemm` is persistent.
 *
 * CLUSTER_M, CLUSTER_N: blocks of a cluster load operands for each other
 * (hopper/cluster_share.cuh). */
#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#define WGMMA_TYPE WGMMA_ALL
#include "common/wgmma.cuh"

#define PACK_TILE 64        /* rows and columns of a tile of the launch `split` */
#define PROMOTE   PACK_TILE /* values of k that have a factor, and are added up by tensor cores */
#define STORED    2
#include "f32acc/split_operand.cuh"
#include "f32acc/split_pair.cuh"
#include "f32acc/split.cuh"
#include "f32acc/schedule.cuh"
#include "hopper/ring.cuh"
#include "f32acc/produce.cuh"
#include "f32acc/pair_store.cuh"
#include "f32acc/pair_products.cuh"

GT_KERNEL_BOUNDS(split, GT_PACK_THREADS, 7)
{
    split_both(args);
}

/* All tiles of the block, by one of its consumers. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &, const Ring &ring, int consumer)
{
    const Schedule schedule(args);
    Position position;
    Turns turns(ring, consumer);
    unsigned left = 0;

    gt_pdl_trigger(); /* `again` may begin; it waits for this launch before it reads */
    for (unsigned index = schedule.first(args); index < schedule.works; index += schedule.step()) {
        const Work work = schedule.work_of(args, index);
        float sum[BN / 2];
        const unsigned marked =
            multiply(Words(args, work), ring, position, turns, consumer, work.windows, sum);
        store_marks(args, work, consumer, marked);
#if SPLIT == 2
        leave_sums(ring, consumer, sum);
        cluster_barrier();
        cluster_reduce(args, ring, work);
#else
        store_groups<BN>(args, Target(args, work.batch, work.split), work.row + consumer * 64,
                         work.column, ~marked, sum);
#endif
        left |= marked;
    }
    if (threadIdx.x % 128 == 0)
        left_words(args)[blockIdx.x * CONSUMERS + consumer] = left != 0;
}

#include "hopper/entry.cuh"

#if SPLIT == 1
GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    reduce_sums(args);
}
#endif

#include "f32acc/pair_again.cuh"
