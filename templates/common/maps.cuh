/* maps.cuh - the entry of a kernel whose launch says "maps". Besides `args` it has the argument
 * `maps`: the tensor maps of the description, in their order. */
#ifndef GT_MAPS_CUH
#define GT_MAPS_CUH

#include "common/maps.h"

#ifdef GT_EMULATE

#define GT_KERNEL_MAPS_BOUNDS(name, threads, blocks) \
    extern "C" void name(const gt_args args, const gt_maps maps)

#else

/* GT_KERNEL_MAPS_BOUNDS(gemm, 384, 1) { ... &maps.map[0] ... } */
#define GT_KERNEL_MAPS_BOUNDS(name, threads, blocks)              \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name(const __grid_constant__ gt_args args, const __grid_constant__ gt_maps maps)

#endif

#endif
