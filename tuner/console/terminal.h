/* terminal.h - output to a terminal: its width, and no escape sequences of foreign texts. */
#ifndef GT_TERMINAL_H
#define GT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
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

/* A table on a terminal that may be narrow: rows of a lead (the problem), figures and a
 * tail (the winner), of which those figures are shown that fit. */

#define GT_COLUMNS_MAX 12

/* A column of figures: its name, how wide it is, and its rank; the lowest rank gets room first. */
struct gt_column {
    const char *name;
    int width, rank;
};

struct gt_columns {
    const struct gt_column *column; /* not owned */
    size_t count;
    int lead, width; /* characters of the lead and of the terminal (0: no limit) */
    int used;        /* characters of a row's figures */
    bool below;      /* the figures stand below the lead */
    bool shown[GT_COLUMNS_MAX];
};

/* Chooses what is shown.  lead, width: as in the structure.  Where the lead leaves no room for the
 * two columns of lowest rank, which are always shown, the figures stand below it. */
void gt_columns_choose(struct gt_columns *columns, const struct gt_column *column, size_t count,
                       int lead, int width);

/* Prints a row; cell: a text for each column, NULL: their names.  A tail that does not fit stands
 * on a line of its own. */
void gt_columns_row(const struct gt_columns *columns, FILE *out, const char *lead,
                    const char *const *cell, const char *tail);

/* Writes a text that comes from a database or another program: a question mark for each control
 * character, because terminals act on them.  gt_columns_row does the same. */
void gt_columns_put(FILE *out, const char *text);

#endif
