/* cmd_try.h - what the parts of `tune try` share: the attempt, its stations and its verdict. */
#ifndef GT_CMD_TRY_H
#define GT_CMD_TRY_H

#include "console/options.h"
#include "kernel/kernel.h"
#include "problem/measured.h"
#include "problem/trial.h"

struct gt_try_options {
    const char *problem, *on, *arch, *device, *kernels_dir, *include_dirs, *keep;
    int64_t deadline, seed;
};

/* One candidate, and what became of it. */
struct gt_try {
    struct gt_cli *cli;
    const struct gt_try_options *options;
    struct gt_kernels kernels;
    struct gt_problem problem;
    struct gt_device device;
    struct gt_candidate candidate;
    char problem_text[GT_PROBLEM_TEXT_MAX];
    bool on_cpu;
    char *keep; /* folder where things are left; NULL: nowhere */

    /* The verdict: status and detail, on a GPU also times. */
    struct gt_trial trial;
    struct gt_baseline baseline; /* us is 0 where there is none */
    /* Of the emulator. */
    char run_as[GT_PROBLEM_TEXT_MAX]; /* the problem, made smaller */
    int runs, wrong, problems;
};

/* Runs the candidate in the emulator: gemmtune-emulate, a program of its own that stands beside
 * this one.  `folder`: where source, object and log go.  Fills the verdict; an error return means
 * that the candidate could not be run. */
int gt_try_emulate(struct gt_try *attempt, const char *folder, struct gt_err *err);

/* Reads the emulator's log into the verdict.  wait_status: how its process ended. */
int gt_try_read_log(struct gt_try *attempt, const char *log, int wait_status, struct gt_err *err);

/* Proves and times the candidate in a GPU worker; attempt->device is then that GPU. */
int gt_try_measure(struct gt_try *attempt, struct gt_err *err);

/* Leaves source, PTX, cubin, SASS and the compiler's log in attempt->keep.  What cannot be made
 * here costs a remark on cli->log, no more. */
int gt_try_keep(struct gt_try *attempt, struct gt_err *err);

#endif
