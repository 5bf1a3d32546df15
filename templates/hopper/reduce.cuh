/* reduce.cuh - of hopper/gemm.cu: adds the sums of all parts of the depth, in the order of k, and
 * stores D. */
#ifndef GT_HOPPER_REDUCE_CUH
#define GT_HOPPER_REDUCE_CUH

/* Finishes and stores four sums of a row, from `column` of D on. */
GT_DEVICE void store_four(const gt_typed_output &output, long long row, long long column,
                          const Sum *sum)
{
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C)
        gt_typed_output_store<VEC_C>(output, row, column + i, sum + i);
}

/* ---- SPLIT 1: a launch of its own adds the sums; a thread has four columns of a row ---- */
#if SPLIT == 1

constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_LOADS = 8; /* of a thread, at the same time */

GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
    gt_pdl_wait();
    if (row >= args.m * args.batch)
        return;

    const int batch = (int)(row / args.m);
    const Sum *from = partial_sums(args, batch, 0) + row % args.m * partial_row(args) + column;
    const long long part = args.m * partial_row(args);
    Sum total[4] = {};
    for (int split = 0; split < SPLITS; split += REDUCE_LOADS, from += REDUCE_LOADS * part) {
        gt_vec<Sum, 4> more[REDUCE_LOADS] = {};
#pragma unroll
        for (int i = 0; i < REDUCE_LOADS; i++)
            if (split + i < SPLITS) /* not through the read-only path: the launch before may
                                     * still write when such a load moves up before the wait */
                more[i] = gt_load_vec<Sum, 4>(from + i * part);
#pragma unroll
        for (int i = 0; i < REDUCE_LOADS; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                total[j] += more[i].at[j];
    }
    store_four(gt_typed_output_of(args, batch), row % args.m, column, total);
}

#endif

/* ---- SPLIT 2: the blocks of the cluster add the sums, each some rows of the tile ---- */

constexpr int IN_FLIGHT = 4; /* vectors of four sums that a thread adds at a time: as many loads
                              * are in flight */

/* Adds the vectors that block `rank` of the cluster has at the places `own`. */
GT_DEVICE void add_part(gt_vec<Sum, 4> *total, const Sum *const *own, unsigned rank)
{
    float there[IN_FLIGHT][4];
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++)
        gt_cluster_load<4>(there[i], (const float *)own[i], rank);
#pragma unroll
    for (int i = 0; i < IN_FLIGHT; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const gt_vec<float, 1> bits = {__float_as_uint(there[i][j])};
            total[i].at[j] += ((const gt_vec<Sum, 1> &)bits).at[0];
        }
}

/* The consumers add up this block's rows of the tile, and store them. */
GT_DEVICE void cluster_reduce(const gt_args &args, const Ring &ring, const Work &work)
{
    constexpr int across = (SWAP_AB ? BM : BN) / 4, threads = CONSUMERS * 128;
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const long long top = SWAP_AB ? work.column : work.row, left = SWAP_AB ? work.row : work.column;
    const int all = (int)min((long long)(SWAP_AB ? BN : BM), args.m - top); /* of D from the
                                                                             * tile's first on;
                                                                             * may be 0 or less */
    const int rows = (all + SPLITS - 1) / SPLITS, first = work.split * rows;
    const int count = min(rows, all - first) * across; /* vectors of four sums */

    for (int begin = (int)threadIdx.x - 128; begin < count; begin += IN_FLIGHT * threads) {
        const Sum *own[IN_FLIGHT];
        gt_vec<Sum, 4> total[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            const int e = min(begin + i * threads, count - 1); /* a valid vector again, instead
                                                                * of a branch between the loads */
            const int row = first + e / across, column = e % across * 4;
            own[i] = (const Sum *)ring.stages + row * SUMS_ROW + column;
            total[i] = gt_load_vec<Sum, 4>(own[i]);
        }
        /* The other parts follow from the next one on, so that one block at a time reads each of
         * them. */
        for (int ahead = 1, split = work.split; ahead < SPLITS; ahead++) {
            split = split + 1 < SPLITS ? split + 1 : 0;
            add_part(total, own, (unsigned)(split * CLUSTER + cluster_place()));
        }
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            const int e = begin + i * threads;
            if (e < count)
                store_four(output, top + first + e / across, left + e % across * 4, total[i].at);
        }
    }
}

#endif
