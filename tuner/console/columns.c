/* columns.c - tables on terminals of any width; see columns.h. */
#include "console/columns.h"

#include <string.h>

#include "base/err.h"

#define ALWAYS 2 /* columns that are shown on the narrowest terminal */
#define INDENT 2 /* of figures and tails on lines of their own */

/* The columns of lowest rank that are not shown yet come first. */
static const struct gt_column *next_column(const struct gt_columns *columns, size_t *at)
{
    const struct gt_column *next = NULL;

    for (size_t i = 0; i < columns->count; i++)
        if (!columns->shown[i] && (!next || columns->column[i].rank < next->rank))
            next = &columns->column[ *at = i];
    return next;
}

void gt_columns_choose(struct gt_columns *columns, const struct gt_column *column, size_t count,
                       int lead, int width)
{
    const struct gt_column *next;
    size_t at = 0;

    *columns = (struct gt_columns){.column = column, .count = count, .lead = lead, .width = width};
    for (size_t shown = 0; (next = next_column(columns, &at)); shown++) {
        const int begin = columns->below ? INDENT : lead, room = width - begin - columns->used;

        if (width && room <= next->width && shown >= ALWAYS)
            return;
        columns->below = columns->below || (width && room <= next->width);
        columns->shown[at] = true;
        columns->used += 1 + next->width;
    }
}

void gt_columns_put(FILE *out, const char *text)
{
    for (size_t i = 0; text[i]; i++)
        fputc(gt_is_control(text, i) ? '?' : text[i], out);
}

void gt_columns_row(const struct gt_columns *columns, FILE *out, const char *lead,
                    const char *const *cell, const char *tail)
{
    const bool apart = columns->below || (columns->width && strlen(lead) > (size_t)columns->lead);
    const int begin = columns->below ? INDENT : columns->lead;
    const int left = columns->width - begin - columns->used - 2;

    gt_columns_put(out, lead);
    if (apart)
        fprintf(out, "\n%*s", begin, "");
    else if (strlen(lead) < (size_t)columns->lead)
        fprintf(out, "%*s", columns->lead - (int)strlen(lead), "");
    for (size_t i = 0; i < columns->count; i++)
        if (columns->shown[i])
            fprintf(out, " %*s", columns->column[i].width,
                    cell ? cell[i] : columns->column[i].name);
    if (columns->width && left < (int)strlen(tail))
        fprintf(out, "\n%*s", INDENT, "");
    else
        fputs("  ", out);
    gt_columns_put(out, tail);
    fputc('\n', out);
}
