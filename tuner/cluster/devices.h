/* devices.h - one sweep over several GPUs of a host: `tune --devices all --shapes FILE`.
 *
 * One process supervises; each GPU has a process of its own, which runs sweeps of one problem each
 * as a plain `tune` does (device_process.c).  The processes share the database (GT_STORE_SHARED)
 * and the compilers (workers/processors.h).  The supervisor hands problems out (devices_plan.c),
 * prints the results, and replaces a process that ends or falls silent.
 *
 * GPUs of one class - name, SMs, power limit and driver - share the problems; each class tunes all
 * problems.  Where a class has more GPUs than problems, several GPUs search one problem, each with
 * a seed of its own.  One of these GPUs then takes the best candidates of all searches into its
 * finals. */
#ifndef GT_DEVICES_H
#define GT_DEVICES_H

#include "session/cmd_session.h"

#define GT_DEVICES_MAX       64
#define GT_DEVICES_SILENCE_S 300 /* a process is replaced after so many seconds of silence */

struct gt_devices_options {
    const char *devices;               /* "all", "0-3", "0,2" */
    struct gt_session_options session; /* without a device */
    const struct gt_problem *problem;
    const double *weight; /* NULL: all problems weigh the same */
    size_t problems;
    struct gt_budget budget;
    size_t rows;                   /* rows to print of each problem */
    int64_t silence_s;             /* 0: GT_DEVICES_SILENCE_S */
    struct gt_session_after after; /* after each problem's finals, on their GPU */
    bool missing;                  /* a class does not tune problems of which it has a winner */
};

/* Tunes, prints and reports.  GT_EXIT_NOTHING: no problem has a valid candidate; GT_ELOST: problems
 * are left and no GPU is left; GT_EINTERRUPTED: a signal came. */
int gt_devices_run(struct gt_cli *cli, const struct gt_devices_options *options,
                   struct gt_err *err);

#endif
