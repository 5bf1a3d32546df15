/* terminal.h - output to a terminal: fitted to its width, and without escape sequences of foreign
 * texts. */
#ifndef GT_TERMINAL_H
#define GT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Opens a stream that passes its text on to `to`, with a question mark for each control character
 * but the end of a line, a tab, and the escape sequences that set colours.  So the name of a device
 * in somebody else's database reaches the terminal as text.  A line that is wider than the terminal
 * is broken at spaces, or behind commas or slashes.  While *raw is true, which is read at each
 * line, lines stay whole for programs.  Close the stream with fclose, which leaves `to` open; NULL
 * without memory. */
FILE *gt_terminal_open(FILE *to, const bool *raw);

/* Columns of the terminal that is standard output; 0: standard output is no terminal, and nothing
 * needs to fit. */
int gt_terminal_width(void);

/* Prints text and ends the line.  The text begins at `column` and is broken at spaces, so that no
 * line is longer than width; further lines begin at `column`, too.  width 0: the text stays
 * whole. */
void gt_terminal_wrap(FILE *out, const char *text, int column, int width);

/* A table on a terminal that may be narrow: each row has a lead (the problem), figures and a tail
 * (the winner).  Only the figures that fit are shown. */

#define GT_COLUMNS_MAX 12

/* A column of figures: its name, width and rank; the lowest rank gets room first. */
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

/* Chooses the columns to show.  lead, width: as in the structure.  The two columns of lowest rank
 * are always shown; if the lead leaves no room for them, the figures stand below the lead. */
void gt_columns_choose(struct gt_columns *columns, const struct gt_column *column, size_t count,
                       int lead, int width);

/* Prints a row; cell: a text for each column, NULL: the columns' names.  A tail that does not fit
 * stands on its own line. */
void gt_columns_row(const struct gt_columns *columns, FILE *out, const char *lead,
                    const char *const *cell, const char *tail);

/* Writes a text that comes from a database or another program: a question mark for each control
 * character, because terminals act on control characters.  gt_columns_row does the same. */
void gt_columns_put(FILE *out, const char *text);

#endif
