/* evaluator_pool.c - what the evaluators share: notices, the compile workers that the options ask
 * for, and how many rounds a contest has. */
#include "evaluate/evaluator.h"
#include "workers/compile_pool.h"

#include <math.h>

#define OVERHEAD_US 300.0 /* per launch in a contest: changing operands, reading events */

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
        .signals = options->signals,
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
