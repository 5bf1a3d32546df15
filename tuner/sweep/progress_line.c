/* progress_line.c - the text of the progress line, whole or fitted into the width of a terminal;
 * see progress.h. */
#include "sweep/progress.h"

#include "base/stats.h"
#include "base/strbuf.h"

#include <math.h>
#include <string.h>

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

/* What is left out first where the line is too long for the terminal. */
static const unsigned dispensable[] = {ELAPSED, STATUSES, RATE,    TFLOPS, BAR,
                                       PHASE,   ALL_LEFT, PERCENT, TRIED};

void gt_progress_add_duration(struct gt_strbuf *buf, double seconds)
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
        return -1; /* over, or it is not known yet how long the points of the space take */
    if (state->seconds_limit > 0 && state->elapsed_s >= state->seconds_limit)
        return -1; /* what is in flight is waited for */
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
