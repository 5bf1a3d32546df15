/* cmd_try.h - what the files of `tune try` share: the attempt, its steps and its verdict. */
#ifndef GT_CMD_TRY_H
#define GT_CMD_TRY_H

#include "console/options.h"
#include "kernel/kernel.h"
#include "problem/measured.h"
#include "problem/trial.h"
#include "session/cmd_session.h"

struct gt_try_options {
    const char *problem, *on, *arch, *device, *kernels_dir, *include_dirs, *keep;
    int64_t deadline, seed;
    struct gt_problem_options parts;
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
    char *keep; /* the folder of --keep; NULL: nothing is kept */

    /* The verdict: status and detail, on a GPU also times. */
    struct gt_trial trial;
    struct gt_baseline baseline; /* us is 0 where there is none */
    /* From the emulator: the problem, made smaller, and how many runs and problems there were. */
    char run_as[GT_PROBLEM_TEXT_MAX];
    int runs, wrong, problems;
};

/* Reads the emulator's log into the verdict.  wait_status: how its process ended. */
int gt_try_read_log(struct gt_try *attempt, const char *log, int wait_status, struct gt_err *err);

#endif
