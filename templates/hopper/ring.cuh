/* ring.cuh - what the kernels of Hopper with a producer thread and consumer warpgroups share: the
 * ring of stages in shared memory, its barriers, and how the block divides its registers.
 *
 *   0           STAGE_BYTES                              BARRIERS_AT
 *   +-----------+-----------+- ... -+--------------------+--------------+---------------+---------+
 *   | stage 0   | stage 1   |       | the template's own | full[STAGES] | empty[STAGES] | turn[2] |
 *   +-----------+-----------+- ... -+--------------------+--------------+---------------+---------+
 *
 *   full[s]    The producer and TMA complete it when stage s holds its data. Consumers wait for it.
 *   empty[s]   EMPTY_ARRIVALS arrivals complete it when stage s has been read. Producers wait.
 *   turn[i]    In use where TURNS is 2: consumer i waits for it before it begins a tile, or a window
 *              of one; TURN_ARRIVALS arrivals of the other consumer complete it.
 *
 * With LOADS_C of hopper/gemm.cu, hopper/load_c.cuh's barriers follow.
 *
 * The template defines CONSUMERS, MIN_BLOCKS and STAGES; its layout defines THREADS, STAGE_BYTES,
 * BARRIERS_AT, EMPTY_ARRIVALS, TURNS, TURN_ARRIVALS and the bounds on the registers of a producer's
 * thread, PRODUCER_LEAST and PRODUCER_MOST. */
#ifndef GT_HOPPER_RING_CUH
#define GT_HOPPER_RING_CUH

struct Ring {
    unsigned char *stages;
    gt_mbarrier *full, *empty, *turn;
#if LOADS_C
    gt_mbarrier *arrived, *finished; /* PORTIONS of each consumer */
#endif

    GT_DEVICE Ring(unsigned char *shared)
    {
        stages = shared;
        full = reinterpret_cast<gt_mbarrier *>(shared + BARRIERS_AT);
        empty = full + STAGES;
        turn = empty + STAGES;
#if LOADS_C
        arrived = turn + (STREAM ? 4 : 2);
        finished = arrived + CONSUMERS * PORTIONS;
#endif
    }
};

/* One thread initialises all barriers. Threads that initialise one each would run one after the
 * other. */
GT_DEVICE void init_barriers(const Ring &ring)
{
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        gt_mbarrier_init(ring.full + s, 1);
        gt_mbarrier_init(ring.empty + s, EMPTY_ARRIVALS);
    }
    for (int i = 0; i < TURNS; i++)
        gt_mbarrier_init(ring.turn + i, TURN_ARRIVALS);
#if LOADS_C
    for (int i = 0; i < CONSUMERS * PORTIONS; i++) {
        gt_mbarrier_init(ring.arrived + i, 1);
        gt_mbarrier_init(ring.finished + i, 4); /* a consumer's warps */
    }
#endif
    gt_mbarrier_publish();
}

#include "hopper/position.cuh"

/* The block starts with LAUNCH_REGISTERS for each thread: __launch_bounds__ makes the compiler
 * choose this number. Then the producer's warpgroup, which needs few, gives registers to the
 * consumers. */
GT_DEVICE constexpr int at_most(int a, int b)
{
    return a < b ? a : b;
}
constexpr int LAUNCH_REGISTERS = at_most(65536 / (THREADS * MIN_BLOCKS) / 8 * 8, 240);
constexpr int CONSUMER_REGISTERS =
    at_most((LAUNCH_REGISTERS * (CONSUMERS + 1) - PRODUCER_LEAST) / CONSUMERS / 8 * 8, 240);
constexpr int PRODUCER_REGISTERS =
    at_most(LAUNCH_REGISTERS * (CONSUMERS + 1) - CONSUMER_REGISTERS * CONSUMERS, PRODUCER_MOST);

#endif
