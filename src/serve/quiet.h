/* quiet.h - stage: writes that cannot end the program.  A pipe without a reader and a file beyond
 * the limit of its size raise signals that do, unless the program handles them. */
#ifndef GT_QUIET_H
#define GT_QUIET_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of the text to an open file; file < 0: opening it failed.  false: errno says why.  The
 * program gets no SIGPIPE or SIGXFSZ of it, whatever thread this is. */
bool gt_write_quietly(int file, const char *text, size_t length);

#endif
