/* cluster.cuh - thread-block clusters (sm_90 and later): a barrier of all their blocks, and loads
 * from the shared memory of other blocks.
 *
 * Other blocks may read a block's shared memory between two barriers of the cluster: the first
 * makes everything written before it visible, and no block returns before the second. */
#ifndef GT_CLUSTER_CUH
#define GT_CLUSTER_CUH

#ifdef GT_EMULATE

#define gt_cluster_sync() gt_emu_cluster_barrier(__FILE__, __LINE__)

/* Loads count floats from where block `rank` of the cluster has what `own` points to in this
 * block. */
template <int count> GT_DEVICE void gt_cluster_load(float *value, const float *own, unsigned rank)
{
    gt_load<count>(value, (const float *)gt_emu_cluster_shared(own, rank, __FILE__, __LINE__));
}

#else

/* Barrier of all threads of all blocks of the cluster. */
GT_DEVICE void gt_cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* Loads count floats from where block `rank` of the cluster has what `own`, in dynamic shared
 * memory, points to in this block. */
template <int count> GT_DEVICE void gt_cluster_load(float *value, const float *own, unsigned rank)
{
    static_assert(count == 1 || count == 2 || count == 4, "sizes of a load");
    unsigned from;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(from)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(own))), "r"(rank));
    if constexpr (count == 4)
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
                     : "r"(from)
                     : "memory");
    else if constexpr (count == 2)
        asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
                     : "=f"(value[0]), "=f"(value[1])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value[0]) : "r"(from) : "memory");
}

#endif

#endif
