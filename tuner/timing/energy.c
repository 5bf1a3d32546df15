/* energy.c - stage: the energy that a product takes, by the GPU's own meter (NVML).
 *
 * After the same load has heated the device, launches follow each other without a gap for a while,
 * on rotating operands.  Where the device counts its energy (nvmlDeviceGetTotalEnergyConsumption:
 * whole GPU, in millijoules, renewed every 20 to 100 ms), the count is read after each batch of
 * about 1 ms.  The mean power is the difference of two counts over the time between their renewals
 * on the host's clock.  A product's time is taken on the device.  The energy of a product is this
 * power times this time.
 *
 * An H200's counter is renewed every 100 ms and seems to count the mean power of the last second:
 * the halves of readings that began 0.7 s after a pause differed by 10 to 20 %, as such a mean
 * would.  So the device is heated for longer than a second, and the count goes on until a stretch
 * of the count has a small error bound.
 *
 * The error bound is the sum of the effects of several causes.  A renewal fell somewhere between
 * two looks at the counter.  The counter has steps (the common divisor of the steps seen).  The
 * counter's lag or the power may change (the halves of the stretch differ).  Launches left gaps, in
 * which the device draws less, because the host was late (seen from when each batch was queued and
 * when the batch before ended).  The other meter (nvmlDeviceGetPowerUsage, a mean of a second)
 * disagrees by more than its own error.  The error of the sensor itself (5 % according to NVIDIA)
 * is the same for all products, and is not in the bound.
 *
 * If the device does not count energy, its power is read instead.  L2 is not emptied, because
 * emptying it would take most of the energy of a short product.  Products of a few microseconds are
 * limited by the host, which shows as gaps. */
#include <math.h>

#include "base/clock.h"
#include "base/err.h"
#include "timing/bench_internal.h"
#include "timing/throttle.h"

/* ---- a load without a gap ----
 *
 * Launches of one kernel, queued ahead in batches, while a meter is read. */

#define BATCH_US    1000.0
#define AHEAD_LEAST 2
#define AHEAD_MOST  GT_BENCH_BATCH /* most batches queued */
#define QUEUE_MOST  480 /* most launches queued, of up to two kernels: the driver takes 1024 */
#define BATCH_MOST  (QUEUE_MOST / AHEAD_LEAST)
#define QUEUE_US    60000.0 /* work queued ahead, in batches: reading a meter takes milliseconds */
#define FULL_TIMES  3       /* a host that was away once is late, too */

/* A run in progress.  `seconds` and `launches` are of the batches that have ended; the time
 * includes the gaps between batches. */
struct load {
    struct gt_bench *bench;
    const struct gt_runner *runner;
    const struct gt_energy_wish *wish;
    int batch, ahead, full; /* full: how many times in a row the queue seemed to be full */
    int64_t queued, ended;  /* batches */
    double seconds;
    double gap_s; /* the most of `seconds` that the device may have waited for the host */
    int64_t launches;
    double began_s;              /* when the load began, on the host's clock */
    double queued_s[AHEAD_MOST]; /* seconds after began_s when all of a batch was queued */
};

static int enqueue(struct load *run, struct gt_err *err)
{
    struct gt_bench *bench = run->bench;
    int rc = GT_OK;

    for (int i = 0; i < run->batch && !rc; i++)
        rc = gt_bench_run(bench, run->runner, bench->launches++, err);
    GT_STEP(rc, gt_event_record(bench->end[run->queued % AHEAD_MOST], err));
    run->queued_s[run->queued++ % AHEAD_MOST] = gt_clock_s() - run->began_s;
    return rc;
}

/* Waits for the oldest batch.  If the batch before it ended before all of this batch was queued,
 * the time in between counts as a gap, though perhaps only a part of it was one. */
static int end_batch(struct load *run, struct gt_err *err)
{
    const int slot = (int)(run->ended++ % AHEAD_MOST);
    float us = 0;
    int rc = gt_event_us(run->bench->begin[0], run->bench->end[slot], &us, err);
    const double now_s = us * 1e-6;

    run->gap_s += fmin(fmax(0, run->queued_s[slot] - run->seconds), now_s - run->seconds);
    run->seconds = now_s;
    run->launches += run->batch;
    return rc;
}

/* Fills the queue and waits for its oldest batch, and for all batches that must have ended
 * meanwhile, because the host may have been away for many batches.  begin[0] is the run's
 * beginning.
 *
 * If launches have to wait because the driver's queue is full, the host stays behind, even after
 * twice the batches queued at first have ended.  After this has happened FULL_TIMES times in a row,
 * fewer batches are queued. */
static int advance(struct load *run, struct gt_err *err)
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

/* Finds how many launches are a batch and how many batches are queued, and begins the run. */
static int start(struct load *run, struct gt_err *err)
{
    struct gt_bench *bench = run->bench;
    float us = 0;
    int rc = GT_OK;

    for (run->batch = 1; !rc; run->batch *= 2) {
        rc = gt_event_record(bench->begin[0], err);
        GT_STEP(rc, enqueue(run, err));
        GT_STEP(rc,
                gt_event_us(bench->begin[0], bench->end[(run->queued - 1) % AHEAD_MOST], &us, err));
        if (us > BATCH_US / 2 || 2 * run->batch > BATCH_MOST)
            break;
    }
    run->ahead = us > 0 ? (int)fmin(fmax(QUEUE_US / us, AHEAD_LEAST), AHEAD_MOST) : AHEAD_MOST;
    run->ahead = (int)fmin(run->ahead, QUEUE_MOST / run->batch);
    run->queued = 0;
    run->began_s = gt_clock_s(); /* the device is idle, so the run begins now on its clock, too */
    return rc ? rc : gt_event_record(bench->begin[0], err);
}

/* The end of a period of `seconds` from from_s on, or the end of the whole run if that is
 * earlier. */
static double end_of(const struct load *run, double from_s, double seconds)
{
    const double most_s = run->wish->most_s;

    return fmin(from_s + seconds, most_s > 0 ? run->began_s + most_s : INFINITY);
}

/* Goes on until the run has lasted for `seconds`.  The counter is read meanwhile, because a counter
 * that was not read for long may at first stand still. */
static int heat(struct load *run, double seconds, struct gt_err *err)
{
    const double until = end_of(run, run->began_s, seconds);
    double joules;
    int rc = GT_OK;

    while (!rc && gt_clock_s() < until) {
        rc = advance(run, err);
        gt_throttle_energy(run->bench->throttle, &joules);
    }
    return rc;
}

/* ---- meters ---- */

#define HEAT          2.4  /* the device is first heated for this times the seconds to measure */
#define METER_S       1.2  /* seconds of load before a power reading, which is a mean of a second */
#define PATIENCE      4    /* times `seconds` to find a small bound; once more for two renewals */
#define POWER_ERROR   0.05 /* error of a power reading: NVML guarantees 5 % */
#define POWER_READS_S 0.02
#define ABOVE_LIMIT   1.1 /* times the power limit: a greater mean is a wrong reading */
#define GAPS_AGAIN    0.1 /* part of the time; with more gaps a power reading is taken again */
#define GAPS_MOST     0.5 /* part of the time; with more gaps a product's energy is not known */
#define ATTEMPTS      3
#define MARK_COUNT    64 /* renewals that are kept, */
#define MARKS_APART   32 /* part of `seconds` between two kept renewals */

/* A meter's reading, its time on the host's clock, and the progress of the run at this time. */
struct mark {
    double joules, host_s, seconds, gap_s;
    double since_s; /* seconds since the look before; the renewal was in between */
    int64_t launches;
};

/* The counter as seen so far: the number of renewals, the latest renewals, and the greatest common
 * divisor of all steps, in millijoules. */
struct count {
    struct mark mark[MARK_COUNT];
    int marks, renewals;
    int64_t step_mj;
};

/* The time from one renewal to another. */
struct stretch {
    struct mark from, to;
    double error; /* error bound; INFINITY: no stretch was found */
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Keeps a renewal, if it is far enough from the last renewal kept. */
static void take_renewal(struct count *count, const struct mark *mark, double rose, double seconds)
{
    if (count->renewals++)
        count->step_mj = common_divisor(count->step_mj, llround(1e3 * fabs(rose)));
    if (count->marks && mark->host_s < count->mark[count->marks - 1].host_s + seconds / MARKS_APART)
        return;
    if (count->marks == MARK_COUNT)
        memmove(count->mark, count->mark + 1, --count->marks * sizeof(*count->mark));
    count->mark[count->marks++] = *mark;
}

static double mean_watts(const struct mark *from, const struct mark *to)
{
    return (to->joules - from->joules) / (to->host_s - from->host_s);
}

static double gap_share(const struct mark *from, const struct mark *to)
{
    return (to->gap_s - from->gap_s) / (to->seconds - from->seconds);
}

/* The most that gaps with this share of the time can add to a product's time and energy, relative
 * to it. */
static double gap_error(double share)
{
    return share < 1 ? share / (1 - share) : INFINITY;
}

/* By how much the power of both halves of the time up to the last mark differs: the counter was
 * late once, or the power is not steady. */
static double halves_differ(const struct count *count, const struct mark *from)
{
    const struct mark *to = &count->mark[count->marks - 1], *middle = from;
    double first, second;

    while (middle < to && middle->host_s < (from->host_s + to->host_s) / 2)
        middle++;
    if (middle == from || middle == to)
        return 0;
    first = mean_watts(from, middle);
    second = mean_watts(middle, to);
    return first > 0 && second > 0 ? fmax(first, second) / fmin(first, second) - 1 : 1;
}

/* Finds the stretch with the smallest error bound among the best stretch so far and the stretches
 * up to the last mark that are long enough. */
static void find_stretch(const struct count *count, double seconds, struct stretch *best)
{
    const struct mark *to = &count->mark[count->marks - 1];

    for (const struct mark *from = count->mark; from->host_s + seconds <= to->host_s; from++) {
        const double joules = to->joules - from->joules;
        const double error = (from->since_s + to->since_s) / (to->host_s - from->host_s) +
                             2e-3 * (double)count->step_mj / joules +
                             gap_error(gap_share(from, to)) + halves_differ(count, from);

        if (joules > 0 && error < best->error)
            *best = (struct stretch){*from, *to, error};
    }
}

/* Counts until a stretch has the wanted error bound, or for PATIENCE times `seconds`.  No stretch
 * is found if the counter is not renewed, or if there is no counter. */
static int take_count(struct load *run, struct stretch *best, struct gt_err *err)
{
    const double seconds = run->wish->seconds, begin = gt_clock_s();
    const double until = end_of(run, begin, PATIENCE * seconds);
    struct count count = {.marks = 0};
    double joules = 0, last = 0, looked = begin;
    bool stands = !gt_throttle_energy(run->bench->throttle, &last);
    int rc = GT_OK;

    *best = (struct stretch){.error = INFINITY};
    while (!rc && !stands && best->error > run->wish->error &&
           (looked < until || best->error == INFINITY)) {
        struct mark mark;

        rc = advance(run, err);
        stands = !gt_throttle_energy(run->bench->throttle, &joules);
        mark = (struct mark){.joules = joules,
                             .host_s = gt_clock_s(),
                             .seconds = run->seconds,
                             .gap_s = run->gap_s,
                             .launches = run->launches};
        mark.since_s = mark.host_s - looked;
        looked = mark.host_s;
        stands = stands || looked > begin + (1 + PATIENCE) * seconds;
        if (!rc && !stands && joules != last) {
            take_renewal(&count, &mark, joules - last, seconds);
            find_stretch(&count, seconds, best);
        }
        last = joules;
    }
    return rc;
}

/* The difference of the other meter's reading; 0 if the difference is within that meter's own
 * error. */
static double meters_differ(const struct load *run, double watts)
{
    double other, differ;

    if (gt_clock_s() < run->began_s + METER_S || !gt_throttle_power(run->bench->throttle, &other) ||
        !(other > 0))
        return 0;
    differ = fabs(watts / other - 1);
    return differ > POWER_ERROR ? differ : 0;
}

/* The power is taken on the host's clock between two renewals, and the time of a product on the
 * device's clock, so that the launches at the moment of a renewal need not be known. */
static void by_counter(const struct load *run, const struct stretch *stretch,
                       struct gt_energy *energy, double *gap)
{
    const struct mark *from = &stretch->from, *to = &stretch->to;

    *gap = gap_share(from, to);
    *energy = (struct gt_energy){.us = 1e6 * (to->seconds - from->seconds) /
                                       (double)(to->launches - from->launches),
                                 .watts = mean_watts(from, to),
                                 .launches = to->launches - from->launches,
                                 .counted = true};
    energy->error = stretch->error + meters_differ(run, energy->watts);
}

static int by_power(struct load *run, struct gt_energy *energy, double *gap, struct gt_err *err)
{
    const double seconds = run->wish->seconds;
    double watts, sum = 0, least = INFINITY, most = 0, began, next;
    struct load before;
    int64_t reads = 0;
    int rc = GT_OK;

    if (!gt_throttle_power(run->bench->throttle, &watts))
        return gt_err_set(err, GT_ENOLIB,
                          "NVML tells neither the energy nor the power of this device");
    rc = heat(run, fmax(METER_S, HEAT * seconds), err);
    began = next = gt_clock_s();
    before = *run;
    while (!rc && (gt_clock_s() < began + seconds || !reads)) {
        rc = advance(run, err);
        if (rc || gt_clock_s() < next)
            continue;
        next += POWER_READS_S;
        gt_throttle_power(run->bench->throttle, &watts);
        sum += watts;
        reads++;
        least = fmin(least, watts);
        most = fmax(most, watts);
    }
    if (rc)
        return rc;
    *gap = (run->gap_s - before.gap_s) / (run->seconds - before.seconds);
    *energy = (struct gt_energy){.us = 1e6 * (run->seconds - before.seconds) /
                                       (double)(run->launches - before.launches),
                                 .watts = sum / (double)reads,
                                 .launches = run->launches - before.launches};
    energy->error = fmax(POWER_ERROR, (most - least) / 2 / energy->watts) + gap_error(*gap);
    return GT_OK;
}

/* Refuses readings that cannot be of this load: no device uses more than its power limit for so
 * long, and a load with many gaps does not show the energy of products. */
static int check(const struct gt_bench *bench, const struct gt_energy *energy, double gap,
                 struct gt_err *err)
{
    const double limit = gt_throttle_power_limit(bench->throttle);

    if (gap > GAPS_MOST)
        return gt_err_set(err, GT_ERANGE,
                          "launches left gaps for %.0f %% of the time (the host was late): the "
                          "reading is not kept",
                          100 * gap);
    if (!(energy->watts > 0))
        return gt_err_set(err, GT_ERANGE, "NVML tells a power of 0 W: the reading is not kept");
    if (!(limit > 0) || energy->watts <= ABOVE_LIMIT * limit)
        return GT_OK;
    return gt_err_set(err, GT_ERANGE,
                      "a mean of %.0f W was read, but the device's limit is %.0f W: the reading is "
                      "not kept",
                      energy->watts, limit);
}

static int measure(struct load *run, struct gt_energy *energy, struct gt_err *err)
{
    struct gt_bench *bench = run->bench;
    struct stretch stretch = {.error = INFINITY};
    double gap = 1;
    int rc = start(run, err);

    GT_STEP(rc, heat(run, HEAT * run->wish->seconds, err));
    GT_STEP(rc, take_count(run, &stretch, err));
    if (!rc && stretch.error < INFINITY)
        by_counter(run, &stretch, energy, &gap);
    else
        for (int i = 0; i < ATTEMPTS && !rc && gap > GAPS_AGAIN; i++)
            rc = by_power(run, energy, &gap, err);
    energy->joules = energy->watts * energy->us * 1e-6;
    GT_STEP(rc, gt_proof_clock(bench->proof, GT_BENCH_CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err));
    GT_STEP(rc, gt_bench_read_clock(bench, &energy->clock_mhz, err));
    return rc ? rc : check(bench, energy, gap, err);
}

int gt_bench_energy(struct gt_bench *bench, const struct gt_bench_entry *entry,
                    const struct gt_energy_wish *wish, struct gt_energy *energy, struct gt_err *err)
{
    struct gt_trial trial = {.status = GT_STATUS_NONE};
    struct gt_runner runner = {0};
    struct load run = {.bench = bench, .runner = &runner, .wish = wish};
    int rc = GT_OK;

    *energy = (struct gt_energy){0};
    if (!bench->throttle)
        return gt_err_set(err, GT_ENOLIB,
                          "energy is read from NVML (libnvidia-ml.so.1), which is not here");
    if (entry)
        rc = gt_runner_load(&runner, bench, entry, err);
    else if (!gt_baseline_runner(bench, &runner))
        rc = gt_err_set(err, GT_ENOTFOUND, "cuBLASLt's answer was not timed before");
    GT_STEP(rc, gt_bench_poison(bench, &runner, err));
    GT_STEP(rc, measure(&run, energy, err));
    GT_STEP(rc, gt_bench_judge(bench, &runner, GT_RESULTS, &trial, err));
    gt_runner_release(&runner);
    if (!rc && trial.status != GT_STATUS_NONE)
        return gt_err_set(err, GT_ERANGE, "%s: %s", gt_status_name(trial.status), trial.detail);
    return rc;
}
