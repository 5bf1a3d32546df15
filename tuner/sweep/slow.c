/* slow.c - candidates that an earlier run gave up as slow beside kernels that are not searched now.
 * Beside those that are, they may be fast, so the fastest of them are tried once more. */
#include "base/array.h"
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <math.h>

void gt_sweep_note_slow(struct gt_race *race, struct gt_arm *arm, size_t point, double us)
{
    size_t at = race->slows;

    if (arm->guest || !race->measures || !(us > 0))
        return;
    while (at > 0 && us < race->slow[at - 1].us)
        at--;
    if (at == GT_SWEEP_SLOW)
        return;
    if (race->slows == GT_SWEEP_SLOW)
        race->slows--;
    GT_ARRAY_OPEN(race->slow, at, race->slows);
    race->slow[at] = (struct gt_given_up){arm, point, us};
    race->slows++;
}

/* In a run of the same kernels there is none: what was slow took 1.5 times the best of then. */
int gt_sweep_retry_slow(struct gt_race *race, struct gt_err *err)
{
    const double best = race->best_us > 0 ? race->best_us : INFINITY;
    int rc = GT_OK;

    for (size_t i = 0; i < race->slows && !rc; i++) {
        const struct gt_given_up *slow = &race->slow[i];

        if (slow->us > GT_SWEEP_TOO_SLOW * fmin(best, race->slow[0].us))
            break;
        race->tried--; /* it is no trial of this run's until it is tried again */
        slow->arm->tried--;
        race->result->resumed--;
        race->result->status[GT_STATUS_SLOW]--;
        rc = gt_sweep_retry(slow->arm, (struct gt_retry){.point = slow->point}, err);
    }
    return rc;
}
