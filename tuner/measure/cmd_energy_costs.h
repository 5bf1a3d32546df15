/* cmd_energy_costs.h - what the fastest of a problem's measured candidates costs, what a few per
 * cent of time save, and what cuBLASLt's answer costs. Part of tune energy. */
#ifndef GT_CMD_ENERGY_COSTS_H
#define GT_CMD_ENERGY_COSTS_H

#include <stdio.h>

#include "base/strbuf.h"
#include "db/store.h"

struct gt_record;

/* A candidate, or cuBLASLt's answer, and its energy. */
struct gt_energy_cost {
    struct gt_energy energy; /* us 0: there is none */
    struct gt_strbuf kernel, point;
};

struct gt_energy_costs {
    struct gt_energy_cost fast, saving, vendor; /* vendor: cuBLASLt's */
    int entries;                                /* of ours that were measured */
};

void gt_energy_costs_init(struct gt_energy_costs *costs);
void gt_energy_costs_begin(struct gt_energy_costs *costs); /* of a problem: forgets the last one */
void gt_energy_costs_release(struct gt_energy_costs *costs);

/* Takes in the rows of a problem, the fastest first.  The one that saves has the least energy of
 * ours that are slower than the fastest of ours by at most `slower` per cent and take less than it,
 * whatever the errors are. */
int gt_energy_costs_take(struct gt_energy_costs *costs, const struct gt_energy_row *row,
                         double slower, struct gt_err *err);

void gt_energy_costs_print(const struct gt_energy_costs *costs, FILE *out, double slower);

/* The row of a problem.  time and energy: of the one that saves against the fastest, in per cent;
 * what was not measured is empty, and so is what saves where the errors are as large as the saving.
 */
#define GT_ENERGY_COSTS_HEADING                                                                    \
    "device,problem,entries,us,tflops,joules,error,watts,clock_mhz,method,kernel,point,saving_us," \
    "saving_joules,saving_error,saving_watts,saving_clock_mhz,saving_kernel,saving_point,time,"    \
    "energy,cublas_us,cublas_tflops,cublas_joules,cublas_error,cublas_watts,cublas_clock_mhz"
void gt_energy_costs_write(const struct gt_energy_costs *costs, const struct gt_problem *problem,
                           const char *device, const struct gt_record *record);

#endif
