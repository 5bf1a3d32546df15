/* cmd_energy.h - the energy of what a sweep has found, for tune --objective. */
#ifndef GT_CMD_ENERGY_H
#define GT_CMD_ENERGY_H

#include <stddef.h>

struct gt_err;
struct gt_problem;
struct gt_session;

/* Measures, stores and prints as `tune energy --objective OBJECTIVE` does, in a session that is
 * open.  weight: of each problem.  GT_ENOGPU: the session measures nothing. */
int gt_energy_after_sweep(struct gt_session *session, const struct gt_problem *problem,
                          const double *weight, size_t problems, const char *objective,
                          struct gt_err *err);

#endif
