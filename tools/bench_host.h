/* bench_host.h - what bench_host.c and bench_library.c share. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include <stdio.h>
#include <time.h>

#include "kernel/kernel.h"

#define ARCH 90 /* of the profile used but for spaces */

struct bench {
    char *data_dir;
    struct gt_kernels kernels;
    struct gt_device device;
    struct gt_err err;
};

static inline double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* CPU time of this process: what enumeration costs on a machine that does nothing else. */
static inline double cpu(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One figure a line. */
static inline void figure(const char *name, double value, const char *unit, const char *remark)
{
    printf("%-34s %12.3f %-10s %s\n", name, value, unit, remark);
    fflush(stdout);
}

/* Look-ups: of a problem in the table, and of drawn ones that nobody tuned. */
int bench_lookup(struct bench *bench);

/* Plans from a deployed file: on the GPU, or on the stub driver if GEMMTUNE_LIBCUDA names it. */
int bench_deployed(struct bench *bench);

#endif
