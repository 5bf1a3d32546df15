/* arrival_counter.cuh - a counter in global memory at which blocks arrive, so that the last one
 * knows that it is the last. No block waits: the blocks need not run at the same time.
 *
 * The counter is 0 before the first arrival. One thread of a block calls these functions. Between
 * its call and the writes of the block's other threads for other blocks, or their reads of what
 * other blocks wrote, stands a barrier of these threads. */
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

/* How many blocks have arrived; what they wrote before can be read. */
GT_DEVICE unsigned gt_arrival_counter_load(const unsigned *counter)
{
    unsigned passed;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(passed) : "l"(counter) : "memory");
    return passed;
}

/* Arrives; how many blocks had arrived before, whose writes can be read. */
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
