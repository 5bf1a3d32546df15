/* cluster_send.cuh - sends words to the shared memory of any block of the cluster, where an
 * mbarrier counts their bytes as they arrive (sm_90 and later; hopper.cuh has mbarriers).
 *
 *   sender                                       receiver
 *   ------                                       --------
 *   gt_cluster_wait()  all blocks have begun     gt_mbarrier_arrive_expect_tx(&full, all bytes)
 *   gt_cluster_send_pair(to, 0, full, x, y)      gt_mbarrier_wait(&full, parity)
 *
 * Sender and receiver need no common barrier, and no thread waits until its writes are visible, as
 * it would in a barrier of the cluster that releases them. On an H200 about one word arrives per
 * clock: a thousand pairs of a block took 870 clocks, where stores and such a barrier took 1140;
 * eight thousand took 8000 clocks, where stores and a barrier took 4000. */
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

/* The address in block `rank` of the cluster of what `own`, in dynamic shared memory, points to
 * here. */
GT_DEVICE gt_cluster_address gt_cluster_address_of(void *own, unsigned rank)
{
    gt_cluster_address place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place)
        : "r"(gt_shared_address(own)), "r"(rank));
    return place;
}

/* Sends two words to `bytes` (a multiple of 8) behind `to`; `barrier` is in the same block as
 * `to`. */
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
