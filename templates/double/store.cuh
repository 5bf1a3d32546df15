/* store.cuh - part of gemm.cu, whose parameters it uses: from sums to D, or to a partial result in
 * the workspace.
 *
 * D = activation(alpha * sum + beta * C + bias), all in double. C is not read where beta is 0, so
 * that a NaN there does not spread. C may be D. */
#ifndef GT_DOUBLE_STORE_CUH
#define GT_DOUBLE_STORE_CUH

/* C, D and bias of one matrix of the batch. */
struct Output {
    const double *c;
    double *d;
    const double *bias;
    long long m, n, ldc;
    double alpha, beta;
};

GT_DEVICE Output output_of(const gt_args &args, const gt_more &more, long long batch)
{
    Output output;
    output.c = static_cast<const double *>(args.c) + (more.beta != 0 ? batch * args.stride_c : 0);
    output.d = static_cast<double *>(args.d) + batch * args.stride_c;
    output.bias = static_cast<const double *>(args.bias);
    output.m = args.m;
    output.n = args.n;
    output.ldc = args.ldc;
    output.alpha = more.alpha;
    output.beta = more.beta;
    return output;
}

/* One element of D. `c` is the element of C; where beta is 0 it may have any value. */
GT_DEVICE double finish(const Output &output, double sum, double c, long long column)
{
    double value = output.alpha * sum;
    if (output.beta != 0)
        value = fma(output.beta, c, value);
    if (GT_EPILOGUE & 1)
        value += __ldg(output.bias + column);
    if (GT_EPILOGUE & 2)
        value = value < 0 ? 0 : value; /* NaN stays NaN */
    if (GT_EPILOGUE & 4)
        value = 0.5 * value * (1 + erf(value * 0.70710678118654752440));
    return value;
}

/* Finishes and stores `count` elements of a row from `column` on, but not those outside of D. */
template <int count>
GT_DEVICE void store_row(const Output &output, long long row, long long column, const double *sum)
{
    const long long at = row * output.ldc + column;

    if (row >= output.m)
        return;
    if (count == 1 || column + count > output.n) {
#pragma unroll
        for (int i = 0; i < count; i++)
            if (column + i < output.n)
                output.d[at + i] =
                    finish(output, sum[i], output.beta != 0 ? output.c[at + i] : 0, column + i);
        return;
    }
    gt_vec<double, count> c, d;
    c.word = typename gt_vec<double, count>::word_type();
    if (output.beta != 0)
        c = gt_load_vec<double, count>(output.c + at);
#pragma unroll
    for (int i = 0; i < count; i++)
        d.at[i] = finish(output, sum[i], c.at[i], column + i);
    gt_store_vec<double, count>(output.d + at, d);
}

/* Elements between rows of a partial result: whole pairs, which are then aligned. */
GT_DEVICE long long partial_ld(const gt_args &args)
{
    return (args.n + 1) / 2 * 2;
}

/* The same to the partial result of this block's part of k; what stands behind a row's end is not
 * read. */
template <int count>
GT_DEVICE void store_part(const gt_args &args, long long batch, long long row, long long column,
                          const double *sum)
{
    const long long ld = partial_ld(args);
    double *to = static_cast<double *>(args.workspace) +
                 ((blockIdx.y * args.batch + batch) * args.m + row) * ld + column;
    gt_vec<double, count> values;

    if (row >= args.m || column >= ld)
        return;
#pragma unroll
    for (int i = 0; i < count; i++)
        values.at[i] = sum[i];
    gt_store_vec<double, count>(to, values);
}

#endif
