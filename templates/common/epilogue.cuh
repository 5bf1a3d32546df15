/* epilogue.cuh - from FP32 sums to an FP32 D: alpha, beta, bias, activation, and the store.
 *
 * D = activation(alpha * acc + beta * C + bias). C is not read where beta is 0, so that a NaN there
 * does not spread. output.cuh does the same for D of any type. */
#ifndef GT_EPILOGUE_CUH
#define GT_EPILOGUE_CUH

/* C, D and bias of one matrix of the batch. */
struct gt_output {
    const float *c;
    float *d; /* may be c */
    const float *bias;
    long long m, n, ldc;
    float alpha, beta;
};

GT_DEVICE gt_output gt_output_of(const gt_args &args, long long batch)
{
    gt_output output;
    output.c = static_cast<const float *>(args.c) + (args.beta != 0.0f ? batch * args.stride_c : 0);
    output.d = static_cast<float *>(args.d) + batch * args.stride_c;
    output.bias = static_cast<const float *>(args.bias);
    output.m = args.m;
    output.n = args.n;
    output.ldc = args.ldc;
    output.alpha = args.alpha;
    output.beta = args.beta;
    return output;
}

/* Adds the bias and applies the activation to an element of a column. */
GT_DEVICE float gt_activate(const gt_output &output, float value, long long column)
{
    if (GT_EPILOGUE & 1)
        value += __ldg(output.bias + column);
    if (GT_EPILOGUE & 2)
        value = value < 0.0f ? 0.0f : value; /* NaN stays NaN */
    if (GT_EPILOGUE & 4)
        value = 0.5f * value * (1.0f + erff(value * 0.70710678118654752f));
    return value;
}

/* One element of D. `c` is the element of C; where beta is 0 it may have any value. */
GT_DEVICE float gt_epilogue(const gt_output &output, float acc, float c, long long column)
{
    float value = output.alpha * acc;
    if (output.beta != 0.0f)
        value = fmaf(output.beta, c, value);
    return gt_activate(output, value, column);
}

/* Finishes and stores count (1, 2 or 4) elements of a row from `column` on; elements outside of D
 * are left out. With count > 1, the row's address and ldc are multiples of count elements. */
template <int count>
GT_DEVICE void gt_output_store(const gt_output &output, long long row, long long column,
                               const float *acc)
{
    if (row >= output.m || column >= output.n)
        return;
    long long at = row * output.ldc + column;
    float value[count];
    if (column + count <= output.n) {
        if (output.beta != 0.0f)
            gt_load<count>(value, output.c + at);
#pragma unroll
        for (int i = 0; i < count; i++)
            value[i] = gt_epilogue(output, acc[i], value[i], column + i);
        gt_store<count>(output.d + at, value);
        return;
    }
#pragma unroll
    for (int i = 0; i < count; i++)
        if (column + i < output.n) {
            float c = output.beta != 0.0f ? output.c[at + i] : 0.0f;
            output.d[at + i] = gt_epilogue(output, acc[i], c, column + i);
        }
}

#endif
