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

/* Adds what the block of this part of the depth left at `own`. */
GT_DEVICE void add_four(sum_type *total, const sum_type *own, int split)
{
    float there[4];
    gt_cluster_load<4>(there, (const float *)own, (unsigned)split);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const gt_run<float, 1> bits = {__float_as_uint(there[i])};
        total[i] += ((const gt_run<sum_type, 1> &)bits).at[0];
    }
}

/* The consumers finish the block's rows of the tile. */
GT_DEVICE void gather(const gt_args &args, const ring &ring, const work &work)
{
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const int rows = BM / SPLITS, first = work.split * rows;

    for (int e = (int)threadIdx.x - 128; e < rows * BN / 4; e += CONSUMERS * 128) {
        const int row = first + e / (BN / 4), column = e % (BN / 4) * 4;
        const sum_type *own = (const sum_type *)ring.stages + row * SUMS_ROW + column;
        sum_type total[4] = {};
        if (work.row + row >= args.m)
            break;
        for (int split = 0; split < SPLITS; split++)
            add_four(total, own, split);
        store_four(output, (long long)work.row + row, (long long)work.column + column, total);
    }
}
