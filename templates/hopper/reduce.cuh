/* reduce.cuh - of hopper/gemm.cu: the second launch of SPLIT: the sums of all parts of the depth,
 * added in their order, to D. A thread takes four columns of a row. */
constexpr int REDUCE_THREADS = 256;

GT_KERNEL_BOUNDS(reduce, 256, 1)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
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
    const gt_typed_output output = gt_typed_output_of(args, batch);
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C)
        gt_typed_output_store<VEC_C>(output, row % args.m, column + i, total.at + i);
}
