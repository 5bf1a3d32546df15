/* energy_run.h - a load without a gap: launches of one kernel, queued ahead in batches, while a
 * meter is read (energy.h). */
#ifndef GT_ENERGY_RUN_H
#define GT_ENERGY_RUN_H

#include "timing/bench_internal.h"

#define GT_ENERGY_AHEAD GT_BENCH_BATCH /* batches that are queued at most */

/* A run in progress.  Device seconds and launches are of the batches that were waited for: the time
 * between them has all that the device did, gaps as well. */
struct gt_energy_run {
    struct gt_bench *bench;
    const struct gt_runner *runner;
    const struct gt_energy_wish *wish;
    int batch, ahead, full; /* full: how often one after another the queue seemed to be so */
    int64_t queued, ended;  /* batches */
    double seconds;
    double gap_s; /* of them: at most so much was waiting for the host */
    int64_t launches;
    double began_s;                   /* on the host's clock: since when the load is the same */
    double queued_s[GT_ENERGY_AHEAD]; /* when all of a batch was queued, since then */
};

/* Finds how many launches are a batch and how many batches are queued, and begins the run. */
int gt_energy_run_start(struct gt_energy_run *run, struct gt_err *err);

/* Fills the queue and waits for its oldest batch, and for all that must have ended meanwhile: the
 * host may have been away for many batches.  begin[0] is the run's beginning.
 *
 * Where a launch has to wait because the driver's queue is full, the host is behind all the time,
 * even when what was queued at first has ended twice: after some times fewer batches are queued. */
int gt_energy_run_advance(struct gt_energy_run *run, struct gt_err *err);

/* The end of a time that begins at that moment, or that of the whole run. */
double gt_energy_run_end(const struct gt_energy_run *run, double from_s, double seconds);

/* Lets the run last for so long since its beginning.  The counter is read meanwhile: what it does
 * when it has not been asked for long, such as standing still, is over then. */
int gt_energy_run_heat(struct gt_energy_run *run, double seconds, struct gt_err *err);

#endif
