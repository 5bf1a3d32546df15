/* drift.c - checks whether the speed of the device has changed.  A reference kernel is timed in
 * regular intervals; if its time has changed, the times since the last check are not trusted. */
#include "base/strbuf.h"
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdio.h>

#define EVERY_S 60.0
#define ALLOWED 0.02 /* change of the reference kernel's time */
#define CUTOFF  1.1  /* times the best: slower points lose even if the device drifts */

int gt_sweep_remember(struct gt_race *race, struct gt_arm *arm, size_t point, struct gt_err *err)
{
    int rc = GT_ARRAY_RESERVE(&race->recent, race->recents + 1, &race->recent_capacity, err);

    if (!rc)
        race->recent[race->recents++] = (struct gt_recent){.arm = arm, .point = point};
    return rc;
}

/* Puts back the *count points that were measured since the last check and may still win. */
static int measure_again(struct gt_race *race, double drift, size_t *count, struct gt_err *err)
{
    double limit = race->best_us * (CUTOFF + 2 * fabs(drift));
    int rc = GT_OK;

    *count = 0;
    for (size_t i = 0; i < race->recents && !rc; i++) {
        struct gt_arm *arm = race->recent[i].arm;
        size_t point = race->recent[i].point;
        struct gt_retry what;

        if (arm->strategy->known[point] > limit)
            continue;
        what = (struct gt_retry){.point = point, .urgent = true, .remeasure = true};
        rc = gt_sweep_retry(arm, what, err);
        ++*count;
    }
    return rc;
}

int gt_sweep_check_drift(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    double us, drift;
    double every = race->options->drift_check_s > 0 ? race->options->drift_check_s : EVERY_S;
    char sentence[160];
    int rc;

    if (!evaluator->ops->reference || gt_evaluator_now(evaluator) - race->reference_s < every)
        return GT_OK;
    rc = evaluator->ops->reference(evaluator, &us, err);
    if (rc)
        return rc;
    drift = race->reference_us > 0 ? us / race->reference_us - 1 : 0;
    race->reference_us = us;
    race->reference_s = gt_evaluator_now(evaluator);
    if (fabs(drift) > ALLOWED) {
        size_t count;

        rc = measure_again(race, drift, &count, err);
        snprintf(sentence, sizeof(sentence),
                 "the reference kernel's time changed by %+.1f %%: %zu candidates are timed again",
                 100 * drift, count);
        gt_sweep_note(race, sentence);
    }
    race->recents = 0;
    return rc;
}
