/* bench_time.c - stage: samples (stage 2), finals (stage 3) and the canary; the second half of
 * bench.h. */
#include "bench_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "throttle.h"
#include "stats.h"

#define LAUNCH_NS    12000 /* the host's time for a launch and two events, rounded up */
#define CLOCK_NS     50000
#define NARROW       0.005 /* interval of the median over the median */
#define LEAST        9     /* samples before the interval is believed */
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
    int set = (int)(bench->launches % (uint64_t)resident->sets);
    struct gt_args args;
    int rc = GT_OK;

    if (result < 0)
        result = (int)(bench->launches % GT_RESULTS);
    bench->launches++;
    gt_resident_args(resident, set, result, &args);
    memcpy(args.launch, runner->geometry.launch_param, sizeof(args.launch));
    /* Few and small sets stay in the L2 cache: it is emptied whenever they come round again. */
    if (resident->flush && (set == 0 || index == 0))
        rc = gt_resident_flush(resident, err);
    if (!rc)
        rc = gt_event_record(bench->begin[index], err);
    if (!rc)
        rc = runner->run(runner, &args, err);
    return rc ? rc : gt_event_record(bench->end[index], err);
}

int gt_bench_times(const struct gt_bench *bench, int first, int count, float *us,
                   struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < count && !rc; i++)
        rc = gt_event_us(bench->begin[first + i], bench->end[first + i], &us[i], err);
    return rc;
}

static int take_batch(struct gt_bench *bench, const struct gt_runner *runner, int count, float *us,
                      struct gt_err *err)
{
    int rc = gt_bench_head_start(bench, count, err);

    for (int i = 0; i < count && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, -1, err);
    if (!rc)
        rc = gt_proof_clock(bench->proof, CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err);
    return rc ? rc : gt_bench_times(bench, 0, count, us, err);
}

/* Launches to queue at once: about 20 ms of them. */
static int batch_size(double us)
{
    int count = us > 0 ? (int)(20e3 / us) : 4;

    return count < 4 ? 4 : count > 32 ? 32 : count;
}

static void summarise(struct gt_series *series)
{
    series->us = gt_median(series->sample, series->samples);
    gt_median_interval(series->sample, series->samples, &series->lo_us, &series->hi_us);
}

static int read_clock(struct gt_bench *bench, double *mhz, struct gt_err *err)
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
    int rc = take_batch(bench, runner, GT_RESULTS, warm_up, err);

    memset(series, 0, sizeof(*series));
    if (most < GT_RESULTS)
        most = GT_RESULTS;
    series->us = warm_up[GT_RESULTS - 1];
    while (!rc && series->samples < most) {
        int left = most - series->samples, count = batch_size(series->us);

        count = count < left ? count : left;
        rc = take_batch(bench, runner, count, series->sample + series->samples, err);
        if (rc)
            break;
        series->samples += count;
        summarise(series);
        if (series->samples >= LEAST && series->hi_us - series->lo_us < NARROW * series->us)
            break;
    }
    return rc ? rc : read_clock(bench, &series->clock_mhz, err);
}

/* Records the series; the detail says what held the clocks down, if NVML knows. */
static void take_series(struct gt_trial *trial, const struct gt_bench *bench,
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
    double start = gt_bench_now_ms();
    struct gt_err local = {0};
    struct gt_series series;
    struct gt_runner runner;
    int rc;

    gt_trial_begin(trial);
    rc = gt_runner_load(&runner, bench, candidate, image, size, &local);
    if (!rc)
        rc = gt_bench_poison(bench, &runner, &local);
    if (!rc)
        rc = gt_bench_series(bench, &runner, max_samples, &series, &local);
    if (!rc)
        rc = gt_bench_judge(bench, &runner, GT_RESULTS, trial, &local);
    if (!rc)
        gt_trial_check_time(trial, bench, series.us);
    if (!rc && trial->status == GT_STATUS_NONE)
        take_series(trial, bench, &series, 2);
    gt_runner_release(&runner);
    trial->time_ms = gt_bench_now_ms() - start;
    rc = gt_trial_settle(trial, bench, rc, &local);
    if (rc && err)
        *err = local;
    return rc;
}

/* ---- finals ---- */

struct final {
    struct gt_runner *runner;
    struct gt_series *series;
    struct gt_trial **trial;
    int count, *order;
};

static void shuffle(struct gt_random *random, int *order, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)gt_random_below(random, (uint64_t)i + 1), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* Every entry still in the running once, in a new order.  Batches keep the queue bounded. */
static int run_round(struct gt_bench *bench, struct final *final, int round, struct gt_err *err)
{
    int rc = GT_OK;

    for (int first = 0; first < final->count && !rc; first += GT_BENCH_BATCH) {
        int left = final->count - first, count = left < GT_BENCH_BATCH ? left : GT_BENCH_BATCH;
        float us[GT_BENCH_BATCH];

        rc = gt_bench_head_start(bench, count, err);
        for (int i = 0; i < count && !rc; i++) {
            int entry = final->order[first + i];

            if (final->trial[entry]->status == GT_STATUS_NONE)
                rc = gt_bench_launch(bench, &final->runner[entry], i, -1, err);
        }
        for (int i = 0; i < count && !rc; i++) {
            int entry = final->order[first + i];

            if (final->trial[entry]->status != GT_STATUS_NONE)
                continue;
            rc = gt_bench_times(bench, i, 1, us, err);
            if (round >= 0 && !rc)
                final->series[entry].sample[round] = us[0];
        }
    }
    return rc;
}

static int load_finalists(struct gt_bench *bench, const struct gt_final_entry *entry,
                          size_t entries, struct final *final, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < entries && !rc; i++) {
        rc = gt_runner_load(&final->runner[i], bench, entry[i].candidate, entry[i].image,
                            entry[i].size, err);
        if (rc)
            rc = gt_trial_settle(final->trial[i], bench, rc, err);
    }
    return rc;
}

/* Brings back inputs that somebody wrote to in the rounds; who it was, his own proof will show. */
static int mend_inputs(struct gt_bench *bench, struct gt_err *err)
{
    struct gt_trial anybody = {.status = GT_STATUS_NONE};
    bool damaged = false;
    int rc = gt_proof_clear(bench->proof, err);

    if (!rc)
        rc = gt_verify_check_inputs(&bench->resident, err);
    if (!rc)
        rc = gt_proof_fetch(bench->proof, err);
    if (rc)
        return rc;
    gt_verify_judge_inputs(&bench->resident, &anybody, &damaged);
    return damaged ? gt_resident_restore(&bench->resident, err) : GT_OK;
}

/* Each entry once more into poisoned memory, and its verdict. */
static int prove_finalist(struct gt_bench *bench, struct final *final, int entry,
                          struct gt_err *err)
{
    struct gt_trial *trial = final->trial[entry];
    const struct gt_runner *runner = &final->runner[entry];
    int rc = gt_bench_poison(bench, runner, err);

    if (!rc)
        rc = gt_bench_launch(bench, runner, 0, 0, err);
    if (!rc)
        rc = gt_bench_judge(bench, runner, 1, trial, err);
    return rc;
}

static int run_final(struct gt_bench *bench, struct final *final, int rounds, struct gt_err *err)
{
    struct gt_random random = {bench->options.seed + 0x9e37 * ++bench->finals};
    double mhz = 0;
    int rc = GT_OK;

    for (int i = 0; i < final->count; i++)
        final->order[i] = i;
    for (int round = -1; round < rounds && !rc; round++) { /* round -1 warms up */
        shuffle(&random, final->order, final->count);
        rc = run_round(bench, final, round, err);
    }
    if (!rc)
        rc = gt_proof_clock(bench->proof, CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err);
    if (!rc)
        rc = read_clock(bench, &mhz, err);
    if (!rc)
        rc = mend_inputs(bench, err);
    for (int i = 0; i < final->count && !rc; i++) {
        if (final->trial[i]->status != GT_STATUS_NONE)
            continue;
        rc = prove_finalist(bench, final, i, err);
        final->series[i].samples = rounds;
        final->series[i].clock_mhz = mhz;
        summarise(&final->series[i]);
        gt_trial_check_time(final->trial[i], bench, final->series[i].us);
        if (!rc && final->trial[i]->status == GT_STATUS_NONE)
            take_series(final->trial[i], bench, &final->series[i], 3);
    }
    return rc;
}

int gt_bench_final(struct gt_bench *bench, const struct gt_final_entry *entry, size_t entries,
                   int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                   struct gt_err *err)
{
    size_t most = entries + 1;
    struct final final = {.runner = calloc(most, sizeof(*final.runner)),
                          .series = calloc(most, sizeof(*final.series)),
                          .trial = calloc(most, sizeof(*final.trial)),
                          .order = calloc(most, sizeof(*final.order)),
                          .count = (int)entries};
    int rc = GT_OK;

    if (!final.runner || !final.series || !final.trial || !final.order) {
        rc = gt_err_nomem(err);
        goto out;
    }
    rounds = rounds < 1 ? 1 : rounds > GT_MAX_SAMPLES ? GT_MAX_SAMPLES : rounds;
    for (size_t i = 0; i < entries; i++) {
        gt_trial_begin(&trial[i]);
        final.trial[i] = &trial[i];
    }
    if (baseline)
        gt_trial_begin(baseline);
    if (baseline && gt_baseline_runner(bench, &final.runner[entries])) {
        final.trial[entries] = baseline;
        final.count++;
    }
    rc = load_finalists(bench, entry, entries, &final, err);
    if (!rc)
        rc = run_final(bench, &final, rounds, err);
out:
    for (size_t i = 0; final.runner && i < entries; i++)
        gt_runner_release(&final.runner[i]);
    free(final.order);
    free(final.trial);
    free(final.series);
    free(final.runner);
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
    if (!rc)
        rc = gt_gpu_fill32(bench->gpu, bench->canary, GT_POISON, (size_t)count, err);
    if (!rc)
        rc = gt_bench_head_start(bench, CANARY_TIMES, err);
    for (int i = 0; i < CANARY_TIMES && !rc; i++) {
        rc = gt_event_record(bench->begin[i], err);
        if (!rc)
            rc = gt_proof_canary(bench->proof, bench->canary, count, CANARY_STEPS, err);
        if (!rc)
            rc = gt_event_record(bench->end[i], err);
    }
    if (!rc)
        rc = gt_bench_times(bench, 0, CANARY_TIMES, sample, err);
    if (!rc)
        rc = check_canary(bench, count, err);
    if (!rc)
        *us = gt_median(sample, CANARY_TIMES);
    return rc;
}
