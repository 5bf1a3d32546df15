/* tensor.cuh - what a template for operands of any type includes, where gemm.cuh is for FP32 alone:
 * the argument, the problem's compile-time facts, the element types and the typed output. */
#ifndef GT_TENSOR_CUH
#define GT_TENSOR_CUH

/* The rendered source defines these; the values here let a template compile alone. */
#ifndef GT_TRANS_A
#define GT_TRANS_A 0 /* 0: A is stored m x k; 1: A is stored k x m */
#endif
#ifndef GT_TRANS_B
#define GT_TRANS_B 0 /* 0: B is stored k x n; 1: B is stored n x k */
#endif
#ifndef GT_EPILOGUE
#define GT_EPILOGUE 0 /* flags: 1 bias, 2 ReLU, 4 GELU */
#endif

#include "common/args.h"

#ifdef GT_EMULATE
#include "emulate.h"
#endif

#include "common/platform.cuh"
#include "common/vector.cuh"
#include "common/types.cuh"
#include "common/copy.cuh"
#include "common/operand.cuh"
#include "common/output.cuh"
#include "common/raster.cuh"

/* Matrix `batch` of each operand, in its own type (gt_matrix_a and gt_matrix_b are for floats). */
GT_DEVICE const gt_element<GT_TYPE>::type *gt_typed_a(const gt_args &args, long long batch)
{
    return static_cast<const gt_element<GT_TYPE>::type *>(args.a) + batch * args.stride_a;
}

GT_DEVICE const gt_element<GT_TYPE>::type *gt_typed_b(const gt_args &args, long long batch)
{
    return static_cast<const gt_element<GT_TYPE>::type *>(args.b) + batch * args.stride_b;
}

#endif
