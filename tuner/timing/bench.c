/* bench.c - stage: opens a problem on the GPU, proves a candidate and times it (stage 1), takes
 * more samples of the best (stage 2) and runs the canary.  The timed launches are also the proved
 * launches, so that every recorded time was checked.  Where timing has numbers of its own
 * (gt_dist), launches with the proof's numbers follow each series. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "cuda/graph.h"
#include "problem/problem.h"
#include "timing/bench_internal.h"
#include "timing/throttle.h"

#define SLOW_FACTOR   1.5
#define SLOW_GRACE_US 3.0 /* launch overhead, to which the factor is not applied */
#define CLOCK_NS      30000
#define LOW_CLOCK     0.6   /* of the rated clock; a slower device has just left its idle state */
#define TIMINGS       4     /* attempts to time a candidate at a higher clock */
#define LAUNCH_NS     12000 /* the host's time for a launch and two events, rounded up */
#define NARROW        0.005 /* interval of the median divided by the median */
#define LEAST         9     /* samples before the interval is used */
#define CANARY_STEPS  32768 /* about 70 us */
#define CANARY_TIMES  9

/* ---- open and close ---- */

static int check_problem(const struct gt_problem *problem, struct gt_err *err)
{
    int rc = gt_problem_check(problem, err);

    if (rc)
        return rc;
    if (!gt_problem_results(problem))
        return gt_err_set(err, GT_ERANGE, "problem: its result has no elements, nothing to time");
    return GT_OK;
}

static int new_events(struct gt_bench *bench, struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < GT_BENCH_BATCH && !rc; i++) {
        rc = gt_event_new(&bench->begin[i], bench->gpu, err);
        GT_STEP(rc, gt_event_new(&bench->end[i], bench->gpu, err));
    }
    return rc;
}

int gt_bench_open(struct gt_bench **bench, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, const struct gt_problem *problem,
                  const struct gt_bench_options *options, struct gt_err *err)
{
    static const int copies[] = {16, 1, GT_CHAIN}; /* copies of the operands, by enum gt_timing */
    struct gt_resident_request request = {problem, options->seed,
                                          gt_bench_workspace(options, problem),
                                          copies[options->timing], options->dist};
    struct gt_bench *opened;
    int rc = check_problem(problem, err);

    *bench = NULL;
    if (rc)
        return rc;
    opened = calloc(1, sizeof(*opened));
    if (!opened)
        return gt_err_nomem(err);
    opened->gpu = gpu;
    opened->options = *options;
    if (!(options->slow_factor > 0))
        opened->options.slow_factor = SLOW_FACTOR;
    rc = gt_proof_open(&opened->proof, gpu, nvrtc, data_dir, cache_dir, err);
    GT_STEP(rc, gt_resident_open(&opened->resident, gpu, opened->proof, &request, err));
    GT_STEP(rc, new_events(opened, err));
    if (!rc && options->timing == GT_TIMING_GRAPH)
        rc = gt_graph_check(gpu, err);
    if (!rc) /* NVML is optional: without it throttling is not reported */
        gt_throttle_open(&opened->throttle, gt_gpu_device(gpu)->uuid, NULL);
    if (rc) {
        gt_bench_close(opened);
        return rc;
    }
    *bench = opened;
    return GT_OK;
}

void gt_lt_close(struct gt_lt *lt)
{
    for (int i = 0; lt && i < 2; i++)
        gt_cublaslt_close(lt->lt[i]);
    free(lt);
}

void gt_bench_close(struct gt_bench *bench)
{
    if (!bench)
        return;
    gt_throttle_close(bench->throttle);
    gt_lt_close(bench->lt);
    for (int i = 0; i < GT_BENCH_BATCH; i++) {
        gt_event_free(bench->begin[i]);
        gt_event_free(bench->end[i]);
    }
    gt_gpu_free(bench->gpu, bench->canary);
    gt_resident_release(&bench->resident);
    gt_proof_close(bench->proof);
    free(bench);
}

/* ---- candidates as runners ---- */

static int run_module(const struct gt_runner *runner, const struct gt_args *args,
                      const struct gt_more *more, struct gt_err *err)
{
    return gt_module_run(runner->module, NULL, args, more, err);
}

int gt_runner_load(struct gt_runner *runner, struct gt_bench *bench,
                   const struct gt_bench_entry *entry, struct gt_err *err)
{
    int rc;

    *runner = (struct gt_runner){.run = run_module,
                                 .geometry = entry->geometry,
                                 .workspace = entry->geometry.workspace_bytes};
    rc = gt_bench_check_workspace(&runner->geometry, (size_t)bench->resident.workspace_bytes, err);
    GT_STEP(rc, gt_module_load(&runner->module, bench->gpu, entry->image, entry->size,
                               &runner->geometry, err));
    return rc;
}

void gt_runner_release(struct gt_runner *runner)
{
    gt_graph_free(runner->chain);
    gt_module_free(runner->module);
    runner->module = NULL;
    runner->chain = NULL;
}

/* ---- launches ---- */

int gt_bench_head_start(const struct gt_bench *bench, int launches, struct gt_err *err)
{
    return gt_proof_clock(bench->proof, (int64_t)LAUNCH_NS * (launches + 2), -1, err);
}

/* Runs the runner with a set and a result. */
static int run_with(const struct gt_bench *bench, const struct gt_runner *runner, int set,
                    int result, struct gt_err *err)
{
    struct gt_args args;
    struct gt_more more;

    gt_resident_args(&bench->resident, set, result, &args, &more);
    memcpy(args.launch, runner->geometry.launch_param, sizeof(args.launch));
    return runner->run(runner, &args, &more, err);
}

/* The set of launch number `turn`. */
static int set_of(const struct gt_resident *resident, uint64_t turn)
{
    return resident->timed + (int)(turn % (uint64_t)(resident->sets - resident->timed));
}

int gt_bench_run(const struct gt_bench *bench, const struct gt_runner *runner, uint64_t turn,
                 struct gt_err *err)
{
    return run_with(bench, runner, set_of(&bench->resident, turn), (int)(turn % GT_RESULTS), err);
}

int gt_bench_launch(struct gt_bench *bench, const struct gt_runner *runner, int index, int result,
                    struct gt_err *err)
{
    const struct gt_resident *resident = &bench->resident;
    const uint64_t turn = bench->launches++;
    const int set = set_of(resident, turn);
    int rc = GT_OK;

    if (result < 0)
        result = (int)(turn % GT_RESULTS);
    /* A few small sets stay in the L2 cache, so the cache is emptied whenever the first set is
     * next. */
    if (resident->flush && (set == resident->timed || index == 0 || runner->chain))
        rc = gt_resident_flush(resident, err);
    GT_STEP(rc, gt_event_record(bench->begin[index], err));
    GT_STEP(rc, runner->chain ? gt_graph_launch(runner->chain, err)
                              : run_with(bench, runner, set, result, err));
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

/* ---- chains ---- */

int gt_chain_make(struct gt_bench *bench, struct gt_runner *runner, struct gt_err *err)
{
    int rc;

    if (bench->options.timing != GT_TIMING_GRAPH || runner->chain)
        return GT_OK;
    /* This launch does the work that the driver or cuBLASLt does only once. */
    rc = gt_bench_run(bench, runner, 0, err);
    GT_STEP(rc, gt_graph_begin(bench->gpu, err));
    if (rc)
        return rc;
    for (int i = 0; i < GT_CHAIN && !rc; i++)
        rc = gt_bench_run(bench, runner, (uint64_t)i, err);
    return gt_graph_end(&runner->chain, bench->gpu, rc, err);
}

/* ---- samples ---- */

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

/* Takes the SM clock from the fetched results; *mhz does not change if the clock is not known. */
static void note_clock(const struct gt_bench *bench, double *mhz)
{
    const struct gt_proof_result *clock = gt_proof_result(bench->proof, GT_VERIFY_CLOCK_SLOT);

    if (clock->nanoseconds)
        *mhz = 1e3 * (double)clock->cycles / (double)clock->nanoseconds;
}

int gt_bench_read_clock(struct gt_bench *bench, double *mhz, struct gt_err *err)
{
    int rc = gt_proof_fetch(bench->proof, err);

    if (!rc)
        note_clock(bench, mhz);
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

/* ---- trials ---- */

void gt_trial_begin(struct gt_trial *trial)
{
    trial->status = GT_STATUS_NONE;
    trial->provenance = GT_MEASURED;
    trial->stage = 0;
    trial->samples = 0;
    trial->us = trial->lo_us = trial->hi_us = trial->err_u = trial->clock_mhz = 0;
    trial->prove_ms = trial->time_ms = 0;
    trial->detail[0] = '\0';
}

int gt_trial_settle(struct gt_trial *trial, const struct gt_bench *bench, int code,
                    struct gt_err *err)
{
    if (code == GT_OK)
        return GT_OK;
    if (code == GT_ELOST)
        trial->status = GT_STATUS_DEVICE_LOST;
    else if (code == GT_ECUDA || gt_gpu_poisoned(bench->gpu))
        trial->status = GT_STATUS_FAULT;
    else if (code == GT_ERANGE || code == GT_ETOOBIG)
        trial->status = GT_STATUS_LAUNCH_INVALID;
    else
        return code;
    snprintf(trial->detail, sizeof(trial->detail), "%s", err ? err->msg : gt_strerror(code));
    return GT_OK;
}

/* The same; an error goes to err, which may be NULL. */
static int settle(struct gt_trial *trial, const struct gt_bench *bench, int code,
                  struct gt_err *local, struct gt_err *err)
{
    int rc = gt_trial_settle(trial, bench, code, local);

    if (rc && err)
        *err = *local;
    return rc;
}

/* FLOP/s that no product in the problem's accuracy can exceed; 0: not known.  The known tensor
 * rates are rates of GeForce cards; professional cards of the same arch, and FP16 sums, reach twice
 * these rates. */
static double peak_of(const struct gt_device *device, const struct gt_problem *problem)
{
    double clocks = 1e6 * device->clock_mhz * device->sms;

    if (problem->accuracy == GT_ACCURACY_STRICT)
        return 1.05 * clocks *
               fmax(2 * gt_device_fma(device, problem->acc),
                    problem->acc == GT_F64 ? device->tensor_f64 : 0);
    /* FP32 may be split into types as narrow as BF16. */
    return 2.1 * clocks *
           gt_device_tensor_rate(device, gt_dtype_size(problem->type) < 4 ? problem->type : GT_F16);
}

void gt_trial_check_time(struct gt_trial *trial, const struct gt_bench *bench, double us)
{
    const struct gt_problem *problem = &bench->resident.problem;
    double peak = peak_of(gt_gpu_device(bench->gpu), problem);
    double rate = us > 0 ? gt_problem_flops(problem) / us * 1e6 : 0;

    if (trial->status != GT_STATUS_NONE)
        return;
    if (!(us > 0)) {
        trial->status = GT_STATUS_WRONG;
        snprintf(trial->detail, sizeof(trial->detail), "impossible time of %g us", us);
    } else if (peak > 0 && rate > peak) {
        trial->status = GT_STATUS_WRONG;
        snprintf(trial->detail, sizeof(trial->detail),
                 "impossible time: %g us would be %.1f TFLOP/s, beyond the %.1f that this device "
                 "can reach",
                 us, rate * 1e-12, peak * 1e-12);
    }
}

static void note_facts(struct gt_trial *trial, const struct gt_runner *runner)
{
    struct gt_module_facts facts;

    gt_module_facts(runner->module, &facts);
    trial->registers = facts.registers;
    trial->static_shared = facts.static_shared;
    trial->shared_bytes = facts.shared_bytes;
    trial->workspace_bytes = (int64_t)runner->geometry.workspace_bytes;
}

int gt_bench_poison(struct gt_bench *bench, const struct gt_runner *runner, struct gt_err *err)
{
    int rc = gt_proof_clear(bench->proof, err);

    for (int i = 0; i < GT_RESULTS && !rc; i++)
        rc = gt_resident_poison(&bench->resident, i, err);
    GT_STEP(rc, gt_resident_poison_workspace(&bench->resident, runner->workspace, err));
    return rc;
}

/* Judges the inputs before the results, because overwritten inputs make results wrong.  The inputs
 * are restored for the next candidate. */
static int judge_inputs(struct gt_bench *bench, struct gt_trial *trial, struct gt_err *err)
{
    bool damaged = false;

    gt_verify_judge_inputs(&bench->resident, trial, &damaged);
    return damaged ? gt_resident_restore(&bench->resident, err) : GT_OK;
}

/* Makes the results that are judged, where the timed launches had other numbers.  The results of
 * the timed launches are not cleared, nor are their guards; an element that is not written again
 * keeps a result of other numbers and is found wrong. */
static int launch_proof(struct gt_bench *bench, const struct gt_runner *runner, int results,
                        struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < results && !rc && bench->resident.timed; i++)
        rc = run_with(bench, runner, 0, i, err);
    return rc;
}

int gt_bench_judge(struct gt_bench *bench, const struct gt_runner *runner, int results,
                   struct gt_trial *trial, struct gt_err *err)
{
    bool deterministic = runner->module ? runner->geometry.deterministic : false;
    int rc = launch_proof(bench, runner, results, err);

    GT_STEP(rc, gt_verify_check_real(&bench->resident, results, runner->slack, err));
    GT_STEP(rc, gt_verify_check_workspace(&bench->resident, err));
    GT_STEP(rc, gt_verify_check_inputs(&bench->resident, err));
    GT_STEP(rc, gt_proof_fetch(bench->proof, err));
    GT_STEP(rc, judge_inputs(bench, trial, err));
    if (rc || trial->status != GT_STATUS_NONE)
        return rc;
    return gt_verify_judge_real(&bench->resident, results, deterministic, trial, err);
}

/* Steps 1 and 2 of the proof.  The integer product of the whole problem gives the first time. */
static int prove(struct gt_bench *bench, struct gt_runner *runner, float *us,
                 struct gt_trial *trial, struct gt_err *err)
{
    struct gt_args args;
    struct gt_more more;
    int rc = gt_proof_clear(bench->proof, err);

    GT_STEP(rc, gt_resident_poison(&bench->resident, 0, err));
    GT_STEP(rc, gt_verify_run_cases(&bench->resident, runner->module, &bench->cases, err));
    GT_STEP(rc, gt_module_geometry(runner->module, &runner->geometry, err));
    GT_STEP(rc, gt_resident_poison_workspace(&bench->resident, runner->workspace, err));
    gt_resident_case(&bench->resident, &bench->resident.exact[GT_CASES], &args, &more);
    memcpy(args.launch, runner->geometry.launch_param, sizeof(args.launch));
    GT_STEP(rc, gt_bench_head_start(bench, 1, err));
    GT_STEP(rc, gt_event_record(bench->begin[0], err));
    GT_STEP(rc, gt_module_run(runner->module, NULL, &args, &more, err));
    GT_STEP(rc, gt_event_record(bench->end[0], err));
    GT_STEP(rc, gt_proof_clock(bench->proof, CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err));
    GT_STEP(rc, gt_verify_check_whole(&bench->resident, err));
    GT_STEP(rc, gt_verify_check_workspace(&bench->resident, err));
    GT_STEP(rc, gt_verify_check_inputs(&bench->resident, err));
    GT_STEP(rc, gt_proof_fetch(bench->proof, err));
    if (!rc)
        note_clock(bench, &trial->clock_mhz);
    GT_STEP(rc, judge_inputs(bench, trial, err));
    GT_STEP(rc, gt_verify_judge_cases(&bench->resident, &bench->cases, trial, err));
    return rc ? rc : gt_event_us(bench->begin[0], bench->end[0], us, err);
}

/* Sets the status `slow` if the warm-up took too long. */
static void check_slow(struct gt_trial *trial, const struct gt_bench *bench, float us,
                       double best_us)
{
    double limit = bench->options.slow_factor * best_us + SLOW_GRACE_US;

    if (trial->status != GT_STATUS_NONE || !(best_us > 0) || us <= limit)
        return;
    trial->status = GT_STATUS_SLOW;
    trial->sample[0] = us;
    trial->samples = 1;
    trial->us = trial->lo_us = trial->hi_us = us;
    snprintf(trial->detail, sizeof(trial->detail),
             "%.2f us in its first run, given up beyond %.2f us (the best: %.2f us)", (double)us,
             limit, best_us);
}

/* Steps 3 and 4: three launches (or chains) with normal reals, timed and proved. */
static int race_bench(struct gt_bench *bench, struct gt_runner *runner, struct gt_trial *trial,
                      struct gt_err *err)
{
    float sample[GT_RESULTS] = {0};
    int rc = gt_chain_make(bench, runner, err);

    GT_STEP(rc, gt_bench_poison(bench, runner, err));
    GT_STEP(rc, gt_bench_head_start(bench, GT_RESULTS, err));
    for (int i = 0; i < GT_RESULTS && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, i, err);
    GT_STEP(rc, gt_proof_clock(bench->proof, CLOCK_NS, GT_VERIFY_CLOCK_SLOT, err));
    GT_STEP(rc, gt_bench_judge(bench, runner, GT_RESULTS, trial, err));
    GT_STEP(rc, gt_bench_times(bench, 0, GT_RESULTS, sample, err));
    if (rc)
        return rc;
    for (int i = 0; i < GT_RESULTS; i++)
        gt_trial_check_time(trial, bench, sample[i]);
    if (trial->status != GT_STATUS_NONE)
        return GT_OK;
    memcpy(trial->sample, sample, sizeof(sample));
    trial->samples = GT_RESULTS;
    trial->us = gt_median(sample, GT_RESULTS);
    gt_median_interval(sample, GT_RESULTS, &trial->lo_us, &trial->hi_us);
    note_clock(bench, &trial->clock_mhz);
    trial->stage = 1;
    trial->status = GT_STATUS_OK;
    return GT_OK;
}

static int attempt_once(struct gt_bench *bench, const struct gt_bench_entry *entry, double best_us,
                        struct gt_trial *trial, struct gt_err *err)
{
    double start = 1e3 * gt_clock_s(), proved;
    struct gt_runner runner;
    float first_us = 0;
    int rc;

    gt_trial_begin(trial);
    rc = gt_runner_load(&runner, bench, entry, err);
    if (!rc) {
        note_facts(trial, &runner);
        rc = prove(bench, &runner, &first_us, trial, err);
    }
    if (!rc)
        check_slow(trial, bench, first_us, best_us);
    proved = 1e3 * gt_clock_s();
    trial->prove_ms = proved - start;
    if (!rc && trial->status == GT_STATUS_NONE) {
        rc = race_bench(bench, &runner, trial, err);
        trial->time_ms = 1e3 * gt_clock_s() - proved;
    }
    gt_runner_release(&runner);
    return rc;
}

/* Tries a candidate again if the clock was low.  A device that was idle, because it waited for
 * cubins, starts at a fraction of its clock, and times taken at such a clock are useless. */
static int attempt(struct gt_bench *bench, const struct gt_bench_entry *entry, double best_us,
                   struct gt_trial *trial, struct gt_err *err)
{
    double rated = gt_gpu_device(bench->gpu)->clock_mhz;
    int rc = GT_OK;

    for (int i = 0; i < TIMINGS && !rc; i++) {
        rc = attempt_once(bench, entry, best_us, trial, err);
        if (rc || (trial->status != GT_STATUS_OK && trial->status != GT_STATUS_SLOW) ||
            trial->clock_mhz == 0 || trial->clock_mhz > LOW_CLOCK * rated)
            break;
    }
    return rc;
}

int gt_bench_trial(struct gt_bench *bench, const struct gt_bench_entry *entry, double best_us,
                   struct gt_trial *trial, struct gt_err *err)
{
    struct gt_err local = {0};
    bool intact = true;
    int rc;

    gt_verify_prepare(&bench->resident, entry->candidate, &bench->cases);
    rc = attempt(bench, entry, best_us, trial, &local);
    if (!rc && trial->status == GT_STATUS_WRONG)
        rc = gt_verify_reference_intact(&bench->resident, &intact, &local);
    if (!rc && !intact) {
        /* This candidate or an earlier candidate wrote far outside its results, so this candidate
         * is judged again. */
        rc = gt_resident_restore(&bench->resident, &local);
        GT_STEP(rc, attempt(bench, entry, best_us, trial, &local));
        if (!rc && trial->status == GT_STATUS_WRONG)
            rc = gt_verify_reference_intact(&bench->resident, &intact, &local);
        if (!rc && !intact) {
            trial->status = GT_STATUS_OOB_WRITE;
            snprintf(trial->detail, sizeof(trial->detail), "the reference was written to");
            rc = gt_resident_restore(&bench->resident, &local);
        }
    }
    rc = settle(trial, bench, rc, &local, err);
    gt_trace("bench", "%s: %.2f us, %s", gt_status_name(trial->status), trial->us, trial->detail);
    return rc;
}

int gt_bench_sample(struct gt_bench *bench, const struct gt_bench_entry *entry, int max_samples,
                    struct gt_trial *trial, struct gt_err *err)
{
    double start = 1e3 * gt_clock_s();
    struct gt_err local = {0};
    struct gt_series series;
    struct gt_runner runner;
    int rc;

    gt_trial_begin(trial);
    rc = gt_runner_load(&runner, bench, entry, &local);
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
    return settle(trial, bench, rc, &local, err);
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
