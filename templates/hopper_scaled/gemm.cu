/* gemm.cu - products of 8-bit floats with factors for Hopper (sm_90a): hopper's ring, schedule,
 * producer and stores.
 *
 *     128 of k                BN            x  a factor for each column, or one for all
 *    +---+---+---+    +--------------+
 * BM | 0 | 1 | 2 |    |  consumer 0  |  x   The consumers copy the factors of their rows and of the
 *    +---+---+---+    +--------------+  a   tile's columns to shared memory while the products run,
 *      stages of A    |  consumer 1  |      and multiply the sums by them when these are complete
 *    +---+---+---+    +--------------+      (factors.cuh): so do parts of the depth (SPLIT).
 * BN | 0 | 1 | 2 |     a tile of D
 *    +---+---+---+                          Promoted sums: after every 128 of k, what the tensor
 *      stages of B                          cores have added is added in FP32 (promote.cuh), and
 *                                           multiplied by factors of blocks along k (blocks.cuh).
 *
 * All else is as in hopper/gemm.cu, which explains PINGPONG, clusters, SPLIT, SWAP_AB and EARLY. With
 * SWAP_AB the rows of what is computed are the columns of D, and have B's factors. */

/* How many of the description's maps may be used. */
#if PACK_A || PACK_B
#define GT_MAPS 6
#elif SPLIT == 1
#define GT_MAPS 4
#else
#define GT_MAPS 3
#endif

/* What this kernel does not choose. */
#define ROW_PHASES 1
#define STREAM     0
#define HALVES     0
#define WIDE_BOXES 0
#define DEPENDENT  0
#define LOADS_C    0

#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/wgmma.cuh"
#if BN % 16
#include "common/wgmma_odd.cuh"
#endif
#include "common/factors.cuh"

#include "pack/pack.cuh"
#include "hopper/layout.cuh"
#include "hopper/ring.cuh"
#include "hopper/schedule.cuh"
#include "hopper/produce.cuh"
#include "hopper/consume.cuh"
#include "hopper/finish.cuh"
#include "hopper/reduce.cuh"
#include "hopper/store.cuh"
#include "hopper/store_rows.cuh"
#include "hopper/swapped.cuh"
#include "hopper_scaled/factors.cuh"
#include "hopper_scaled/promote.cuh"

/* All tiles of the block, by one of its consumers; as in hopper/gemm.cu. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &maps, const gt_more &more,
                           const Ring &ring, int consumer)
{
    const auto &product = product_of(args);
    Schedule schedule(product);
    Position position;
    Work work, next;
    int number = 0; /* of the block's tile */

    if (EARLY && FOLLOWS)
        gt_pdl_wait();
    if (STORE > 0 && !STORE_ROWS && threadIdx.x == 128)
        gt_tma_prefetch(&maps.map[MAP_D]);
    for (bool more_work = schedule.next(product, work); more_work; work = next) {
        if (PINGPONG && number++ % CONSUMERS != consumer) {
            position.skip(work.steps);
            more_work = schedule.next(product, next);
            continue;
        }
        const Factors factors(ring, consumer);
        Sum sum[BLOCKS_64][BN / 2];
        factors.load(product, more, work, consumer);
        if (PINGPONG)
            wait_for_turn(ring, number - 1);
        if (PROMOTED) {
            BlockFactors blocks(args, more, work, consumer);
            multiply_promoted(ring, position, consumer, work, blocks, sum);
        } else {
            multiply(ring, position, consumer, work, 0, work.steps, sum);
        }
        more_work = schedule.next(product, next);
        if (STORE > 0 && !STORE_ROWS && !EARLY)
            wait_for_subtiles(consumer);
        if (!PROMOTED && MMA_PENDING == 0)
            finish_stage(ring, position, consumer_rank());
        factors.scale(consumer, sum);
        store(args, maps, ring, consumer, work, sum);
        if (SPLIT == 2) {
            cluster_barrier();
            cluster_reduce(args, ring, work);
        }
        if (!EARLY)
            factors.release(consumer);
    }
    store_finish();
}

/* hopper's entry with one more argument, which the consumers read. */
#undef GT_KERNEL_MAPS_BOUNDS
#define GT_KERNEL_MAPS_BOUNDS                     GT_KERNEL_MAPS_MORE_BOUNDS
#define consume_all(args, maps, ring, consumer) consume_all(args, maps, more, ring, consumer)
#include "hopper/entry.cuh"
