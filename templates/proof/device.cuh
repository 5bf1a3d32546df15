/* device.cuh - what the proof kernels share: how an entry is spelled, on the GPU and in the emulator,
 * and how the findings of many threads become one result. */
#ifndef GT_PROOF_DEVICE_CUH
#define GT_PROOF_DEVICE_CUH

#include "proof/args.h"

#ifdef GT_EMULATE

#include "common/emulate.h"
#define GT_PROOF_KERNEL(name, type)  extern "C" void name(const type args)
#define GT_PROOF_ERF(x)              __builtin_erf(x)
#define GT_PROOF_LOG(x)              __builtin_logf(x)
#define GT_PROOF_SQRT(x)             __builtin_sqrtf(x)
#define GT_PROOF_COSPI(x)            __builtin_cosf((x)*3.14159265f)
#define GT_PROOF_SHARED(type, name, extents) \
    static const char name##_key = 0;        \
    typedef type name##_array extents;       \
    name##_array &name = *(name##_array *)gt_emu_static_shared(&name##_key, sizeof(name##_array))

#else

#define GT_PROOF_KERNEL(name, type) \
    extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ type args)
#define GT_PROOF_ERF(x)                      erf(x)
#define GT_PROOF_LOG(x)                      logf(x)
#define GT_PROOF_SQRT(x)                     sqrtf(x)
#define GT_PROOF_COSPI(x)                    cospif(x)
#define GT_PROOF_SHARED(type, name, extents) __shared__ type name extents

#endif

#define GT_PROOF_DEVICE __device__ __forceinline__

typedef unsigned long long gt_u64;

/* One word that depends on every bit of the index (the finaliser of splitmix64). */
GT_PROOF_DEVICE gt_u64 gt_proof_mix(gt_u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

GT_PROOF_DEVICE bool gt_proof_finite(float x)
{
    return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u;
}

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
