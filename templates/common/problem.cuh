/* problem.cuh - what every GEMM template includes, through gemm.cuh or tensor.cuh: the argument,
 * the problem's compile-time facts and the device primitives that all of them use.
 *
 * NVRTC compiles a template for the GPU, with no headers but those of this folder. A host compiler
 * compiles it for tests/emu, with GT_EMULATE defined: there each primitive is plain C++ that checks
 * more than the hardware does. */
#ifndef GT_PROBLEM_CUH
#define GT_PROBLEM_CUH

/* The rendered source defines these; with the values here a template compiles alone. */
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
#include "common/copy.cuh"
#include "common/operand.cuh"
#include "common/raster.cuh"

#endif
