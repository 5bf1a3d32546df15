/* parts.cuh - of the templates of f32acc: splits a float into the sum of three bfloat16 numbers.
 *
 * x = high + mid + low up to 2^-26 |x|. Each part is what the parts before it leave of x, rounded
 * to nearest; this rest is exact in float. The high part of a NaN is NaN. Infinities, and finite
 * values that would round to infinity, have no parts: those who split keep the largest magnitude
 * they see. Parts below 2^-126 are subnormal, and what is below 2^-134 is lost, where FP32 would
 * have kept 2^-150. */
#ifndef GT_F32ACC_PARTS_CUH
#define GT_F32ACC_PARTS_CUH

constexpr int PARTS = 3;

/* The least magnitude that rounds to infinity: 255.5 * 2^120. */
constexpr float NO_PARTS = 3.3961775292304601e38f;

/* Splits x, whose parts are the lower halves of the registers, and y. */
GT_DEVICE void split_pair(float x, float y, unsigned (&part)[PARTS])
{
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#ifdef GT_EMULATE
        part[p] = gt_from_float<GT_BF16>(x).bits | (unsigned)gt_from_float<GT_BF16>(y).bits << 16;
#else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(part[p]) : "f"(y), "f"(x));
#endif
        x -= __uint_as_float(part[p] << 16);
        y -= __uint_as_float(part[p] & 0xffff0000u);
    }
}

#endif
