/* device.cuh - what the proof kernels share: how an entry is spelled, on the GPU and in the
 * emulator, and how the findings of many threads become one result. */
#ifndef GT_PROOF_DEVICE_CUH
#define GT_PROOF_DEVICE_CUH

#include "proof/args.h"

#ifdef GT_EMULATE
#include "emulate.h"
#endif

#include "common/args.h"
#include "common/platform.cuh"
#include "common/types.cuh"

#ifdef GT_EMULATE

#define GT_PROOF_KERNEL(name, type) extern "C" void name(const type args)
#define GT_PROOF_ERF(x)             __builtin_erf(x)
#define GT_PROOF_EXP(x)             __builtin_exp(x)
#define GT_PROOF_LOG(x)             __builtin_logf(x)
#define GT_PROOF_SQRT(x)            __builtin_sqrtf(x)
#define GT_PROOF_COSPI(x)           __builtin_cosf((x)*3.14159265f)
#define GT_PROOF_SHARED(type, name, extents) \
    static const char name##_key = 0;        \
    typedef type name##_array extents;       \
    name##_array &name = *(name##_array *)gt_emu_static_shared(&name##_key, sizeof(name##_array))

#else

#define GT_PROOF_KERNEL(name, type) \
    extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ type args)
#define GT_PROOF_ERF(x)                      erf(x)
#define GT_PROOF_EXP(x)                      exp(x)
#define GT_PROOF_LOG(x)                      logf(x)
#define GT_PROOF_SQRT(x)                     sqrtf(x)
#define GT_PROOF_COSPI(x)                    cospif(x)
#define GT_PROOF_SHARED(type, name, extents) __shared__ type name extents

#endif

#define GT_PROOF_DEVICE __device__ __forceinline__

/* The types that common/types.cuh does not know. */
#ifndef GT_F64
#define GT_F64 8
#endif
#define GT_E2M1 13

typedef unsigned long long gt_u64;

/* One word that depends on every bit of the index (the finaliser of splitmix64). */
GT_PROOF_DEVICE gt_u64 gt_proof_mix(gt_u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Neither NaN nor infinite. */
GT_PROOF_DEVICE bool gt_proof_finite(double x)
{
    return x - x == 0;
}

/* ---- elements of a type known at run time ---- */

GT_PROOF_DEVICE int gt_proof_bytes(int type)
{
    return type == GT_F16 || type == GT_BF16                     ? 2
           : type == GT_E4M3 || type == GT_E5M2 || type == GT_S8 ? 1
           : type == GT_F64                                      ? 8
                                                                 : 4;
}

template <int code> GT_PROOF_DEVICE float gt_proof_get_as(const void *data, long long at)
{
    return gt_to_float<code>(static_cast<const typename gt_element<code>::type *>(data)[at]);
}

/* The number of four bits, and the bits of the number nearest to a value. */
GT_PROOF_DEVICE float gt_proof_of_e2m1(int bits)
{
    const int exponent = bits >> 1 & 3, fraction = bits & 1;
    const float size =
        exponent ? (1.0f + 0.5f * fraction) * (1 << exponent) * 0.5f : 0.5f * fraction;

    return bits & 8 ? -size : size;
}

GT_PROOF_DEVICE int gt_proof_to_e2m1(float value)
{
    int bits = 0;

    while (bits < 7 && fabsf(value) > 0.5f * (gt_proof_of_e2m1(bits) + gt_proof_of_e2m1(bits + 1)))
        bits++;
    return value < 0 ? bits | 8 : bits;
}

/* Element `at` as the number that it is. */
GT_PROOF_DEVICE double gt_proof_get(const void *data, long long at, int type)
{
    switch (type) {
    case GT_F16:
        return gt_proof_get_as<GT_F16>(data, at);
    case GT_BF16:
        return gt_proof_get_as<GT_BF16>(data, at);
    case GT_E4M3:
        return gt_proof_get_as<GT_E4M3>(data, at);
    case GT_E5M2:
        return gt_proof_get_as<GT_E5M2>(data, at);
    case GT_S8:
        return gt_proof_get_as<GT_S8>(data, at);
    case GT_S32:
        return static_cast<const int *>(data)[at];
    case GT_F64:
        return static_cast<const double *>(data)[at];
    case GT_E2M1: /* two in a byte: no fraction, or one bit of it; half a unit is the least */
        return gt_proof_of_e2m1(static_cast<const unsigned char *>(data)[at / 2] >> at % 2 * 4);
    case GT_PROOF_UE8M0: /* all but 2^-127, which is not drawn */
        return __uint_as_float((unsigned)static_cast<const unsigned char *>(data)[at] << 23);
    default:
        return static_cast<const float *>(data)[at];
    }
}

template <int code> GT_PROOF_DEVICE void gt_proof_put_as(void *data, long long at, double value)
{
    static_cast<typename gt_element<code>::type *>(data)[at] = gt_from_float<code>((float)value);
}

/* The element nearest to the value; integers of S32 must lie in its range. */
GT_PROOF_DEVICE void gt_proof_put(void *data, long long at, int type, double value)
{
    switch (type) {
    case GT_F16:
        return gt_proof_put_as<GT_F16>(data, at, value);
    case GT_BF16:
        return gt_proof_put_as<GT_BF16>(data, at, value);
    case GT_E4M3:
        return gt_proof_put_as<GT_E4M3>(data, at, value);
    case GT_E5M2:
        return gt_proof_put_as<GT_E5M2>(data, at, value);
    case GT_S8:
        return gt_proof_put_as<GT_S8>(data, at, value);
    case GT_S32:
        static_cast<int *>(data)[at] = (int)value;
        return;
    case GT_F64:
        static_cast<double *>(data)[at] = value;
        return;
    case GT_PROOF_UE8M0:
        static_cast<unsigned char *>(data)[at] =
            (unsigned char)(__float_as_uint((float)value) >> 23);
        return;
    default:
        static_cast<float *>(data)[at] = (float)value;
    }
}

/* x held to the range of the types that conversions saturate to. */
GT_PROOF_DEVICE double gt_proof_saturate(double x, int type)
{
    double largest = type == GT_E4M3 ? 448 : type == GT_E5M2 ? 57344 : type == GT_S8 ? 127 : 0;

    return largest > 0 ? max(type == GT_S8 ? -128.0 : -largest, min(largest, x)) : x;
}

/* epilogue: a value of enum gt_epilogue (gemmtune.h). */
GT_PROOF_DEVICE double gt_proof_activate(double x, int epilogue)
{
    switch (epilogue & ~1) {
    case 2:
        return x > 0 ? x : 0;
    case 4:
        return 0.5 * x * (1 + GT_PROOF_ERF(x * 0.70710678118654752440));
    case 6:
        return x / (1 + GT_PROOF_EXP(-x));
    case 8:
        return x / (1 + GT_PROOF_EXP(-1.5957691216057307118 * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

/* ---- who does what ---- */

/* A warp takes 32 neighbouring columns of a row; a block of 256 threads eight rows at a time. */
struct gt_walk {
    long long row, row_step, col, col_step;
};

GT_PROOF_DEVICE gt_walk gt_proof_walk()
{
    gt_walk walk;

    walk.row = (long long)blockIdx.y * 8 + threadIdx.x / 32;
    walk.row_step = (long long)gridDim.y * 8;
    walk.col = (long long)blockIdx.x * 32 + threadIdx.x % 32;
    walk.col_step = (long long)gridDim.x * 32;
    return walk;
}

/* Every thread's place and step in a line of words. */
GT_PROOF_DEVICE long long gt_proof_first()
{
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

GT_PROOF_DEVICE long long gt_proof_step()
{
    return (long long)gridDim.x * blockDim.x;
}

/* Adds one thread's count and first index; silent, so cheap, where nothing was found. */
GT_PROOF_DEVICE void gt_proof_note(gt_u64 *count, gt_u64 *first, gt_u64 found, gt_u64 index)
{
    if (!found)
        return;
    atomicAdd(count, found);
    atomicMax(first, ~index);
}

#endif
