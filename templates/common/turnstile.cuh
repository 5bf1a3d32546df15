/* turnstile.cuh - a counter in global memory that blocks pass, so that the last of them knows that
 * it is.  Nobody waits at it: blocks need not run at the same time.
 *
 * It must be 0 before the first passes.  The threads of a block that wrote for the others, or will
 * read what others wrote, and the one that calls these share a barrier of theirs in between. */
#ifndef GT_TURNSTILE_CUH
#define GT_TURNSTILE_CUH

#ifdef GT_EMULATE

GT_DEVICE unsigned gt_turnstile_passed(const unsigned *turnstile)
{
    return *turnstile;
}

GT_DEVICE unsigned gt_turnstile_pass(unsigned *turnstile)
{
    return atomicAdd(turnstile, 1u);
}

#else

/* How many have passed: what they wrote before can be read. */
GT_DEVICE unsigned gt_turnstile_passed(const unsigned *turnstile)
{
    unsigned passed;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(passed) : "l"(turnstile) : "memory");
    return passed;
}

/* Passes; how many had before, whose writes can be read. */
GT_DEVICE unsigned gt_turnstile_pass(unsigned *turnstile)
{
    unsigned passed;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                 : "=r"(passed)
                 : "l"(turnstile)
                 : "memory");
    return passed;
}

#endif

#endif
