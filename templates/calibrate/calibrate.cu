/* calibrate.cu - kernels that do one thing only, as fast as the device can: what
 * tuner/timing/calibrate.c finds bandwidths and rates with.
 *
 *   entry               a block of 256 threads does, in each step,          limit that shows
 *   calibrate_empty     nothing                                             launch
 *   calibrate_copy      its share of a copy, once                           device memory, both ways
 *   calibrate_read      its share of a read past L1                         device memory or L2
 *   calibrate_shared    16 reads of 16 bytes by each thread                 shared memory
 *   calibrate_fma       128 multiply-adds by each thread, 8 chains          FP32 pipe
 *   calibrate_mma_*     8 products of 16 x 8 x 32 bytes by each warp        tensor cores, by warp
 *
 * wgmma.cu has what sm_90a adds. The operands of tensor cores are zero: the power that the bits of
 * a product take is not measured here. An entry whose instruction the arch does not have is empty;
 * the host does not time it. */
#include "calibrate/device.cuh"
#include "common/mma.cuh"

CALIBRATE(calibrate_empty)
{
}

CALIBRATE(calibrate_copy)
{
    const uint4 *from = (const uint4 *)args.from;
    uint4 *to = (uint4 *)args.to;
    long long words = args.bytes / 16, apart = (long long)gridDim.x * THREADS;

    for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < words; i += 4 * apart) {
        uint4 part[4];

#pragma unroll
        for (int j = 0; j < 4; j++)
            if (i + j * apart < words)
                part[j] = from[i + j * apart];
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (i + j * apart < words)
                to[i + j * apart] = part[j];
    }
}

/* 16 bytes from L2 or beyond; L1 is passed by. */
GT_DEVICE unsigned read_past_l1(const uint4 *from)
{
    uint4 part;

    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(part.x), "=r"(part.y), "=r"(part.z), "=r"(part.w)
                 : "l"(from));
    return part.x ^ part.y ^ part.z ^ part.w;
}

CALIBRATE(calibrate_read)
{
    const uint4 *from = (const uint4 *)args.from;
    long long words = args.bytes / 16, apart = (long long)gridDim.x * THREADS;
    unsigned sum = 0;

    for (int step = 0; step < args.steps; step++)
        for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < words;
             i += 4 * apart) {
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (i + j * apart < words)
                    sum ^= read_past_l1(from + i + j * apart);
        }
    keep(args, sum);
}

CALIBRATE(calibrate_shared)
{
    __shared__ uint4 tile[2 * THREADS];
    unsigned sum = 0;

    for (int i = threadIdx.x; i < 2 * THREADS; i += THREADS)
        tile[i] = make_uint4(args.steps, i, i, i);
    __syncthreads();
    for (int step = 0; step < args.steps; step++)
#pragma unroll
        for (int i = 0; i < 16; i++) {
            unsigned at =
                (unsigned)__cvta_generic_to_shared(&tile[(threadIdx.x + 16 * i) % (2 * THREADS)]);
            uint4 part;

            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(part.x), "=r"(part.y), "=r"(part.z), "=r"(part.w)
                         : "r"(at));
            sum ^= part.x ^ part.y ^ part.z ^ part.w;
        }
    keep(args, sum);
}

CALIBRATE(calibrate_fma)
{
    float x[8], factor = 1.0f / (float)(args.steps + 1), sum = 0;

    for (int i = 0; i < 8; i++)
        x[i] = (float)(threadIdx.x + i);
    for (int step = 0; step < args.steps; step++)
#pragma unroll
        for (int i = 0; i < 16; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                x[j] = fmaf(x[j], factor, 1.0f);
    for (int i = 0; i < 8; i++)
        sum += x[i];
    keep(args, __float_as_uint(sum));
}

/* ---- tensor cores, by warp ---- */

/* Eight independent sums hide an instruction's latency. args.bytes is 0, which the compiler must
 * not know. Where it makes one instruction of several (FP8 on sm_90) it would compute equal
 * products once: there each one varies to it, which elsewhere would cost a tenth of the rate. */
#define CALIBRATE_MMA(name, sum_type, words_a, words_b, times, varies, call)        \
    CALIBRATE(name)                                                                 \
    {                                                                               \
        sum_type d[8][4] = {};                                                      \
        unsigned a[words_a], b[words_b], zero = (unsigned)args.bytes, sum = 0;      \
                                                                                    \
        for (int i = 0; i < words_a; i++)                                           \
            a[i] = zero;                                                            \
        for (int i = 0; i < words_b; i++)                                           \
            b[i] = zero;                                                            \
        for (int step = 0; step < args.steps; step++)                               \
            _Pragma("unroll") for (int i = 0; i < 8; i++)                           \
            {                                                                       \
                if (varies)                                                         \
                    a[0] = (unsigned)(8 * step + i) & zero;                         \
                _Pragma("unroll") for (int j = 0; j < times; j++) call(d[i], a, b); \
            }                                                                       \
        for (int i = 0; i < 8; i++)                                                 \
            sum ^= (unsigned)d[i][0] ^ (unsigned)d[i][3];                           \
        keep(args, sum);                                                            \
    }
#define CALIBRATE_NONE(name) \
    CALIBRATE(name)          \
    {                        \
    }

#if __CUDA_ARCH__ >= 800
CALIBRATE_MMA(calibrate_mma_f16, float, 4, 2, 1, 0, gt_mma_m16n8k16_f16_f32)
CALIBRATE_MMA(calibrate_mma_bf16, float, 4, 2, 1, 0, gt_mma_m16n8k16_bf16_f32)
CALIBRATE_MMA(calibrate_mma_tf32, float, 4, 2, 1, 0, gt_mma_m16n8k8_tf32_f32)
CALIBRATE_MMA(calibrate_mma_s8, int, 4, 2, 1, 0, gt_mma_m16n8k32_s8_s32)
#else
CALIBRATE_MMA(calibrate_mma_f16, float, 2, 1, 2, 0, gt_mma_m16n8k8_f16_f32)
CALIBRATE_NONE(calibrate_mma_bf16)
CALIBRATE_NONE(calibrate_mma_tf32)
CALIBRATE_NONE(calibrate_mma_s8)
#endif
#if __CUDA_ARCH__ >= 890
CALIBRATE_MMA(calibrate_mma_f8, float, 4, 2, 1, __CUDA_ARCH__ == 900, gt_mma_m16n8k32_e4m3_f32)
#else
CALIBRATE_NONE(calibrate_mma_f8)
#endif
