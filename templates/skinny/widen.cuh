/* widen.cuh - eight-bit floats as tensor cores take them. f16 has all their values, and most
 * architectures would convert them to f16 again for each mma. */
#ifndef GT_SKINNY_WIDEN_CUH
#define GT_SKINNY_WIDEN_CUH

#if GT_TYPE == GT_E4M3 || GT_TYPE == GT_E5M2
#define WIDENED 1
#else
#define WIDENED 0
#endif

constexpr int TAKEN_TYPE = WIDENED ? GT_F16 : GT_TYPE; /* as tensor cores take them */

/* Four 8-bit floats of a word as two words of f16; other words stay as they are. */
GT_DEVICE void widen(unsigned word, unsigned &low, unsigned &high)
{
#if GT_TYPE == GT_E5M2
    low = __byte_perm(word, 0, 0x1404); /* an e5m2 is the upper half of an f16 */
    high = __byte_perm(word, 0, 0x3424);
#elif GT_TYPE == GT_E4M3 && !defined(GT_EMULATE) && __CUDA_ARCH__ >= 890
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(low) : "h"((unsigned short)word));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(high) : "h"((unsigned short)(word >> 16)));
#elif GT_TYPE == GT_E4M3
    low = high = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        low |= gt_f16_bits(__float_as_uint(gt_e4m3_value(word >> 8 * i & 0xff))) << 16 * i;
        high |= gt_f16_bits(__float_as_uint(gt_e4m3_value(word >> (8 * i + 16) & 0xff))) << 16 * i;
    }
#else
    low = high = word;
#endif
}

#endif
