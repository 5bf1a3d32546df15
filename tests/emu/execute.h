/* execute.h - test: a kernel's point, compiled for the CPU, run over all cases it is valid for. */
#ifndef GT_EMU_EXECUTE_H
#define GT_EMU_EXECUTE_H

#include <stdbool.h>

#include "kernel.h"

struct gt_emu_job {
    const struct gt_kernel *kernel;
    struct gt_point point;
    bool standard;          /* the default point: with every epilogue served, not only none */
    const char *data_dir;   /* holds templates/ */
    const char *build_path; /* sources and objects are written to <build_path>-... */
};

struct gt_emu_tally {
    int builds, passed, failed;
};

/* Runs the job: each case in each layout, twice, with different schedules.  A wrong result is
 * counted and printed; an error return (nothing served, it does not compile) ends the job.
 * Memory errors end the process with AddressSanitizer's report. */
int gt_emu_execute(const struct gt_emu_job *job, struct gt_emu_tally *tally, struct gt_err *err);

#endif
