/* evaluator.c - the table of evaluators and the choice among them by --device. */
#include "evaluate/evaluator.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

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
