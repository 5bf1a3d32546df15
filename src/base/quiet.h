/* quiet.h - vocabulary: file work that cannot end the program.  A pipe without a reader and a file
 * beyond the limit of its size raise signals (SIGPIPE, SIGXFSZ) that do, unless the program handles
 * them. */
#ifndef GT_QUIET_H
#define GT_QUIET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* What to put back. */
struct gt_quiet {
    sigset_t before, ours;
};

/* From begin to end this thread gets neither signal: what would raise one fails with EPIPE or EFBIG
 * alone.  end, on the same thread, takes back a signal that was raised in between (raised false:
 * none can have been), leaves one that was waiting before to the program, and keeps errno. */
void gt_quiet_begin(struct gt_quiet *quiet);
void gt_quiet_end(const struct gt_quiet *quiet, bool raised);

/* Writes all of the text to an open file; file < 0: opening it failed.  false: errno says why.  The
 * program gets no SIGPIPE or SIGXFSZ of it, whatever thread this is. */
bool gt_write_quietly(int file, const void *text, size_t length);

#endif
