/* trials.h - measured trials as a compact text, gzipped or not, which is kept in a source tree to
 * learn from: `tune export --format trials` writes such a file, `tune doctor --predictor --from
 * FILE` reads it.
 *
 *     # gemmtune trials 1 DIGEST             of everything after this line
 *     device CC NAME
 *     problem TEXT
 *     kernel NAME SIGNATURE PARAMETERS       of the following trials: BM,BN,...
 *     VALUES US CLOCK STATUS                 128,64,...; microseconds, MHz (0: not seen)
 *
 * The file holds timed trials with a cold L2 (ok, or slow: given up after the first run), and
 * trials that spill registers, whose US may be 0.  Samples, intervals and costs are not in the
 * file. */
#ifndef GT_TRIALS_H
#define GT_TRIALS_H

#include "db/store.h"

#define GT_TRIALS_MAGIC  "# gemmtune trials 1 "
#define GT_TRIALS_ENDING "trials.gz" /* the ending of such a file's name */

/* Whether a path names a file of trials, by its ending or by the file's first words. */
bool gt_trials_found(const char *path);

/* Whether a file of trials holds such a trial. */
bool gt_trials_hold(const struct gt_named_trial *named);

/* Visits the trials of a file.  Set are the fields named above, and of the trial only status, us
 * and clock_mhz.  GT_ESTALE: the file is of another version; GT_EDB: the file is damaged. */
int gt_trials_read(const char *path, gt_named_trial_visit *visit, void *context,
                   struct gt_err *err);

/* Visits the trials of a text in memory; path: for error sentences. */
int gt_trials_parse(const char *path, const char *text, size_t length, gt_named_trial_visit *visit,
                    void *context, struct gt_err *err);

#endif
