/* reduce.cuh - of hopper/gemm.cu: the sums of all parts of the depth, added in order, to D. */

/* Four sums of a row and their columns of D. */
GT_DEVICE void store_four(const gt_typed_output &output, long long row, long long column,
                          const sum_type *sum)
{
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C)
        gt_typed_output_store<VEC_C>(output, row, column + i, sum + i);
}

/* ---- SPLIT 1: by a launch of its own; a thread takes four columns of a row ---- */
#if SPLIT == 1

constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_LOADS = 8; /* in flight for a thread */

GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
    gt_pdl_wait();
    if (row >= args.m * args.batch)
        return;

    const int batch = (int)(row / args.m);
    const sum_type *from = partial_sums(args, batch, 0) + row % args.m * partial_row(args) + column;
    const long long part = args.m * partial_row(args);
    sum_type total[4] = {};
    for (int split = 0; split < SPLITS; split += REDUCE_LOADS, from += REDUCE_LOADS * part) {
        gt_vec<sum_type, 4> more[REDUCE_LOADS] = {};
#pragma unroll
        for (int i = 0; i < REDUCE_LOADS; i++)
            if (split + i < SPLITS) /* not through the read-only path, where loads may move up
                                     * before the wait: the launch before may still write then */
                more[i] = gt_load_vec<sum_type, 4>(from + i * part);
#pragma unroll
        for (int i = 0; i < REDUCE_LOADS; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                total[j] += more[i].at[j];
    }
    store_four(gt_typed_output_of(args, batch), row % args.m, column, total);
}

#endif

/* ---- SPLIT 2: by the blocks of the cluster, each some rows of the tile ---- */

/* Barrier of the cluster, producers and consumers alike. */
GT_DEVICE void meet()
{
    gt_cluster_sync();
}

constexpr int TOGETHER = 4; /* runs of four sums that a thread adds up at a time: loads in flight */

/* Adds what block `rank` of the cluster left at `own`. */
GT_DEVICE void add_part(gt_vec<sum_type, 4> *total, const sum_type *const *own, unsigned rank)
{
    float there[TOGETHER][4];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++)
        gt_cluster_load<4>(there[i], (const float *)own[i], rank);
#pragma unroll
    for (int i = 0; i < TOGETHER; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const gt_vec<float, 1> bits = {__float_as_uint(there[i][j])};
            total[i].at[j] += ((const gt_vec<sum_type, 1> &)bits).at[0];
        }
}

/* The consumers finish the block's rows of the tile. */
GT_DEVICE void gather(const gt_args &args, const ring &ring, const work &work)
{
    constexpr int across = (SWAP_AB ? BM : BN) / 4, threads = CONSUMERS * 128;
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const long long top = SWAP_AB ? work.column : work.row, left = SWAP_AB ? work.row : work.column;
    const int all = (int)min((long long)(SWAP_AB ? BN : BM), args.m - top); /* rows; may be none */
    const int rows = (all + SPLITS - 1) / SPLITS, first = work.split * rows;
    const int count = min(rows, all - first) * across; /* runs of four */

    for (int begin = (int)threadIdx.x - 128; begin < count; begin += TOGETHER * threads) {
        const sum_type *own[TOGETHER];
        gt_vec<sum_type, 4> total[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int e = min(begin + i * threads, count - 1); /* no branch between the loads */
            const int row = first + e / across, column = e % across * 4;
            own[i] = (const sum_type *)ring.stages + row * SUMS_ROW + column;
            total[i] = gt_load_vec<sum_type, 4>(own[i]);
        }
        /* The other parts from the next one on, so that each block is read by one at a time. */
        for (int ahead = 1, split = work.split; ahead < SPLITS; ahead++) {
            split = split + 1 < SPLITS ? split + 1 : 0;
            add_part(total, own, (unsigned)(split * CLUSTER + cluster_place()));
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int e = begin + i * threads;
            if (e < count)
                store_four(output, top + first + e / across, left + e % across * 4, total[i].at);
        }
    }
}
