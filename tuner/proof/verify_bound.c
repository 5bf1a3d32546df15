/* verify_bound.c - stage: how far a right result may be off, by accuracy, accumulator and types:
 * part of verify.h. */
#include "proof/verify.h"

#include <math.h>

#define UNIT 0x1p-24 /* unit roundoff of float */

struct gt_rounding gt_verify_rounding(enum gt_dtype out)
{
    switch (out) {
    case GT_F16:
        return (struct gt_rounding){0x1p-11, 0x1p-25};
    case GT_BF16:
        return (struct gt_rounding){0x1p-8, 0};
    case GT_E4M3:
        return (struct gt_rounding){0x1p-4, 0x1p-10};
    case GT_E5M2:
        return (struct gt_rounding){0x1p-3, 0x1p-17};
    case GT_S8:
        return (struct gt_rounding){0, 0.5};
    case GT_S32:
        return (struct gt_rounding){0, 0};
    default:
        return (struct gt_rounding){UNIT, 0};
    }
}

/* The sum's error in units of 2^-24 of |A||B|; our operands have random signs.  Measured figures
 * are the largest of up to 4e7 elements on an H200.
 * - strict: 2 sqrt(k) u is the statistical bound of a sum of k products whose additions err by u
 *   (Higham and Mary); 4 u are roundings around it.
 * - f32: what FP32 has on such operands, which does not grow with k.  FP32 FMA 0.2 to 8 u
 *   (db/measured/h200-f32.csv); tensor cores with promoted sums the same; tensor cores that sum
 *   TF32 splits to the end 50 u at k = 4096 and 146 u at 65536, on 128 x 128 elements already.
 * - Tensor cores align the addends of a step to the largest and cut: a bit or two less than FP32
 *   (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, 2021).  cuBLASLt,
 *   BF16 and FP16: 4 u at k = 256, 24 u at 16384; three TF32 products as above.
 * - For 8-bit floats they keep 13 bits behind the point (DeepSeek-V3, section 3.3.2), of products
 * as of sums, so that short sums err too.  cuBLASLt, which promotes: 1.7 x 2^-13 at k = 256, 0.2 at
 *   4096.
 * - acc=f16 is to its 2^-11 what f32 is to 2^-24: one sum 4.6 of it, cuBLASLt 1.6.
 * - Sums of integers are exact. */
static double sum_error(const struct gt_problem *p)
{
    double root = sqrt(p->k > 1 ? (double)p->k : 1);

    if (p->acc == GT_S32)
        return 4;
    if (p->acc == GT_F16)
        return 20 * 0x1p13;
    if (p->accuracy == GT_ACCURACY_STRICT)
        return 2 * root + 4;
    if (p->accuracy == GT_ACCURACY_F32)
        return 20;
    if (p->type == GT_E4M3 || p->type == GT_E5M2)
        return (16 + root / 8) * 0x1p11;
    return 2 * (2 * root + 4);
}

/* Operands of four bytes that are cut to TF32's 11 bits of significand, or for `low` to BF16's 8,
 * are each off by up to 2^-10 or 2^-7, always toward zero: half of it on average.  That part is
 * relative to the result; the rest has random signs, so that sums hide it: its share of |A||B|
 * falls with sqrt(k).  6: five and a half standard deviations, and the spread of |A||B|. */
static struct gt_verify_bound input_error(const struct gt_problem *p)
{
    double unit = p->accuracy == GT_ACCURACY_TF32 ? 0x1p-10 : 0x1p-7;
    double random = 6 / sqrt(p->k > 1 ? (double)p->k : 1);

    if (p->accuracy < GT_ACCURACY_TF32 || gt_dtype_size(p->type) < 4)
        return (struct gt_verify_bound){0, 0, 0};
    return random < 2 ? (struct gt_verify_bound){unit * random, unit, 0}
                      : (struct gt_verify_bound){unit * 2, 0, 0};
}

void gt_verify_bound(const struct gt_problem *problem, struct gt_verify_bound *bound)
{
    struct gt_rounding out = gt_verify_rounding(problem->out);

    if (problem->out == GT_S32) {
        *bound = (struct gt_verify_bound){0, 0, 0};
        return;
    }
    *bound = input_error(problem);
    bound->tolerance += sum_error(problem) * UNIT;
    if (problem->epilogue & GT_EPILOGUE_GELU) { /* its slope, and its own error */
        bound->tolerance = 1.13 * bound->tolerance + 8 * UNIT;
        bound->relative *= 1.13;
    }
    /* What is rounded to the type out is not the reference but what is this far from it. */
    bound->tolerance *= 1 + out.relative;
    bound->relative += out.relative;
    bound->absolute = out.absolute;
}
