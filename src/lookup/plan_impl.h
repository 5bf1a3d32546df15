/* plan_impl.h - declarations that plan.c, which makes plans, and plan_run.c, which runs them,
 * share. */
#ifndef GT_PLAN_IMPL_H
#define GT_PLAN_IMPL_H

#include "cuda/compile.h"
#include "cuda/cublaslt.h"
#include "cuda/gpu.h"
#include "lookup/lookup.h"
#include "problem/problem.h"

struct gt_plan {
    bool shared; /* gpu and module belong to a deployed file */
    bool empty;  /* m, n or k is 0 */
    struct gt_gpu *gpu;
    struct gt_module *module;
    struct gt_cublaslt *vendor; /* NULL: the kernel runs */
    struct gt_lt_answer algo;
    struct gt_resolved resolved;
    bool more;                /* an entry takes struct gt_more */
    struct gt_args args;      /* arguments without pointers; each run sets its own factors */
    uintptr_t misaligned_in;  /* bits that must be 0 in the addresses of a and b */
    uintptr_t misaligned_out; /* likewise in c, d and bias */
    uintptr_t misaligned_workspace;
};

/* Whether the factors of a product in s32 are whole numbers that an int32 holds. */
static inline bool gt_operands_whole(const struct gt_operands *o)
{
    return gt_factor_is_s32((double)o->alpha) && gt_factor_is_s32((double)o->beta);
}

/* Sets the sentence for operands that gt_run refuses; GT_ERANGE. */
int gt_plan_refuse(const struct gt_plan *plan, const struct gt_operands *operands,
                   struct gt_err *err);

#define GT_PLAN_TIMED 8 /* candidates at most */

/* A candidate that is timed: geometry, code and result. */
struct gt_contestant {
    const struct gt_geometry *geometry;
    const struct gt_binary *binary;
    double us; /* median time; 0: the candidate was not timed */
};

/* Times the contestants in turns on a stream of its own, with operands of its own that are not in
 * L2.  GT_ENOMEM: there is no memory for the operands; GT_ECUDA: the device fails.  A contestant
 * that the driver refuses gets no time.  The context of the device is made current on this
 * thread. */
int gt_plan_time(int ordinal, const struct gt_problem *problem, struct gt_contestant *contestant,
                 size_t count, struct gt_err *err);

#endif
