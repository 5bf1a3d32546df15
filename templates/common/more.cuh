/* more.cuh - the entries of kernels whose launch says "more". Besides `args` (and `maps`, where the
 * launch says "maps") they have the argument `more`. Include maps.cuh first where there are maps. */
#ifndef GT_MORE_CUH
#define GT_MORE_CUH

#include "common/more.h"

#ifdef GT_EMULATE

#define GT_KERNEL_MORE_BOUNDS(name, threads, blocks) \
    extern "C" void name(const gt_args args, const gt_more more)
#define GT_KERNEL_MAPS_MORE_BOUNDS(name, threads, blocks) \
    extern "C" void name(const gt_args args, const gt_maps maps, const gt_more more)

#else

/* GT_KERNEL_MORE_BOUNDS(gemm, 256, 1) { ... more.scale_a ... } */
#define GT_KERNEL_MORE_BOUNDS(name, threads, blocks)              \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name(const __grid_constant__ gt_args args, const __grid_constant__ gt_more more)

#define GT_KERNEL_MAPS_MORE_BOUNDS(name, threads, blocks)                              \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                      \
        name(const __grid_constant__ gt_args args, const __grid_constant__ gt_maps maps, \
             const __grid_constant__ gt_more more)

#endif

#endif
