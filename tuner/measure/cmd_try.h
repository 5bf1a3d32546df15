/* cmd_try.h - an attempt of `tune try` and its verdict; and the files that --keep writes. */
#ifndef GT_CMD_TRY_H
#define GT_CMD_TRY_H

#include "console/options.h"
#include "kernel/kernel.h"
#include "problem/measured.h"
#include "problem/trial.h"
#include "session/cmd_session.h"

#define GT_TRY_CHANGED_MAX 1024

struct gt_try_options {
    const char *problem, *on, *arch, *device, *kernels_dir, *include_dirs, *keep;
    int64_t deadline, seed;
    struct gt_problem_options parts;
};

/* One candidate and its verdict. */
struct gt_try {
    struct gt_cli *cli;
    const struct gt_try_options *options;
    struct gt_kernels kernels;
    struct gt_problem problem;
    struct gt_device device;
    struct gt_candidate candidate;
    uint64_t named; /* the parameters that the point names, as bits */
    char problem_text[GT_PROBLEM_TEXT_MAX];
    char changed[GT_TRY_CHANGED_MAX]; /* "COPY_A=1,COPY_B=2": parameters that were changed because
                                         the point was not valid */
    bool on_cpu;
    char *keep; /* the folder of --keep; NULL: nothing is kept */

    /* The verdict: status and detail, on a GPU also times. */
    struct gt_trial trial;
    struct gt_baseline baseline; /* us is 0 if there is no baseline */
    /* From the emulator: the problem, made smaller; the number of runs, of wrong runs and of
     * problems. */
    char run_as[GT_PROBLEM_TEXT_MAX];
    int runs, wrong, problems;
};

/* Reads the emulator's log into the verdict.  wait_status: of the emulator's process. */
int gt_try_read_log(struct gt_try *attempt, const char *log, int wait_status, struct gt_err *err);

/* The folder that --keep names, made if it is missing; malloc'ed. */
int gt_keep_open(char **folder, const char *keep, struct gt_err *err);

/* Writes a candidate's source, PTX, cubin, SASS and the compiler's log into the folder.  A file
 * that cannot be made here is no error; a remark on cli->log says so. */
int gt_keep_candidate(const struct gt_cli *cli, const struct gt_candidate *candidate,
                      const char *folder, struct gt_err *err);

#endif
