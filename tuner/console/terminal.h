/* terminal.h - output to a terminal, without the escape sequences of foreign texts. */
#ifndef GT_TERMINAL_H
#define GT_TERMINAL_H

#include <stdio.h>

/* A stream that writes to `to` what it gets, with a question mark for each control character but
 * the end of a line, a tab, and the escape sequences that set colours: the name of a device in a
 * database that somebody else made reaches the terminal as text.  Close it with fclose, which
 * leaves `to` open; NULL without memory. */
FILE *gt_terminal_open(FILE *to);

#endif
