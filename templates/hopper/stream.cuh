/* stream.cuh - of hopper/gemm.cu: STREAM, tiles whose depth is divided over neighbouring clusters.
 *
 *   clusters      |    0    |    1    |    2    |    3    |     equal runs of stages
 *   tiles         |      0      |      1      |      2      |
 *   cluster 1:              |tail |head |                       its first work, its second
 *
 * Of the blocks that have a part of a tile the last to be ready adds the sums of all, in the order
 * of k whoever it is, and stores; the others leave theirs in the workspace.  Nobody waits.  Mostly
 * the one whose part comes first in the depth is the last, because it is what its block ends with,
 * and then only the other parts are written and read.
 *
 * The workspace holds, behind copies of operands, a counter for each tile and consumer, which the
 * entry `arm` makes 0, and for each block two tiles of sums, as the threads have them. */

#if STREAM

constexpr int ARM_THREADS = 128;
constexpr int COUNTERS = PINGPONG ? 1 : CONSUMERS; /* arrival counters of a tile */

GT_DEVICE unsigned *arrival_counters(const gt_args &args)
{
    return (unsigned *)(static_cast<char *>(args.workspace) + gt_packed_bytes(args));
}

/* The thread's sums of a tile's part in the workspace: `cluster` has it, `head` says whether it
 * begins with the tile's first k. */
GT_DEVICE sum_type *left_by(const gt_args &args, const schedule &schedule, int consumer,
                            unsigned cluster, bool head)
{
    const unsigned all = schedule.streamed * (CLUSTER * COUNTERS);
    const unsigned block = cluster * CLUSTER + (unsigned)cluster_place();
    sum_type *const first =
        (sum_type *)(arrival_counters(args) + parts_of(all, ARM_THREADS) * ARM_THREADS);
    const int rows = PINGPONG ? 0 : consumer * ROWS;
    return first + (block * 2ll + head) * (BM * BN) + rows * BN + threadIdx.x % 128 * 4;
}

GT_DEVICE void leave_part(sum_type *to, sum_type (*sum)[BN / 2])
{
#pragma unroll
    for (int i = 0; i < BLOCKS_64 * BN / 8; i++) {
        gt_vec<sum_type, 4> run;
#pragma unroll
        for (int j = 0; j < 4; j++)
            run.at[j] = sum[i / (BN / 8)][i % (BN / 8) * 4 + j];
        gt_store_vec<sum_type, 4>(to + i * 512, run);
    }
}

/* The sums become those of a part or, with `add`, grow by them. */
GT_DEVICE void take_part(const sum_type *from, bool add, sum_type (*sum)[BN / 2])
{
#pragma unroll
    for (int i = 0; i < BLOCKS_64 * BN / 8; i++) {
        const gt_vec<sum_type, 4> run = gt_load_vec<sum_type, 4>(from + i * 512);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            sum_type &to = sum[i / (BN / 8)][i % (BN / 8) * 4 + j];
            to = add ? to + run.at[j] : run.at[j];
        }
    }
}

/* What the consumer's first thread knows, told to all of them. */
GT_DEVICE bool agree(const ring &ring, int consumer, bool known)
{
    gt_named_barrier_sync(1 + consumer, 128); /* everybody has read the answer before */
    if (threadIdx.x % 128 == 0)
        ring.answer[consumer] = known;
    gt_named_barrier_sync(1 + consumer, 128);
    return ring.answer[consumer];
}

/* Makes the sums of a part those of the whole depth: whether this consumer is to store them. */
GT_DEVICE bool complete(const gt_args &args, const ring &ring, const schedule &schedule,
                        int consumer, const work &work, sum_type (*sum)[BN / 2])
{
    if (work.stream < 0)
        return true;
    const unsigned tile = (unsigned)work.stream, depth = (unsigned)schedule.part;
    const unsigned first = tile * depth / schedule.share;
    const unsigned last = (tile * depth + depth - 1) / schedule.share, own = schedule.first;
    unsigned *const counter = arrival_counters(args) +
                              (tile * CLUSTER + (unsigned)cluster_place()) * COUNTERS +
                              (PINGPONG ? 0 : consumer);
    const bool speaker = threadIdx.x % 128 == 0;
    sum_type *const mine = left_by(args, schedule, consumer, own, own == first);
    unsigned next = first;

    gt_pdl_wait(); /* for `arm` */
    if (!agree(ring, consumer, speaker && gt_arrival_counter_load(counter) == last - first)) {
        leave_part(mine, sum);
        gt_named_barrier_sync(1 + consumer, 128);
        if (!agree(ring, consumer, speaker && gt_arrival_counter_add(counter) == last - first))
            return false;
    }
    /* The order of the first two does not matter, so that one of them may be in registers. */
    const bool behind = own > first + 1;
    if (behind) {
        leave_part(mine, sum);
        take_part(left_by(args, schedule, consumer, next++, true), false, sum);
    }
    for (; next <= last; next++)
        if (behind || next != own)
            take_part(left_by(args, schedule, consumer, next, next == first), true, sum);
    return true;
}

#endif
