/* cluster_share.cuh - what the kernels of Hopper share whose blocks of a cluster load operands for
 * each other: where a block stands among them, and how a stage is handed back to all who fill it.
 *
 *               CLUSTER_N            Blocks of a row of the cluster have the same rows of A,
 *           +-----+-----+-----+      those of a column the same columns of B. Each of them loads a
 * CLUSTER_M |  0  |  2  |  4  |      part of the operand that they share, for all of them.
 *           +-----+-----+-----+
 *           |  1  |  3  |  5  |
 *           +-----+-----+-----+
 *
 * The template defines CLUSTER_M, CLUSTER_N and SPLIT; with SPLIT 2 the blocks that share operands
 * are a part of the cluster. Its layout defines CLUSTER, their number. */
#ifndef GT_HOPPER_CLUSTER_SHARE_CUH
#define GT_HOPPER_CLUSTER_SHARE_CUH

/* The block's index among those that share operands. In a cluster these follow each other. */
GT_DEVICE int cluster_place()
{
    return CLUSTER == 1 ? 0
           : SPLIT == 2 ? (int)gt_cluster_rank() % CLUSTER
                        : (int)gt_cluster_rank();
}

GT_DEVICE int cluster_row()
{
    return cluster_place() % CLUSTER_M;
}

GT_DEVICE int cluster_column()
{
    return cluster_place() / CLUSTER_M;
}

/* The rank in the cluster of the first of the blocks that share operands with this one. */
GT_DEVICE int cluster_first()
{
    return SPLIT == 2 ? (int)gt_cluster_rank() - cluster_place() : 0;
}

/* Bit masks of the blocks in this block's row, and in its column, of those that share operands. */
GT_DEVICE unsigned row_ranks()
{
    unsigned ranks = 0;
    for (int i = 0; i < CLUSTER_N; i++)
        ranks |= 1u << (cluster_first() + cluster_row() + i * CLUSTER_M);
    return ranks;
}

GT_DEVICE unsigned column_ranks()
{
    return ((1u << CLUSTER_M) - 1) << (cluster_first() + cluster_column() * CLUSTER_M);
}

/* The rank of the block to which a thread announces that a stage has been read, one of those that
 * fill stages of this block; -1 if the thread announces nothing. `index` is the thread's among those
 * that have read the stage together. It is determined once, not for each stage. */
GT_DEVICE int released_rank(int index)
{
    const bool fills = CLUSTER == 1 ? index == 0
                                    : index < CLUSTER && (index % CLUSTER_M == cluster_row() ||
                                                          index / CLUSTER_M == cluster_column());
    return fills ? cluster_first() + index : -1;
}

/* The same where a consumer's 128 threads have read a stage together. */
GT_DEVICE int consumer_rank()
{
    return released_rank((int)threadIdx.x % 128);
}

/* Tells the producer of the block of this rank, if it is one, that a stage has been read. */
template <class RingType> GT_DEVICE void release_stage(const RingType &ring, int stage, int rank)
{
    if (rank >= 0) {
        if (CLUSTER == 1)
            gt_mbarrier_arrive(ring.empty + stage);
        else
            gt_mbarrier_arrive_at(ring.empty + stage, (unsigned)rank);
    }
}

#endif
