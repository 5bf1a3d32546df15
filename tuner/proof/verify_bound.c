/* verify_bound.c - stage: the error that a right result may have, by accuracy, accumulator and
 * types; declared in verify.h. */
#include "proof/verify.h"

#include <math.h>

#define UNIT 0x1p-24 /* unit roundoff of float */

_Static_assert(GT_DTYPE_COUNT == 8, "a new type needs its rounding here");

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

/* The error of the sum in units of u = 2^-24, relative to |A||B|; the operands of the proof have
 * random signs.  Measured figures are the largest of up to 4e7 elements on an H200.
 * - strict: 2 sqrt(k) u is the statistical bound of a sum of k products whose additions have an
 *   error of u (Higham and Mary); 4 u are for the roundings before and after.
 * - f32: the error of FP32 on such operands, which does not grow with k.  FP32 FMA has 0.2 to 8 u
 *   (db/measured/h200-f32.csv), and tensor cores with promoted sums have the same.  Tensor cores
 *   that sum TF32 splits to the end have 50 u at k = 4096 and 146 u at 65536, already on 128 x 128
 *   elements.
 * - Others: tensor cores align the addends of a step to the largest one and truncate,
 *   which loses a bit or two against FP32 (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of
 *   NVIDIA tensor cores, 2021).  cuBLASLt with BF16 and FP16 has 4 u at k = 256 and 24 u at 16384;
 *   three TF32 products are as above.
 * - 8-bit floats: tensor cores keep 13 bits behind the point (DeepSeek-V3, section 3.3.2), of
 *   products and of sums, so that short sums have errors too.  cuBLASLt, which promotes, has
 *   1.7 x 2^-13 at k = 256 and 0.2 x 2^-13 at 4096.
 * - acc=f16: its unit is 2^-11.  One sum has 4.6 of these, cuBLASLt 1.6.
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

/* The error of operands of four bytes that are rounded to TF32's 11 bits of significand: each is
 * off by up to 2^-11, with random signs, so that their part of |A||B| falls with sqrt(k).  The
 * factor 6 covers five and a half standard deviations and the spread of |A||B|; cuBLASLt has 4.5.
 * For `low` they may be truncated to BF16's 8 bits: each is off by up to 2^-7, always towards zero,
 * by half of that on average.  The average is relative to the result, the rest is random. */
static struct gt_verify_bound input_error(const struct gt_problem *p)
{
    bool rounded = p->accuracy == GT_ACCURACY_TF32;
    double unit = rounded ? 0x1p-11 : 0x1p-7;
    double random = 6 / sqrt(p->k > 1 ? (double)p->k : 1);

    if (p->accuracy < GT_ACCURACY_TF32 || gt_dtype_size(p->type) < 4)
        return (struct gt_verify_bound){0, 0, 0};
    return random < 2 ? (struct gt_verify_bound){unit * random, rounded ? 0 : unit, 0}
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
    if (problem->epilogue & GT_EPILOGUE_GELU) { /* 1.13 is its largest slope, 8 u its own error */
        bound->tolerance = 1.13 * bound->tolerance + 8 * UNIT;
        bound->relative *= 1.13;
    }
    /* The result that is rounded to the type out is not the reference: it has the error so far. */
    bound->tolerance *= 1 + out.relative;
    bound->relative += out.relative;
    bound->absolute = out.absolute;
}
