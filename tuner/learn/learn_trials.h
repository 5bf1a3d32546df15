/* learn_trials.h - learning from trials that are told by name: of a database, of a file of trials
 * (exchange/trials.h), or of a table of winners. */
#ifndef GT_LEARN_TRIALS_H
#define GT_LEARN_TRIALS_H

#include "db/store.h"
#include "learn/learn.h"

/* Zeroed but for the learning and the folder, before the first trial. */
struct gt_learn_source {
    struct gt_learning *learning;
    const char *data_dir; /* with the profiles of devices */
    struct gt_device on;  /* that the last trial ran on */
    size_t other, gone;   /* trials left out: of another arch; of points that no kernel here has */
};

/* Takes a trial; context: a struct gt_learn_source.  The first one sets the learning's device if it
 * has none; those of another arch than that, or than the base's, are left out, and so are those of
 * candidates that no kernel in use here has. */
int gt_learn_take(void *context, const struct gt_named_trial *named, struct gt_err *err);

/* Takes the time as what an earlier ranking expected; see gt_learn_add_estimate. */
int gt_learn_take_estimate(struct gt_learn_source *source, const struct gt_named_trial *named,
                           struct gt_err *err);

/* A point of this or an earlier text of the kernel: parameters that it has not any more are left
 * out. */
int gt_learn_known_point(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                         struct gt_err *err);

#endif
