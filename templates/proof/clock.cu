/* clock.cu - the SM clock as the device sees it, a kernel that lets time pass, and the canary: a
 * computation whose result the host knows bit by bit and whose time shows drift. */
#include "proof/device.cuh"

#ifdef GT_EMULATE
GT_PROOF_DEVICE gt_u64 gt_proof_nanoseconds()
{
    return 0;
}

GT_PROOF_DEVICE gt_u64 gt_proof_cycles()
{
    return 0;
}
#else
GT_PROOF_DEVICE gt_u64 gt_proof_nanoseconds()
{
    gt_u64 now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

GT_PROOF_DEVICE gt_u64 gt_proof_cycles()
{
    return (gt_u64)clock64();
}

/* Waits for the timer's next tick: it moves in steps of up to a microsecond. */
GT_PROOF_DEVICE gt_u64 gt_proof_next_tick()
{
    gt_u64 start = gt_proof_nanoseconds(), now = start;

    while (now == start)
        now = gt_proof_nanoseconds();
    return now;
}
#endif

/* One thread: cycles between two ticks of the timer at least `nanoseconds` apart. */
GT_PROOF_KERNEL(proof_clock, gt_clock_args)
{
#ifdef GT_EMULATE
    (void)args;
#else
    gt_u64 begin = gt_proof_next_tick(), start = gt_proof_cycles(), end = begin;

    while (end - begin < (gt_u64)args.nanoseconds)
        end = gt_proof_next_tick();
    if (args.result && threadIdx.x == 0 && blockIdx.x == 0) {
        args.result->cycles = gt_proof_cycles() - start;
        args.result->nanoseconds = end - begin;
    }
#endif
}

GT_PROOF_KERNEL(proof_canary, gt_canary_args)
{
    for (long long at = gt_proof_first(); at < args.count; at += gt_proof_step()) {
        float x = 1.0f + (float)(at % 8);

        for (int step = 0; step < args.steps; step++)
            x = fmaf(x, 0.75f, 1.0f + 0.125f * (float)(step % 4));
        args.out[at] = x;
    }
}
