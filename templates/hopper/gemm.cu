/* gemm.cu - the production kernel for Hopper (sm_90a), by TMA, mbarriers and wgmma; for f16, bf16,
 * tf32, e4m3, e5m2 and s8.
 *
 *     128 bytes of k          BN
 *    +---+---+---+    +--------------+   Persistent: each block computes one tile of D
 * BM | 0 | 1 | 2 |    |  consumer 0  |   after the other, in the order of schedule.cuh. One thread,
 *    +---+---+---+    +--------------+   the producer, keeps a ring of STAGES stages of A and B
 *      stages of A    |  consumer 1  |   filled by TMA. The CONSUMERS warpgroups multiply what has
 *    +---+---+---+    +--------------+   arrived, straight from shared memory, and store the tile.
 * BN | 0 | 1 | 2 |     a tile of D
 *    +---+---+---+      full[s]:  producer and TMA -> consumers: stage s has arrived
 *      stages of B      empty[s]: consumers -> producers of the cluster: stage s may be refilled
 *
 * PINGPONG 0: the consumers share a tile, each has some of its rows. 1: they take turns at whole
 * tiles, so that one stores while the other multiplies.
 *
 * A cluster of CLUSTER_M x CLUSTER_N blocks computes as many neighbouring tiles. Blocks in the same
 * row of the cluster need the same A: each loads a part of it into the shared memory of all of
 * them. Blocks in the same column do so with B.
 *
 * SPLIT 1 (split-K): the depth is divided over SPLITS blocks, which leave their sums in the
 * workspace; the entry `reduce` adds them in the order of k. SPLIT 2: these blocks are in one
 * cluster, which has CLUSTER_M x CLUSTER_N blocks for each part of the depth and adds the sums
 * through shared memory.
 *
 * STREAM (stream-K): the stages of the last one or two rounds' tiles are divided evenly over all
 * clusters; the sums of a tile's parts are added through the workspace (stream.cuh).
 *
 * SWAP_AB: D^T = B^T A^T is computed (swapped.cuh).
 *
 * HALVES: a half of a tile's sums is stored while the other half, or the next tile, is multiplied
 * (halves.cuh).
 *
 * LOAD_C: C comes by TMA while the products run, to where D is left for TMA (load_c.cuh).
 *
 * EARLY: a block has one tile, and finds it in its place in a grid of three dimensions, without the
 * divisions of an order and the search for another tile.
 *
 * DEPENDENT: the launch begins while the one before it still runs, which may be another product's:
 * barriers and tensor maps are ready when that has ended (gt_pdl_wait in hopper/entry.cuh), and only
 * then is memory read or written.
 *
 * TMA needs rows that begin at multiples of 16 bytes; wgmma needs 8-bit types and tf32 along k.
 * Other operands are first copied into the workspace (PACK_A, PACK_B). An A along k, with a B along
 * n, can do without a copy, by row phases:
 *
 *    0 |  a a a a a      Every ROW_PHASES-th row of A is in the same row phase. Such rows begin
 *    1 | . b b b b b     alike modulo 16 bytes, and each phase has a tensor map of its own. A tile
 *    2 |  a a a a a      has rows of one phase. Where these begin some elements late, the rows of B
 *    3 | . b b b b b     for that tile do so too. Zeros replace what lies before A's first column. */

/* Whether tiles of C come by TMA; with SPLIT nothing but the parts' sums are loaded so. */
#define LOADS_C (LOAD_C && !SPLIT)

/* How many of the description's maps may be used. */
#if LOADS_C
#define GT_MAPS 17
#elif ROW_PHASES > 1 || WIDE_BOXES == 2
#define GT_MAPS 16
#elif PACK_A || PACK_B
#define GT_MAPS 6
#elif SPLIT == 1
#define GT_MAPS 4
#else
#define GT_MAPS 3
#endif
#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/arrival_counter.cuh"
#include "common/wgmma.cuh"
#if BN % 16
#include "common/wgmma_odd.cuh"
#endif
#if LOADS_C
#include "common/mma.cuh"
#endif

#include "pack/pack.cuh"
#include "hopper/layout.cuh"
#include "hopper/ring.cuh"
#include "hopper/schedule.cuh"
#include "hopper/produce.cuh"
#include "hopper/consume.cuh"
#include "hopper/finish.cuh"
#include "hopper/reduce.cuh"
#include "hopper/stream.cuh"
#include "hopper/store.cuh"
#include "hopper/store_rows.cuh"
#include "hopper/swapped.cuh"
#include "hopper/halves.cuh"
#include "hopper/load_c.cuh"

#if STREAM
/* The description rounds the number of arrival counters up to whole blocks. */
GT_KERNEL_BOUNDS(reset, RESET_THREADS, 1)
{
    gt_pdl_trigger();
    arrival_counters(args)[blockIdx.x * RESET_THREADS + threadIdx.x] = 0;
}
#endif

#if !HALVES
/* All tiles of the block, by one of its consumers. Without MMA_PENDING, the next tile is
 * determined, and the buffers for this one's subtiles are waited for, while the last products of
 * this tile run. With EARLY there is one tile, for which the buffers are free; yet it is a loop to
 * the compiler, which so computes in front of it where each thread stores. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &maps, const Ring &ring, int consumer)
{
    const auto &product = product_of(args);
    Schedule schedule(product);
    Position position;
    Work work, next;
    int number = 0; /* of the block's tile */
#if LOADS_C
    unsigned turn = 0; /* of the consumer's tile */
#endif

    if (EARLY && FOLLOWS)
        gt_pdl_wait();
    if (DEPENDENT) /* what it does before its own wait needs nothing that this launch leaves */
        gt_pdl_trigger();
    if (STORE > 0 && !STORE_ROWS && threadIdx.x == 128)
        gt_tma_prefetch(&maps.map[MAP_D]);
    for (bool more = schedule.next(product, work); more; work = next) {
        if (PINGPONG && number++ % CONSUMERS != consumer) {
            position.skip(work.steps);
            more = schedule.next(product, next);
            continue;
        }
        Sum sum[BLOCKS_64][BN / 2];
        if (PINGPONG)
            wait_for_turn(ring, number - 1);
#if LOADS_C
        if (turn == 0)
            offer_buffers(ring, position, consumer, work.steps);
#endif
        multiply(ring, position, consumer, work, 0, work.steps, sum);
        more = schedule.next(product, next);
        if (STORE > 0 && !STORE_ROWS && !EARLY && !LOADS_C)
            wait_for_subtiles(consumer);
        if (MMA_PENDING == 0)
            finish_stage(ring, position, consumer_rank());
#if LOADS_C
        bool stores = true;
#if STREAM
        stores = stream_fixup(args, ring, schedule, consumer, work, sum);
#endif
        store_over_c(args, ring, consumer, work, turn++, stores, sum);
#else
#if STREAM
        if (stream_fixup(args, ring, schedule, consumer, work, sum))
#endif
            store(args, maps, ring, consumer, work, sum);
#endif
        if (SPLIT == 2) {
            cluster_barrier();
            cluster_reduce(args, ring, work);
        }
    }
    store_finish();
}
#endif

#include "hopper/entry.cuh"
