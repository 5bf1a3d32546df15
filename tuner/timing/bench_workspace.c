/* bench_workspace.c - how much workspace a candidate may use, and how many launches a sample has.
 * Both are known without the GPU, so that a candidate that needs more workspace is refused before
 * it is compiled. */
#include "base/err.h"
#include "problem/problem.h"
#include "timing/bench_internal.h"

#define LEAST (256u << 20) /* bytes, if the options do not set it */

/* The default is enough for copies of A and B, and for FP32 operands as three parts of two bytes
 * each. */
size_t gt_bench_workspace(const struct gt_bench_options *options, const struct gt_problem *problem)
{
    size_t copies = 2 * (size_t)(gt_problem_bytes(problem, GT_OPERAND_A) +
                                 gt_problem_bytes(problem, GT_OPERAND_B));

    if (options->workspace_cap)
        return options->workspace_cap;
    return copies > LEAST ? copies : LEAST;
}

int gt_bench_check_workspace(const struct gt_geometry *geometry, size_t allowed, struct gt_err *err)
{
    if (geometry->workspace_bytes <= allowed)
        return GT_OK;
    return gt_err_set(err, GT_ERANGE, "needs %zu bytes of workspace, %zu are allowed",
                      geometry->workspace_bytes, allowed);
}

int gt_chain_launches(enum gt_timing timing)
{
    return timing == GT_TIMING_GRAPH ? GT_CHAIN : 1;
}
