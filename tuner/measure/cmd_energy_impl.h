/* cmd_energy_impl.h - what cmd_energy.c and cmd_energy_measure.c share; nobody else includes it. */
#ifndef GT_CMD_ENERGY_IMPL_H
#define GT_CMD_ENERGY_IMPL_H

#include "measure/cmd_energy_items.h"
#include "measure/cmd_energy_rows.h"
#include "session/cmd_session.h"

struct gt_energy_options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *objective, *csv, *costs, *budget;
    int64_t entries;
    double seconds, error, within, slower;
    bool stored;
};

struct gt_energies {
    struct gt_session *session;
    const struct gt_energy_options *options;
    double end_s; /* on the clock; 0: there is no budget */
    size_t measured;
    struct gt_energy_rows rows;
    /* of the problem at hand */
    struct gt_energy_items items;
    double until_s; /* on the clock; 0: there is no budget */
    bool given_up;
};

/* Measures what the problems' candidates cost, keeps it in the database and shows it.  Problems
 * have shares of a budget by their weights; what one does not need is the next ones'. */
int gt_energies_measure(struct gt_energies *self, const struct gt_problem *problem,
                        const double *weight, size_t problems, struct gt_err *err);

#endif
