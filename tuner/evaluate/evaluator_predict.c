/* evaluator_predict.c - the evaluator that estimates candidates for a GPU that is not present.
 *
 * The compile workers build each candidate for the requested arch.  The analytic model
 * (src/lookup/predict.h) uses the registers and spills that the compiler reports.  Nothing is run,
 * so every trial is marked as predicted, and there are no timing stages. */
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "cuda/compile.h"
#include "evaluate/evaluator.h"
#include "lookup/predict.h"
#include "problem/problem.h"
#include "workers/compile_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 4 /* candidates in flight per compile worker, at most */

struct estimate {
    uint64_t id;
    struct gt_prepared prepared;
};

struct predictor {
    struct gt_compile_pool *pool;
    struct estimate *waiting; /* candidates submitted and not collected */
    size_t count, capacity;
    double opened_s;
};

static void close_predictor(struct gt_evaluator *evaluator)
{
    struct predictor *predictor = evaluator->state;

    if (!predictor)
        return;
    gt_compile_pool_close(predictor->pool);
    free(predictor->waiting);
    free(predictor);
    evaluator->state = NULL;
}

/* Reads a profile of the user's own, which names its arch. */
static int read_profile(struct gt_device *device, const char *path, struct gt_err *err)
{
    cJSON *root = NULL;
    int64_t cc = 0;
    int rc = gt_json_load(&root, path, err);

    GT_STEP(rc, gt_json_integer(&cc, root, path, "cc", 0, INT16_MAX, GT_REQUIRED, err));
    if (!rc && !gt_arch_known((int)cc))
        rc = gt_err_set(err, GT_ENOTFOUND, "%s: \"cc\" is %lld, and nothing compiles for sm_%lld",
                        path, (long long)cc, (long long)cc);
    GT_STEP(rc, gt_device_read(device, path, (int)cc, err));
    cJSON_Delete(root);
    return rc;
}

static int open_predictor(struct gt_evaluator *evaluator, const char *spec, struct gt_err *err)
{
    struct predictor *predictor;
    char arch[64];
    int cc, rc;

    if (!*spec)
        return gt_err_set(err, GT_ENOTFOUND,
                          "--device predict: expected the arch to predict for, as in "
                          "predict:sm_86, or a profile, as in predict:FILE.json");
    if (strlen(spec) > 5 && !strcmp(spec + strlen(spec) - 5, ".json")) {
        rc = read_profile(&evaluator->device, spec, err);
    } else { /* sm_90, or sm_90/h100 if a device was named */
        snprintf(arch, sizeof(arch), "%.*s", (int)strcspn(spec, "/"), spec);
        rc = gt_arch_parse(arch, &cc, err);
        GT_STEP(rc, gt_device_profile_of(&evaluator->device, evaluator->options.data_dir, cc,
                                         strchr(spec, '/') ? strchr(spec, '/') + 1 : NULL, err));
    }
    if (rc)
        return rc;
    predictor = calloc(1, sizeof(*predictor));
    if (!predictor)
        return gt_err_nomem(err);
    evaluator->state = predictor;
    rc = gt_evaluator_open_pool(evaluator, &predictor->pool, err);
    if (rc)
        goto out;
    predictor->capacity = (size_t)evaluator->jobs * AHEAD;
    predictor->waiting = calloc(predictor->capacity, sizeof(*predictor->waiting));
    if (!predictor->waiting)
        rc = gt_err_nomem(err);
out:
    if (rc)
        close_predictor(evaluator);
    return rc;
}

/* Refuses a problem that does not fit into the device's memory, as the device would. */
static int check_memory(const struct gt_device *device, const struct gt_problem *problem,
                        struct gt_err *err)
{
    double bytes = 0;

    for (int operand = GT_OPERAND_A; operand <= GT_OPERAND_C; operand++)
        bytes += (double)gt_problem_bytes(problem, (enum gt_operand)operand);
    if (bytes <= (double)device->memory_bytes)
        return GT_OK;
    return gt_err_set(err, GT_ETOOBIG, "the operands need %.0f bytes of device memory; %s has %lld",
                      bytes, device->name, (long long)device->memory_bytes);
}

static int open_problem(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                        struct gt_err *err)
{
    struct predictor *predictor = evaluator->state;
    int rc = check_memory(&evaluator->device, problem, err);

    if (rc)
        return rc;
    gt_compile_pool_drop(predictor->pool);
    predictor->count = 0;
    predictor->opened_s = gt_clock_s();
    return GT_OK;
}

static size_t room(struct gt_evaluator *evaluator)
{
    const struct predictor *predictor = evaluator->state;

    return predictor->capacity - predictor->count;
}

static int submit(struct gt_evaluator *evaluator, uint64_t id, const struct gt_candidate *candidate,
                  struct gt_err *err)
{
    struct predictor *predictor = evaluator->state;
    struct estimate *next = &predictor->waiting[predictor->count];
    int rc;

    if (predictor->count == predictor->capacity)
        return gt_err_set(err, GT_EBUSY, "%zu candidates are under way; there is no room for more",
                          predictor->count);
    next->id = id;
    rc = gt_compile_pool_prepare(predictor->pool, candidate, &next->prepared, err);
    GT_STEP(rc, gt_compile_pool_submit(predictor->pool, id, &next->prepared, err));
    predictor->count += !rc;
    return rc;
}

/* Makes a trial from the compiler's answer. */
static void estimate(const struct gt_prepared *prepared, const struct gt_compiled *compiled,
                     struct gt_trial *trial)
{
    struct gt_geometry geometry = prepared->geometry;
    struct gt_prediction prediction;
    struct gt_err err = {0};

    *trial = (struct gt_trial){
        .status = compiled->status,
        .provenance = GT_PREDICTED,
        .registers = compiled->registers,
        .spill_bytes = compiled->spill_bytes,
        .static_shared = compiled->static_shared,
        .compile_ms = compiled->ms,
    };
    snprintf(trial->detail, sizeof(trial->detail), "%s", compiled->detail);
    if (prepared->why.code)
        return; /* the pool has given the reason */
    trial->varies = !geometry.deterministic;
    trial->workspace_bytes = (int64_t)geometry.workspace_bytes;
    for (size_t i = 0; i < geometry.launches; i++) {
        struct gt_launch_geometry *launch = &geometry.launch[i];

        launch->shared_bytes += (unsigned)gt_static_shared_of(compiled->shared_of, launch->entry);
        if (launch->shared_bytes > trial->shared_bytes)
            trial->shared_bytes = launch->shared_bytes;
    }
    if (compiled->status != GT_STATUS_OK)
        return;
    if (gt_predict_explain(&prepared->candidate, &geometry, compiled->registers,
                           compiled->spill_bytes, &prediction, &err)) {
        trial->status = GT_STATUS_LAUNCH_INVALID;
        snprintf(trial->detail, sizeof(trial->detail), "%s", err.msg);
        return;
    }
    trial->us = trial->lo_us = trial->hi_us = prediction.us;
    snprintf(trial->detail, sizeof(trial->detail),
             "predicted, not measured: bound by %s, %d blocks per SM, %.2f waves", prediction.bound,
             prediction.blocks_sm, prediction.waves);
}

static void update_stats(struct gt_evaluator *evaluator)
{
    const struct predictor *predictor = evaluator->state;
    struct gt_compile_stats stats;

    gt_compile_pool_stats(predictor->pool, &stats);
    evaluator->stats = (struct gt_evaluator_stats){
        .wall_s = gt_clock_s() - predictor->opened_s,
        .compiled = stats.compiled,
        .cache_hits = stats.cache_hits,
        .respawns = stats.respawns,
    };
}

static int collect(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                   struct gt_trial *trial, struct gt_err *err)
{
    struct predictor *predictor = evaluator->state;
    struct gt_compiled compiled;
    int got = gt_compile_pool_collect(predictor->pool, timeout_ms, &compiled, err);

    if (got <= 0)
        return got;
    for (size_t i = 0; i < predictor->count; i++) {
        if (predictor->waiting[i].id != compiled.id)
            continue;
        *id = compiled.id;
        estimate(&predictor->waiting[i].prepared, &compiled, trial);
        predictor->waiting[i] = predictor->waiting[--predictor->count];
        update_stats(evaluator);
        return 1;
    }
    return 0; /* the answer belongs to an earlier problem */
}

static size_t drop(struct gt_evaluator *evaluator)
{
    struct predictor *predictor = evaluator->state;

    gt_compile_pool_drop(predictor->pool);
    return gt_compile_pool_pending(predictor->pool);
}

const struct gt_evaluator_ops gt_evaluator_predict = {
    .name = "predict",
    .provenance = GT_PREDICTED,
    .open = open_predictor,
    .open_problem = open_problem,
    .room = room,
    .submit = submit,
    .collect = collect,
    .drop = drop,
    .close = close_predictor,
};
