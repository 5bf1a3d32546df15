/* columns.h - a table on a terminal that may be narrow: rows of a lead (the problem), figures and a
 * tail (the winner), of which those figures are shown that fit. */
#ifndef GT_COLUMNS_H
#define GT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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
