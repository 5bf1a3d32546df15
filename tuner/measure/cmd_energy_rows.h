/* cmd_energy_rows.h - what a database knows of the energies of problems on one device, for people
 * and as tables. Part of tune energy. */
#ifndef GT_CMD_ENERGY_ROWS_H
#define GT_CMD_ENERGY_ROWS_H

#include "db/store.h"
#include "measure/cmd_energy_costs.h"
#include "problem/problem.h"

struct cJSON;
struct gt_csv;
struct gt_energy_report;

/* The caller sets the first three. */
struct gt_energy_rows {
    const struct gt_energy_report *report; /* where it is printed */
    enum gt_objective objective;
    double slower; /* per cent, as in gt_energy_costs_take */
    const struct gt_device *device;
    struct gt_csv *csv, *costs;
    struct cJSON *rows, *problems; /* lists of report->json */
    size_t found;                  /* of all problems */
    /* of the problem at hand */
    char problem[GT_PROBLEM_TEXT_MAX];
    struct gt_energy best[GT_OBJECTIVES]; /* us 0: there is none */
    struct gt_energy_costs cost;
};

/* csv, costs: files, or NULL.  The device must outlive the rows. */
int gt_energy_rows_open(struct gt_energy_rows *self, const struct gt_device *device,
                        const char *csv, const char *costs, struct gt_err *err);
/* All that is known of a problem's candidates, and what less speed saves. */
int gt_energy_rows_problem(struct gt_energy_rows *self, struct gt_store *store,
                           const struct gt_problem *problem, struct gt_err *err);
int gt_energy_rows_close(struct gt_energy_rows *self, struct gt_err *err); /* zeroed accepted */

/* Which stored energies are asked for.  Those with other operands than the usual ones are stored as
 * of a device "NAME [zeros]". */
struct gt_energy_asked {
    const char *device; /* the name of a GPU, with or without what is in brackets; NULL: any */
    int cc;             /* 0: any */
    const char *dist; /* "zeros"; NULL: the usual operands, unless the device's name says others */
};

/* The device with its driver on which the newest of these energies was measured: name, uuid, driver
 * and cc.  GT_EXIT_NOTHING: there is none; the sentence names one that there is. */
int gt_energy_rows_device(struct gt_store *store, const struct gt_energy_asked *asked,
                          struct gt_device *device, struct gt_err *err);

#endif
