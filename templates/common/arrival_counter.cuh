/* arrival_counter.cuh - a counter in global memory that blocks pass, so that the last of them knows
 * that it is.  Nobody waits at it: blocks need not run at the same time.
 *
 * It must be 0 before the first passes.  The threads of a block that wrote for the others, or will
 * read what others wrote, and the one that calls these share a barrier of theirs in between. */
#ifndef GT_ARRIVAL_COUNTER_CUH
#define GT_ARRIVAL_COUNTER_CUH

#ifdef GT_EMULATE

GT_DEVICE unsigned gt_arrival_counter_load(const unsigned *counter)
{
    return *counter;
}

GT_DEVICE unsigned gt_arrival_counter_add(unsigned *counter)
{
    return atomicAdd(counter, 1u);
}

#else

/* How many have passed: what they wrote before can be read. */
GT_DEVICE unsigned gt_arrival_counter_load(const unsigned *counter)
{
    unsigned passed;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(passed) : "l"(counter) : "memory");
    return passed;
}

/* Passes; how many had before, whose writes can be read. */
GT_DEVICE unsigned gt_arrival_counter_add(unsigned *counter)
{
    unsigned passed;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(passed)
                 : "l"(counter)
                 : "memory");
    return passed;
}

#endif

#endif
