/* gemm.cu - the production kernel of Hopper (sm_90a): TMA, mbarriers, wgmma; for f16, bf16, tf32,
 * e4m3, e5m2 and s8.
 *
 *       128 bytes of k          BN
 *      +---+---+---+    +--------------+   Blocks stay: each computes tile after tile of D, in
 *   BM | 0 | 1 | 2 |    |  consumer 0  |   the order of schedule.cuh.  One thread, the producer,
 *      +---+---+---+    +--------------+   keeps a ring of STAGES stages of A and B filled by TMA;
 *        stages of A    |  consumer 1  |   the CONSUMERS warpgroups multiply what has arrived,
 *      +---+---+---+    +--------------+   straight from shared memory, and store.
 *   BN | 0 | 1 | 2 |        of D
 *      +---+---+---+      full[s]:  producer and TMA -> consumers: stage s has arrived
 *        stages of B      empty[s]: consumers -> producers of the cluster: it may be refilled
 *
 * PINGPONG 0: the consumers share a tile, rows divided. 1: they take whole tiles by turns, so that
 * one stores while the other multiplies.
 *
 * A cluster of CLUSTER_M x CLUSTER_N blocks computes as many neighbouring tiles. Blocks in a row
 * of it need the same A: each loads a part of it into the shared memory of all; so do those of a
 * column with B.
 *
 * SPLIT 1: the depth is divided over SPLITS blocks, whose sums go to the workspace; the entry
 * `reduce` adds them in the order of k. SPLIT 2: those blocks are in one cluster, CLUSTER_M x
 * CLUSTER_N for each part of the depth, and add the sums through its shared memory.
 *
 * STREAM (stream-K): the stages of the tiles of the last one or two rounds are divided evenly over
 * all clusters; the sums of parts of a tile meet in the workspace (stream.cuh).
 *
 * SWAP_AB: D^T = B^T A^T, for a D of few rows (swapped.cuh).
 *
 * TMA wants rows at multiples of 16 bytes, wgmma 8-bit types and tf32 along k: other operands are
 * copied into the workspace first (PACK_A, PACK_B). A along k with B along n may do without:
 *
 *      0 |  a a a a a      Of every ROW_PHASES rows of A each belongs to another strand, whose rows
 *      1 | . b b b b b     begin alike modulo 16 bytes and have a map of their own. A tile has rows
 *      2 |  a a a a a      of one strand; where these begin some elements late, so do the rows of B
 *      3 | . b b b b b     for that tile. What lies before the first column of A becomes zeros. */

/* Of the maps of the description, as many as may be used. */
#if ROW_PHASES > 1
#define GT_MAPS GT_MAX_MAPS
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

#ifndef BM
#define BM 128 /* rows of D per tile */
#endif
#ifndef BN
#define BN 256 /* columns of D per tile */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles of A and B in flight */
#endif
#ifndef DEPTH
#define DEPTH 1 /* pieces of 128 bytes of k in a stage */
#endif
#ifndef CONSUMERS
#define CONSUMERS 2 /* warpgroups that multiply; one more loads */
#endif
#ifndef PINGPONG
#define PINGPONG 0 /* 1: a tile belongs to one consumer, they take turns */
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 1 /* blocks of a cluster along m, which share their B */
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1 /* blocks of a cluster along n, which share their A */
#endif
#ifndef MMA_PENDING
#define MMA_PENDING 1 /* stages whose products may still run when the next one's begin */
#endif
#ifndef STORE
#define STORE 4 /* slices of a consumer's sums in shared memory for TMA; 0: stores by threads */
#endif
#ifndef STORE_ROWS
#define STORE_ROWS 0 /* 1: slices go to D by threads, row by row, because TMA cannot write them */
#endif
#ifndef VEC_C
#define VEC_C 1 /* elements that a thread's own store to D may have */
#endif
#ifndef READ_C
#define READ_C 0 /* 1: beta is not 0 (SPLIT: that is the entry reduce's concern) */
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1 /* blocks that share an SM */
#endif
#ifndef SPLIT
#define SPLIT 0 /* 1: the depth is divided over SPLITS blocks, 2: which are a cluster */
#endif
#ifndef STREAM
#define STREAM 0 /* 1: the last round's tiles are divided over all clusters, 2: the last two rounds' */
#endif
#ifndef SWAP_AB
#define SWAP_AB 0 /* 1: D^T is computed, as B^T A^T: BM columns of D, BN rows */
#endif
#ifndef GROUP
#define GROUP args.launch[0] /* tile rows (columns with ORDER 1) of a raster group */
#endif
#ifndef ORDER
#define ORDER args.launch[1] /* 0: groups are rows of tiles, 1: columns */
#endif
#ifndef SPLITS
#define SPLITS args.launch[2] /* parts of the depth */
#endif

#ifndef PACK_A
#define PACK_A 0 /* 1: A is first copied to the workspace as stored, 2: turned */
#endif
#ifndef PACK_B
#define PACK_B 0 /* the same for B */
#endif
#ifndef ROW_PHASES
#define ROW_PHASES 1 /* strands of rows of A */
#endif

#include "pack/pack.cuh"
#include "hopper/layout.cuh"
#include "hopper/schedule.cuh"
#include "hopper/produce.cuh"
#include "hopper/consume.cuh"
#include "hopper/finish.cuh"
#include "hopper/reduce.cuh"
#include "hopper/stream.cuh"
#include "hopper/store.cuh"
#include "hopper/store_rows.cuh"
#include "hopper/swapped.cuh"

#if PACK_A || PACK_B
GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, GT_PACK_BLOCKS)
{
    gt_pdl_trigger();
    gt_pack(args);
}
#endif

#if STREAM
/* As many arrival counters as threads: the description rounds their number up. */
GT_KERNEL_BOUNDS(arm, ARM_THREADS, 1)
{
    gt_pdl_trigger();
    arrival_counters(args)[blockIdx.x * ARM_THREADS + threadIdx.x] = 0;
}
#endif

/* The producer makes the barriers: a thread of its own for each would take them in turn. */
GT_DEVICE void make_barriers(const ring &ring)
{
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        gt_mbarrier_init(ring.full + s, 1);
        gt_mbarrier_init(ring.empty + s, RELEASES);
    }
    if (PINGPONG)
        for (int i = 0; i < 2; i++)
            gt_mbarrier_init(ring.turn + i, 1);
    gt_mbarrier_publish();
}

/* Until the barriers are made: those of the whole cluster where its blocks write to each other's;
 * else the producer need not wait, and its first loads are under way before anybody else's first
 * step. */
GT_DEVICE void await_barriers()
{
    constexpr int warps = 1 + CONSUMERS * 4;
    if (CLUSTER > 1)
        gt_cluster_wait();
    else if (threadIdx.x >= 128)
        gt_named_barrier_sync(5, warps * 32);
    else if (threadIdx.x < 32)
        gt_named_barrier_arrive(5, warps * 32);
}

/* All tiles of the block, by one of its consumers. While the last products of a tile run (without
 * MMA_PENDING) the next one is found out, and the room for this one's sums is waited for. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &maps, const ring &ring, int consumer)
{
    const auto &product = product_of(args);
    schedule schedule(product);
    position position;
    work work, next;
    int number = 0; /* of the block's tile */

    for (bool more = schedule.next(product, work); more; work = next) {
        if (PINGPONG && number++ % CONSUMERS != consumer) {
            position.skip(work.steps);
            more = schedule.next(product, next);
            continue;
        }
        sum_type sum[BLOCKS_64][BN / 2];
        if (PINGPONG)
            wait_for_turn(ring, number - 1);
        multiply(ring, position, consumer, work, sum);
        more = schedule.next(product, next);
        if (STORE > 0 && !STORE_ROWS)
            await_slices(consumer);
        if (MMA_PENDING == 0)
            finish_stage(ring, position);
#if STREAM
        if (complete(args, ring, schedule, consumer, work, sum))
#endif
            store(args, maps, ring, consumer, work, sum);
        if (SPLIT == 2) {
            meet();
            gather(args, ring, work);
        }
    }
    store_finish();
}

GT_KERNEL_MAPS_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    const ring ring(shared);

    if (threadIdx.x == 0) {
        make_barriers(ring);
    } else if (threadIdx.x == 32) {
        gt_tma_prefetch(&maps.map[MAP_A]);
        gt_tma_prefetch(&maps.map[MAP_B]);
    }
    if (CLUSTER > 1)
        gt_cluster_arrive();
    if (threadIdx.x < 128) {
        gt_setmaxnreg_dec<PRODUCER_REGISTERS>();
        await_barriers();
        if (PACK_A || PACK_B)
            gt_pdl_wait(); /* for copies of operands */
        if (threadIdx.x == 0)
            produce_all(product_of(args), maps, ring);
        if (SPLIT == 2)
            meet();
    } else {
        gt_setmaxnreg_inc<CONSUMER_REGISTERS>();
        await_barriers();
        if (PACK_A || PACK_B)
            gt_pdl_wait();
        consume_all(args, maps, ring, (int)threadIdx.x / 128 - 1);
    }
    if (CLUSTER > 1 || SPLIT == 2) /* a block's memory is its neighbours' until they are done */
        gt_cluster_sync_relaxed();
}
