/* cmd_recheck_contest.c - times a stored winner and its runners-up again; see
 * cmd_recheck_contest.h. */
#include "recheck/cmd_recheck_contest.h"

#include <string.h>

#include "base/err.h"
#include "base/stats.h"

#define CONTESTS 2

static const struct gt_rounds default_rounds = {61, GT_MAX_SAMPLES, 2e6};

/* Compares in pairs.  doubtful[i]: whether candidate i may still have beaten the winner.  It stays
 * doubtful if it is faster by more than the tolerance and its interval excludes a tie. */
static void judge(struct gt_contest *contest, bool *doubtful)
{
    const struct gt_trial *trial = contest->trial;
    bool lost = false;

    contest->best = 0;
    for (size_t i = 1; i < contest->count && trial[0].status == GT_STATUS_OK; i++) {
        int samples = trial[0].samples < trial[i].samples ? trial[0].samples : trial[i].samples;
        double ratio, lo, hi;

        if (trial[i].status != GT_STATUS_OK) {
            doubtful[i] = false;
            continue;
        }
        ratio = gt_paired_ratio(trial[i].sample, trial[0].sample, samples);
        gt_paired_interval(trial[i].sample, trial[0].sample, samples, &lo, &hi);
        doubtful[i] = doubtful[i] && ratio < 1 - GT_RECHECK_TOLERANCE && hi < 1;
        if (contest->best &&
            (lost > doubtful[i] || (lost == doubtful[i] && ratio - 1 >= contest->margin)))
            continue;
        lost = doubtful[i];
        contest->best = i;
        contest->margin = ratio - 1;
        contest->margin_lo = lo - 1;
        contest->margin_hi = hi - 1;
    }
    contest->verdict = trial[0].status != GT_STATUS_OK ? GT_FAILED
                       : !contest->best                ? GT_ALONE
                       : lost                          ? GT_LOST
                                                       : GT_HELD;
}

int gt_recheck_contest(struct gt_contest *contest, struct gt_evaluator *evaluator, int rounds,
                       struct gt_err *err)
{
    bool doubtful[1 + GT_RECHECK_RUNNERS];
    int rc = GT_OK;

    if (!rounds)
        rounds = gt_rounds_for(&default_rounds, contest->count,
                               (double)contest->count * contest->stored_us);
    memset(doubtful, true, sizeof(doubtful));
    do {
        if (contest->contests)
            rc = evaluator->ops->renew(evaluator, err);
        GT_STEP(rc, evaluator->ops->open_problem(evaluator, &contest->problem, err));
        GT_STEP(rc, evaluator->ops->final(evaluator, contest->candidate, contest->count, rounds,
                                          contest->trial, NULL, err));
        if (rc)
            return rc;
        judge(contest, doubtful);
        contest->contests++;
    } while (contest->verdict == GT_LOST && contest->contests < CONTESTS);
    return GT_OK;
}
