/* execute.h - test: compiles a kernel's point for the CPU and runs all cases it is valid for. */
#ifndef GT_EMU_EXECUTE_H
#define GT_EMU_EXECUTE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "kernel/kernel.h"
#include "operands.h"

struct gt_emu_job {
    const struct gt_kernel *kernel;
    struct gt_point point;
    struct gt_emu_types types;
    unsigned layouts;     /* bit (1u << (trans_a * 2 + trans_b)); if the point is valid in none of
                             them, one that it is valid in */
    unsigned epilogues;   /* bit (1u << GT_EPILOGUE_...); none is always run */
    bool once;            /* each case under one schedule, they alternate; else under both */
    unsigned part, first; /* part > 0: one of so many cases, the first of them this one, another
                             for each build; the first that is valid if none of those is.  Then
                             the epilogues are run in different layouts, and a layout is run without
                             an epilogue only if none was run in it; else every layout is run
                             without one, and the epilogues in the first */
    int seconds;          /* of CPU time for a run; 0: no limit */
    bool strict;          /* a warning of the compiler is an error */
    int cc;               /* compute capability of the device; 0: one that the kernel is for */
    struct gt_emu_scale scale; /* of cases, besides the usual ones */
    const char *data_dir;      /* holds templates/ */
    const char *build_path;    /* sources and objects are written to <build_path>-... */
    struct gt_strbuf *plan;    /* not NULL: nothing is compiled or run; what would be is added */
};

struct gt_emu_tally {
    int builds, problems, passed, failed;
    unsigned layouts; /* the layouts that were run, as bits */
};

/* Runs each case in each layout, as large as the point needs it, under two different schedules:
 * threads first to last, with asynchronous copies as late as they may happen; last to first, with
 * copies at once and one warp that runs only when no other thread can go on, another one each time.
 * A wrong result is counted and printed.  An error (the point serves nothing, it does not compile)
 * ends the job.  Memory errors end the process with AddressSanitizer's report. */
int gt_emu_execute(const struct gt_emu_job *job, struct gt_emu_tally *tally, struct gt_err *err);

/* Runs the job's point for one problem, which is made smaller if it is large, and for all cases of
 * the problem's types, layout and epilogue that the point is valid for.  It makes one build.  The
 * job's `types` must be those of the problem; its layouts, epilogues and parts are not used. Output
 * and errors are those of gt_emu_execute.  GT_ETOOBIG: the point is valid for no problem that is
 * small enough.  Each problem is also run once for each warp of a block, which is late then; the
 * next problem has another block of its clusters late.  Whether it is a bet on the device that was
 * asked for is for the caller to judge: here bets only choose among the smaller problems. */
int gt_emu_try(const struct gt_emu_job *job, const struct gt_problem *asked,
               struct gt_emu_tally *tally, struct gt_err *err);

/* Runs the build's point for one problem, as it is, with the caller's A and B, stored as the
 * problem says, and copies all that D spans to d.  What it compiles first serves later problems of
 * the same layout; gt_emu_build_release (launch.h) ends it. */
struct gt_emu_build;
int gt_emu_given(struct gt_emu_build *build, const struct gt_problem *problem, const void *a,
                 const void *b, void *d, struct gt_err *err);

#endif
