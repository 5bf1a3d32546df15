/* wgmma.cu - the tensor cores of sm_90a by warpgroup, as fast as they can: what
 * tuner/timing/calibrate.c finds their rates with. In each step each of a block's two warpgroups
 * does four products.
 *
 *            256 columns of B                A and B lie in shared memory, in rows of 128 bytes of
 *          +------------------+              k: a step goes through them, 32 bytes at a time.  All
 *       64 |  one warpgroup's |              of it is zero: what bits cost in power is not asked.
 *  rows of |      sums        |
 *        A +------------------+ */
#include "calibrate/device.cuh"
#include "common/vector.cuh"
#include "common/types.cuh"
#include "common/copy.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "calibrate/all_types.h"
#include "common/wgmma.cuh"

#define ROWS_A 64
#define ROWS_B 256 /* half of it would leave A's way from shared memory the limit */

template <int code> GT_DEVICE void products(const gt_calibrate_args &args)
{
    __shared__ __align__(1024) uint4 tile[(ROWS_A + ROWS_B) * 8]; /* rows of 128 bytes */
    typename gt_wgmma_sum<code>::type d[ROWS_B / 2] = {};
    unsigned long long a, b;

    for (int i = threadIdx.x; i < (ROWS_A + ROWS_B) * 8; i += THREADS)
        tile[i] = make_uint4(0, 0, 0, 0);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    a = gt_smem_descriptor(tile, 16, 1024, 128);
    b = gt_smem_descriptor(tile + ROWS_A * 8, 16, 1024, 128);
    for (int step = 0; step < args.steps; step++) {
        gt_wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++)
            gt_wgmma<code, ROWS_B, 0, 0>(d, gt_smem_descriptor_advance(a, 2 * k),
                                         gt_smem_descriptor_advance(b, 2 * k), 1);
        gt_wgmma_commit();
        gt_wgmma_wait<1>(); /* the next ones are queued while these run */
    }
    gt_wgmma_wait<0>();
    keep(args, (unsigned)d[0] ^ (unsigned)d[ROWS_B / 2 - 1]);
}

#define CALIBRATE_WGMMA(name, code) \
    CALIBRATE(name)                 \
    {                               \
        products<code>(args);       \
    }
CALIBRATE_WGMMA(calibrate_wgmma_f16, GT_F16)
CALIBRATE_WGMMA(calibrate_wgmma_bf16, GT_BF16)
CALIBRATE_WGMMA(calibrate_wgmma_tf32, GT_TF32)
CALIBRATE_WGMMA(calibrate_wgmma_f8, GT_E4M3)
CALIBRATE_WGMMA(calibrate_wgmma_s8, GT_S8)
