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

#endif
