/* snapshot.h - stage: what a look-up would hand out from tables as they are at one moment.  A sweep
 * takes a snapshot before its first trial, so that it can time the answers that its own rows are to
 * replace; `tune bench` takes one to show the untuned answer beside the tuned one. */
#ifndef GT_SNAPSHOT_H
#define GT_SNAPSHOT_H

#include "kernel/kernel.h"
#include "lookup/lookup.h"
#include "lookup/ranking.h"
#include "lookup/table.h"

struct gt_store;

struct gt_snapshot {
    const struct gt_kernels *kernels; /* not owned */
    struct gt_table table;            /* the user's rows, then the system's */
    size_t user_rows;
    struct gt_rankings rankings;
};

/* store: the user's database (NULL: as if there were none); shipped: the system's table (NULL:
 * none).  kernels and the texts of shipped must outlive the snapshot; the store may change or
 * close.  The snapshot is to be released also after a failure. */
int gt_snapshot_take(struct gt_snapshot *snapshot, const struct gt_kernels *kernels,
                     struct gt_store *store, const struct gt_table *shipped, struct gt_err *err);
void gt_snapshot_release(struct gt_snapshot *snapshot); /* a zeroed one is accepted */

/* What gt_lookup would answer for the problem on the device; a profile stands for every device of
 * its arch.  resolved->kernel is one of the snapshot's kernels, or NULL if the tier is NONE.  The
 * texts of the answer are those of the snapshot; gt_resolved_release frees the others.  On failure
 * resolved is zeroed. */
int gt_snapshot_lookup(const struct gt_snapshot *snapshot, const struct gt_device *device,
                       const struct gt_problem *problem, struct gt_resolved *resolved,
                       struct gt_err *err);

#endif
