/* evaluator.c - the table of evaluators and the choice among them by --device. */
#include "evaluate/evaluator.h"

#include "base/clock.h"
#include "base/err.h"
#include "workers/compile_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OVERHEAD_US 300.0 /* of a launch in a contest, for changing operands and reading events */

extern const struct gt_evaluator_ops gt_evaluator_cuda, gt_evaluator_predict, gt_evaluator_replay;

const struct gt_evaluator_ops *const gt_evaluators[] = {
    &gt_evaluator_cuda,
    &gt_evaluator_predict,
    &gt_evaluator_replay,
    NULL,
};

/* The entry that the part of `device` before a colon names, or NULL. */
static const struct gt_evaluator_ops *find(const char *device)
{
    const size_t length = strcspn(device, ":");
    size_t i;

    for (i = 0; gt_evaluators[i]; i++) {
        if (strlen(gt_evaluators[i]->name) == length &&
            !strncmp(gt_evaluators[i]->name, device, length))
            return gt_evaluators[i];
    }
    return NULL;
}

int gt_evaluator_open(struct gt_evaluator **out, const char *device,
                      const struct gt_evaluator_options *options, struct gt_err *err)
{
    const struct gt_evaluator_ops *ops = find(device);
    const char *colon = strchr(device, ':');
    struct gt_evaluator *evaluator;
    int rc;

    if (!ops)
        return gt_err_set(err, GT_ENOTFOUND,
                          "--device %s: unknown; \"cuda\", \"cuda:N\", \"predict:sm_NN\" and "
                          "\"replay:FILE\" are known",
                          device);
    if (colon && !colon[1])
        return gt_err_set(err, GT_ENOTFOUND,
                          "--device %s needs a number, an arch or a file after the colon", device);
    evaluator = calloc(1, sizeof(*evaluator));
    if (!evaluator)
        return gt_err_nomem(err);
    evaluator->ops = ops;
    evaluator->options = *options;
    rc = ops->open(evaluator, colon ? colon + 1 : "", err);
    if (rc)
        free(evaluator); /* an open that fails leaves nothing behind */
    else
        *out = evaluator;
    return rc;
}

void gt_evaluator_notice(void *context, const char *sentence)
{
    const struct gt_evaluator_events *events = &((struct gt_evaluator *)context)->options.events;

    if (events->notice)
        events->notice(events->context, sentence);
}

int gt_evaluator_open_pool(struct gt_evaluator *evaluator, struct gt_compile_pool **pool,
                           struct gt_err *err)
{
    const struct gt_evaluator_options *options = &evaluator->options;
    const struct gt_compile_pool_options wanted = {
        .cache_dir = options->cache_dir,
        .jobs = options->jobs,
        .tokens = options->tokens,
        .memory = options->compile_memory,
        .cpu_s = options->compile_cpu_s,
        .notice = gt_evaluator_notice,
        .context = evaluator,
    };
    int rc = gt_compile_pool_open(pool, &wanted, err);

    if (rc)
        return rc;
    evaluator->jobs = gt_compile_pool_jobs(*pool);
    evaluator->nvrtc_version = gt_compile_pool_nvrtc(*pool);
    return GT_OK;
}

int gt_rounds_for(const struct gt_rounds *rounds, size_t entries, double round_us)
{
    const double round = round_us + OVERHEAD_US * (double)entries;

    return (int)fmax(rounds->least, fmin(rounds->most, rounds->us / round));
}

double gt_evaluator_now(const struct gt_evaluator *evaluator)
{
    return evaluator->ops->now ? evaluator->ops->now(evaluator) : gt_clock_s();
}

void gt_evaluator_close(struct gt_evaluator *evaluator)
{
    if (!evaluator)
        return;
    evaluator->ops->close(evaluator);
    free(evaluator);
}
