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

GT_KERNEL_BOUNDS(reduce, 256, 1)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
    gt_launch_wait();
    if (row >= args.m * args.batch)
        return;

    const int batch = (int)(row / args.m);
    const sum_type *from = partial_sums(args, batch, 0) + row % args.m * partial_row(args) + column;
    gt_run<sum_type, 4> total = gt_load_run_global<sum_type, 4>(from);
    for (int split = 1; split < SPLITS; split++) {
        from += args.m * partial_row(args);
        const gt_run<sum_type, 4> more = gt_load_run_global<sum_type, 4>(from);
#pragma unroll
        for (int i = 0; i < 4; i++)
            total.at[i] += more.at[i];
    }
    store_four(gt_typed_output_of(args, batch), row % args.m, column, total.at);
}

#endif

/* ---- SPLIT 2: by the blocks of the cluster, each some rows of the tile ---- */

/* Barrier of the cluster, producers and consumers alike. */
GT_DEVICE void meet()
{
    gt_cluster_sync();
}

constexpr int TOGETHER = 4; /* runs of four sums that a thread adds up at a time: loads in flight */

/* The consumers finish the block's rows of the tile. */
GT_DEVICE void gather(const gt_args &args, const ring &ring, const work &work)
{
    constexpr int across = BN / 4, threads = CONSUMERS * 128;
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const int all = (int)min((long long)BM, args.m - work.row); /* rows; may be none */
    const int rows = (all + SPLITS - 1) / SPLITS, first = work.split * rows;
    const int count = min(rows, all - first) * across; /* runs of four */

    for (int begin = (int)threadIdx.x - 128; begin < count; begin += TOGETHER * threads) {
        const float *own[TOGETHER];
        sum_type total[TOGETHER][4] = {};
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int e = min(begin + i * threads, count - 1); /* no branch between the loads */
            const int row = first + e / across, column = e % across * 4;
            own[i] = (const float *)ring.stages + row * SUMS_ROW + column;
        }
#pragma unroll 1
        for (int split = 0; split < SPLITS; split++) {
            const unsigned rank = (unsigned)(split * CLUSTER + cluster_place());
            float there[TOGETHER][4];
#pragma unroll
            for (int i = 0; i < TOGETHER; i++)
                gt_cluster_load<4>(there[i], own[i], rank);
#pragma unroll
            for (int i = 0; i < TOGETHER; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const gt_run<float, 1> bits = {__float_as_uint(there[i][j])};
                    total[i][j] += ((const gt_run<sum_type, 1> &)bits).at[0];
                }
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int e = begin + i * threads;
            if (e < count)
                store_four(output, (long long)work.row + first + e / across,
                           (long long)work.column + e % across * 4, total[i]);
        }
    }
}
