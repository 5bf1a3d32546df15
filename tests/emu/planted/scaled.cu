/* scaled.cu - test: a plain product with a factor for each row of A and 128 of k, and one for each
 * 128 x 128 of B, to prove the emulator's factors; with one fault at a time, which it must find.
 *
 * A thread computes an element of D. */
#include "common/tensor.cuh"
#include "common/more.cuh"
#include "common/operands.cuh"

#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif

/* The factor of the products of element (row, column) of D at k. */
GT_DEVICE float factor(const gt_more &more, long long row, long long column, long long k,
                       long long depth)
{
    const float *a = static_cast<const float *>(more.scale_a);
    const float *b = static_cast<const float *>(more.scale_b);
    const long long block = FAULT == 2 ? 0 : k / 128, across = column / 128;
    if (FAULT == 1)
        row = row > 0 ? row - 1 : 0;
    if (FAULT == 3 && k + 128 >= depth && depth > 128)
        return 1.0f;
    return a[block * more.lsa + row] *
           (FAULT == 4 ? b[block * more.lsb + across] : b[across * more.lsb + block]);
}

GT_KERNEL_MORE_BOUNDS(gemm, 64, 1)
{
    const long long column = blockIdx.x * 64LL + threadIdx.x, row = blockIdx.y;
    const gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    const GT_IN *a = gt_typed_a(args, blockIdx.z), *b = gt_typed_b(args, blockIdx.z);
    float sum = 0.0f;

    if (row >= args.m || column >= args.n)
        return;
    for (long long k = 0; k < gt_depth(args); k++)
        sum += gt_to_float<GT_TYPE>(a[gt_offset_a(args, row, k)]) *
               gt_to_float<GT_TYPE>(b[gt_offset_b(args, k, column)]) *
               factor(more, row, column, k, args.k);
    gt_typed_output_store<1>(output, row, column, &sum);
}
