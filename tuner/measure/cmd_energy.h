/* cmd_energy.h - the energy of what a sweep has found, for tune --objective. */
#ifndef GT_CMD_ENERGY_H
#define GT_CMD_ENERGY_H

#include <stddef.h>
#include <stdio.h>

struct cJSON;
struct gt_err;
struct gt_problem;
struct gt_session;

/* Where energies are reported; each may be NULL. */
struct gt_energy_report {
    FILE *out;             /* the tables */
    FILE *brief;           /* a line for each problem */
    struct cJSON *json;    /* an object that gets the lists `energies` and */
    const char *costs_key; /* this one, with an object for each problem */
};

/* Measures, stores and reports as `tune energy --objective OBJECTIVE` does, in a session that is
 * open.  weight: of each problem; NULL: all alike.  A device without a meter leaves the tuning as
 * it is: that is told of, and no error.  GT_ENOGPU: the session measures nothing.  After a failure
 * the report has what was measured before. */
int gt_energy_after_sweep(struct gt_session *session, const struct gt_problem *problem,
                          const double *weight, size_t problems, const char *objective,
                          const struct gt_energy_report *report, struct gt_err *err);

#endif
