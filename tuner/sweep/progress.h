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
    int64_t done, fresh;             /* all trials; those of this run */
    int64_t trials_limit;            /* 0: none */
    double elapsed_s, seconds_limit; /* of this problem; limit 0: none */
    double best_us, flops;           /* best time, 0: none yet; work of the problem */
    bool predicted;                  /* a model gives the times */
    double points;                   /* of a space that can be tried whole; 0: not known */
    double all_left_s;               /* until the end of all problems; <= 0: not known */
    double ratio;                    /* cuBLASLt's time over the best; 0: not known */
    bool searched;                   /* the search is over, finals may go on: no time left */
    bool ended;                      /* these, too: no bar */
    const char *phase;               /* "racing", "sampling 3 of 32", ... */
};

/* terminal: rewrite one line; color: use escape sequences for emphasis. */
int gt_progress_new(struct gt_progress **progress, FILE *stream, bool terminal, bool color,
                    struct gt_err *err);

/* For stderr: terminal if it is one and TERM is not "dumb".  color: "always", "never", or "auto"
 * and NULL, which is a terminal's unless NO_COLOR is set. */
int gt_progress_stderr(struct gt_progress **progress, const char *color, struct gt_err *err);
void gt_progress_free(struct gt_progress *progress); /* NULL accepted; clears the line */

/* Every function below accepts NULL and then does nothing. */

/* A new subject, e.g. a problem's text: printed as a line of its own. */
void gt_progress_title(struct gt_progress *progress, const char *title);

/* What is done now, e.g. a problem's text: on a terminal a line that the next one replaces,
 * elsewhere as gt_progress_title. */
void gt_progress_now(struct gt_progress *progress, const char *subject);

/* Shows the state if enough time has passed since the last one, or if force. */
void gt_progress_show(struct gt_progress *progress, const struct gt_progress_state *state,
                      bool force);

/* The last state of a subject, on a line that stays. */
void gt_progress_end(struct gt_progress *progress, const struct gt_progress_state *state);

/* Something takes its time, since `seconds`: shown on a terminal as often as states are; elsewhere
 * at once, and then as often as states. */
void gt_progress_wait(struct gt_progress *progress, const char *what, double seconds);

/* Clears the line of a terminal, so that something else can be printed. */
void gt_progress_clear(struct gt_progress *progress);

/* A sentence that stays, on a line of its own. */
void gt_progress_note(struct gt_progress *progress, const char *sentence);

/* Writes the line that gt_progress_show prints, without colour.  width: columns that it may have;
 * what matters least is left out.  0: no limit, and no bar, as in a file. */
void gt_progress_format(const struct gt_progress_state *state, size_t width, char *text,
                        size_t size);

#endif
