/* progress.h - shows the progress of a sweep: on a terminal one line that is rewritten, otherwise a
 * plain line every five seconds.  Control characters of foreign texts are not shown.  It belongs to
 * the program, because the library never prints. */
#ifndef GT_PROGRESS_H
#define GT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "problem/trial.h"

struct gt_err;
struct gt_progress;
struct gt_strbuf;

/* What is shown. */
struct gt_progress_state {
    int64_t status[GT_STATUS_COUNT]; /* trials by status, earlier runs included */
    int64_t done, fresh;             /* all trials; trials of this run */
    int64_t trials_limit;            /* 0: none */
    double elapsed_s, seconds_limit; /* both of this problem; limit 0: none */
    double best_us, flops;           /* best time, 0: none yet; operations of the product */
    bool predicted;                  /* a model gives the times */
    double points;                   /* valid points, if they can be counted; 0: not known */
    double all_left_s;               /* seconds until the end of all problems; <= 0: not known */
    double ratio;                    /* cuBLASLt's time over the best; 0: not known */
    bool searched;                   /* the search is over, finals may go on: no time left */
    bool ended;                      /* the finals are over, too: no bar */
    const char *phase;               /* "racing", "sampling 3 of 32", ... */
};

/* terminal: rewrite one line; color: use escape sequences for emphasis. */
int gt_progress_new(struct gt_progress **progress, FILE *stream, bool terminal, bool color,
                    struct gt_err *err);

/* The progress on stderr: as on a terminal if stderr is one and TERM is not "dumb".  color:
 * "always", "never", or "auto" (as NULL), which colours a terminal unless NO_COLOR is set. */
int gt_progress_stderr(struct gt_progress **progress, const char *color, struct gt_err *err);
void gt_progress_free(struct gt_progress *progress); /* NULL accepted; clears the line */

/* Every function below accepts NULL and then does nothing. */

/* A new subject, e.g. a problem's text: printed as a line of its own. */
void gt_progress_title(struct gt_progress *progress, const char *title);

/* The present subject, e.g. a problem's text.  On a terminal its line is replaced by the next
 * subject's; elsewhere this is gt_progress_title. */
void gt_progress_now(struct gt_progress *progress, const char *subject);

/* Shows the state if force, or if enough time has passed since the last state was shown. */
void gt_progress_show(struct gt_progress *progress, const struct gt_progress_state *state,
                      bool force);

/* The last state of a subject, on a line that stays. */
void gt_progress_end(struct gt_progress *progress, const struct gt_progress_state *state);

/* Shows that `what` has taken so many seconds.  A terminal shows this as often as states; a file
 * gets the first call at once, and later calls as often as states. */
void gt_progress_wait(struct gt_progress *progress, const char *what, double seconds);

/* Clears the line of a terminal, so that something else can be printed. */
void gt_progress_clear(struct gt_progress *progress);

/* A sentence that stays, on a line of its own. */
void gt_progress_note(struct gt_progress *progress, const char *sentence);

/* Writes the line that gt_progress_show prints, without colour.  width: the most columns; the least
 * important parts are left out.  Width 0: no limit, and no bar, as in a file. */
void gt_progress_format(const struct gt_progress_state *state, size_t width, char *text,
                        size_t size);

#endif
