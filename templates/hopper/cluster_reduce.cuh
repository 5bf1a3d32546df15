/* cluster_reduce.cuh - SPLIT 2: the blocks of the cluster add the sums that each of them left where
 * its stages were, each block some rows of the tile. */
#ifndef GT_HOPPER_CLUSTER_REDUCE_CUH
#define GT_HOPPER_CLUSTER_REDUCE_CUH

#include "hopper/store_four.cuh"

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
#if LOAD_C
        OutElement c[IN_FLIGHT][4];
#endif
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            const int e = min(begin + i * threads, count - 1); /* a valid vector again, instead
                                                                * of a branch between the loads */
            const int row = first + e / across, column = e % across * 4;
            own[i] = (const Sum *)ring.stages + row * SUMS_ROW + column;
            total[i] = gt_load_vec<Sum, 4>(own[i]);
#if LOAD_C
            load_four(output, top + row, left + column, c[i]);
#endif
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
#if LOAD_C
                store_four_over(output, top + first + e / across, left + e % across * 4,
                                total[i].at, c[i]);
#else
                store_four(output, top + first + e / across, left + e % across * 4, total[i].at);
#endif
        }
    }
}

#endif
