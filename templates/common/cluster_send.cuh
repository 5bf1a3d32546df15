/* cluster_send.cuh - words to the shared memory of any block of the cluster, whose mbarrier counts
 * their bytes as they come (sm_90 and later; hopper.cuh has mbarriers).
 *
 *   sender                                        receiver
 *   gt_cluster_wait()   (all have begun)          gt_mbarrier_arrive_expect_tx(&come, all bytes)
 *   gt_cluster_send_pair(place, 0, come, x, y)    gt_mbarrier_wait(&come, parity)
 *
 * Neither side meets the other, and nobody waits for his writes to be seen, as in a barrier of the
 * cluster that releases them.  On an H200 words come about one a clock: for a thousand pairs of a
 * block that is 870 clocks where stores and such a barrier took 1140, for eight thousand it is 8000
 * where those took 4000. */
#ifndef GT_CLUSTER_SEND_CUH
#define GT_CLUSTER_SEND_CUH

#ifdef GT_EMULATE

extern "C" void gt_emu_cluster_send(void *to, void *barrier, unsigned rank, const unsigned *word,
                                    int words, const char *file, int line);

struct gt_cluster_address {
    char *own;
    unsigned rank;
};

inline gt_cluster_address gt_cluster_address_of(void *own, unsigned rank)
{
    return gt_cluster_address{(char *)own, rank};
}

#define gt_cluster_send_pair(to, bytes, barrier, x, y)                                       \
    do {                                                                                     \
        const unsigned gt_emu_pair[2] = {x, y};                                              \
        gt_emu_cluster_send((to).own + (bytes), (barrier).own, (to).rank, gt_emu_pair, 2,    \
                            __FILE__, __LINE__);                                             \
    } while (0)

#else

typedef unsigned gt_cluster_address;

/* Where block `rank` of the cluster has what `own`, in dynamic shared memory, points to here. */
GT_DEVICE gt_cluster_address gt_cluster_address_of(void *own, unsigned rank)
{
    gt_cluster_address place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place)
        : "r"(gt_shared_address(own)), "r"(rank));
    return place;
}

/* Sends two words to `bytes`, a multiple of 8, behind a place; `barrier` is of the same block. */
GT_DEVICE void gt_cluster_send_pair(gt_cluster_address to, int bytes, gt_cluster_address barrier,
                                    unsigned x, unsigned y)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%2, %3}, "
                 "[%1];" ::"r"(to + bytes),
                 "r"(barrier), "r"(x), "r"(y)
                 : "memory");
}

#endif

#endif
