/* terminal.c - output to a terminal; see terminal.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/terminal.h"

#define LEAST 20 /* columns for wrapped text; a narrower terminal gets lines as they are */

/* The length of a colour sequence (ESC [ digits m) at text; 0 if there is none. */
static size_t colour_length(const char *text, size_t size)
{
    size_t i = 2;

    if (size < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (i < size && text[i] >= '0' && text[i] <= '9')
        i++;
    return i < size && text[i] == 'm' ? i + 1 : 0;
}

struct terminal {
    FILE *to;
    const bool *raw;
};

/* How many bytes of text take at most `room` columns; colours and the later bytes of a character
 * take none. */
static size_t fitting(const char *text, size_t length, size_t room)
{
    size_t i = 0, columns = 0;

    while (i < length) {
        size_t colour = colour_length(text + i, length - i);

        if (!colour && (text[i] & 0xc0) != 0x80 && columns++ == room)
            return i;
        i += colour ? colour : 1;
    }
    return length;
}

/* Where the further lines of a text begin: below the text's last column that begins in the first
 * half of the line, or else two columns further in than the text. */
static size_t hanging(const char *text, size_t length, size_t width)
{
    size_t indent = strspn(text, " "), found = indent + 2;

    for (size_t i = indent + 3; i < length && i <= width / 2; i++)
        if (text[i] != ' ' && text[i - 1] == ' ' && text[i - 2] == ' ')
            found = i;
    return found <= width / 2 ? found : 2;
}

/* Where to break text[0..fits): at a space, else behind a comma, else behind a slash, not before
 * `from`. */
static size_t breaking(const char *text, size_t from, size_t fits)
{
    for (size_t i = fits; i > from; i--)
        if (text[i] == ' ')
            return i;
    for (const char *sign = ",/"; *sign; sign++)
        for (size_t i = fits; i > from; i--)
            if (text[i - 1] == *sign)
                return i;
    return fits;
}

/* Writes a line, broken where the terminal would else break it in the middle of a word. */
static void put_line(FILE *to, const char *text, size_t length, size_t width)
{
    const size_t indent = hanging(text, length, width);
    size_t from = strspn(text, " "), room = width, fits;

    while ((fits = fitting(text, length, room)) < length) {
        size_t cut = breaking(text, from, fits);
        size_t next = cut + strspn(text + cut, " "), end = cut;

        while (end > from && text[end - 1] == ' ')
            end--;
        fwrite(text, 1, end, to);
        fprintf(to, "\n%*s", (int)indent, "");
        text += next < length ? next : length;
        length -= next < length ? next : length;
        room = width - indent;
        from = 0;
    }
    fwrite(text, 1, length, to);
}

static int columns_of(int descriptor)
{
    struct winsize window;

    return descriptor < 0 || ioctl(descriptor, TIOCGWINSZ, &window) ? 0 : window.ws_col;
}

/* Writes the text without escape sequences into `clean`. */
static void take_clean(struct gt_strbuf *clean, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        size_t colour = colour_length(text + i, size - i);

        if (colour) {
            gt_strbuf_add_bytes(clean, text + i, colour);
            i += colour - 1;
        } else {
            gt_strbuf_add_char(clean, gt_is_control(text, i) && text[i] != '\n' && text[i] != '\t'
                                          ? '?'
                                          : text[i]);
        }
    }
}

static ssize_t write_clean(void *cookie, const char *text, size_t size)
{
    const struct terminal *terminal = cookie;
    const int width = *terminal->raw ? 0 : columns_of(fileno(terminal->to));
    struct gt_strbuf clean = GT_STRBUF_INIT;
    const bool failed = (take_clean(&clean, text, size), gt_strbuf_check(&clean, NULL) != GT_OK);

    for (const char *at = clean.text, *end; !failed && *at; at = end) {
        const size_t length = strcspn(at, "\n");

        end = at + length + (at[length] == '\n');
        if (width >= LEAST)
            put_line(terminal->to, at, length, (size_t)width);
        else
            fwrite(at, 1, length, terminal->to);
        fwrite(at + length, 1, (size_t)(end - at) - length, terminal->to);
    }
    gt_strbuf_release(&clean);
    return failed || ferror(terminal->to) || fflush(terminal->to) ? 0
                                                                  : (ssize_t)size; /* 0: failed */
}

static int close_terminal(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *gt_terminal_open(FILE *to, const bool *raw)
{
    struct terminal *terminal = calloc(1, sizeof(*terminal));
    FILE *stream = NULL;

    if (terminal) {
        *terminal = (struct terminal){to, raw};
        stream = fopencookie(
            terminal, "w", (cookie_io_functions_t){.write = write_clean, .close = close_terminal});
    }
    if (stream)
        setvbuf(stream, NULL, _IOLBF, 4096);
    else
        free(terminal);
    return stream;
}

int gt_terminal_width(void)
{
    return columns_of(STDOUT_FILENO);
}

void gt_terminal_wrap(FILE *out, const char *text, int column, int width)
{
    const int room = width - column > LEAST ? width - column : LEAST;

    while (width > 0 && (int)strlen(text) > room) {
        int cut = room;

        while (cut > 1 && text[cut] != ' ')
            cut--;
        fprintf(out, "%.*s\n%*s", cut, text, column, "");
        text += cut + (text[cut] == ' ');
    }
    fprintf(out, "%s\n", text);
}

/* ---- tables ---- */

#define ALWAYS 2 /* columns that are shown on the narrowest terminal */
#define INDENT 2 /* indent of figures and tails on lines of their own */

/* The hidden column of lowest rank, and its index in *at; NULL: all columns are shown. */
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
