/* bench_internal.h - what bench.c (proof and race), bench_time.c (samples, canary),
 * bench_final.c (finals), bench_move.c (memory alone) and baseline.c (cuBLASLt) share. */
#ifndef GT_BENCH_INTERNAL_H
#define GT_BENCH_INTERNAL_H

#include "proof/verify.h"
#include "timing/bench.h"

#define GT_BENCH_BATCH    64    /* launches queued before the host waits for them */
#define GT_BENCH_CLOCK_NS 50000 /* over which the SM clock is read */

struct gt_throttle;
struct gt_lt; /* cuBLASLt and what it answered for the problem */

struct gt_bench {
    struct gt_gpu *gpu;
    struct gt_proof *proof;
    struct gt_resident resident;
    struct gt_bench_options options;
    struct gt_event *begin[GT_BENCH_BATCH], *end[GT_BENCH_BATCH];
    uint64_t launches; /* so far: which set and result come next */
    uint64_t finals;   /* so far: seeds the order of the next one */
    gt_devptr canary;
    struct gt_lt *lt;             /* NULL until gt_bench_baseline */
    struct gt_throttle *throttle; /* NULL where there is none */
};

/* What can be timed: a loaded candidate, or an answer of cuBLASLt. */
struct gt_runner {
    int (*run)(const struct gt_runner *runner, const struct gt_args *args, struct gt_err *err);
    struct gt_module *module;
    struct gt_geometry geometry; /* of the candidate; zeroed for cuBLASLt */
    size_t workspace;            /* bytes it may write to */
    struct gt_lt *lt;
    int answer;
};

/* Loads a candidate for the bench's problem: GT_ERANGE if it cannot be launched.  Release with
 * gt_runner_release. */
int gt_runner_load(struct gt_runner *runner, struct gt_bench *bench,
                   const struct gt_candidate *candidate, const void *image, size_t size,
                   struct gt_err *err);
void gt_runner_release(struct gt_runner *runner);

/* Enqueues one launch between the events of place `index`; result: which D, -1: the next. */
int gt_bench_launch(struct gt_bench *bench, const struct gt_runner *runner, int index, int result,
                    struct gt_err *err);

/* Lets the device wait until the host has queued `launches` more. */
int gt_bench_head_start(const struct gt_bench *bench, int launches, struct gt_err *err);

/* Waits and reads the microseconds of places first .. first + count. */
int gt_bench_times(const struct gt_bench *bench, int first, int count, float *us,
                   struct gt_err *err);

/* Warm-up, then samples until the interval of the median is narrow enough or there are
 * max_samples; median and interval. */
struct gt_series {
    float sample[GT_MAX_SAMPLES];
    int samples;
    double us, lo_us, hi_us, clock_mhz;
};
int gt_bench_series(struct gt_bench *bench, const struct gt_runner *runner, int max_samples,
                    struct gt_series *series, struct gt_err *err);

/* `count` launches of a runner queued at once, their microseconds, and the clock after them. */
int gt_bench_run_batch(struct gt_bench *bench, const struct gt_runner *runner, int count, float *us,
                       struct gt_err *err);
/* Launches of that many microseconds to queue at once: about 20 ms of them, 4 to 32. */
int gt_bench_batch_size(double us);
/* SM clock of the last batch, MHz; left alone where the device does not tell. */
int gt_bench_read_clock(struct gt_bench *bench, double *mhz, struct gt_err *err);
/* Median and interval of the samples. */
void gt_series_summarise(struct gt_series *series);
/* Records the series; the detail says what held the clocks down, if NVML knows. */
void gt_trial_take_series(struct gt_trial *trial, const struct gt_bench *bench,
                          const struct gt_series *series, int stage);

/* Empties a trial of everything a bench fills in. */
void gt_trial_begin(struct gt_trial *trial);

/* A failure of the candidate becomes its status and GT_OK is returned; another error is returned.
 */
int gt_trial_settle(struct gt_trial *trial, const struct gt_bench *bench, int code,
                    struct gt_err *err);

/* A time that cannot be: not above zero, or beyond the device's peak: status wrong. */
void gt_trial_check_time(struct gt_trial *trial, const struct gt_bench *bench, double us);

/* Poison for a fresh series, and the checks after it.  judge also restores what was damaged. */
int gt_bench_poison(struct gt_bench *bench, const struct gt_runner *runner, struct gt_err *err);
int gt_bench_judge(struct gt_bench *bench, const struct gt_runner *runner, int results,
                   struct gt_trial *trial, struct gt_err *err);

/* cuBLASLt: the runner of its best answer, if the baseline was measured. */
bool gt_baseline_runner(struct gt_bench *bench, struct gt_runner *runner);
void gt_baseline_close(struct gt_lt *lt); /* NULL accepted */

#endif
