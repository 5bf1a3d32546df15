/* platform.cuh - how a kernel, its shared memory and its barriers are written, for the GPU and for
 * the emulator. */
#ifndef GT_PLATFORM_CUH
#define GT_PLATFORM_CUH

#define GT_DEVICE __device__ __forceinline__

#ifdef GT_EMULATE

#define GT_KERNEL(name)                         extern "C" void name(const gt_args args)
#define GT_KERNEL_BOUNDS(name, threads, blocks) extern "C" void name(const gt_args args)
#define GT_DYNAMIC_SHARED(type, name)           type *name = (type *)gt_emu_dynamic_shared()
#define GT_STATIC_SHARED(type, name, extents) \
    static const char name##_key = 0;         \
    typedef type name##_array extents;        \
    name##_array &name = *(name##_array *)gt_emu_static_shared(&name##_key, sizeof(name##_array))

#else

/* GT_KERNEL(gemm) { ... } defines an entry whose only argument is `args`. */
#define GT_KERNEL(name) extern "C" __global__ void name(const __grid_constant__ gt_args args)

/* The same with an upper bound on a block's threads and a lower bound on the blocks of an SM. */
#define GT_KERNEL_BOUNDS(name, threads, blocks)                   \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name(const __grid_constant__ gt_args args)

/* The launch's dynamic shared memory: GT_DYNAMIC_SHARED(float, tiles); */
#define GT_DYNAMIC_SHARED(type, name)                                   \
    extern __shared__ __align__(128) unsigned char gt_dynamic_shared[]; \
    type *name = reinterpret_cast<type *>(gt_dynamic_shared)

/* An array in static shared memory: GT_STATIC_SHARED(float, tile, [BK][BM]); */
#define GT_STATIC_SHARED(type, name, extents) __shared__ __align__(16) type name extents

#endif

/* Barrier of all threads of the block: every thread must reach the same one. */
#define gt_sync() __syncthreads()

/* Reads the thread's index again. What is computed from it on a rare path is then computed there,
 * instead of before a loop, where it would occupy registers throughout. */
GT_DEVICE int gt_reload_thread_index()
{
#ifdef GT_EMULATE
    return (int)threadIdx.x;
#else
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
#endif
}

/* The number of parts of size `part` that cover `whole`. */
GT_DEVICE constexpr long long gt_cdiv(long long whole, long long part)
{
    return (whole + part - 1) / part;
}

#endif
