/* output.cuh - from sums to a D of any type: alpha, beta, bias, activation, one rounding, the
 * store.
 *
 * D = activation(alpha * sum + beta * C + bias), in float, rounded once to GT_OUT. Where D is s32,
 * the sums are s32 too, and all arithmetic is 32-bit integer arithmetic; alpha and beta are whole
 * numbers, and there is neither bias nor activation. C is not read where beta is 0, so that a NaN
 * there does not spread. C may be D. */
#ifndef GT_OUTPUT_CUH
#define GT_OUTPUT_CUH

/* C, D and bias of one matrix of the batch. */
struct gt_typed_output {
    const gt_element<GT_OUT>::type *c;
    gt_element<GT_OUT>::type *d;
    const gt_element<GT_OUT>::type *bias;
    long long m, n, ldc;
    float alpha, beta;
};

GT_DEVICE gt_typed_output gt_typed_output_of(const gt_args &args, long long batch)
{
    typedef gt_element<GT_OUT>::type element;
    gt_typed_output output;
    output.c =
        static_cast<const element *>(args.c) + (args.beta != 0.0f ? batch * args.stride_c : 0);
    output.d = static_cast<element *>(args.d) + batch * args.stride_c;
    output.bias = static_cast<const element *>(args.bias);
    output.m = args.m;
    output.n = args.n;
    output.ldc = args.ldc;
    output.alpha = args.alpha;
    output.beta = args.beta;
    return output;
}

/* Adds the bias and applies the activation to an element of a column. */
GT_DEVICE float gt_typed_activate(const gt_typed_output &output, float value, long long column)
{
    if (GT_EPILOGUE & 1)
        value += gt_to_float<GT_OUT>(
            gt_load_vec_global<gt_element<GT_OUT>::type, 1>(output.bias + column).at[0]);
    if (GT_EPILOGUE & 2)
        value = value < 0.0f ? 0.0f : value; /* NaN stays NaN */
    if (GT_EPILOGUE & 4)
        value = 0.5f * value * (1.0f + erff(value * 0.70710678118654752f));
    return value;
}

/* One element of D. `c` is the element of C; where beta is 0 it may have any value. */
template <class Sum>
GT_DEVICE gt_element<GT_OUT>::type gt_typed_finish(const gt_typed_output &output, Sum sum,
                                                   gt_element<GT_OUT>::type c, long long column)
{
#if GT_OUT == GT_S32
    static_assert(GT_EPILOGUE == 0, "an s32 result takes no epilogue");
    unsigned value = (unsigned)__float2int_rn(output.alpha) * (unsigned)sum; /* wraps around */
    if (output.beta != 0.0f)
        value += (unsigned)__float2int_rn(output.beta) * (unsigned)c;
    return (int)value;
#else
    float value = output.alpha * (float)sum;
    if (output.beta != 0.0f)
        value = fmaf(output.beta, gt_to_float<GT_OUT>(c), value);
    return gt_from_float<GT_OUT>(gt_typed_activate(output, value, column));
#endif
}

/* Finishes and stores count (1, 2, 4 ...) elements of a row from `column` on; elements outside of D
 * are left out. With count > 1, the row's address and ldc are multiples of min(16, count *
 * sizeof(element)) bytes. Sum is float or int. */
template <int count, class Sum>
GT_DEVICE void gt_typed_output_store(const gt_typed_output &output, long long row, long long column,
                                     const Sum *sum)
{
    typedef gt_element<GT_OUT>::type element;
    constexpr int size = (int)sizeof(element), most = 16 / size;
    constexpr int part = count < most ? count : most; /* elements of an instruction */
    const long long at = row * output.ldc + column;

    if (row >= output.m || column >= output.n)
        return;
#pragma unroll
    for (int first = 0; first < count; first += part) {
        gt_vec<element, part> c, d;
        c.word = typename gt_vec<element, part>::word_type();
        if (column + first + part <= output.n) {
            if (output.beta != 0.0f)
                c = gt_load_vec<element, part>(output.c + at + first);
#pragma unroll
            for (int i = 0; i < part; i++)
                d.at[i] = gt_typed_finish(output, sum[first + i], c.at[i], column + first + i);
            gt_store_vec<element, part>(output.d + at + first, d);
            continue;
        }
#pragma unroll
        for (int i = 0; i < part; i++)
            if (column + first + i < output.n) {
                long long place = at + first + i;
                element old = output.beta != 0.0f ? output.c[place] : c.at[i];
                output.d[place] = gt_typed_finish(output, sum[first + i], old, column + first + i);
            }
    }
}

#endif
