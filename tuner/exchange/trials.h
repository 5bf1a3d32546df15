/* trials.h - measured trials as a compact text, gzipped or not, that is kept in a tree and learned
 * from: `tune export --format trials` writes it, `tune doctor --predictor --from FILE` reads it.
 *
 *     # gemmtune trials 1 DIGEST             of everything after this line
 *     device CC NAME
 *     problem TEXT
 *     kernel NAME SIGNATURE PARAMETERS       of the following trials: BM,BN,...
 *     VALUES US CLOCK STATUS                 128,64,...; microseconds, MHz (0: not seen)
 *
 * There are trials with a cold L2 that were timed (ok, slow: given up after the first run) and
 * those that spill registers, whose US may be 0.  Samples, intervals and costs stay behind. */
#ifndef GT_TRIALS_H
#define GT_TRIALS_H

#include "db/store.h"

#define GT_TRIALS_MAGIC  "# gemmtune trials 1 "
#define GT_TRIALS_ENDING "trials.gz" /* a file named so is one, or should be */

/* Whether a path is that of such a file, by its ending or by the file's first words. */
bool gt_trials_found(const char *path);

/* Whether such a file holds the trial. */
bool gt_trials_hold(const struct gt_named_trial *named);

/* Visits the trials of a file.  Those named, and of the trial status, us and clock_mhz, are set.
 * GT_ESTALE: it is of another version; GT_EDB: it is damaged. */
int gt_trials_read(const char *path, gt_named_trial_visit *visit, void *context,
                   struct gt_err *err);

/* The same of a text in memory; path: for sentences. */
int gt_trials_parse(const char *path, const char *text, size_t length, gt_named_trial_visit *visit,
                    void *context, struct gt_err *err);

#endif
