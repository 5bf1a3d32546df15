/* devices.h - one sweep over several GPUs of a host: `tune --devices all --shapes FILE`.
 *
 * One process supervises; each GPU has a process of its own, which runs sweeps of one problem each
 * as a plain `tune` does (device_process.c).  They share the database (GT_STORE_SHARED) and the
 * compilers (workers/processors.h).  The supervisor hands problems out (devices_plan.c), prints
 * what comes back, and replaces a process that ends or falls silent.
 *
 * GPUs of one class - name, SMs, power limit and driver - share the problems; each class tunes all
 * of them.  Where a class has more GPUs than problems, several search one problem, each with a seed
 * of its own, and one of them then takes the best candidates of all into its finals. */
#ifndef GT_DEVICES_H
#define GT_DEVICES_H

#include "session/cmd_session.h"

#define GT_DEVICES_MAX       64
#define GT_DEVICES_SILENCE_S 300 /* a process that says nothing for so long is replaced */

struct gt_devices_options {
    const char *devices;               /* "all", "0-3", "0,2" */
    struct gt_session_options session; /* without a device */
    const struct gt_problem *problem;
    const double *weight; /* NULL: all alike */
    size_t problems;
    struct gt_budget budget;
    size_t rows;                   /* to print of each problem */
    int64_t silence_s;             /* 0: GT_DEVICES_SILENCE_S */
    struct gt_session_after after; /* of each problem, on the GPU that had its finals */
    bool missing;                  /* problems that have a winner on a class are left out for it */
};

/* Tunes, prints and reports.  GT_EXIT_NOTHING: no problem has a valid candidate; GT_ELOST: problems
 * are left and no GPU is; GT_EINTERRUPTED: a signal came. */
int gt_devices_run(struct gt_cli *cli, const struct gt_devices_options *options,
                   struct gt_err *err);

#endif
