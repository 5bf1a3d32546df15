/* cmd_try_measure.c - runs a candidate on a GPU: the evaluator proves it and times it, alone and
 * beside cuBLASLt. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "measure/cmd_try.h"
#include "session/cmd_session.h"
#include "cuda/cache.h"
#include "evaluate/evaluator.h"

static const struct gt_rounds rounds = {41, 200, 2e6};

static int open_evaluator(struct gt_evaluator **evaluator, const struct gt_try *attempt,
                          const char *cache_dir, struct gt_err *err)
{
    const struct gt_try_options *options = attempt->options;
    const struct gt_evaluator_options wanted = {
        .data_dir = attempt->cli->data_dir,
        .cache_dir = cache_dir,
        .kernels_dir = options->kernels_dir,
        .include_dirs = options->include_dirs,
        .jobs = 1,
        .launch_deadline_s = (double)options->deadline,
        .baseline = true,
        .bench = {.seed = options->seed ? (uint64_t)options->seed : 1},
        .signals = attempt->cli->signals,
    };
    const char *device = options->device ? options->device : "cuda";
    int rc;

    if (strncmp(device, "cuda", strlen("cuda")) != 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--device %s: `tune try` measures; it takes cuda or cuda:N", device);
    rc = gt_evaluator_open(evaluator, device, &wanted, err);
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        return gt_err_prefix(err, rc, "--on cpu tries it without a GPU");
    return rc;
}

/* Compiles, proves and times the candidate once. */
static int race(struct gt_try *attempt, struct gt_evaluator *evaluator, struct gt_err *err)
{
    uint64_t id;
    int rc = evaluator->ops->submit(evaluator, 1, &attempt->candidate, err);

    while (!rc) {
        rc = evaluator->ops->collect(evaluator, 1000, &id, &attempt->trial, err);
        if (rc == 0 && *attempt->cli->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted");
    }
    return rc > 0 ? GT_OK : rc;
}

/* Times the candidate in alternation with cuBLASLt's best answer, if there is one. */
static int compare(struct gt_try *attempt, struct gt_evaluator *evaluator, struct gt_err *err)
{
    struct gt_trial baseline;
    int rc = evaluator->ops->baseline(evaluator, &attempt->baseline, err);

    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND)
        attempt->baseline.us = 0;
    else if (rc)
        return rc;
    rc = evaluator->ops->final(evaluator, &attempt->candidate, 1,
                               gt_rounds_for(&rounds, 2, 2 * attempt->trial.us), &attempt->trial,
                               rc ? NULL : &baseline, err);
    if (!rc && attempt->baseline.us > 0)
        attempt->baseline.us = baseline.us;
    return rc;
}

int gt_try_measure(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_evaluator *evaluator = NULL;
    char why[GT_UNSERVED_MAX];
    char *cache_dir = NULL;
    int rc = gt_session_cache(&cache_dir, err);

    GT_STEP(rc, open_evaluator(&evaluator, attempt, cache_dir, err));
    if (rc)
        goto out;
    attempt->device = evaluator->device;
    if (gt_unserved(why, "it", &attempt->candidate.kernel, 1, &attempt->problem, &attempt->device))
        rc = gt_err_set(err, GT_ERANGE, "kernel %s does not serve this problem on sm_%d: %s",
                        attempt->candidate.kernel->name, attempt->device.cc, why);
    GT_STEP(rc, gt_try_check_point(attempt, attempt->device, err));
    GT_STEP(rc, evaluator->ops->open_problem(evaluator, &attempt->problem, err));
    GT_STEP(rc, race(attempt, evaluator, err));
    if (!rc && attempt->trial.status == GT_STATUS_OK)
        rc = compare(attempt, evaluator, err);
out:
    gt_evaluator_close(evaluator);
    free(cache_dir);
    return rc;
}
