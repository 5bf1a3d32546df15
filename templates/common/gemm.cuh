/* gemm.cuh - what a template for FP32 alone includes: problem.cuh, tiles of floats and the FP32
 * output. tensor.cuh is for operands of any type. */
#ifndef GT_GEMM_CUH
#define GT_GEMM_CUH

#include "common/problem.cuh"
#include "common/tile.cuh"
#include "common/epilogue.cuh"

#endif
