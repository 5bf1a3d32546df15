/* bench_final.c - stage: finals (stage 3 of bench.h).  The device is brought to its steady state
 * first; then the entries are timed in rounds of balanced order (williams.h). */
#include "timing/bench_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "timing/throttle.h"
#include "timing/williams.h"

/* The pre-heat has slices.  On an H200 the power cap takes effect 45 to 100 ms after the work
 * began, and for 200 ms it lowers the clock in steps 45 to 70 ms apart. */
#define SLICE_MS    8
#define SLICES_MOST 256
#define WINDOW_MS   100   /* the window over which a change of the time is computed */
#define LEAST_MS    150   /* least time of all slices */
#define HOT_MS      250   /* the same while NVML says that clocks are held down */
#define HEAT_MS     1200  /* most time of all slices */
#define STEADY      0.003 /* a smaller increase of the time counts as none */

/* ---- pre-heat ---- */

/* The slices so far: for each slice the median time of its last batch, and when the slice ended. */
struct heating {
    double us[SLICES_MOST], ms[SLICES_MOST];
    int slices;
};

/* Whether the device has reached its steady state, in which it is no slower than WINDOW_MS ago. */
static bool is_steady(const struct heating *heating, bool held_down)
{
    int now = heating->slices - 1, before = now;

    if (heating->ms[now] < (held_down ? HOT_MS : LEAST_MS))
        return false;
    while (before >= 0 && heating->ms[before] > heating->ms[now] - WINDOW_MS)
        before--;
    return before >= 0 && heating->us[now] <= heating->us[before] * (1 + STEADY);
}

/* Runs one slice.  *us is the time of a launch as known before, and becomes the median of the last
 * batch. */
static int heat(struct gt_bench *bench, const struct gt_runner *runner, double *us,
                struct gt_err *err)
{
    double begin_ms = 1e3 * gt_clock_s();
    float sample[GT_BENCH_BATCH];
    int rc;

    do {
        int count = gt_bench_batch_size(bench, *us);

        rc = gt_bench_run_batch(bench, runner, count, sample, err);
        if (!rc)
            *us = gt_median(sample, count);
    } while (!rc && 1e3 * gt_clock_s() - begin_ms < SLICE_MS);
    return rc;
}

/* Runs the entry that is expected to win until its time no longer grows.  A cool device exceeds its
 * power cap for a moment, and candidates differ in how much power they need. */
static int preheat(struct gt_bench *bench, const struct gt_runner *runner, struct gt_err *err)
{
    double begin_ms = 1e3 * gt_clock_s(), us = 0;
    struct heating heating = {.slices = 0};
    char reasons[128];
    int rc;

    do {
        rc = heat(bench, runner, &us, err);
        heating.us[heating.slices] = us;
        heating.ms[heating.slices++] = 1e3 * gt_clock_s() - begin_ms;
        gt_throttle_reasons(bench->throttle, reasons, sizeof(reasons));
        gt_trace("bench", "pre-heat, %.0f ms: %.2f us %s", 1e3 * gt_clock_s() - begin_ms, us,
                 reasons);
    } while (!rc && !is_steady(&heating, *reasons) && heating.slices < SLICES_MOST &&
             1e3 * gt_clock_s() - begin_ms < HEAT_MS);
    return rc;
}

/* ---- rounds ---- */

/* The rounds after which an entry leaves if it is slower than the best entry by more than LOSES and
 * if the difference is significant.  Further rounds serve the other entries. */
#define LOOK_FROM  21
#define LOOK_EVERY 8
#define LOSES      1.01
#define STAY       2 /* least number of entries that remain */

struct final {
    struct gt_runner *runner;
    struct gt_series *series;
    struct gt_trial **trial;
    int count, order[GT_WILLIAMS_MAX];
    int entries;                /* number of entries without the baseline, which is the last
                                   entry */
    bool left[GT_WILLIAMS_MAX]; /* the entry takes no part in further rounds */
};

static bool is_in(const struct final *final, int entry)
{
    return final->trial[entry]->status == GT_STATUS_NONE && !final->left[entry];
}

/* Finds the entries with the least and the greatest median among the entries that take part;
 * returns how many entries take part. */
static int find_ends(const struct final *final, int *best, int *worst)
{
    double least = 0, greatest = 0;
    int in = 0;

    for (int i = 0; i < final->entries; i++) {
        double us;

        if (!is_in(final, i))
            continue;
        us = gt_median(final->series[i].sample, final->series[i].samples);
        if (!in || us < least) {
            least = us;
            *best = i;
        }
        if (!in++ || us >= greatest) {
            greatest = us;
            *worst = i;
        }
    }
    return in;
}

/* Removes entries that have lost from further rounds, the slowest first. */
static void send_losers(struct final *final, int rounds)
{
    int best = 0, worst = 0;

    if (rounds < LOOK_FROM || (rounds - LOOK_FROM) % LOOK_EVERY)
        return;
    while (find_ends(final, &best, &worst) > STAY) {
        const float *mine = final->series[worst].sample, *least = final->series[best].sample;

        if (gt_paired_ratio(mine, least, rounds) < LOSES ||
            gt_paired_compare(least, mine, rounds) >= 0)
            return;
        final->left[worst] = true;
    }
}

/* Runs every entry that takes part once, in final->order.  Batches keep the queue bounded. */
static int run_round(struct gt_bench *bench, struct final *final, int round, struct gt_err *err)
{
    int rc = GT_OK;

    for (int first = 0; first < final->count && !rc; first += GT_BENCH_BATCH) {
        int left = final->count - first, count = left < GT_BENCH_BATCH ? left : GT_BENCH_BATCH;
        float us[GT_BENCH_BATCH];

        rc = gt_bench_head_start(bench, count, err);
        for (int i = 0; i < count && !rc; i++) {
            int entry = final->order[first + i];

            if (is_in(final, entry))
                rc = gt_bench_launch(bench, &final->runner[entry], i, -1, err);
        }
        for (int i = 0; i < count && !rc; i++) {
            int entry = final->order[first + i];

            if (!is_in(final, entry))
                continue;
            rc = gt_bench_times(bench, i, 1, us, err);
            if (round >= 0 && !rc)
                final->series[entry].sample[final->series[entry].samples++] = us[0];
        }
    }
    return rc;
}

static int load_finalists(struct gt_bench *bench, const struct gt_bench_entry *entry,
                          size_t entries, struct final *final, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < entries && !rc; i++) {
        rc = gt_runner_load(&final->runner[i], bench, &entry[i], err);
        GT_STEP(rc, gt_chain_make(bench, &final->runner[i], err));
        if (rc)
            rc = gt_trial_settle(final->trial[i], bench, rc, err);
    }
    return rc;
}

/* Restores inputs that an entry wrote to in the rounds.  The proof of each entry, which follows,
 * shows which entry it was. */
static int restore_inputs(struct gt_bench *bench, struct gt_err *err)
{
    struct gt_trial unused = {.status = GT_STATUS_NONE};
    bool damaged = false;
    int rc = gt_proof_clear(bench->proof, err);

    GT_STEP(rc, gt_verify_check_inputs(&bench->resident, err));
    GT_STEP(rc, gt_proof_fetch(bench->proof, err));
    if (rc)
        return rc;
    gt_verify_judge_inputs(&bench->resident, &unused, &damaged);
    return damaged ? gt_resident_restore(&bench->resident, err) : GT_OK;
}

/* Runs an entry once more into poisoned memory, and judges the result. */
static int prove_finalist(struct gt_bench *bench, struct final *final, int entry,
                          struct gt_err *err)
{
    struct gt_trial *trial = final->trial[entry];
    const struct gt_runner *runner = &final->runner[entry];
    int rc = gt_bench_poison(bench, runner, err);

    GT_STEP(rc, gt_bench_launch(bench, runner, 0, 0, err));
    GT_STEP(rc, gt_bench_judge(bench, runner, 1, trial, err));
    return rc;
}

static int run_final(struct gt_bench *bench, struct final *final, int rounds, struct gt_err *err)
{
    struct gt_williams turns;
    double mhz = 0;
    int rc = GT_OK;

    if (final->count && final->trial[0]->status == GT_STATUS_NONE)
        rc = preheat(bench, &final->runner[0], err);
    gt_williams_begin(&turns, final->count, bench->options.seed + 0x9e37 * ++bench->finals);
    for (int i = 0; i < final->count; i++)
        final->order[i] = i;
    if (!rc)
        rc = run_round(bench, final, -1, err); /* warms up */
    for (int round = 0; round < rounds && !rc; round++) {
        gt_williams_next(&turns, final->order);
        rc = run_round(bench, final, round, err);
        if (!rc)
            send_losers(final, round + 1);
    }
    GT_STEP(rc, gt_proof_clock(bench->proof, GT_BENCH_CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err));
    GT_STEP(rc, gt_bench_read_clock(bench, &mhz, err));
    GT_STEP(rc, restore_inputs(bench, err));
    for (int i = 0; i < final->count && !rc; i++) {
        if (final->trial[i]->status != GT_STATUS_NONE)
            continue;
        rc = prove_finalist(bench, final, i, err);
        final->series[i].clock_mhz = mhz;
        gt_series_summarise(&final->series[i]);
        gt_trial_check_time(final->trial[i], bench, final->series[i].us);
        if (!rc && final->trial[i]->status == GT_STATUS_NONE)
            gt_trial_take_series(final->trial[i], bench, &final->series[i], 3);
    }
    return rc;
}

int gt_bench_final(struct gt_bench *bench, const struct gt_bench_entry *entry, size_t entries,
                   int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                   struct gt_err *err)
{
    size_t most = entries + 1;
    struct final final = {.runner = calloc(most, sizeof(*final.runner)),
                          .series = calloc(most, sizeof(*final.series)),
                          .trial = calloc(most, sizeof(*final.trial)),
                          .count = (int)entries,
                          .entries = (int)entries};
    int rc = GT_OK;

    if (!final.runner || !final.series || !final.trial) {
        rc = gt_err_nomem(err);
        goto out;
    }
    if (most > GT_WILLIAMS_MAX) {
        rc = gt_err_set(err, GT_ERANGE, "a final of %zu entries; at most %d", entries,
                        GT_WILLIAMS_MAX - 1);
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
        rc = gt_chain_make(bench, &final.runner[entries], err);
        if (rc) /* the final is held without the baseline */
            rc = gt_trial_settle(baseline, bench, rc, err);
    }
    GT_STEP(rc, load_finalists(bench, entry, entries, &final, err));
    GT_STEP(rc, run_final(bench, &final, rounds, err));
out:
    for (size_t i = 0; final.runner && i < most; i++)
        gt_runner_release(&final.runner[i]);
    free(final.trial);
    free(final.series);
    free(final.runner);
    return rc;
}
