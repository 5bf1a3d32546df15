/* progress.c - shows the progress of a sweep; see progress.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "sweep/progress.h"

/* The text of the progress line, whole or fitted into the width of a terminal;
 * see progress.h. */

#define BAR_CELLS 20

/* The parts of a line that may be left out. */
enum {
    BAR = 1 << 0,
    PHASE = 1 << 1,
    STATUSES = 1 << 2,
    TFLOPS = 1 << 3,
    RATE = 1 << 4,
    ELAPSED = 1 << 5,
    ALL_LEFT = 1 << 6,
    PERCENT = 1 << 7,
    TRIED = 1 << 8,
    EVERYTHING = (1 << 9) - 1
};

/* The parts that are left out of a line too long for the terminal, the least important first. */
static const unsigned dispensable[] = {ELAPSED, STATUSES, RATE,    TFLOPS, BAR,
                                       PHASE,   ALL_LEFT, PERCENT, TRIED};

/* "45s", "12m05s", "3h04m". */
static void gt_progress_add_duration(struct gt_strbuf *buf, double seconds)
{
    long whole = seconds > 0 ? (long)(seconds + 0.5) : 0;

    if (whole < 60)
        gt_strbuf_addf(buf, "%lds", whole);
    else if (whole < 3600)
        gt_strbuf_addf(buf, "%ldm%02lds", whole / 60, whole % 60);
    else
        gt_strbuf_addf(buf, "%ldh%02ldm", whole / 3600, whole / 60 % 60);
}

/* Trials at which the search ends at the latest: by the budget, or because the space has no more
 * points; 0: neither is known. */
static double most_trials(const struct gt_progress_state *state)
{
    double limit = (double)state->trials_limit;

    if (state->points > 0 && (limit <= 0 || state->points < limit))
        limit = state->points;
    return limit;
}

/* Seconds until the first limit is reached; < 0: not known. */
static double time_left(const struct gt_progress_state *state)
{
    double rate = state->elapsed_s > 0 ? (double)state->fresh / state->elapsed_s : 0;
    double left = -1, most = most_trials(state);

    if (state->searched || !(rate > 0))
        return -1; /* the search is over, or the time of a trial is not known yet */
    if (state->seconds_limit > 0 && state->elapsed_s >= state->seconds_limit)
        return -1; /* candidates in flight are awaited */
    if (state->seconds_limit > 0)
        left = state->seconds_limit - state->elapsed_s;
    if (most > 0 && rate > 0) {
        double by_trials = (most - (double)state->done) / rate;

        if (left < 0 || by_trials < left)
            left = by_trials;
    }
    return left;
}

/* The part of the search that is done, from 0 to 1; < 0: not known. */
static double part_done(const struct gt_progress_state *state)
{
    double part = -1, most = most_trials(state);

    if (state->searched)
        return 1;
    if (state->seconds_limit > 0)
        part = state->elapsed_s / state->seconds_limit;
    if (most > 0)
        part = fmax(part, (double)state->done / most);
    return fmin(part, 1);
}

/* "[#####...............]  25 %; ". */
static void add_part(struct gt_strbuf *buf, const struct gt_progress_state *state, unsigned wanted)
{
    double part = part_done(state);
    int cells = (int)(part * BAR_CELLS + 0.5);

    if (part < 0)
        return;
    if (wanted & BAR) {
        char bar[BAR_CELLS + 1] = "";

        memset(bar, '.', BAR_CELLS);
        memset(bar, '#', (size_t)cells);
        gt_strbuf_addf(buf, "[%s] ", bar);
    }
    if (wanted & PERCENT)
        gt_strbuf_addf(buf, "%3.0f %%; ", floor(100 * part));
}

/* "120/500 tried: 101 ok, 12 spills, 7 slow". */
static void add_counts(struct gt_strbuf *buf, const struct gt_progress_state *state,
                       unsigned wanted)
{
    const char *between = ": ";
    double most = most_trials(state);

    gt_strbuf_addf(buf, "%lld", (long long)state->done);
    if (most > 0 && most >= (double)state->done)
        gt_strbuf_addf(buf, "/%.0f", most);
    gt_strbuf_add(buf, " tried");
    for (int status = GT_STATUS_NONE + 1; status < GT_STATUS_COUNT; status++) {
        if (!state->status[status] || !(wanted & STATUSES))
            continue;
        gt_strbuf_addf(buf, "%s%lld %s", between, (long long)state->status[status],
                       gt_status_name((enum gt_status)status));
        between = ", ";
    }
}

static void add_best(struct gt_strbuf *buf, const struct gt_progress_state *state, unsigned wanted)
{
    char us[GT_ROUGH_MAX], rate[GT_ROUGH_MAX];

    if (!(state->best_us > 0))
        return;
    snprintf(us, sizeof(us), "%.2f", state->best_us);
    snprintf(rate, sizeof(rate), "%.2f", state->flops / state->best_us * 1e-6);
    if (state->predicted) {
        gt_rough(us, state->best_us);
        gt_rough(rate, state->flops / state->best_us * 1e-6);
    }
    gt_strbuf_addf(buf, "%sbest %s%s us", buf->length ? "; " : "",
                   state->predicted ? "predicted " : "", us);
    if (state->flops > 0 && wanted & TFLOPS)
        gt_strbuf_addf(buf, " (%s TFLOP/s)", rate);
    if (state->ratio > 0)
        gt_strbuf_addf(buf, ", %.3f x cuBLAS", state->ratio);
}

static void add_times(struct gt_strbuf *buf, const struct gt_progress_state *state, unsigned wanted)
{
    double left = time_left(state);

    if (wanted & RATE && state->fresh > 0 && state->elapsed_s > 0)
        gt_strbuf_addf(buf, "; %.1f/s", (double)state->fresh / state->elapsed_s);
    if (wanted & ELAPSED) {
        gt_strbuf_add(buf, "; ");
        gt_progress_add_duration(buf, state->elapsed_s);
    }
    if (left >= 0) {
        gt_strbuf_add(buf, wanted & ELAPSED ? ", about " : "; ");
        gt_progress_add_duration(buf, left);
        gt_strbuf_add(buf, " left");
    }
    if (state->all_left_s > 0 && !state->ended && wanted & ALL_LEFT) {
        gt_strbuf_add(buf, "; all ");
        gt_progress_add_duration(buf, state->all_left_s);
    }
}

static void compose(struct gt_strbuf *buf, const struct gt_progress_state *state, unsigned wanted)
{
    gt_strbuf_reset(buf);
    if (!state->ended)
        add_part(buf, state, wanted);
    if (state->phase && wanted & PHASE)
        gt_strbuf_addf(buf, "%s; ", state->phase);
    if (wanted & TRIED || !(state->best_us > 0))
        add_counts(buf, state, wanted);
    add_best(buf, state, wanted);
    add_times(buf, state, wanted);
}

void gt_progress_format(const struct gt_progress_state *state, size_t width, char *text,
                        size_t size)
{
    struct gt_strbuf buf = GT_STRBUF_INIT;
    unsigned wanted = width ? EVERYTHING : EVERYTHING & ~(BAR | PERCENT);

    compose(&buf, state, wanted);
    for (size_t i = 0; i < sizeof(dispensable) / sizeof(dispensable[0]); i++) {
        if (!width || buf.length <= width)
            break;
        wanted &= ~dispensable[i];
        compose(&buf, state, wanted);
    }
    snprintf(text, size, "%s", gt_strbuf_check(&buf, NULL) ? "" : buf.text);
    if (width && strlen(text) > width)
        text[width] = '\0';
    gt_strbuf_release(&buf);
}

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

/* Whether enough time has passed to show a repeated state. */
static bool is_due(const struct gt_progress *progress)
{
    return gt_clock_s() - progress->last_show >=
           (progress->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL);
}

/* Bytes that a line of a terminal may have behind its indent: a wrapped line could not be
 * rewritten.  0: no limit. */
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

/* The same for a foreign text, cut to the room of the line. */
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
