/* exact.cuh - of the templates of f32acc: elements of D by FP32 multiply-adds, for operands that
 * have no parts, and for sums that parts do not give: where products of finite values are beyond
 * float, those of their parts may be infinities of both signs, and their sum NaN. */
#ifndef GT_F32ACC_EXACT_CUH
#define GT_F32ACC_EXACT_CUH

/* Whether a lane of the warp has found something. The compiler knows of a vote, but not of an
 * exchange, that it is the same for all lanes: that a branch on it does not divide the warp. */
GT_DEVICE bool any_lane(int found)
{
    return __any_sync(0xffffffffu, found) != 0;
}

/* Keeps zeros, which become NaN with the first infinity or NaN among sums: four at a time, which do
 * not wait for each other. */
struct Zeros {
    float zero[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    template <int count> GT_DEVICE void see(const float *sum)
    {
        static_assert(count % 4 == 0, "each of them sees as many");
#pragma unroll
        for (int i = 0; i < count; i++)
            zero[i % 4] = fmaf(sum[i], 0.0f, zero[i % 4]);
    }
    GT_DEVICE bool gone() const
    {
        return zero[0] + zero[1] + (zero[2] + zero[3]) != 0.0f;
    }
};

/* Whether one of the warp's sums is an infinity or NaN. */
template <int count> GT_DEVICE bool is_beyond_float(const float *sum)
{
    Zeros zeros;
    zeros.see<count>(sum);
    return any_lane(zeros.gone());
}

/* An element of a product by multiply-adds in order, with so many loads ahead, which would else wait
 * for each other. */
template <int ahead>
GT_DEVICE float exact_element(const gt_args &args, long long batch, long long row, long long column,
                              int k, int k_end)
{
    const float *a = gt_matrix_a(args, batch) + gt_offset_a(args, row, k);
    const float *b = gt_matrix_b(args, batch) + gt_offset_b(args, k, column);
    const long long step_a = gt_offset_a(args, 0, 1), step_b = gt_offset_b(args, 1, 0);
    float sum = 0.0f;

#pragma unroll ahead
    for (; k < k_end; k++, a += step_a, b += step_b)
        sum = fmaf(__ldg(a), __ldg(b), sum);
    return sum;
}

#endif
