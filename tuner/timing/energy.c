/* energy.c - stage: measures the energy of a product; see energy.h. */
#include "timing/energy.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "timing/bench_internal.h"
#include "timing/throttle.h"

#define BATCH_US      1000.0
#define BATCH_MOST    4096
#define AHEAD         32   /* batches queued: reading a meter takes milliseconds */
#define HEAT          0.6  /* of the seconds to measure: how long the device is heated before */
#define METER_S       1.2  /* heating where only the power is known: a mean of up to 1 s */
#define PATIENCE      4    /* times `seconds` without two renewals: the counter stands still */
#define QUANTUM_J     1e-3 /* of the counter */
#define POWER_ERROR   0.05 /* of a power reading: NVML promises 5 W; means lag behind */
#define POWER_READS_S 0.02
#define ABOVE_LIMIT   1.1 /* of the power limit: a mean beyond it is a wrong reading */

/* A run in progress.  Device seconds and launches are of the batches that were waited for: the time
 * between them has all that the device did, gaps as well. */
struct run {
    struct gt_bench *bench;
    const struct gt_runner *runner;
    int batch;
    int64_t queued, ended; /* batches */
    double seconds;
    int64_t launches;
};

/* What a meter said, and when: on the host's clock, and how far the run was. */
struct mark {
    double joules, host_s, seconds;
    int64_t launches;
};

static int enqueue(struct run *run, struct gt_err *err)
{
    struct gt_bench *bench = run->bench;
    const struct gt_resident *resident = &bench->resident;
    int rc = GT_OK;

    for (int i = 0; i < run->batch && !rc; i++) {
        const uint64_t turn = bench->launches++;
        struct gt_args args;

        gt_resident_args(
            resident, resident->timed + (int)(turn % (uint64_t)(resident->sets - resident->timed)),
            (int)(turn % GT_RESULTS), &args);
        memcpy(args.launch, run->runner->geometry.launch_param, sizeof(args.launch));
        rc = run->runner->run(run->runner, &args, err);
    }
    return rc ? rc : gt_event_record(bench->end[run->queued++ % AHEAD], err);
}

/* Fills the queue and waits for its oldest batch.  begin[0] is the run's beginning. */
static int advance(struct run *run, struct gt_err *err)
{
    float us = 0;
    int rc = GT_OK;

    while (!rc && run->queued < run->ended + AHEAD)
        rc = enqueue(run, err);
    GT_STEP(rc, gt_event_us(run->bench->begin[0], run->bench->end[run->ended++ % AHEAD], &us, err));
    run->seconds = us * 1e-6;
    run->launches += run->batch;
    return rc;
}

/* Finds how many launches are a batch, and begins the run. */
static int start(struct run *run, struct gt_err *err)
{
    struct gt_bench *bench = run->bench;
    float us = 0;
    int rc = GT_OK;

    for (run->batch = 1; !rc; run->batch *= 2) {
        rc = gt_event_record(bench->begin[0], err);
        GT_STEP(rc, enqueue(run, err));
        GT_STEP(rc, gt_event_us(bench->begin[0], bench->end[(run->queued - 1) % AHEAD], &us, err));
        if (us > BATCH_US / 2 || run->batch >= BATCH_MOST)
            break;
    }
    run->queued = 0;
    return rc ? rc : gt_event_record(bench->begin[0], err);
}

static int heat(struct run *run, double seconds, struct gt_err *err)
{
    const double until = gt_clock_s() + seconds;
    int rc = GT_OK;

    while (!rc && gt_clock_s() < until)
        rc = advance(run, err);
    return rc;
}

/* Counts from one renewal of the counter to the first one after `seconds`.  *every: the longest
 * time between two looks at it; *stands: it was not renewed. */
static int count(struct run *run, double seconds, struct mark *from, struct mark *to, double *every,
                 bool *stands, struct gt_err *err)
{
    const double begin = gt_clock_s();
    double joules, last, looked = begin;
    bool begun = false;
    int rc = GT_OK;

    *stands = !gt_throttle_energy(run->bench->throttle, &last);
    while (!rc && !*stands && (!begun || to->host_s < from->host_s + seconds)) {
        double now;

        rc = advance(run, err);
        *stands = !gt_throttle_energy(run->bench->throttle, &joules);
        now = gt_clock_s();
        *every = fmax(*every, now - looked);
        looked = now;
        *stands = *stands || now > begin + (1 + PATIENCE) * seconds;
        if (rc || *stands || joules == last)
            continue;
        last = joules;
        *to = (struct mark){joules, now, run->seconds, run->launches};
        if (!begun)
            *from = *to;
        begun = true;
    }
    return rc;
}

/* The power is that of the host's clock between two renewals, and the time of a product the
 * device's: launches need not be known at the moment of a renewal. */
static int by_counter(struct run *run, double seconds, struct gt_energy *energy, bool *stands,
                      struct gt_err *err)
{
    struct mark from = {0}, to = {0};
    double every = 0;
    int rc = heat(run, HEAT * seconds, err);

    GT_STEP(rc, count(run, seconds, &from, &to, &every, stands, err));
    if (rc || *stands)
        return rc;
    *energy = (struct gt_energy){
        .us = 1e6 * (to.seconds - from.seconds) / (double)(to.launches - from.launches),
        .watts = (to.joules - from.joules) / (to.host_s - from.host_s),
        .error = 2 * every / (to.host_s - from.host_s) + 2 * QUANTUM_J / (to.joules - from.joules),
        .launches = to.launches - from.launches,
        .counted = true};
    energy->joules = energy->watts * energy->us * 1e-6;
    return GT_OK;
}

static int by_power(struct run *run, double seconds, struct gt_energy *energy, struct gt_err *err)
{
    double watts, sum = 0, least = INFINITY, most = 0, began, next, began_s;
    int64_t launches, reads = 0;
    int rc = GT_OK;

    if (!gt_throttle_power(run->bench->throttle, &watts))
        return gt_err_set(err, GT_ENOTFOUND,
                          "NVML tells neither the energy nor the power of this device");
    rc = heat(run, fmax(METER_S, HEAT * seconds), err);
    began = next = gt_clock_s();
    began_s = run->seconds;
    launches = run->launches;
    do { /* once at least, however late the host is */
        rc = advance(run, err);
        if (rc || gt_clock_s() < next)
            continue;
        next += POWER_READS_S;
        gt_throttle_power(run->bench->throttle, &watts);
        sum += watts;
        reads++;
        least = fmin(least, watts);
        most = fmax(most, watts);
    } while (!rc && gt_clock_s() < began + seconds);
    if (rc)
        return rc;
    *energy = (struct gt_energy){.us = 1e6 * (run->seconds - began_s) /
                                       (double)(run->launches - launches),
                                 .watts = sum / (double)reads,
                                 .launches = run->launches - launches};
    energy->joules = energy->watts * energy->us * 1e-6;
    energy->error = fmax(POWER_ERROR, (most - least) / 2 / energy->watts);
    return GT_OK;
}

/* No device uses more than its limit for so long: such a reading is refused. */
static int check_limit(const struct gt_bench *bench, const struct gt_energy *energy,
                       struct gt_err *err)
{
    const double limit = gt_throttle_power_limit(bench->throttle);

    if (!(limit > 0) || energy->watts <= ABOVE_LIMIT * limit)
        return GT_OK;
    return gt_err_set(err, GT_ERANGE,
                      "a mean of %.0f W was read, but the device's limit is %.0f W: the reading is "
                      "not kept",
                      energy->watts, limit);
}

static int measure(struct gt_bench *bench, const struct gt_runner *runner, double seconds,
                   struct gt_energy *energy, struct gt_err *err)
{
    struct run run = {.bench = bench, .runner = runner};
    bool stands = false;
    int rc = start(&run, err);

    GT_STEP(rc, by_counter(&run, seconds, energy, &stands, err));
    if (!rc && stands)
        rc = by_power(&run, seconds, energy, err);
    GT_STEP(rc, check_limit(bench, energy, err));
    GT_STEP(rc, gt_proof_clock(bench->proof, GT_BENCH_CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err));
    return rc ? rc : gt_bench_read_clock(bench, &energy->clock_mhz, err);
}

int gt_bench_energy(struct gt_bench *bench, const struct gt_final_entry *entry, double seconds,
                    struct gt_energy *energy, struct gt_err *err)
{
    struct gt_trial trial = {.status = GT_STATUS_NONE};
    struct gt_runner runner = {0};
    int rc = GT_OK;

    *energy = (struct gt_energy){0};
    if (!bench->throttle)
        return gt_err_set(err, GT_ENOLIB,
                          "energy is read from NVML (libnvidia-ml.so.1), which is not here");
    if (entry)
        rc = gt_runner_load(&runner, bench, entry->candidate, entry->image, entry->size, err);
    else if (!gt_baseline_runner(bench, &runner))
        rc = gt_err_set(err, GT_ENOTFOUND, "cuBLASLt's answer was not timed before");
    GT_STEP(rc, gt_bench_poison(bench, &runner, err));
    GT_STEP(rc, measure(bench, &runner, seconds, energy, err));
    GT_STEP(rc, gt_bench_judge(bench, &runner, GT_RESULTS, &trial, err));
    gt_runner_release(&runner);
    if (!rc && trial.status != GT_STATUS_NONE)
        return gt_err_set(err, GT_ERANGE, "%s: %s", gt_status_name(trial.status), trial.detail);
    return rc;
}
