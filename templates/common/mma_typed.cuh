/* mma_typed.cuh - the products of mma.cuh by the type of A and B: each adds the product of 16 rows
 * of A and 8 columns of B, 32 bytes of k deep, to the 16 x 8 sums in d. D is an array of 4 floats
 * or ints or, for f16 summed in f16, of 2 words. */
#ifndef GT_MMA_TYPED_CUH
#define GT_MMA_TYPED_CUH

#include "common/mma.cuh"
#include "common/types.cuh"

/* sm_80 and later; E4M3 and E5M2 sm_89 and later. */
template <int code, class D>
GT_DEVICE void gt_mma(D &d, const unsigned (&a)[4], const unsigned (&b)[2])
{
    if constexpr (code == GT_F16 && sizeof(D) == 8)
        gt_mma_m16n8k16_f16_f16(d, a, b);
    else if constexpr (code == GT_F16)
        gt_mma_m16n8k16_f16_f32(d, a, b);
    else if constexpr (code == GT_BF16)
        gt_mma_m16n8k16_bf16_f32(d, a, b);
    else if constexpr (code == GT_TF32)
        gt_mma_m16n8k8_tf32_f32(d, a, b);
    else if constexpr (code == GT_S8)
        gt_mma_m16n8k32_s8_s32(d, a, b);
    else if constexpr (code == GT_E4M3)
        gt_mma_m16n8k32_e4m3_f32(d, a, b);
    else if constexpr (code == GT_E5M2)
        gt_mma_m16n8k32_e5m2_f32(d, a, b);
}

/* The same by the smaller instructions that sm_75 has: F16 and S8 only. */
template <int code, class D>
GT_DEVICE void gt_mma_small(D &d, const unsigned (&a)[4], const unsigned (&b)[2])
{
    if constexpr (code == GT_F16) {
        const unsigned left[2] = {a[0], a[1]}, right[2] = {a[2], a[3]};
        const unsigned upper[1] = {b[0]}, lower[1] = {b[1]};
        if constexpr (sizeof(D) == 8) {
            gt_mma_m16n8k8_f16_f16(d, left, upper);
            gt_mma_m16n8k8_f16_f16(d, right, lower);
        } else {
            gt_mma_m16n8k8_f16_f32(d, left, upper);
            gt_mma_m16n8k8_f16_f32(d, right, lower);
        }
    } else if constexpr (code == GT_S8) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int sum[2] = {d[2 * half], d[2 * half + 1]};
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const unsigned rows[1] = {a[2 * k + half]}, columns[1] = {b[k]};
                gt_mma_m8n8k16_s8(sum, rows, columns);
            }
            d[2 * half] = sum[0];
            d[2 * half + 1] = sum[1];
        }
    }
}

#endif
