/* gemm.cuh - what every GEMM template includes: the argument, the problem's compile-time facts and
 * the device primitives of this folder.
 *
 * A template is compiled by NVRTC for the GPU, with no header but these; and, with GT_EMULATE
 * defined, by a host compiler for tests/emu, where each primitive is plain C++ that checks more
 * than the hardware does. */
#ifndef GT_GEMM_CUH
#define GT_GEMM_CUH

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
#include "common/copy.cuh"
#include "common/tile.cuh"
#include "common/operand.cuh"
#include "common/epilogue.cuh"
#include "common/raster.cuh"

#endif
