/* older.h - winners that belong to an older text of their kernel.  An upgrade, or an edit of a
 * template, takes these winners out of answers and exports.  One sentence says which winners they
 * are and what to do. */
#ifndef GT_OLDER_H
#define GT_OLDER_H

#include <stdio.h>

#include "session/cmd_session.h"

struct gt_older {
    size_t winners, predicted; /* predicted: how many of `winners` were predicted */
    char kernels[120];         /* "mma, simt" */
};

/* Counts the winners of older texts in whose place today's text has no winner; a measured winner is
 * only replaced by a measured winner.  narrow: a filter whose narrowing members are used.  problem:
 * counts only these problems (problems 0: all).  Recordings, and kernels not in `kernels`, have no
 * older text. */
int gt_older_count(struct gt_older *older, struct gt_store *store, const struct gt_kernels *kernels,
                   const struct gt_row_filter *narrow, const struct gt_problem *problem,
                   size_t problems, struct gt_err *err);

/* Prints the sentence if there are such winners.  what: what becomes of the winners. */
void gt_older_tell(FILE *log, const struct gt_older *older, const char *what);
#define GT_OLDER_OF_SWEEP "no result of the text of today" /* what such winners are to a sweep */

/* Counts and tells the older winners of a session's database and arch, unless the session is quiet
 * or replays. */
void gt_older_tell_session(const struct gt_session *session, const struct gt_problem *problem,
                           size_t problems);

#endif
