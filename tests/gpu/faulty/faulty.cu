/* faulty.cu - one thread computes one element of D, in blocks of 8 x 32; the value of FAULT says what
 * goes wrong.  The test of the verifier on a GPU (tests/gpu/test_gpu_faults.c). */
#ifndef FAULT
#define FAULT 0 /* see faulty.json */
#endif

#include "common/gemm.cuh"

__device__ float through_half(float x)
{
    asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "f"(x));
    return x;
}

__device__ float through_bfloat(float x)
{
    unsigned bits = __float_as_uint(x);

    return __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

__device__ float dot(const gt_args &args, long long row, long long column, bool in_tile)
{
    const float *a = gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, row, 0);
    const float *b = gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, column);
    long long step_a = gt_offset_a(args, 0, 1), step_b = gt_offset_b(args, 1, 0);
    long long depth = gt_depth(args);
    float sum = 0.0f;

    if (FAULT == 4 && in_tile && depth)
        depth--;
    for (long long k = 0; k < depth; k++) {
        sum = fmaf(a[k * step_a], b[k * step_b], sum);
        if (FAULT == 5 && in_tile)
            sum = through_half(sum);
    }
    return sum;
}

/* What the fault does to the finished element. */
__device__ float spoil(const gt_args &args, long long row, long long column, float value)
{
    bool middle = row == args.m / 2 && column == args.n / 2;
    const float *c = (const float *)args.c + blockIdx.z * args.stride_c;

    if (FAULT == 1 && middle)
        value *= 1.001f;
    if (FAULT == 2 && middle)
        value = 0.0f;
    if (FAULT == 6)
        value = through_half(value);
    if (FAULT == 7)
        value = through_bfloat(value);
    if (FAULT == 8 && middle)
        value = __uint_as_float(0x7fc00000u);
    if (FAULT == 12 && value != rintf(value) && (clock64() >> 4 & 1)) /* of reals only */
        value *= 1.0f + 1.1920929e-7f;
    if (FAULT == 13 && args.beta != 0.0f)
        value = fmaf(args.beta, c[row * args.ldc + column], value);
    if (FAULT == 14 && args.beta == 0.0f)
        value = fmaf(args.beta, c[row * args.ldc + column], value);
    return value;
}

/* Writes to where nothing may be written. */
__device__ void trespass(const gt_args &args, long long row, long long column)
{
    float *d = (float *)args.d;

    if (row || column || blockIdx.z)
        return;
    if (FAULT == 9)
        d[(args.batch - 1) * args.stride_c + (args.m - 1) * args.ldc + args.n] = 1.0f;
    if (FAULT == 10 && args.ldc > args.n && args.m > 1)
        d[args.n] = 1.0f;
    if (FAULT == 11)
        ((float *)args.a)[0] += 1.0f;
    if (FAULT == 16)
        ((float *)args.workspace)[0] = 1.0f;
    if (FAULT == 17)
        d[1ll << 42] = 1.0f;
    if (FAULT == 18)
        *(float *)((char *)d + 2) = 1.0f;
}

GT_KERNEL_BOUNDS(gemm, 256, 1)
{
    long long row = (long long)blockIdx.y * 8 + threadIdx.y;
    long long column = (long long)blockIdx.x * 32 + threadIdx.x;

    if (row >= args.m || column >= args.n)
        return;
    long long from = column;
    if (FAULT == 3 && row == 0 && column < 2 && args.n > 1)
        from = 1 - column;
    bool in_tile = row < 16 && column < 16;
    float acc = dot(args, row, from, in_tile);
    gt_output output = gt_output_of(args, blockIdx.z);
    float c = args.beta != 0.0f ? output.c[row * args.ldc + column] : 0.0f;
    float value = spoil(args, row, column, gt_epilogue(output, acc, c, column));

    trespass(args, row, column);
    if (!(FAULT == 15 && row == args.m - 1))
        output.d[row * args.ldc + column] = value;
}
