/* device.cuh - what the calibration kernels share: how an entry is spelled, and how the compiler is
 * kept from leaving out work whose result nobody wants. */
#ifndef GT_CALIBRATE_DEVICE_CUH
#define GT_CALIBRATE_DEVICE_CUH

#include "calibrate/args.h"
#include "common/args.h"
#include "common/platform.cuh"

#define THREADS 256
#define CALIBRATE(name)                                   \
    extern "C" __global__ void __launch_bounds__(THREADS) \
        name(const __grid_constant__ gt_calibrate_args args)

/* Keeps a result alive without writing it. */
GT_DEVICE void keep(const gt_calibrate_args &args, unsigned result)
{
    if (result == args.never)
        *(unsigned *)args.to = result;
}

#endif
