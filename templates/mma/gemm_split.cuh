/* gemm_split.cuh - part of gemm.cu, whose parameters it uses: the launches beside the product's where
 * blocks share a tile of D along k. */
#ifndef GT_MMA_GEMM_SPLIT_CUH
#define GT_MMA_GEMM_SPLIT_CUH

#if SPLIT_MODE == 1
/* D from the partial results. */
GT_KERNEL(reduce)
{
    const Sum *parts = partial_sums(args);
    const long long ld = partial_ld(args);

    gt_each_vector<OUT_VECTOR>(args, ld / OUT_VECTOR, [&](long long row, long long column) {
        Sum sum[OUT_VECTOR];
        gt_sum_splits(sum, parts + row * ld + column, args.batch * args.m * ld, SPLIT_K);
        gt_typed_output_store<OUT_VECTOR>(gt_typed_output_of(args, row / args.m), row % args.m,
                                          column, sum);
    });
}
#endif

#if SPLIT_MODE == 2
/* D = beta*C (+ bias), which the splits then add to. */
GT_KERNEL(prepare)
{
    gt_each_vector<OUT_VECTOR>(
        args, gt_cdiv(args.n, OUT_VECTOR), [&](long long row, long long column) {
            const Sum zero[OUT_VECTOR] = {};
            gt_typed_output_store<OUT_VECTOR>(gt_typed_output_of(args, row / args.m), row % args.m,
                                              column, zero);
        });
}
#endif

#endif
