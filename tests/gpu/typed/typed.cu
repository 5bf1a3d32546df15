/* typed.cu - test: one thread, one element of D, for operands of every type; FAULT makes it wrong.
 *
 *            N, threadIdx.x
 *          +----------------+
 *   M,     |  one thread,   |   sums k = 0 .. K-1 in the accumulator's type
 *   thread |  one element   |
 *   Idx.y  +----------------+
 */
#ifndef FAULT
#define FAULT 0 // see typed.json
#endif

#include "common/tensor.cuh"

typedef gt_element<GT_TYPE>::type gt_operand;

GT_DEVICE float number(gt_operand x)
{
    float value = gt_to_float<GT_TYPE>(x);

    return FAULT == 2 ? __uint_as_float(__float_as_uint(value) & 0xffff0000u) : value;
}

GT_DEVICE gt_operand element_a(const gt_args &args, long long batch, long long i, long long k)
{
    return gt_typed_a(args, batch)[GT_TRANS_A ? k * args.lda + i : i * args.lda + k];
}

GT_DEVICE gt_operand element_b(const gt_args &args, long long batch, long long k, long long j)
{
    return gt_typed_b(args, batch)[GT_TRANS_B ? j * args.ldb + k : k * args.ldb + j];
}

#if GT_ACC == GT_S32
GT_DEVICE int product(const gt_args &args, long long batch, long long i, long long j)
{
    int sum = 0;

    for (long long k = 0; k < args.k; k++)
        sum += element_a(args, batch, i, k) * element_b(args, batch, k, j);
    return sum;
}
#else
GT_DEVICE float product(const gt_args &args, long long batch, long long i, long long j)
{
    float sum = 0;

    for (long long k = 0; k < args.k; k++) {
        sum = fmaf(number(element_a(args, batch, i, k)), number(element_b(args, batch, k, j)), sum);
        if (GT_ACC == GT_F16 || FAULT == 3)
            sum = gt_to_float<GT_F16>(gt_from_float<GT_F16>(sum));
    }
    return sum;
}
#endif

GT_KERNEL(gemm)
{
    long long j = (long long)blockIdx.x * 32 + threadIdx.x;
    long long i = (long long)blockIdx.y * 8 + threadIdx.y, batch = blockIdx.z;
    gt_typed_output output = gt_typed_output_of(args, batch);

    if (i >= args.m || j >= args.n || (FAULT == 5 && i == args.m - 1))
        return;
    decltype(product(args, 0, 0, 0)) sum[1] = {0};
    if (args.alpha != 0)
        sum[0] = product(args, batch, i, j);
    gt_typed_output_store<1>(output, i, j, sum);
    if (FAULT == 1 && i == args.m / 2 && j == args.n / 2)
        *(unsigned char *)(output.d + i * args.ldc + j) ^= 1;
    if (FAULT == 4 && i == 0 && j == args.n - 1)
        output.d[args.n] = output.d[0];
}
