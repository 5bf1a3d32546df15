/* cmd_recheck_contest.h - a stored winner against its runners-up, timed again. */
#ifndef GT_CMD_RECHECK_CONTEST_H
#define GT_CMD_RECHECK_CONTEST_H

#include "evaluate/evaluator.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "problem/trial.h"

#define GT_RECHECK_RUNNERS   16   /* candidates that a winner is timed against, at most */
#define GT_RECHECK_TOLERANCE 0.01 /* times of the same kernel in two runs differ by as much */

/* What became of a winner: it is still the fastest, it is not, it failed, or it was alone: there
 * was nothing to time it against. */
enum gt_verdict { GT_HELD, GT_LOST, GT_FAILED, GT_ALONE, GT_VERDICT_COUNT };

/* A problem whose winner is timed again: its candidates, the winner first. */
struct gt_contest {
    struct gt_problem problem;
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_candidate candidate[1 + GT_RECHECK_RUNNERS];
    struct gt_trial trial[1 + GT_RECHECK_RUNNERS];
    size_t count, wanted;
    size_t best; /* the fastest of the others; 0: none could be timed */
    double stored_us;
    /* How much longer that one takes than the winner, as a share of the winner's time: the median
     * of the paired ratios and its 95 % interval, in the last contest.  Only set if the verdict is
     * held or lost. */
    double margin, margin_lo, margin_hi;
    int contests; /* how many there were: a winner that loses the first gets a second one */
    enum gt_verdict verdict;
};

/* Times the candidates of the contest and judges them.  rounds: 0 for as many as take about 2 s.
 * Among several candidates that are as fast as the winner, the best will sometimes look faster.  So
 * a winner has lost only if the same candidate beats it again, in a new process and new memory. */
int gt_recheck_contest(struct gt_contest *contest, struct gt_evaluator *evaluator, int rounds,
                       struct gt_err *err);

#endif
