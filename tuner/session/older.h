/* older.h - winners that belong to an older text of their kernel: what an upgrade, or an edit of a
 * template, takes out of answers and exports.  One sentence says which they are and what to do. */
#ifndef GT_OLDER_H
#define GT_OLDER_H

#include <stdio.h>

#include "session/cmd_session.h"

struct gt_older {
    size_t winners, predicted; /* predicted: of the winners */
    char kernels[120];         /* "mma, simt" */
};

/* Counts the winners of older texts that have no winner of today's in their place, as good a one
 * (measured, if they were).  Of the filter, what narrows the rows is used; problem: only these
 * (problems 0: all).  Recordings, and kernels that are not among these, have no older text. */
int gt_older_count(struct gt_older *older, struct gt_store *store, const struct gt_kernels *kernels,
                   const struct gt_row_filter *narrow, const struct gt_problem *problem,
                   size_t problems, struct gt_err *err);

/* Prints the sentence; nothing where there is none.  what: becomes of them. */
void gt_older_tell(FILE *log, const struct gt_older *older, const char *what);
#define GT_OLDER_OF_SWEEP "no result of the text of today" /* what they are to a sweep */

/* Counts and tells it of a session's database and arch, unless it is quiet or replays. */
void gt_older_tell_session(const struct gt_session *session, const struct gt_problem *problem,
                           size_t problems);

#endif
