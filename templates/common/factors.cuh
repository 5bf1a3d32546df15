/* factors.cuh - the factors of an operand that do not change along k: one for all of it, or one for
 * each row of op(A) or column of op(B). They multiply a whole sum, when it is complete or a part of
 * the depth of it. */
#ifndef GT_FACTORS_CUH
#define GT_FACTORS_CUH

#include "common/more.cuh"
#include "common/operands.cuh"

/* Whether the problem has such factors. */
#define GT_FACTORS_A (GT_SCALE_A == GT_SCALE_TENSOR || GT_SCALE_A == GT_SCALE_VECTOR)
#define GT_FACTORS_B (GT_SCALE_B == GT_SCALE_TENSOR || GT_SCALE_B == GT_SCALE_VECTOR)

/* The factor of row or column `at`, of which D has `count`: beyond them the last one's, which
 * changes nothing, since such sums are not stored. `kind` is GT_SCALE_A or GT_SCALE_B. */
template <int kind> GT_DEVICE float gt_factor(const void *factors, unsigned at, unsigned count)
{
    const float *const from = static_cast<const float *>(factors);
    if (kind == GT_SCALE_VECTOR)
        return __ldg(from + (at < count ? at : count - 1));
    return kind == GT_SCALE_TENSOR ? __ldg(from) : 1.0f;
}

#endif
