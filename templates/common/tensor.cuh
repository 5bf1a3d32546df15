/* tensor.cuh - what a template for operands of any type includes: problem.cuh, the element types
 * and the output of any type. gemm.cuh is for FP32 alone. */
#ifndef GT_TENSOR_CUH
#define GT_TENSOR_CUH

#include "common/problem.cuh"
#include "common/types.cuh"
#include "common/output.cuh"

/* Matrix `batch` of each operand, in the operand's type (gt_matrix_a and gt_matrix_b are for
 * floats). */
GT_DEVICE const gt_element<GT_TYPE>::type *gt_typed_a(const gt_args &args, long long batch)
{
    return static_cast<const gt_element<GT_TYPE>::type *>(args.a) + batch * args.stride_a;
}

GT_DEVICE const gt_element<GT_TYPE>::type *gt_typed_b(const gt_args &args, long long batch)
{
    return static_cast<const gt_element<GT_TYPE>::type *>(args.b) + batch * args.stride_b;
}

#endif
