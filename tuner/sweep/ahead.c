/* ahead.c - has the first candidates of a sweep compiled and runs none of them, so that a sweep of
 * the same problem on a GPU finds their cubins in the cache.  They are the points that a sweep
 * chooses before it has a time: what look-up hands out, near winners, seeds. */
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <stdlib.h>

#define COLLECT_MS 200 /* between two looks at the signals */

/* Hands points to the compilers while there is room. */
static int submit_all(struct gt_race *race, size_t *left, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_arm *arm;
    struct gt_retry what;
    int rc = GT_OK;

    while (!rc && *left && evaluator->ops->room(evaluator) > 0) {
        struct gt_candidate candidate;

        if (!gt_sweep_choose_point(race, &arm, &what)) {
            *left = 0;
            break;
        }
        candidate = (struct gt_candidate){
            .kernel = arm->kernel, .problem = race->problem, .device = &evaluator->device};
        gt_space_point(&arm->space, what.point, &candidate.point);
        arm->flying++;
        rc = evaluator->ops->submit(evaluator, ++*race->next_id, &candidate, err);
        --*left;
        race->flights++;
    }
    return rc;
}

static int compile(struct gt_race *race, size_t most, struct gt_sweep_ahead *ahead,
                   struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int rc = submit_all(race, &most, err);

    while (!rc && race->flights) {
        struct gt_trial trial;
        uint64_t id;
        int got = evaluator->ops->collect(evaluator, COLLECT_MS, &id, &trial, err);

        if (got < 0)
            return got;
        race->flights -= (size_t)got;
        ahead->candidates += got;
        if (gt_sweep_signals(race)) {
            evaluator->ops->drop(evaluator);
            return gt_err_set(err, GT_EINTERRUPTED,
                              "interrupted; what was compiled is in the cache");
        }
        rc = submit_all(race, &most, err);
    }
    return rc;
}

/* Opens the problem as a sweep does that measures. */
static int open_race(struct gt_race *race, struct gt_err *err)
{
    int rc;

    race->measures = true;
    rc = gt_race_prepare(race, err);
    if (rc || !race->arms)
        return rc;
    rc = race->evaluator->ops->open_problem(race->evaluator, race->problem, err);
    race->opened = rc == GT_OK;
    return rc == GT_ETOOBIG ? GT_OK : rc;
}

int gt_sweep_compile(const struct gt_sweep_options *options, size_t most,
                     struct gt_sweep_ahead *ahead, struct gt_err *err)
{
    struct gt_evaluator *evaluator = options->evaluator;
    struct gt_run run = {.options = options};
    struct gt_race *race = NULL;
    int64_t before;
    int rc = gt_sweep_take_snapshot(&run, err);

    *ahead = (struct gt_sweep_ahead){0};
    GT_STEP(rc, gt_store_device(options->store, &evaluator->device, &run.device, err));
    GT_STEP(rc, gt_store_toolchain(options->store, evaluator->nvrtc_version, &run.toolchain, err));
    GT_STEP(rc, gt_race_new(&run, 0, &race, err));
    before = evaluator->stats.compiled;
    GT_STEP(rc, open_race(race, err));
    if (!rc && race->opened)
        rc = compile(race, most, ahead, err);
    ahead->compiled = evaluator->stats.compiled - before;
    gt_race_free(race);
    gt_snapshot_release(&run.before);
    free(run.incumbent);
    return rc;
}
