/* stream.cuh - of hopper/gemm.cu: STREAM (stream-K), tiles whose depth neighbouring clusters share.
 *
 *   clusters    |    0    |    1    |    2    |    3    |   each has as many stages in a row
 *   tiles       |      0      |      1      |      2      |
 *   cluster 1             |tail |head |                   its first and its second work
 *
 * Among the blocks that have parts of a tile the last to be ready adds the sums of all parts, in
 * the order of k whichever block it is, and stores the tile. The others leave their sums in the
 * workspace. No block waits for another. Mostly the last block is the one with the tile's first k,
 * because this tile is what it ends with; then only the other parts are written and read.
 *
 * After the copies of operands the workspace holds an arrival counter for each tile and consumer,
 * which the entry `reset` sets to 0, and for each block two tiles of sums as the threads have them.
 */
#ifndef GT_HOPPER_STREAM_CUH
#define GT_HOPPER_STREAM_CUH

#if STREAM

constexpr int RESET_THREADS = 128;
constexpr int COUNTERS = PINGPONG ? 1 : CONSUMERS; /* arrival counters of a tile */

GT_DEVICE unsigned *arrival_counters(const gt_args &args)
{
    return (unsigned *)(static_cast<char *>(args.workspace) + gt_packed_bytes(args));
}

/* Where the workspace has the thread's sums of the part of a tile that `cluster` computes; `head`:
 * whether this part begins with the tile's first k. */
GT_DEVICE Sum *partials_of(const gt_args &args, const Schedule &schedule, int consumer,
                           unsigned cluster, bool head)
{
    const unsigned all = schedule.streamed * (CLUSTER * COUNTERS);
    const unsigned block = cluster * CLUSTER + (unsigned)cluster_place();
    Sum *const first =
        (Sum *)(arrival_counters(args) + parts_of(all, RESET_THREADS) * RESET_THREADS);
    const int rows = PINGPONG ? 0 : consumer * ROWS;
    return first + (block * 2ll + head) * (BM * BN) + rows * BN + threadIdx.x % 128 * 4;
}

GT_DEVICE void store_partials(Sum *to, Sum (*sum)[BN / 2])
{
#pragma unroll
    for (int i = 0; i < BLOCKS_64 * BN / 8; i++) {
        gt_vec<Sum, 4> vec;
#pragma unroll
        for (int j = 0; j < 4; j++)
            vec.at[j] = sum[i / (BN / 8)][i % (BN / 8) * 4 + j];
        gt_store_vec<Sum, 4>(to + i * 512, vec);
    }
}

/* Replaces the sums by those of a part or, with `add`, adds these. */
GT_DEVICE void load_partials(const Sum *from, bool add, Sum (*sum)[BN / 2])
{
#pragma unroll
    for (int i = 0; i < BLOCKS_64 * BN / 8; i++) {
        const gt_vec<Sum, 4> vec = gt_load_vec<Sum, 4>(from + i * 512);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            Sum &to = sum[i / (BN / 8)][i % (BN / 8) * 4 + j];
            to = add ? to + vec.at[j] : vec.at[j];
        }
    }
}

/* Tells all threads of the consumer what its first thread knows. */
GT_DEVICE bool broadcast(const Ring &ring, int consumer, bool known)
{
    int *const flag = reinterpret_cast<int *>(ring.turn + 2) + consumer;
    gt_named_barrier_sync(1 + consumer, 128); /* all threads have read the flag's last value */
    if (threadIdx.x % 128 == 0)
        *flag = known;
    gt_named_barrier_sync(1 + consumer, 128);
    return *flag;
}

/* Turns the sums of a part into those of the whole depth; false if another block will store
 * them. */
GT_DEVICE bool stream_fixup(const gt_args &args, const Ring &ring, const Schedule &schedule,
                            int consumer, const Work &work, Sum (*sum)[BN / 2])
{
    if (work.stream < 0)
        return true;
    const unsigned tile = (unsigned)work.stream, depth = (unsigned)schedule.part;
    const unsigned first = tile * depth / schedule.share;
    const unsigned last = (tile * depth + depth - 1) / schedule.share, own = schedule.first;
    unsigned *const counter = arrival_counters(args) +
                              (tile * CLUSTER + (unsigned)cluster_place()) * COUNTERS +
                              (PINGPONG ? 0 : consumer);
    const bool elected = threadIdx.x % 128 == 0;
    Sum *const mine = partials_of(args, schedule, consumer, own, own == first);
    unsigned next = first;

    gt_pdl_wait(); /* until `reset` is complete */
    if (!broadcast(ring, consumer, elected && gt_arrival_counter_load(counter) == last - first)) {
        store_partials(mine, sum);
        gt_named_barrier_sync(1 + consumer, 128);
        if (!broadcast(ring, consumer, elected && gt_arrival_counter_add(counter) == last - first))
            return false;
    }
    /* The first two parts may be added in either order, so that one of them may be in registers. */
    const bool behind = own > first + 1;
    if (behind) {
        store_partials(mine, sum);
        load_partials(partials_of(args, schedule, consumer, next++, true), false, sum);
    }
    for (; next <= last; next++)
        if (behind || next != own)
            load_partials(partials_of(args, schedule, consumer, next, next == first), true, sum);
    return true;
}

#endif

#endif
