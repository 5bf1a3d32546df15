/* bench_time.c - stage: takes samples (stage 2 of bench.h) and runs the canary. */
#include "timing/bench_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "cuda/graph.h"
#include "timing/chain.h"
#include "timing/throttle.h"

#define LAUNCH_NS    12000 /* the host's time for a launch and two events, rounded up */
#define NARROW       0.005 /* interval of the median divided by the median */
#define LEAST        9     /* samples before the interval is used */
#define CANARY_STEPS 32768 /* about 70 us */
#define CANARY_TIMES 9

int gt_bench_head_start(const struct gt_bench *bench, int launches, struct gt_err *err)
{
    return gt_proof_clock(bench->proof, (int64_t)LAUNCH_NS * (launches + 2), -1, err);
}

int gt_bench_launch(struct gt_bench *bench, const struct gt_runner *runner, int index, int result,
                    struct gt_err *err)
{
    const struct gt_resident *resident = &bench->resident;
    int set =
        resident->timed + (int)(bench->launches % (uint64_t)(resident->sets - resident->timed));
    struct gt_args args;
    int rc = GT_OK;

    if (result < 0)
        result = (int)(bench->launches % GT_RESULTS);
    bench->launches++;
    gt_resident_args(resident, set, result, &args);
    memcpy(args.launch, runner->geometry.launch_param, sizeof(args.launch));
    /* A few small sets stay in the L2 cache, so it is emptied whenever the first set is next. */
    if (resident->flush && (set == resident->timed || index == 0 || runner->chain))
        rc = gt_resident_flush(resident, err);
    GT_STEP(rc, gt_event_record(bench->begin[index], err));
    GT_STEP(rc,
            runner->chain ? gt_graph_launch(runner->chain, err) : runner->run(runner, &args, err));
    return rc ? rc : gt_event_record(bench->end[index], err);
}

int gt_bench_times(const struct gt_bench *bench, int first, int count, float *us,
                   struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < count && !rc; i++)
        rc = gt_event_us(bench->begin[first + i], bench->end[first + i], &us[i], err);
    for (int i = 0; i < count && !rc; i++)
        us[i] /= (float)gt_chain_launches(bench->options.timing);
    return rc;
}

int gt_bench_run_batch(struct gt_bench *bench, const struct gt_runner *runner, int count, float *us,
                       struct gt_err *err)
{
    int rc = gt_bench_head_start(bench, count, err);

    for (int i = 0; i < count && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, -1, err);
    GT_STEP(rc, gt_proof_clock(bench->proof, GT_BENCH_CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err));
    return rc ? rc : gt_bench_times(bench, 0, count, us, err);
}

int gt_bench_batch_size(const struct gt_bench *bench, double us)
{
    double all = us * gt_chain_launches(bench->options.timing);
    int count = us > 0 ? (int)(20e3 / all) : 4;

    return count < 4 ? 4 : count > 32 ? 32 : count;
}

void gt_series_summarise(struct gt_series *series)
{
    series->us = gt_median(series->sample, series->samples);
    gt_median_interval(series->sample, series->samples, &series->lo_us, &series->hi_us);
}

int gt_bench_read_clock(struct gt_bench *bench, double *mhz, struct gt_err *err)
{
    const struct gt_proof_result *clock = gt_proof_result(bench->proof, GT_VERIFY_CLOCK_SLOT);
    int rc = gt_proof_fetch(bench->proof, err);

    if (!rc && clock->nanoseconds)
        *mhz = 1e3 * (double)clock->cycles / (double)clock->nanoseconds;
    return rc;
}

int gt_bench_series(struct gt_bench *bench, const struct gt_runner *runner, int max_samples,
                    struct gt_series *series, struct gt_err *err)
{
    float warm_up[GT_RESULTS];
    int most = max_samples < GT_MAX_SAMPLES ? max_samples : GT_MAX_SAMPLES;
    int rc = gt_bench_run_batch(bench, runner, GT_RESULTS, warm_up, err);

    memset(series, 0, sizeof(*series));
    if (most < GT_RESULTS)
        most = GT_RESULTS;
    series->us = warm_up[GT_RESULTS - 1];
    while (!rc && series->samples < most) {
        int left = most - series->samples, count = gt_bench_batch_size(bench, series->us);

        count = count < left ? count : left;
        rc = gt_bench_run_batch(bench, runner, count, series->sample + series->samples, err);
        if (rc)
            break;
        series->samples += count;
        gt_series_summarise(series);
        if (series->samples >= LEAST && series->hi_us - series->lo_us < NARROW * series->us)
            break;
    }
    return rc ? rc : gt_bench_read_clock(bench, &series->clock_mhz, err);
}

void gt_trial_take_series(struct gt_trial *trial, const struct gt_bench *bench,
                          const struct gt_series *series, int stage)
{
    char reasons[128];

    gt_throttle_reasons(bench->throttle, reasons, sizeof(reasons));
    if (*reasons)
        snprintf(trial->detail, sizeof(trial->detail), "clocks held down: %s", reasons);
    memcpy(trial->sample, series->sample, sizeof(trial->sample));
    trial->samples = series->samples;
    trial->us = series->us;
    trial->lo_us = series->lo_us;
    trial->hi_us = series->hi_us;
    trial->clock_mhz = series->clock_mhz;
    trial->stage = stage;
    trial->status = GT_STATUS_OK;
}

int gt_bench_sample(struct gt_bench *bench, const struct gt_candidate *candidate, const void *image,
                    size_t size, int max_samples, struct gt_trial *trial, struct gt_err *err)
{
    double start = 1e3 * gt_clock_s();
    struct gt_err local = {0};
    struct gt_series series;
    struct gt_runner runner;
    int rc;

    gt_trial_begin(trial);
    rc = gt_runner_load(&runner, bench, candidate, image, size, &local);
    GT_STEP(rc, gt_chain_make(bench, &runner, &local));
    GT_STEP(rc, gt_bench_poison(bench, &runner, &local));
    GT_STEP(rc, gt_bench_series(bench, &runner, max_samples, &series, &local));
    GT_STEP(rc, gt_bench_judge(bench, &runner, GT_RESULTS, trial, &local));
    if (!rc)
        gt_trial_check_time(trial, bench, series.us);
    if (!rc && trial->status == GT_STATUS_NONE)
        gt_trial_take_series(trial, bench, &series, 2);
    gt_runner_release(&runner);
    trial->time_ms = 1e3 * gt_clock_s() - start;
    rc = gt_trial_settle(trial, bench, rc, &local);
    if (rc && err)
        *err = local;
    return rc;
}

/* ---- canary ---- */

static int check_canary(struct gt_bench *bench, int64_t count, struct gt_err *err)
{
    float *value = malloc((size_t)count * sizeof(*value)), expected[8];
    int rc = value ? gt_gpu_download(bench->gpu, value, bench->canary,
                                     (size_t)count * sizeof(*value), err)
                   : gt_err_nomem(err);

    for (int i = 0; i < 8; i++)
        expected[i] = gt_proof_canary_value(i, CANARY_STEPS);
    for (int64_t i = 0; i < count && !rc; i++)
        if (value[i] != expected[i % 8])
            rc = gt_err_set(err, GT_ELOST,
                            "the GPU computes wrongly: thread %lld of the canary kernel gave %.9g, "
                            "expected %.9g",
                            (long long)i, (double)value[i], (double)expected[i % 8]);
    free(value);
    return rc;
}

int gt_bench_canary(struct gt_bench *bench, double *us, struct gt_err *err)
{
    int64_t count = (int64_t)gt_gpu_device(bench->gpu)->sms * 1024;
    float sample[CANARY_TIMES];
    int rc = GT_OK;

    *us = 0;
    if (!bench->canary)
        rc = gt_gpu_alloc(bench->gpu, &bench->canary, (size_t)count * sizeof(float), err);
    GT_STEP(rc, gt_gpu_fill32(bench->gpu, bench->canary, GT_POISON, (size_t)count, err));
    GT_STEP(rc, gt_bench_head_start(bench, CANARY_TIMES, err));
    for (int i = 0; i < CANARY_TIMES && !rc; i++) {
        rc = gt_event_record(bench->begin[i], err);
        GT_STEP(rc, gt_proof_canary(bench->proof, bench->canary, count, CANARY_STEPS, err));
        GT_STEP(rc, gt_event_record(bench->end[i], err));
    }
    for (int i = 0; i < CANARY_TIMES && !rc; i++)
        rc = gt_event_us(bench->begin[i], bench->end[i], &sample[i], err);
    GT_STEP(rc, check_canary(bench, count, err));
    if (!rc)
        *us = gt_median(sample, CANARY_TIMES);
    return rc;
}
