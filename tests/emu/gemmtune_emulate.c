/* gemmtune_emulate.c - the program behind `tune try --on cpu`: one candidate on the CPU, under
 * AddressSanitizer and UndefinedBehaviorSanitizer.
 *
 *   gemmtune-emulate DATA_DIR KERNELS_DIR INCLUDE_DIRS KERNEL POINT PROBLEM BUILD_PATH SECONDS CC
 *
 * KERNELS_DIR and INCLUDE_DIRS (DIR[:DIR...]) may be empty; SECONDS of CPU time are
 * given to each run; CC is the compute capability that constraints see.  `tune` starts it and reads
 * what it prints: a line "TEXT, schedule N" for each run, below it "FAILED: ..." where D is wrong,
 * and at last "done: N right, N wrong, N problems".  "error CODE: ..." stands in its place where
 * the candidate could not be run.  A sanitizer's report ends the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <signal.h>

#include "base/err.h"
#include "execute.h"
#include "problem/problem.h"

#define CPU_SECONDS 300 /* for all runs of the candidate */

static int try_candidate(char **argv, struct gt_emu_tally *tally, struct gt_err *err)
{
    struct gt_emu_job job = {
        .data_dir = argv[1], .build_path = argv[7], .seconds = atoi(argv[8]), .cc = atoi(argv[9])};
    struct gt_kernels kernels = {0};
    struct gt_problem problem;
    int status = gt_problem_parse(&problem, argv[6], err);

    if (!status)
        status = gt_kernels_load(&kernels, argv[1], *argv[2] ? argv[2] : NULL, argv[3], err);
    if (!status) {
        job.kernel = gt_kernels_find(&kernels, argv[4], err);
        status = job.kernel ? gt_point_parse(&job.point, job.kernel, argv[5], err) : GT_ENOTFOUND;
    }
    if (!status) {
        job.types = (struct gt_emu_types){problem.type,        problem.out,     problem.accuracy,
                                          problem.scale_a,     problem.scale_b, problem.sums,
                                          (int)problem.groups, problem.by,      problem.gate};
        status = gt_emu_try(&job, &problem, tally, err);
    }
    gt_kernels_release(&kernels);
    return status;
}

int main(int argc, char **argv)
{
    struct rlimit limit = {CPU_SECONDS, CPU_SECONDS};
    struct gt_emu_tally tally = {0};
    struct gt_err err = {0};
    int status;

    if (argc != 10) {
        fprintf(stderr, "gemmtune-emulate is a part of `tune try --on cpu`\n");
        return 2;
    }
    limit.rlim_cur += (rlim_t)atoi(argv[8]);
    limit.rlim_max = limit.rlim_cur;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CPU, &limit);
    status = try_candidate(argv, &tally, &err);
    if (status)
        printf("error %d: %s\n", status, err.msg);
    else
        printf("done: %d right, %d wrong, %d problems\n", tally.passed, tally.failed,
               tally.problems);
    return status != 0;
}
