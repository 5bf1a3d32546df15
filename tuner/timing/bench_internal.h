/* bench_internal.h - what bench.c (proof, race, samples, canary), bench_final.c (finals),
 * baseline.c (cuBLASLt, moving the data alone) and energy.c share. */
#ifndef GT_BENCH_INTERNAL_H
#define GT_BENCH_INTERNAL_H

#include "cuda/cublaslt.h"
#include "cuda/graph.h"
#include "proof/verify.h"
#include "timing/bench.h"

#define GT_BENCH_BATCH    64    /* launches queued before the host waits for them */
#define GT_BENCH_CLOCK_NS 50000 /* nanoseconds over which the SM clock is measured */

struct gt_throttle;

#define GT_LT_ANSWERS 64

/* cuBLASLt with its answers for the problem (baseline.c). */
struct gt_lt {
    struct gt_problem product; /* that the library computes: the problem, or one of its groups */
    int64_t products;          /* calls: 1, or the groups */
    int64_t step[3];           /* bytes from one call's A, B and C to the next one's */
    struct gt_cublaslt *lt[2]; /* the problem as it is; with fast accumulation, or NULL */
    struct gt_lt_answer answer[2 * GT_LT_ANSWERS];
    bool fast[2 * GT_LT_ANSWERS]; /* which of both an answer belongs to */
    int answers, best;
    char why[600];                        /* why the first answer that ran failed its proof */
    struct gt_cublaslt_operands operands; /* workspace and factors */
    void *stream;
};

struct gt_bench {
    struct gt_gpu *gpu;
    struct gt_proof *proof;
    struct gt_resident resident;
    struct gt_cases cases; /* of the candidate on trial */
    struct gt_bench_options options;
    struct gt_event *begin[GT_BENCH_BATCH], *end[GT_BENCH_BATCH];
    uint64_t launches; /* launches so far; chooses the next set and result */
    uint64_t finals;   /* finals so far; part of the seed for the order of the next final */
    gt_devptr canary;
    struct gt_lt *lt;             /* NULL until gt_bench_baseline */
    struct gt_throttle *throttle; /* NULL: no NVML */
};

/* Something that can be timed: a loaded candidate, or an answer of cuBLASLt. */
struct gt_runner {
    int (*run)(const struct gt_runner *runner, const struct gt_args *args,
               const struct gt_more *more, struct gt_err *err);
    struct gt_module *module;
    struct gt_geometry geometry; /* of the candidate; zeroed for cuBLASLt */
    size_t workspace;            /* bytes of workspace that the runner may write to */
    struct gt_graph *chain;      /* NULL: launches are timed one by one */
    struct gt_lt *lt;
    int answer;
    double slack; /* absolute error that is allowed beside the bound (verify.h) */
};

/* Loads a candidate for the bench's problem.  GT_ERANGE: it cannot be launched.  Release the runner
 * with gt_runner_release. */
int gt_runner_load(struct gt_runner *runner, struct gt_bench *bench,
                   const struct gt_bench_entry *entry, struct gt_err *err);
void gt_runner_release(struct gt_runner *runner);

/* Chains of launches in a CUDA graph, as programs run short products.
 *
 * A chain is GT_CHAIN launches of one runner.  Each launch begins when the launch before it has
 * ended, with no gap but the GPU's own, so the host takes no part, and the 1 to 2 us that a single
 * launch takes are not in the time.  The time of a product is the time of the chain divided by
 * GT_CHAIN.  Launch i reads copy i of A, B and C. gt_resident has as many copies as the chain is
 * long, or fewer if fewer copies exceed 3 x L2 together.  If all copies together do not exceed 3 x
 * L2, L2 is emptied before each chain.  So every operand is read from memory, as in the timing
 * "cold"; only D, of which GT_RESULTS copies are written in turn, may still be in L2 when it is
 * written again.  Kernels of this project and cuBLASLt's are timed in the same way. */
#define GT_CHAIN 32

/* Makes the runner's chain, after a single launch of the runner.  Nothing happens if the runner has
 * a chain, or if the bench times launches one by one.  gt_runner_release frees the chain. */
int gt_chain_make(struct gt_bench *bench, struct gt_runner *runner, struct gt_err *err);

/* Enqueues one launch between the events of place `index`; result: the D to write, -1: the next.  A
 * runner with a chain enqueues the whole chain, which writes every D. */
int gt_bench_launch(struct gt_bench *bench, const struct gt_runner *runner, int index, int result,
                    struct gt_err *err);

/* Runs the runner without events, with the set and the result that belong to number `turn`. */
int gt_bench_run(const struct gt_bench *bench, const struct gt_runner *runner, uint64_t turn,
                 struct gt_err *err);

/* Makes the device wait until the host has queued `launches` more. */
int gt_bench_head_start(const struct gt_bench *bench, int launches, struct gt_err *err);

/* Waits and reads the microseconds of a launch at each of `count` places from `first` on; for a
 * chain, the chain's time divided by its launches. */
int gt_bench_times(const struct gt_bench *bench, int first, int count, float *us,
                   struct gt_err *err);

/* Warms up and takes samples until the interval of the median is narrow enough or there are
 * max_samples; computes median and interval. */
struct gt_series {
    float sample[GT_MAX_SAMPLES];
    int samples;
    double us, lo_us, hi_us, clock_mhz;
};
int gt_bench_series(struct gt_bench *bench, const struct gt_runner *runner, int max_samples,
                    struct gt_series *series, struct gt_err *err);

/* Queues `count` launches of a runner at once and measures the clock after them; us: the times of
 * the launches. */
int gt_bench_run_batch(struct gt_bench *bench, const struct gt_runner *runner, int count, float *us,
                       struct gt_err *err);
/* How many launches or chains of `us` microseconds to queue at once: about 20 ms of work, 4 to 32
 * launches. */
int gt_bench_batch_size(const struct gt_bench *bench, double us);
/* Reads the SM clock of the last batch in MHz; *mhz does not change if the clock is not known. */
int gt_bench_read_clock(struct gt_bench *bench, double *mhz, struct gt_err *err);
/* Computes median and interval of the samples. */
void gt_series_summarise(struct gt_series *series);
/* Records the series in the trial.  The detail has the reasons for low clocks, if NVML knows them.
 */
void gt_trial_take_series(struct gt_trial *trial, const struct gt_bench *bench,
                          const struct gt_series *series, int stage);

/* Clears every field of a trial that a bench fills. */
void gt_trial_begin(struct gt_trial *trial);

/* Records a failure of the candidate as its status and returns GT_OK; returns any other error. */
int gt_trial_settle(struct gt_trial *trial, const struct gt_bench *bench, int code,
                    struct gt_err *err);

/* Sets the status `wrong` for an impossible time: not above zero, or beyond the device's peak. */
void gt_trial_check_time(struct gt_trial *trial, const struct gt_bench *bench, double us);

/* gt_bench_poison prepares the results for a series; gt_bench_judge checks them after the series
 * and restores damaged inputs. */
int gt_bench_poison(struct gt_bench *bench, const struct gt_runner *runner, struct gt_err *err);
int gt_bench_judge(struct gt_bench *bench, const struct gt_runner *runner, int results,
                   struct gt_trial *trial, struct gt_err *err);

/* The runner of cuBLASLt's best answer; false: the baseline was not measured. */
bool gt_baseline_runner(struct gt_bench *bench, struct gt_runner *runner);

/* bench.c */
void gt_lt_close(struct gt_lt *lt); /* NULL accepted */

#endif
