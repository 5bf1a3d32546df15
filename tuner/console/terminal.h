/* terminal.h - output to a terminal: its width, and no escape sequences of foreign texts. */
#ifndef GT_TERMINAL_H
#define GT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* A stream that writes to `to` what it gets, with a question mark for each control character but
 * the end of a line, a tab, and the escape sequences that set colours: the name of a device in a
 * database that somebody else made reaches the terminal as text.  A line that is wider than the
 * terminal is broken at spaces, or behind commas or slashes; while *raw is true (it is read at each
 * line), what programs read stays whole.  Close it with fclose, which leaves `to` open; NULL
 * without memory. */
FILE *gt_terminal_open(FILE *to, const bool *raw);

/* Columns of the terminal that standard output is; 0: it is none, and nothing needs to fit. */
int gt_terminal_width(void);

/* Prints text and ends the line.  It begins at `column` and is broken at spaces, so that no line is
 * longer than width; the lines that follow begin at `column`, too.  width 0: it stays whole. */
void gt_terminal_wrap(FILE *out, const char *text, int column, int width);

#endif
