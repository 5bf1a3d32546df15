/* played_device.h - a GPU that crashes, hangs, lies and comes back: the functions of gpu.h, bench.h
 * and calibrate.h that a GPU worker calls, defined in the test program, which is its own worker.
 * What happens is chosen by the candidate's FAULT, and by files that a test leaves in the folder
 * $TEST_FOLDER.  Included once in a program. */
#ifndef PLAYED_DEVICE_H
#define PLAYED_DEVICE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "timing/bench.h"
#include "timing/calibrate.h"
#include "cuda/compile.h"
#include "base/err.h"

enum fault {
    GOOD,
    COMPILE_FAILS, /* the template's own */
    STICKY,        /* a sticky error, reported */
    ENDLESS,
    CRASH,
    EXITS,
    WRONG,
    ERROR,         /* the stage itself fails */
    FINAL_CRASH,   /* passes alone and kills the final */
    NONSENSE,      /* an answer that cannot be */
    FINAL_REFUSED, /* passes alone, is refused in the final */
    FAULTS
};

struct gt_gpu {
    struct gt_device device;
    bool poisoned;
};

struct gt_bench {
    struct gt_gpu *gpu;
    bool baseline;
};

/* Whether a test has put a file of this name into the folder that the tests share. */
static inline bool told(const char *name)
{
    const char *folder = getenv("TEST_FOLDER");
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
    return access(path, F_OK) == 0;
}

/* Whether there is a file of this name that still has something in it; it gets a byte shorter. */
static inline bool told_again(const char *name)
{
    const char *folder = getenv("TEST_FOLDER");
    struct stat file;
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "", name);
    return !stat(path, &file) && file.st_size > 0 && !truncate(path, file.st_size - 1);
}

int gt_gpu_open(struct gt_gpu **gpu, int ordinal, bool primary, struct gt_err *err)
{
    struct gt_gpu *opened;

    (void)primary;
    if (told("stillborn") || told_again("stillborn at first"))
        raise(SIGKILL);
    if (ordinal > 0)
        return gt_err_set(err, GT_ENOGPU, "device %d: there is 1 device", ordinal);
    opened = calloc(1, sizeof(*opened));
    if (!opened)
        return gt_err_nomem(err);
    opened->device = (struct gt_device){
        .name = "Played", .uuid = "GPU-played", .cc = 80, .sms = 108, .smem_block = 166912};
    *gpu = opened;
    return GT_OK;
}

void gt_gpu_close(struct gt_gpu *gpu)
{
    free(gpu);
}

const struct gt_device *gt_gpu_device(const struct gt_gpu *gpu)
{
    return &gpu->device;
}

bool gt_gpu_poisoned(const struct gt_gpu *gpu)
{
    return gpu->poisoned;
}

int gt_bench_open(struct gt_bench **bench, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, const struct gt_problem *problem,
                  const struct gt_bench_options *options, struct gt_err *err)
{
    (void)nvrtc, (void)data_dir, (void)cache_dir, (void)options;
    if (problem->m > 1000)
        return gt_err_set(err, GT_ETOOBIG, "needs 9 bytes of 8");
    if (told("dead"))
        abort();
    *bench = calloc(1, sizeof(**bench));
    if (!*bench)
        return gt_err_nomem(err);
    (*bench)->gpu = gpu;
    return GT_OK;
}

void gt_bench_close(struct gt_bench *bench)
{
    free(bench);
}

static inline void hang(void)
{
    int signo;

    for (signo = 1; signo < 32; signo++)
        signal(signo, SIG_IGN);
    for (;;)
        pause();
}

static inline int play(struct gt_bench *bench, const struct gt_bench_entry *entry,
                       struct gt_trial *trial, struct gt_err *err)
{
    const struct gt_candidate *candidate = entry->candidate;
    const struct timespec launch = {.tv_nsec = 2000000};

    assert_true(entry->size > 0);
    nanosleep(&launch, NULL);
    trial->status = GT_STATUS_OK;
    trial->us = 100 + (double)candidate->point.value[1];
    trial->samples = 1;
    trial->prove_ms = (double)entry->geometry.workspace_bytes; /* for the test to see */
    switch ((enum fault)candidate->point.value[0]) {
    case STICKY:
        bench->gpu->poisoned = true;
        trial->status = GT_STATUS_FAULT;
        strcpy(trial->detail, "CUDA_ERROR_ILLEGAL_ADDRESS");
        return GT_OK;
    case ENDLESS:
        hang();
        return GT_OK;
    case CRASH:
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would answer it */
        raise(SIGSEGV);
        return GT_OK;
    case EXITS:
        _exit(3);
    case WRONG:
        trial->status = GT_STATUS_WRONG;
        return GT_OK;
    case ERROR:
        return gt_err_set(err, GT_ECUDA, "cuMemsetD32 failed");
    case NONSENSE:
        trial->status = (enum gt_status)99;
        return GT_OK;
    default:
        return GT_OK;
    }
}

int gt_bench_trial(struct gt_bench *bench, const struct gt_bench_entry *entry, double best_us,
                   struct gt_trial *trial, struct gt_err *err)
{
    trial->time_ms = best_us; /* for the test to see */
    return play(bench, entry, trial, err);
}

int gt_bench_sample(struct gt_bench *bench, const struct gt_bench_entry *entry, int max_samples,
                    struct gt_trial *trial, struct gt_err *err)
{
    (void)max_samples;
    trial->stage = 2;
    return play(bench, entry, trial, err);
}

int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err)
{
    (void)gpu, (void)nvrtc, (void)data_dir, (void)cache_dir, (void)err;
    *calibration = (struct gt_calibration){{0}};
    calibration->value[GT_CALIBRATION_MEMORY_COPY] = 3900;
    calibration->value[GT_CALIBRATION_FMA] = only_copy ? 0 : 60;
    return GT_OK;
}

int gt_bench_final(struct gt_bench *bench, const struct gt_bench_entry *entry, size_t entries,
                   int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                   struct gt_err *err)
{
    size_t i;
    int rc = GT_OK;

    if (told("slow launches") && rounds > 30) /* more rounds than the deadline allows here */
        pause();
    for (i = 0; !rc && i < entries; i++) {
        if (entry[i].candidate->point.value[0] == FINAL_CRASH)
            abort();
        if (entry[i].candidate->point.value[0] == FINAL_REFUSED)
            return gt_err_set(err, GT_ERANGE, "cuLaunchKernel: refused");
        rc = play(bench, &entry[i], &trial[i], err);
        trial[i].stage = 3;
        trial[i].samples = rounds;
    }
    if (bench->baseline)
        *baseline = (struct gt_trial){.status = GT_STATUS_OK, .us = 99, .samples = rounds};
    return rc;
}

int gt_bench_move(struct gt_bench *bench, struct gt_nvrtc *nvrtc, const char *data_dir,
                  const char *cache_dir, struct gt_move *move, struct gt_err *err)
{
    (void)bench, (void)nvrtc, (void)data_dir, (void)cache_dir;
    if (told("move_fails"))
        return gt_err_set(err, GT_ECONFIG, "planted: nothing moves");
    if (told("move_dies"))
        abort();
    *move = (struct gt_move){.us = 55, .lo_us = 54, .hi_us = 56, .form = "played"};
    return GT_OK;
}

int gt_bench_energy(struct gt_bench *bench, const struct gt_bench_entry *entry,
                    const struct gt_energy_wish *wish, struct gt_energy *energy, struct gt_err *err)
{
    (void)bench;
    if (told("energy_fails"))
        return gt_err_set(err, GT_ENOTFOUND, "planted: no meter");
    if (told("energy_dies"))
        abort();
    if (told("energy_hangs"))
        pause();
    if (told("energy_faults"))
        return gt_err_set(err, GT_ECUDA, "planted: a fault");
    *energy = (struct gt_energy){.us = entry ? 50 : 99, .joules = wish->seconds, .launches = 1};
    return GT_OK;
}

int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err)
{
    if (told("no-cublas"))
        return gt_err_set(err, GT_ENOLIB, "libcublasLt.so is missing");
    if (told("bad-cublas"))
        abort();
    bench->baseline = true;
    *baseline = (struct gt_baseline){.name = "played", .us = 99, .answers = 1};
    return GT_OK;
}

int gt_bench_canary(struct gt_bench *bench, double *us, struct gt_err *err)
{
    if (told("sick") || bench->gpu->poisoned)
        return gt_err_set(err, GT_ECUDA, "the canary is wrong");
    *us = 7;
    return GT_OK;
}

#endif
