/* hopper.cuh - what sm_90 has beyond threads: barriers that count bytes, copies of whole boxes by
 * tensor map (TMA), clusters, register hand-over and the stores that go with them.  wgmma.cuh has
 * the matrix instructions.
 *
 *   producer thread                          consumer threads
 *   gt_mbarrier_wait(&empty[s], parity)      gt_mbarrier_wait(&full[s], parity)
 *   gt_mbarrier_arrive_expect_tx(&full[s], bytes)      ... read the stage ...
 *   gt_tma_load(stage, map, &full[s], ...)   gt_mbarrier_arrive(&empty[s])
 *
 * Every tensor map of the project has rank 3: x counts elements along the contiguous dimension, y
 * rows, z matrices of the batch; x is a multiple of 16 bytes.  What a box holds of places outside
 * of the map is zero when loaded (and counts as bytes all the same) and left alone when stored, but
 * that the last 16 bytes of a row are written as a whole. */
#ifndef GT_HOPPER_CUH
#define GT_HOPPER_CUH

#include "common/cluster.cuh"
#include "common/named_barrier.cuh"

/* A barrier in shared memory.  It completes a phase when as many threads as it was made for have
 * arrived and as many bytes as they announced have come.  The first phase has parity 0. */
typedef unsigned long long gt_mbarrier;

#ifdef GT_EMULATE
#include "emulate_hopper.h"
#else

/* ---- mbarriers ---- */

/* One thread makes a barrier, then gt_mbarrier_publish, then a barrier of all that will use it. */
GT_DEVICE void gt_mbarrier_init(gt_mbarrier *barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gt_shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

GT_DEVICE void gt_mbarrier_publish()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

GT_DEVICE void gt_mbarrier_arrive(gt_mbarrier *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gt_shared_address(barrier))
                 : "memory");
}

/* Arrives at the same barrier of block `rank` of the cluster.  It says that this thread has read
 * what it waited for, not that what it wrote can be seen there: that would take a fence of the
 * whole GPU
 * (.release.cluster). */
GT_DEVICE void gt_mbarrier_arrive_at(gt_mbarrier *barrier, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(gt_shared_address(barrier)),
                 "r"(rank)
                 : "memory");
}

/* Arrives, and announces that `bytes` more will come before the phase is complete. */
GT_DEVICE void gt_mbarrier_arrive_expect_tx(gt_mbarrier *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gt_shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Waits until the phase of this parity is complete.  A barrier in its first phase counts as having
 * completed one of parity 1.  Parity tells two phases apart, no more: nobody may wait for a phase
 * before the one before it is complete. */
GT_DEVICE void gt_mbarrier_wait(gt_mbarrier *barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra through;\n"
                 "bra again;\n"
                 "through:\n"
                 "}" ::"r"(gt_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* ---- TMA ---- */

/* Brings the map nearer before its first use. */
GT_DEVICE void gt_tma_prefetch(const gt_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Starts the copy of the box at (x, y, z) to shared memory, aligned to 128 bytes (1024 where the
 * map swizzles by 128).  One thread calls it; the bytes arrive at `barrier`. */
GT_DEVICE void gt_tma_load(void *shared, const gt_map *map, gt_mbarrier *barrier, int x, int y,
                           int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(gt_shared_address(shared)),
                 "l"(map), "r"(gt_shared_address(barrier)), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* The same to the same place, and for the same barrier, of every block of the cluster whose bit is
 * set in `ranks`. */
GT_DEVICE void gt_tma_load_multicast(void *shared, const gt_map *map, gt_mbarrier *barrier, int x,
                                     int y, int z, unsigned ranks)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(gt_shared_address(shared)),
        "l"(map), "r"(gt_shared_address(barrier)), "r"(x), "r"(y), "r"(z),
        "h"((unsigned short)ranks)
        : "memory");
}

/* What the thread's ordinary stores wrote to shared memory becomes visible to TMA; between them and
 * a TMA store by another thread stands a barrier after this fence. */
GT_DEVICE void gt_tma_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Starts the copy of a box from shared memory to (x, y, z).  One thread calls it. */
GT_DEVICE void gt_tma_store(const gt_map *map, const void *shared, int x, int y, int z)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
            map),
        "r"(gt_shared_address(shared)), "r"(x), "r"(y), "r"(z)
        : "memory");
}

/* Makes one group of the thread's TMA stores since the last commit. */
GT_DEVICE void gt_tma_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Waits until all but the `pending` youngest groups of the thread have read shared memory, which
 * may then be written again. */
template <int pending> GT_DEVICE void gt_tma_store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/* ---- clusters: cluster.cuh has the barrier ---- */

/* The block's rank in its cluster. */
GT_DEVICE unsigned gt_cluster_rank()
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* Barrier of all threads of the cluster's blocks, for mbarriers that have been published and for
 * staying until the others are done: what was written before it need not be visible behind it,
 * which saves gt_cluster_sync's fence of the whole GPU. */
GT_DEVICE void gt_cluster_sync_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n"
                 "barrier.cluster.wait.aligned;" ::
                     : "memory");
}

/* The same in two steps: what a thread does between them overlaps with the others' arrival. */
GT_DEVICE void gt_cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

GT_DEVICE void gt_cluster_wait()
{
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

/* ---- parts of a block (and named_barrier.cuh) ---- */

/* A warpgroup changes its registers per thread to `count`, a multiple of 8 in 24..256: first some
 * give, then others take.  All registers together are those the block was launched with. */
template <int count> GT_DEVICE void gt_setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count> GT_DEVICE void gt_setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/* ---- stores of accumulators to shared memory ---- */

/* A warp stores four matrices of 8 rows of 16 bytes.  Lane l gives the address of row l % 8 of
 * matrix l / 8; word i of lane l is two neighbouring elements of 16 bits, those of columns
 * 2 * (l % 4) and the next of row l / 4 of matrix i. */
GT_DEVICE void gt_stmatrix_x4(void *row, const unsigned *word)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     gt_shared_address(row)),
                 "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
                 : "memory");
}

/* The same, turned: what a lane's word i holds are the elements of row l / 4 and columns 2 * (l % 4)
 * and the next, and a row in memory is one of those columns. */
GT_DEVICE void gt_stmatrix_x4_trans(void *row, const unsigned *word)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
            gt_shared_address(row)),
        "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
        : "memory");
}

/* ---- launches that overlap ---- */

/* Waits until the launch before has ended and its writes are visible. */
GT_DEVICE void gt_pdl_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* The launch after this one may begin. */
GT_DEVICE void gt_pdl_trigger()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

#endif
#endif
