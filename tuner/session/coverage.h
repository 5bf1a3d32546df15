/* coverage.h - stage: which problems of a list have a tuned answer in a database, and how much of
 * the list's time these are. */
#ifndef GT_COVERAGE_H
#define GT_COVERAGE_H

#include "session/cmd_session.h"

/* Leaves out the problems that have a winner on the session's device, which is identified by name.
 * Such a winner was measured in a final, with the session's timing and with today's text of its
 * kernel. */
int gt_session_leave_out(const struct gt_session *session, struct gt_problem *problem,
                         double *weight, size_t *count, struct gt_err *err);

/* The problems with a measured winner of a final, and their part of the weights.  A problem's
 * weight in a captured list is the time of its calls. */
struct gt_coverage {
    size_t problems, tuned;
    double share; /* 0 to 1 */
};

/* session: its device, timing and kernels; NULL: those of any row.  weight NULL: all weigh the
 * same. */
int gt_coverage_find(struct gt_coverage *coverage, const struct gt_session *session,
                     struct gt_store *store, const struct gt_problem *problem, const double *weight,
                     size_t count, struct gt_err *err);

/* Prints a line: "coverage: 97.2 % of the product time (24 of 25 problems) has a tuned answer". */
void gt_coverage_print(const struct gt_coverage *coverage, FILE *log);

#endif
