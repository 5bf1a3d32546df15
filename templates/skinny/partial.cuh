/* partial.cuh - part of the kernels for few rows: sums over a part of k, in the workspace. */
#ifndef GT_SKINNY_PARTIAL_CUH
#define GT_SKINNY_PARTIAL_CUH

#include "common/tensor.cuh"

typedef GT_ACCUMULATOR Sum;

/* A row of such sums: [part][batch][m][n]. */
GT_DEVICE Sum *partial(const gt_args &args, long long part, long long batch, long long row)
{
    return static_cast<Sum *>(args.workspace) +
           ((part * args.batch + batch) * args.m + row) * args.n;
}

#endif
