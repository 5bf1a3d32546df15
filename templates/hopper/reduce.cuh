/* reduce.cuh - of hopper/gemm.cu: adds the sums of all parts of the depth, in the order of k, and
 * stores D. */
#ifndef GT_HOPPER_REDUCE_CUH
#define GT_HOPPER_REDUCE_CUH

#include "hopper/store_four.cuh"

/* ---- SPLIT 1: a launch of its own adds the sums; a thread has four columns of a row ---- */
#if SPLIT == 1

constexpr int REDUCE_THREADS = 256;
constexpr int REDUCE_LOADS = 8; /* of a thread, at the same time */

GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
#if LOAD_C
    /* The launch before, which this one does not wait for yet, writes no D, and C is older. */
    const gt_typed_output output = gt_typed_output_of(args, row / args.m);
    OutElement c[4] = {};
    if (row < args.m * args.batch)
        load_four(output, row % args.m, column, c);
#endif
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
#if LOAD_C
    store_four_over(output, row % args.m, column, total, c);
#else
    store_four(gt_typed_output_of(args, batch), row % args.m, column, total);
#endif
}

#endif

#include "hopper/cluster_reduce.cuh"

#endif
