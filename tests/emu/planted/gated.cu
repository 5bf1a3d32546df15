/* gated.cu - test: a plain product whose columns are gates and values, to prove the emulator's gated
 * results; with one fault at a time, which it must find.
 *
 * A thread computes an element of D. */
#include "common/tensor.cuh"

#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif
#ifndef GT_GATE
#define GT_GATE 0 /* enum gt_gate of gemmtune.h */
#endif

/* A column of the product with its bias. */
GT_DEVICE float column_of(const gt_args &args, long long row, long long column, long long bias)
{
    const GT_IN *a = gt_typed_a(args, blockIdx.z), *b = gt_typed_b(args, blockIdx.z);
    float sum = 0.0f;

    for (long long k = 0; k < gt_depth(args); k++)
        sum += gt_to_float<GT_TYPE>(a[gt_offset_a(args, row, k)]) *
               gt_to_float<GT_TYPE>(b[gt_offset_b(args, k, column)]);
    sum *= args.alpha;
    if (GT_EPILOGUE & 1)
        sum += gt_to_float<GT_OUT>(static_cast<const GT_RESULT *>(args.bias)[bias]);
    return sum;
}

GT_KERNEL_BOUNDS(gemm, 64, 1)
{
    const long long column = blockIdx.x * 64LL + threadIdx.x, row = blockIdx.y, half = args.n / 2;
    const int order = FAULT == 1 ? (GT_GATE == 0 ? 1 : 0) : FAULT == 2 ? 2 : GT_GATE;
    const long long gate = order == 0 ? column : order == 1 ? half + column : 2 * column;
    const long long value = order == 0 ? half + column : order == 1 ? column : 2 * column + 1;

    if (row >= args.m || column >= half)
        return;
    const float g = column_of(args, row, gate, FAULT == 3 ? value : gate);
    const float v = column_of(args, row, value, value);
    const float active = GT_EPILOGUE / 2 == 5 ? g / (1.0f + expf(-g)) /* SwiGLU, with a bias or not */
                                              : 0.5f * g * (1.0f + erff(g * 0.70710678f));
    static_cast<GT_RESULT *>(args.d)[blockIdx.z * args.stride_c + row * args.ldc + column] =
        gt_from_float<GT_OUT>(active * v);
}
