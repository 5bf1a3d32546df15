/* named_barrier.cuh - barriers of a part of a block's warps. */
#ifndef GT_NAMED_BARRIER_CUH
#define GT_NAMED_BARRIER_CUH

#ifdef GT_EMULATE

extern "C" void gt_emu_named_barrier(int id, int threads, const char *file, int line);
#define gt_named_barrier_sync(id, threads) gt_emu_named_barrier(id, threads, __FILE__, __LINE__)
/* Those who may only arrive wait all the same. */
#define gt_named_barrier_arrive(id, threads) gt_emu_named_barrier(id, threads, __FILE__, __LINE__)

#else

/* Barrier number `id` (1..15) of `threads` threads, whole warps. */
GT_DEVICE void gt_named_barrier_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Counts the warp in at such a barrier without waiting there: what it wrote before can be seen by
 * those who wait. */
GT_DEVICE void gt_named_barrier_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#endif

#endif
