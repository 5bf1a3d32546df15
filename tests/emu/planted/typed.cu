/* typed.cu - test: a plain product for every type, to prove the emulator's operands, the conversions
 * and the typed output; with one fault at a time, which the emulator must find.
 *
 * A thread computes RUN neighbouring columns of one row. */
#include "common/tensor.cuh"

#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif
#ifndef RUN
#define RUN 1 /* neighbouring columns per thread, stored by one instruction if it can */
#endif

GT_DEVICE GT_ACCUMULATOR product(const gt_args &args, long long batch, long long row, long long column)
{
    const GT_IN *a = gt_typed_a(args, batch), *b = gt_typed_b(args, batch);
    GT_ACCUMULATOR sum = 0;
    for (long long k = 0; k < gt_depth(args); k++) {
        float x = gt_to_float<GT_TYPE>(a[gt_offset_a(args, row, k)]);
        float y = gt_to_float<GT_TYPE>(b[gt_offset_b(args, k, column)]);
        sum += (GT_ACCUMULATOR)(x * y);
    }
    return sum;
}

GT_KERNEL_BOUNDS(gemm, 64, 1)
{
    const long long column = (blockIdx.x * 64LL + threadIdx.x) * RUN, row = blockIdx.y;
    gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    GT_ACCUMULATOR sum[RUN] = {};

    if (FAULT == 2)
        output.beta = 1.0f;
    for (int i = 0; i < RUN; i++)
        if (column + i < args.n)
            sum[i] = product(args, blockIdx.z, row, column + i) + (FAULT == 1 && args.k > 40 ? 1 : 0);
    gt_typed_output_store<RUN>(output, row, column, sum);
}
