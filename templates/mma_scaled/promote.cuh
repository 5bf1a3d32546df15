/* promote.cuh - of mma_scaled/gemm.cu: how products are added to a lane's sums.
 *
 * The tensor cores of sm_89 and sm_90 add products of 8-bit floats with few bits (13 or 14 behind
 * the point). PROMOTED: each instruction's sum, of 32 of k, is added to FP32 registers: four
 * additions beside 4096 multiply-adds of the warp, which a scheduler issues while the tensor cores
 * work. */
#ifndef GT_MMA_SCALED_PROMOTE_CUH
#define GT_MMA_SCALED_PROMOTE_CUH

template <int code>
GT_DEVICE void multiply_promoted(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    float part[4] = {};
    gt_mma<code>(part, a, b);
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum[i] += part[i];
}

/* mma/gemm_multiply.cuh multiplies by what is called gt_mma. */
#if GT_SUMS == GT_SUMS_PROMOTED
#define gt_mma multiply_promoted
#endif

#endif
