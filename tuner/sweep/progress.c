/* progress.c - shows the progress of a sweep; see progress.h. */
#include "sweep/progress.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TERMINAL_INTERVAL 0.1 /* seconds between two states shown */
#define PLAIN_INTERVAL    5.0 /* the same where each state is a line of its own */
#define PLAIN_FIRST       2.0 /* the same for the first state below a title */
#define LINE_MAX_BYTES    400
#define NOTE_LEAST        20 /* columns; a note on a narrower terminal is not broken at words */

struct gt_progress {
    FILE *stream;
    bool terminal, color;
    bool dirty;       /* a line without its end is on the terminal */
    bool waits;       /* the last line told of a wait */
    double last_show; /* seconds, monotonic */
};

int gt_progress_new(struct gt_progress **progress, FILE *stream, bool terminal, bool color,
                    struct gt_err *err)
{
    *progress = calloc(1, sizeof(**progress));
    if (!*progress)
        return gt_err_nomem(err);
    (*progress)->stream = stream;
    (*progress)->terminal = terminal;
    (*progress)->color = color;
    (*progress)->last_show = gt_clock_s();
    return GT_OK;
}

int gt_progress_stderr(struct gt_progress **progress, const char *color, struct gt_err *err)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    bool terminal = isatty(STDERR_FILENO) && !dumb;
    bool colored = terminal && !(no_color && *no_color);

    if (color && strcmp(color, "auto") != 0)
        colored = strcmp(color, "always") == 0;
    return gt_progress_new(progress, stderr, terminal, colored, err);
}

void gt_progress_clear(struct gt_progress *progress)
{
    if (!progress || !progress->dirty)
        return;
    fputs("\r\033[K", progress->stream);
    fflush(progress->stream);
    progress->dirty = false;
}

void gt_progress_free(struct gt_progress *progress)
{
    if (!progress)
        return;
    gt_progress_clear(progress);
    fflush(progress->stream);
    free(progress);
}

void gt_progress_title(struct gt_progress *progress, const char *title)
{
    char text[LINE_MAX_BYTES];

    if (!progress)
        return;
    gt_progress_clear(progress);
    gt_copy_clean(text, sizeof(text), title);
    fprintf(progress->stream, progress->color ? "\033[1m%s\033[0m\n" : "%s\n", text);
    fflush(progress->stream);
    /* The first state comes soon: on a terminal at once. */
    progress->last_show =
        gt_clock_s() - (progress->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL - PLAIN_FIRST);
}

/* Columns of the terminal; 0: not known. */
static size_t columns(const struct gt_progress *progress)
{
    struct winsize window;

    if (ioctl(fileno(progress->stream), TIOCGWINSZ, &window) != 0)
        return 0;
    return window.ws_col;
}

void gt_progress_note(struct gt_progress *progress, const char *sentence)
{
    char clean[sizeof(((struct gt_err *)0)->msg)], *text = clean;
    size_t width;

    if (!progress)
        return;
    width = progress->terminal ? columns(progress) : 0;
    gt_progress_clear(progress);
    gt_copy_clean(clean, sizeof(clean), sentence);
    while (width >= NOTE_LEAST && strlen(text) > width - 2) { /* else broken within a word */
        size_t cut = width - 2;

        while (cut && text[cut] != ' ')
            cut--;
        cut = cut ? cut : width - 2;
        fprintf(progress->stream, "  %.*s\n", (int)cut, text);
        text += cut + (text[cut] == ' ');
    }
    fprintf(progress->stream, "  %s\n", text);
    fflush(progress->stream);
}

/* Whether what may be shown again and again is due. */
static bool is_due(const struct gt_progress *progress)
{
    return gt_clock_s() - progress->last_show >=
           (progress->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL);
}

/* Bytes that a line of a terminal may have behind its indent: a wrapped line could not be
 * rewritten. 0: as many as it likes. */
static size_t room(const struct gt_progress *progress)
{
    const size_t width = progress->terminal ? columns(progress) : 0;

    return width > 3 ? width - 3 : 0;
}

/* Rewrites the line of a terminal, or adds a plain one. */
static void put_line(struct gt_progress *progress, const char *text)
{
    progress->last_show = gt_clock_s();
    if (!progress->terminal)
        fprintf(progress->stream, "  %s\n", text);
    else
        fprintf(progress->stream, progress->color ? "\r\033[K  \033[36m%s\033[0m" : "\r\033[K  %s",
                text);
    fflush(progress->stream);
    progress->dirty = progress->terminal;
}

/* The same of a foreign text, as much of it as the line has room for. */
static void put_clean(struct gt_progress *progress, const char *foreign)
{
    char text[LINE_MAX_BYTES];

    gt_copy_clean(text, sizeof(text), foreign);
    if (room(progress) && strlen(text) > room(progress))
        text[room(progress)] = '\0';
    put_line(progress, text);
}

void gt_progress_now(struct gt_progress *progress, const char *subject)
{
    if (progress && progress->terminal)
        put_clean(progress, subject);
    else
        gt_progress_title(progress, subject);
}

void gt_progress_show(struct gt_progress *progress, const struct gt_progress_state *state,
                      bool force)
{
    char text[LINE_MAX_BYTES];

    if (!progress || (!force && !is_due(progress)))
        return;
    gt_progress_format(state, room(progress), text, sizeof(text));
    put_line(progress, text);
    progress->waits = false;
}

void gt_progress_end(struct gt_progress *progress, const struct gt_progress_state *state)
{
    char text[LINE_MAX_BYTES];

    if (!progress)
        return;
    gt_progress_format(state, room(progress), text, sizeof(text));
    gt_progress_note(progress, text);
    progress->waits = false;
}

void gt_progress_wait(struct gt_progress *progress, const char *what, double seconds)
{
    struct gt_strbuf buf = GT_STRBUF_INIT;

    if (!progress || (progress->waits && !is_due(progress)))
        return;
    gt_strbuf_addf(&buf, "%s; ", what);
    gt_progress_add_duration(&buf, seconds);
    put_clean(progress, buf.text);
    gt_strbuf_release(&buf);
    progress->waits = true;
}
