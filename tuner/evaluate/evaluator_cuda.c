/* evaluator_cuda.c - proves and times candidates on a GPU: the operations of the evaluator "cuda".
 *
 * The operations take candidates and give trials back; evaluator_cuda_entries.c does the work
 * between. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "evaluate/evaluator_cuda.h"
#include "problem/problem.h"

#define WAITING 2 /* least number of candidates that are ready or compiling ahead of the GPU */

/* Deadline of opening a problem. */
#define PREPARE_S     120  /* for allocation and operands */
#define PREPARE_FLOPS 2e10 /* per second, for the float64 reference with |A||B| */

static size_t count(const struct gt_entries *list)
{
    size_t entries = 0;

    for (const struct gt_entry *at = TAILQ_FIRST(list); at; at = TAILQ_NEXT(at, link))
        entries++;
    return entries;
}

static void clear(struct gt_entries *list)
{
    struct gt_entry *entry;

    while ((entry = gt_entries_pop(list)))
        free(entry);
}

static size_t outstanding(const struct gt_cuda *cuda)
{
    return count(&cuda->compiling) + count(&cuda->ready) + count(&cuda->done) +
           (cuda->announced != NULL) + (cuda->running != NULL);
}

/* As many candidates as keep the compilers busy and no more, because a strategy that is asked later
 * knows more trials. */
static size_t cuda_room(struct gt_evaluator *evaluator)
{
    const struct gt_cuda *cuda = evaluator->state;
    const size_t jobs = (size_t)evaluator->jobs, used = outstanding(cuda);
    struct gt_compile_load load;
    size_t wanted;

    gt_compile_pool_load(cuda->pool, &load);
    wanted = WAITING + jobs / 4 + load.idle;
    if (load.now >= wanted || count(&cuda->ready) >= WAITING + jobs || used >= cuda->capacity)
        return 0;
    wanted -= load.now;
    return wanted < cuda->capacity - used ? wanted : cuda->capacity - used;
}

/* Whether no candidate is ready to follow the running one. */
static bool cuda_starved(const struct gt_evaluator *evaluator)
{
    const struct gt_cuda *cuda = evaluator->state;

    return cuda->gpu.ready && !cuda->announced && TAILQ_EMPTY(&cuda->ready);
}

/* Whether the candidate may use the workspace that it needs; if it may not, err has both
 * figures. */
static bool fits(const struct gt_evaluator *evaluator, const struct gt_prepared *prepared,
                 struct gt_err *err)
{
    return prepared->why.code || /* the pool says why */
           gt_bench_check_workspace(
               &prepared->geometry,
               gt_bench_workspace(&evaluator->options.bench, prepared->candidate.problem),
               err) == GT_OK;
}

static bool cuda_at_hand(struct gt_evaluator *evaluator, const struct gt_candidate *candidate)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_prepared prepared;

    return !gt_compile_pool_prepare(cuda->pool, candidate, &prepared, NULL) &&
           fits(evaluator, &prepared, NULL) && gt_compile_pool_has(cuda->pool, &prepared);
}

static int cuda_submit(struct gt_evaluator *evaluator, uint64_t id,
                       const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_entry *entry = calloc(1, sizeof(*entry));
    struct gt_err why = {0};
    int rc;

    if (!entry)
        return gt_err_nomem(err);
    entry->id = id;
    rc = gt_compile_pool_prepare(cuda->pool, candidate, &entry->prepared, err);
    if (!rc && !fits(evaluator, &entry->prepared, &why)) { /* known without compiling */
        gt_cuda_finish_with(entry, GT_STATUS_LAUNCH_INVALID, why.msg);
        TAILQ_INSERT_TAIL(&cuda->done, entry, link);
        return GT_OK;
    }
    GT_STEP(rc, gt_cuda_compile(cuda, entry, err));
    if (rc) {
        free(entry);
        return rc;
    }
    TAILQ_INSERT_TAIL(&cuda->compiling, entry, link);
    rc = gt_cuda_pump_pool(cuda, err); /* the cubin may be in the cache */
    /* An idle GPU gets work now; replacing a dead worker waits for the next collect. */
    return !rc && cuda->gpu.ready ? gt_cuda_feed_gpu(evaluator, err) : rc;
}

static int cuda_ahead(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                      struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_prepared prepared;
    int rc = gt_compile_pool_prepare(cuda->pool, candidate, &prepared, err);

    return rc || !fits(evaluator, &prepared, NULL)
               ? rc
               : gt_compile_pool_ahead(cuda->pool, &prepared, err);
}

static void cuda_drop_ahead(struct gt_evaluator *evaluator)
{
    struct gt_cuda *cuda = evaluator->state;

    gt_compile_pool_drop_ahead(cuda->pool);
}

static int cuda_collect(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                        struct gt_trial *trial, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    const int64_t until = gt_clock_ms() + timeout_ms;

    for (;;) {
        int rc = gt_cuda_pump(evaluator, err);
        struct gt_entry *entry = gt_entries_pop(&cuda->done);
        int64_t left;

        if (entry) {
            *id = entry->id;
            *trial = entry->trial;
            if (cuda->unrecorded == entry)
                cuda->unrecorded = NULL;
            free(entry);
            gt_cuda_update_stats(evaluator);
            return 1;
        }
        if (rc)
            return rc;
        left = until - gt_clock_ms();
        if (left <= 0 || !gt_cuda_wait_for_workers(cuda, left))
            return 0;
    }
}

static size_t cuda_drop(struct gt_evaluator *evaluator)
{
    struct gt_cuda *cuda = evaluator->state;

    gt_compile_pool_drop(cuda->pool);
    clear(&cuda->compiling);
    clear(&cuda->ready);
    return outstanding(cuda);
}

static void cuda_set_best(struct gt_evaluator *evaluator, double us)
{
    struct gt_cuda *cuda = evaluator->state;

    cuda->best_us = us;
}

static int cuda_open_problem(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                             struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    int rc = gt_cuda_settle(cuda, err);

    if (rc)
        return rc;
    cuda_drop(evaluator);
    clear(&cuda->done);
    cuda->unrecorded = NULL;
    cuda->gpu.options.signals = evaluator->options.signals;
    cuda->best_us = 0;
    cuda->has_baseline = false;
    cuda->opened = gt_clock_ms();
    cuda->busy_before = cuda->gpu.busy_s;
    rc = gt_gpu_client_problem(&cuda->gpu, problem,
                               PREPARE_S + gt_problem_flops(problem) / PREPARE_FLOPS, err);
    gt_cuda_update_stats(evaluator);
    return rc;
}

static int cuda_renew(struct gt_evaluator *evaluator, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    int rc = gt_cuda_settle(cuda, err);

    return rc ? rc : gt_gpu_client_renew(&cuda->gpu, err);
}

static void cuda_close(struct gt_evaluator *evaluator)
{
    struct gt_cuda *cuda = evaluator->state;

    gt_gpu_client_close(&cuda->gpu);
    gt_compile_pool_close(cuda->pool);
    clear(&cuda->compiling);
    clear(&cuda->ready);
    clear(&cuda->done);
    free(cuda->announced);
    free(cuda->running);
    free(cuda);
}

static void forward_waiting(void *context, double seconds)
{
    const struct gt_evaluator_events *events = &((struct gt_evaluator *)context)->options.events;

    if (events->waiting)
        events->waiting(events->context, seconds);
}

/* Parses a CUDA ordinal: "" (0) or "N". */
static int parse_ordinal(const char *spec, int *ordinal, struct gt_err *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(spec, &end, 10);
    if (*end || errno || value < 0 || value > 1023 || (*spec && end == spec))
        return gt_err_set(err, GT_ENOTFOUND,
                          "--device cuda:%s: a number from 0 is expected after the colon", spec);
    *ordinal = (int)value;
    return GT_OK;
}

static int cuda_open(struct gt_evaluator *evaluator, const char *spec, struct gt_err *err)
{
    const struct gt_evaluator_options *options = &evaluator->options;
    struct gt_gpu_client_options gpu = {
        .data_dir = options->data_dir,
        .cache_dir = options->cache_dir,
        .kernels_dir = options->kernels_dir,
        .include_dirs = options->include_dirs,
        .bench = options->bench,
        .notice = gt_evaluator_notice,
        .waiting = forward_waiting,
        .context = evaluator,
        .signals = options->signals,
    };
    struct gt_cuda *cuda;
    int rc = parse_ordinal(spec, &gpu.ordinal, err);

    if (rc)
        return rc;
    cuda = calloc(1, sizeof(*cuda));
    if (!cuda)
        return gt_err_nomem(err);
    TAILQ_INIT(&cuda->compiling);
    TAILQ_INIT(&cuda->ready);
    TAILQ_INIT(&cuda->done);
    rc = gt_gpu_client_open(&cuda->gpu, &gpu, err);
    GT_STEP(rc, gt_evaluator_open_pool(evaluator, &cuda->pool, err));
    evaluator->state = cuda;
    if (rc) {
        cuda_close(evaluator);
        return rc;
    }
    cuda->floor_s = options->launch_deadline_s > 0 ? options->launch_deadline_s : 10;
    cuda->capacity = 4 * (size_t)evaluator->jobs + 8;
    evaluator->device = cuda->gpu.device;
    evaluator->device.chained = evaluator->options.bench.timing == GT_TIMING_GRAPH;
    return GT_OK;
}

const struct gt_evaluator_ops gt_evaluator_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .open_problem = cuda_open_problem,
    .room = cuda_room,
    .starved = cuda_starved,
    .at_hand = cuda_at_hand,
    .submit = cuda_submit,
    .ahead = cuda_ahead,
    .drop_ahead = cuda_drop_ahead,
    .collect = cuda_collect,
    .drop = cuda_drop,
    .set_best = cuda_set_best,
    .sample = gt_cuda_sample,
    .final = gt_cuda_final,
    .energy = gt_cuda_energy,
    .baseline = gt_cuda_baseline,
    .move = gt_cuda_move,
    .renew = cuda_renew,
    .reference = gt_cuda_reference,
    .calibrate = gt_cuda_calibrate,
    .close = cuda_close,
};
