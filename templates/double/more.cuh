/* more.cuh - the entry of a kernel whose launch says "more": besides `args` it has the argument
 * `more`, in which alpha and beta are doubles. */
#ifndef GT_DOUBLE_MORE_CUH
#define GT_DOUBLE_MORE_CUH

#include "common/more.h"

#ifdef GT_EMULATE

#define GT_KERNEL_MORE_BOUNDS(name, threads, blocks) \
    extern "C" void name(const gt_args args, const gt_more more)

#else

/* GT_KERNEL_MORE_BOUNDS(gemm, 256, 1) { ... more.alpha ... } */
#define GT_KERNEL_MORE_BOUNDS(name, threads, blocks)              \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name(const __grid_constant__ gt_args args, const __grid_constant__ gt_more more)

#endif

#endif
