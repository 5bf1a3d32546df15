/* position.cuh - where a producer or a consumer is in a ring of STAGES stages, and the cluster's
 * barrier. */
#ifndef GT_HOPPER_POSITION_CUH
#define GT_HOPPER_POSITION_CUH

/* The next stage to fill or to read, and the parity of the rounds through the ring so far. */
struct Position {
    int stage = 0;
    unsigned parity = 0;

    GT_DEVICE void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    GT_DEVICE void skip(int steps)
    {
        int ahead = stage + steps;
        parity ^= ahead / STAGES & 1;
        stage = ahead % STAGES;
    }
};

/* Barrier of the cluster for producers and consumers alike, who call it here, at one place, because
 * the emulator checks that threads that wait for each other wait at the same one. */
GT_DEVICE void cluster_barrier()
{
    gt_cluster_sync();
}

#endif
