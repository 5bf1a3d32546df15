/* named_barrier.cuh - barriers of some of a block's warps. */
#ifndef GT_NAMED_BARRIER_CUH
#define GT_NAMED_BARRIER_CUH

#ifdef GT_EMULATE

extern "C" void gt_emu_named_barrier(int id, int threads, const char *file, int line);
#define gt_named_barrier_sync(id, threads) gt_emu_named_barrier(id, threads, __FILE__, __LINE__)
/* In the emulator, threads that arrive wait as well. */
#define gt_named_barrier_arrive(id, threads) gt_emu_named_barrier(id, threads, __FILE__, __LINE__)

#else

/* Barrier number `id` (1..15) of `threads` threads, which are whole warps. */
GT_DEVICE void gt_named_barrier_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* The warp arrives at such a barrier without waiting: what it wrote before is visible to the warps
 * that wait. */
GT_DEVICE void gt_named_barrier_arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#endif

#endif
