/* cluster_store.cuh - writing to the shared memory of another block of the cluster (sm_90 and later;
 * cluster.cuh has the barrier).
 *
 * Every block must have begun before another writes to it, and what was written can be read after a
 * barrier of the cluster that follows. */
#ifndef GT_CLUSTER_STORE_CUH
#define GT_CLUSTER_STORE_CUH

#ifdef GT_EMULATE

typedef char *gt_cluster_place;
#define gt_cluster_place_of(own, rank) \
    ((char *)gt_emu_cluster_shared(own, rank, __FILE__, __LINE__))

/* Stores two words at `bytes`, a multiple of 8, behind a place. */
inline void gt_cluster_store_pair(gt_cluster_place place, int bytes, unsigned x, unsigned y)
{
    __builtin_memcpy(place + bytes, &x, 4);
    __builtin_memcpy(place + bytes + 4, &y, 4);
}

#else

typedef unsigned gt_cluster_place;

/* Where block `rank` of the cluster has what `own`, in dynamic shared memory, points to here. */
GT_DEVICE gt_cluster_place gt_cluster_place_of(const void *own, unsigned rank)
{
    gt_cluster_place place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(own))), "r"(rank));
    return place;
}

GT_DEVICE void gt_cluster_store_pair(gt_cluster_place place, int bytes, unsigned x, unsigned y)
{
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(place + bytes), "r"(x), "r"(y)
                 : "memory");
}

#endif

#endif
