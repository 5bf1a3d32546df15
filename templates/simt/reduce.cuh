/* reduce.cuh - of gemm.cu and tma.cu, whose parameters it uses: the launch that adds the partial
 * results of SPLIT_MODE 1. */
#ifndef GT_SIMT_REDUCE_CUH
#define GT_SIMT_REDUCE_CUH

#if SPLIT_MODE == 1
/* D from the partial results. */
GT_KERNEL(reduce)
{
    const float *parts = partial_results(args);
    const long long ld = partial_ld(args);

    gt_each_vector<4>(args, ld / 4, [&](long long row, long long column) {
        const gt_output output = scaled_output(args, row / args.m);
        float sum[4];
        gt_sum_splits(sum, parts + row * ld + column, args.batch * args.m * ld, SPLIT_K);
#pragma unroll
        for (int u = 0; u < 4; u += VEC_C)
            gt_output_store<VEC_C>(output, row % args.m, column + u, sum + u);
    });
}
#endif

#endif
