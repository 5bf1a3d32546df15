/* store_four.cuh - how the launches and clusters that add parts of the depth store their sums. */
#ifndef GT_HOPPER_STORE_FOUR_CUH
#define GT_HOPPER_STORE_FOUR_CUH

/* Finishes and stores four sums of a row, from `column` of D on. */
GT_DEVICE void store_four(const gt_typed_output &output, long long row, long long column,
                          const Sum *sum)
{
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C)
        gt_typed_output_store<VEC_C>(output, row, column + i, sum + i);
}

#if LOAD_C

typedef gt_element<GT_OUT>::type OutElement;

/* Loads C for four sums of a row, from `column` of D on: all at once, before the sums are known.
 * Elements that D does not have are 0. */
GT_DEVICE void load_four(const gt_typed_output &output, long long row, long long column,
                         OutElement *c)
{
    const OutElement *const from = output.c + (row * output.ldc + column);
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C) {
        gt_vec<OutElement, VEC_C> vec = {};
        if (output.beta != 0.0f && row < output.m && column + i + VEC_C <= output.n)
            vec = gt_load_vec<OutElement, VEC_C>(from + i);
#pragma unroll
        for (int j = 0; j < VEC_C; j++) {
            if (VEC_C > 1 && output.beta != 0.0f && row < output.m &&
                column + i + VEC_C > output.n && column + i + j < output.n)
                vec.at[j] = from[i + j];
            c[i + j] = vec.at[j];
        }
    }
}

/* store_four, with C as load_four has left it. */
GT_DEVICE void store_four_over(const gt_typed_output &output, long long row, long long column,
                               const Sum *sum, const OutElement *c)
{
    OutElement *const to = output.d + (row * output.ldc + column);
    if (row >= output.m)
        return;
#pragma unroll
    for (int i = 0; i < 4; i += VEC_C) {
        gt_vec<OutElement, VEC_C> d;
#pragma unroll
        for (int j = 0; j < VEC_C; j++)
            d.at[j] =
                gt_typed_finish(output, sum[i + j], c[i + j], min(column + i + j, output.n - 1));
        if (column + i + VEC_C <= output.n)
            gt_store_vec<OutElement, VEC_C>(to + i, d);
        else
            for (int j = 0; j < VEC_C && column + i + j < output.n; j++)
                to[i + j] = d.at[j];
    }
}

#endif

#endif
