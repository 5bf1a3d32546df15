/* cmd_energy.h - measures the energy of the kernels that a sweep has found, for tune
 * --objective. */
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
    struct cJSON *json;    /* an object that gets the list `energies` and the list named
                              costs_key */
    const char *costs_key; /* the name of a list with an object for each problem */
};

/* Measures, stores and reports as `tune energy --objective OBJECTIVE` does, in a session that is
 * open.  weight: of each problem; NULL: all weights are equal.  A device without a meter is no
 * error: the tuning stays as it is, and a remark says so.  GT_ENOGPU: the session measures nothing.
 * After a failure the report has the energies measured before. */
int gt_energy_after_sweep(struct gt_session *session, const struct gt_problem *problem,
                          const double *weight, size_t problems, const char *objective,
                          const struct gt_energy_report *report, struct gt_err *err);

#endif
