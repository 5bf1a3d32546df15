/* entry.cuh - what the kernels of Hopper with a producer warp and consumer warpgroups share: the
 * entry `gemm`, and the entry `pack` of those that copy operands first.
 *
 *   warp 0, thread 0          warps 1 to 3        the other warps
 *   init_barriers             (thread 32 fetches the tensor maps)
 *   setmaxnreg_dec            setmaxnreg_dec      setmaxnreg_inc
 *   produce_all               -, carry_all        consume_all
 *
 * The template defines produce_all and consume_all and, with LOADS_C of hopper, carry_all, which
 * one thread of warp 1 + i runs for consumer i. Its layout defines CLUSTER, the number of blocks
 * that share operands; CLUSTER_SPLIT, whether the blocks of a cluster divide the depth; PACKS,
 * whether to wait for the launch before this one, which copies operands (or, with DEPENDENT of
 * hopper, belongs to another product); and EARLY_START (wait_for_barriers).
 */
#ifndef GT_HOPPER_ENTRY_CUH
#define GT_HOPPER_ENTRY_CUH

#if PACK_A || PACK_B
GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, GT_PACK_BLOCKS)
{
    gt_pdl_trigger();
    gt_pack(args);
}
#endif

/* Waits until the barriers are initialised. In a cluster whose blocks write to each other's memory
 * these are the barriers of all its blocks. Otherwise, with EARLY_START, the producer does not
 * wait, because it has initialised them itself: its first loads are under way before the consumers'
 * first step. */
GT_DEVICE void wait_for_barriers()
{
#if LOADS_C
    constexpr int carriers = CONSUMERS, warps = 1 + carriers + CONSUMERS * 4;
#else
    constexpr int warps = 1 + CONSUMERS * 4;
#endif
    if (CLUSTER > 1)
        gt_cluster_wait();
    else if (!EARLY_START)
        gt_sync();
    else if (threadIdx.x >= 128)
        gt_named_barrier_sync(5, warps * 32);
    else if (threadIdx.x < 32)
        gt_named_barrier_arrive(5, warps * 32);
#if LOADS_C
    else if (threadIdx.x < 32 + carriers * 32)
        gt_named_barrier_sync(5, warps * 32);
#endif
}

GT_KERNEL_MAPS_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    const Ring ring(shared);

    if (threadIdx.x == 0) {
        init_barriers(ring);
    } else if (threadIdx.x == 32) {
        gt_tma_prefetch(&maps.map[MAP_A]);
        gt_tma_prefetch(&maps.map[MAP_B]);
    }
    if (CLUSTER > 1)
        gt_cluster_arrive();
    if (threadIdx.x < 128) {
        gt_setmaxnreg_dec<PRODUCER_REGISTERS>();
        wait_for_barriers();
        if (PACKS)
            gt_pdl_wait(); /* until the launch before this one is complete */
        if (threadIdx.x == 0)
            produce_all(args, maps, ring);
#if LOADS_C
        else if (threadIdx.x % 32 == 0 && threadIdx.x / 32 <= CONSUMERS)
            carry_all(args, maps, ring, (int)threadIdx.x / 32 - 1);
#endif
        if (CLUSTER_SPLIT)
            cluster_barrier();
    } else {
        gt_setmaxnreg_inc<CONSUMER_REGISTERS>();
        wait_for_barriers();
        if (PACKS)
            gt_pdl_wait();
        /* uniform, and so are the descriptors of the consumer's operands */
        consume_all(args, maps, ring, gt_warp_uniform((int)threadIdx.x / 128 - 1));
    }
    if (CLUSTER > 1 || CLUSTER_SPLIT) /* other blocks use this block's memory until they are done */
        gt_cluster_sync_relaxed();
}

#endif
