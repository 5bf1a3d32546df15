/* hopper.cuh - primitives of sm_90: mbarriers, which count arrivals and bytes; TMA, which copies
 * boxes of a tensor map; clusters; setmaxnreg; stmatrix; programmatic dependent launch (PDL).
 * wgmma.cuh has the matrix instructions.
 *
 * How a producer and consumers hand stage s of a ring to each other:
 *
 *   producer thread                                  consumer threads
 *   ---------------                                  ----------------
 *   gt_mbarrier_wait(&empty[s], parity)              gt_mbarrier_wait(&full[s], parity)
 *   gt_mbarrier_arrive_expect_tx(&full[s], bytes)    ... read the stage ...
 *   gt_tma_load(stage, map, &full[s], x, y, z)       gt_mbarrier_arrive(&empty[s])
 *
 * Every tensor map has rank 3: x counts elements along the contiguous dimension, y rows, z matrices
 * of the batch; x is a multiple of 16 bytes. Elements of a box that are outside of the map are
 * zeros when they are loaded (their bytes count all the same) and are left alone when they are
 * stored, except that the last 16 bytes of a row are written as a whole. */
#ifndef GT_HOPPER_CUH
#define GT_HOPPER_CUH

#include "common/cluster.cuh"
#include "common/named_barrier.cuh"

/* A barrier in shared memory. A phase is complete when as many arrivals as the barrier was
 * initialised with, and as many bytes as these announced, have come. The first phase has parity 0.
 */
typedef unsigned long long gt_mbarrier;

#ifdef GT_EMULATE
#include "emulate_hopper.h"
#else

/* ---- mbarriers ---- */

/* Order of steps: one thread initialises a barrier, calls gt_mbarrier_publish, and then all threads
 * that use the barrier meet in another barrier. */
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

/* Arrives at the same barrier in block `rank` of the cluster. This says that the thread has read
 * what it waited for. It does not make the thread's writes visible there; that would take a fence
 * of the whole GPU (.release.cluster). */
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

/* Arrives, and announces that `bytes` more bytes will come before the phase is complete. */
GT_DEVICE void gt_mbarrier_arrive_expect_tx(gt_mbarrier *barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gt_shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Waits until the phase with this parity is complete. While a barrier is in its first phase, the
 * phase with parity 1 counts as complete. Parity tells only two phases apart: a thread may wait for
 * a phase only when the phase before it is complete. */
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

/* Fetches the map before its first use. */
GT_DEVICE void gt_tma_prefetch(const gt_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* Starts the copy of the box at (x, y, z) to shared memory at a multiple of 128 bytes; a swizzle
 * follows addresses there, wherever the box begins. Operands of TF32 are rounded on the way. One
 * thread calls it; the bytes arrive at `barrier`. */
GT_DEVICE void gt_tma_load(void *shared, const gt_map *map, gt_mbarrier *barrier, int x, int y,
                           int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(gt_shared_address(shared)),
                 "l"(map), "r"(gt_shared_address(barrier)), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* The same for every block of the cluster whose bit is set in `ranks`: the box goes to the same
 * place, and its bytes to the same barrier, of each of them. */
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

/* Fetches the box at (x, y, z) to the L2 cache, before a load that has no room yet. */
GT_DEVICE void gt_tma_prefetch_box(const gt_map *map, int x, int y, int z)
{
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];" ::"l"(map),
                 "r"(x), "r"(y), "r"(z)
                 : "memory");
}

/* Makes the thread's own stores to shared memory visible to TMA. Where another thread then starts a
 * TMA store, a barrier stands between this fence and the store. */
GT_DEVICE void gt_tma_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Starts the copy of a box from shared memory to (x, y, z). One thread calls it. */
GT_DEVICE void gt_tma_store(const gt_map *map, const void *shared, int x, int y, int z)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
            map),
        "r"(gt_shared_address(shared)), "r"(x), "r"(y), "r"(z)
        : "memory");
}

/* Makes a group of the thread's TMA stores since the last commit. */
GT_DEVICE void gt_tma_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Waits until TMA has read the shared memory of all but the `pending` youngest groups of the
 * thread; that memory may then be written again. */
template <int pending> GT_DEVICE void gt_tma_store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/* ---- clusters; cluster.cuh has the barrier that makes writes visible ---- */

/* The block's rank in its cluster. */
GT_DEVICE unsigned gt_cluster_rank()
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* Barrier of all threads of the cluster's blocks, which does not make writes visible. It serves
 * mbarriers that have been published, and keeps a block's shared memory until the others are done.
 * It saves the fence of the whole GPU that gt_cluster_sync has. */
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

/* ---- registers of a warpgroup ---- */

/* Change the number of registers of each of the warpgroup's threads to `count`, a multiple of 8
 * from 24 to 256. First some warpgroups give registers back (dec), then others take them (inc); the
 * block never has more than it was launched with. */
template <int count> GT_DEVICE void gt_setmaxnreg_dec()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

template <int count> GT_DEVICE void gt_setmaxnreg_inc()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/* ---- stores of accumulators to shared memory ---- */

/* A warp stores four matrices of 8 rows of 16 bytes. Lane l gives the address of row l % 8 of
 * matrix l / 8. Word i of lane l holds two neighbouring 16-bit elements: row l / 4 of matrix i,
 * columns 2 * (l % 4) and the next. */
GT_DEVICE void gt_stmatrix_x4(void *row, const unsigned *word)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     gt_shared_address(row)),
                 "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
                 : "memory");
}

/* The same with each matrix transposed: word i of lane l holds the elements of column l / 4 of
 * matrix i as it is in memory, rows 2 * (l % 4) and the next. */
GT_DEVICE void gt_stmatrix_x4_trans(void *row, const unsigned *word)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
            gt_shared_address(row)),
        "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
        : "memory");
}

/* ---- programmatic dependent launch ---- */

/* Waits until the launch before this one has ended and its writes are visible. */
GT_DEVICE void gt_pdl_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* Allows the launch after this one to begin. */
GT_DEVICE void gt_pdl_trigger()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

#endif
#endif
