/* launch.h - test: a kernel's point compiled for the CPU, and its launches over given operands. */
#ifndef GT_EMU_LAUNCH_H
#define GT_EMU_LAUNCH_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "execute.h"

/* One compiled source: a layout and an epilogue of the job's point. */
struct gt_emu_build {
    const struct gt_emu_job *job;
    bool trans_a, trans_b;
    unsigned epilogue;
    struct gt_strbuf source;
    void *object;      /* of dlopen, or of a plan anything; NULL before the first case */
    bool without_beta; /* it was launched with a beta of 0 for a point that reads C */
    bool every_warp;   /* besides the two schedules, each warp of a block is late once */
    unsigned turn;     /* problems so far: it says which block of a cluster has the late warp */
};

/* Renders for the candidate; compiles if it is the build's first, and else insists on the same
 * source: sizes must not be part of it. */
int gt_emu_prepare(struct gt_emu_build *build, const struct gt_candidate *candidate,
                   struct gt_err *err);

/* All launches of the point, in order, under a schedule (execute.h).  It allocates the workspace,
 * which goes with the operands. */
int gt_emu_launch_all(const struct gt_emu_build *build, const struct gt_geometry *geometry,
                      struct gt_emu_operands *operands, const struct gt_problem *problem,
                      int schedule, struct gt_err *err);

/* Adds what launches of a geometry depend on to the job's plan. */
void gt_emu_plan_geometry(struct gt_strbuf *plan, const struct gt_geometry *geometry);

/* Warps of a block, of the launch that has most. */
int gt_emu_warps(const struct gt_geometry *geometry);

void gt_emu_build_release(struct gt_emu_build *build);

#endif
