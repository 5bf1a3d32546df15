/* store.cuh - of f32acc/gemm.cu: sums to D or, with SPLIT, to the workspace; tiles that hold
 * infinities or NaN; and the launch that adds the parts of the depth. */
#ifndef GT_F32ACC_STORE_CUH
#define GT_F32ACC_STORE_CUH

constexpr int REDUCE_THREADS = 256;

/* The workspace holds, behind what `split` writes, sums of m rows that are this long, for each
 * matrix of the batch and each part of the depth. */
GT_DEVICE long long partial_row(const gt_args &args)
{
    return gt_cdiv(args.n, 4) * 4;
}

GT_DEVICE float *partial_sums(const gt_args &args, int batch, int split)
{
    return reinterpret_cast<float *>(static_cast<char *>(args.workspace) +
                                     split_layout_of(args).end) +
           ((long long)batch * SPLITS + split) * args.m * partial_row(args);
}

/* `count` neighbours of a row. */
template <int count>
GT_DEVICE void store_run(const gt_args &args, const gt_typed_output &output, const Work &work,
                         long long row, long long column, const float *sum)
{
    if (!SPLIT) {
        gt_typed_output_store<count>(output, row, column, sum);
    } else if (row < args.m && column < args.n) {
        gt_run<float, count> run;
#pragma unroll
        for (int i = 0; i < count; i++)
            run.at[i] = sum[i];
        gt_store_run<float, count>(
            partial_sums(args, work.batch, work.split) + row * partial_row(args) + column, run);
    }
}

/* The consumer's sums, as wgmma leaves them: pairs of neighbours. */
GT_DEVICE void store_sums(const gt_args &args, const Work &work, int consumer, const float *sum)
{
    constexpr int vec = SPLIT ? 2 : VEC_C;
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
    const long long row = (long long)work.row + consumer * 64 + thread / 32 * 16 + lane / 4;
    const long long column = (long long)work.column + lane % 4 * 2;

#pragma unroll
    for (int i = 0; i < BN / 4; i++)
#pragma unroll
        for (int j = 0; j < 2; j += vec)
            store_run<vec>(args, output, work, row + i % 2 * 8, column + i / 2 * 8 + j,
                           sum + i * 2 + j);
}

/* Whether an operand of the warp's 16 rows holds an infinity or a NaN; the same for all lanes. */
GT_DEVICE bool is_special(const gt_args &args, const Work &work, int consumer)
{
    const SplitLayout layout = split_layout_of(args);
    const int row = work.row + consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;
    const int first = work.k / PACK_TILE, end = (int)gt_cdiv(work.k_end, PACK_TILE);
    const int last = min((int)gt_cdiv(work.column + BN, PACK_TILE), (int)layout.tiles_b);
    int found = 0;

    for (int k = first + (int)threadIdx.x % 32; k < end; k += 32) {
        if (row < args.m)
            found |= layout.flag(args, true, work.batch, row / PACK_TILE, k);
        for (int x = work.column / PACK_TILE; x < last; x++)
            found |= layout.flag(args, false, work.batch, x, k);
    }
#pragma unroll
    for (int bits = 16; bits > 0; bits /= 2)
        found |= __shfl_xor_sync(0xffffffffu, found, bits);
    return found != 0;
}

/* The warp's 16 rows of the tile by FP32 FMAs: slow, for operands that have no parts. */
GT_DEVICE void store_special(const gt_args &args, const Work &work, int consumer)
{
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const float *a = gt_matrix_a(args, work.batch), *b = gt_matrix_b(args, work.batch);
    const int first = work.row + consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;

    for (int e = (int)threadIdx.x % 32; e < 16 * BN; e += 32) {
        const int row = first + e / BN, column = work.column + e % BN;
        float sum = 0.0f;
        if (row >= args.m || column >= args.n)
            continue;
        for (int k = work.k; k < work.k_end; k++)
            sum = fmaf(a[gt_offset_a(args, row, k)], b[gt_offset_b(args, k, column)], sum);
        store_run<1>(args, output, work, row, column, &sum);
    }
}

/* D from the sums of all parts of the depth, added in their order. A thread takes four columns of a
 * row. */
GT_DEVICE void reduce_sums(const gt_args &args)
{
    const long long across = gt_cdiv(args.n, 4);
    const long long index = blockIdx.x * (long long)REDUCE_THREADS + threadIdx.x;
    const long long row = index / across, column = index % across * 4;
    if (row >= args.m * args.batch)
        return;

    const int batch = (int)(row / args.m);
    const float *from = partial_sums(args, batch, 0) + row % args.m * partial_row(args) + column;
    gt_run<float, 4> total = gt_load_run_global<float, 4>(from);
    for (int split = 1; split < SPLITS; split++) {
        from += args.m * partial_row(args);
        const gt_run<float, 4> more = gt_load_run_global<float, 4>(from);
#pragma unroll
        for (int i = 0; i < 4; i++)
            total.at[i] += more.at[i];
    }
    const gt_typed_output output = gt_typed_output_of(args, batch);
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C)
        gt_typed_output_store<VEC_C>(output, row % args.m, column + i, total.at + i);
}

#endif
