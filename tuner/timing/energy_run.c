/* energy_run.c - a load without a gap; see energy_run.h. */
#include "timing/energy_run.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "timing/throttle.h"

#define BATCH_US    1000.0
#define BATCH_MOST  (QUEUE_MOST / AHEAD_LEAST)
#define QUEUE_US    60000.0 /* queued ahead, in batches: reading a meter takes milliseconds */
#define QUEUE_MOST  480     /* launches, which may be of two kernels: the driver takes 1024 */
#define AHEAD_LEAST 2
#define FULL_TIMES  3 /* a host that was away once is late, too */

static int enqueue(struct gt_energy_run *run, struct gt_err *err)
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
    GT_STEP(rc, gt_event_record(bench->end[run->queued % GT_ENERGY_AHEAD], err));
    run->queued_s[run->queued++ % GT_ENERGY_AHEAD] = gt_clock_s() - run->began_s;
    return rc;
}

/* Waits for the oldest batch.  If the one before it had ended when not all of it was queued, the
 * time in between was a gap, or a part of it was. */
static int end_batch(struct gt_energy_run *run, struct gt_err *err)
{
    const int slot = (int)(run->ended++ % GT_ENERGY_AHEAD);
    float us = 0;
    int rc = gt_event_us(run->bench->begin[0], run->bench->end[slot], &us, err);
    const double now_s = us * 1e-6;

    run->gap_s += fmin(fmax(0, run->queued_s[slot] - run->seconds), now_s - run->seconds);
    run->seconds = now_s;
    run->launches += run->batch;
    return rc;
}

int gt_energy_run_advance(struct gt_energy_run *run, struct gt_err *err)
{
    const int most = 2 * run->ahead;
    double behind_s;
    int ended = 0, rc = GT_OK;

    do {
        const double before_s = run->seconds;

        while (!rc && run->queued < run->ended + run->ahead)
            rc = enqueue(run, err);
        GT_STEP(rc, end_batch(run, err));
        behind_s = gt_clock_s() - run->began_s - run->seconds;
        behind_s -= run->seconds - before_s;
    } while (!rc && behind_s > 0 && ++ended < most);
    run->full = behind_s > 0 ? run->full + 1 : 0;
    if (run->full < FULL_TIMES)
        return rc;
    run->full = 0;
    run->ahead = run->ahead / 2 > AHEAD_LEAST ? run->ahead / 2 : AHEAD_LEAST;
    return rc;
}

int gt_energy_run_start(struct gt_energy_run *run, struct gt_err *err)
{
    struct gt_bench *bench = run->bench;
    float us = 0;
    int rc = GT_OK;

    for (run->batch = 1; !rc; run->batch *= 2) {
        rc = gt_event_record(bench->begin[0], err);
        GT_STEP(rc, enqueue(run, err));
        GT_STEP(rc, gt_event_us(bench->begin[0], bench->end[(run->queued - 1) % GT_ENERGY_AHEAD],
                                &us, err));
        if (us > BATCH_US / 2 || 2 * run->batch > BATCH_MOST)
            break;
    }
    run->ahead =
        us > 0 ? (int)fmin(fmax(QUEUE_US / us, AHEAD_LEAST), GT_ENERGY_AHEAD) : GT_ENERGY_AHEAD;
    run->ahead = (int)fmin(run->ahead, QUEUE_MOST / run->batch);
    run->queued = 0;
    run->began_s = gt_clock_s(); /* the device is idle: it begins now, too */
    return rc ? rc : gt_event_record(bench->begin[0], err);
}

double gt_energy_run_end(const struct gt_energy_run *run, double from_s, double seconds)
{
    const double most_s = run->wish->most_s;

    return fmin(from_s + seconds, most_s > 0 ? run->began_s + most_s : INFINITY);
}

int gt_energy_run_heat(struct gt_energy_run *run, double seconds, struct gt_err *err)
{
    const double until = gt_energy_run_end(run, run->began_s, seconds);
    double joules;
    int rc = GT_OK;

    while (!rc && gt_clock_s() < until) {
        rc = gt_energy_run_advance(run, err);
        gt_throttle_energy(run->bench->throttle, &joules);
    }
    return rc;
}
