/* result.c - the result of a problem: its ranked rows, the incumbent's place among them, and the
 * totals of its turns. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/sweep_parts.h"

#define NEAR_BEST 1.02 /* times the final best: a time below this counts as the best reached */

/* ---- lists ---- */

void gt_sweep_insert(void *list, size_t size, size_t *count, size_t most, const void *item)
{
    unsigned char *bytes = list;
    size_t at = *count;
    double own, other;

    memcpy(&own, item, sizeof(own));
    for (; at > 0; at--) {
        memcpy(&other, bytes + (at - 1) * size, sizeof(other));
        if (!(own < other))
            break;
    }
    if (at == most)
        return;
    *count -= *count == most;
    memmove(bytes + (at + 1) * size, bytes + at * size, (*count - at) * size);
    memcpy(bytes + at * size, item, size);
    ++*count;
}

void gt_sweep_move(void *list, size_t size, size_t from, size_t to)
{
    unsigned char moved[sizeof(struct gt_sweep_row)], *bytes = list;

    assert(size <= sizeof(moved));
    memcpy(moved, bytes + from * size, size);
    if (to < from)
        memmove(bytes + (to + 1) * size, bytes + to * size, (from - to) * size);
    else
        memmove(bytes + from * size, bytes + (from + 1) * size, (to - from) * size);
    memcpy(bytes + to * size, moved, size);
}

/* ---- the incumbent ---- */

bool gt_sweep_is_incumbent(const struct gt_race *race, const struct gt_kernel *kernel,
                           const struct gt_point *point)
{
    const struct gt_incumbent *incumbent = race->incumbent;

    return race->incumbent_arm && strcmp(kernel->name, incumbent->kernel->name) == 0 &&
           gt_point_same(kernel, point, &incumbent->point);
}

bool gt_sweep_is_guest(const struct gt_race *race, const struct gt_sweep_row *row)
{
    return race->incumbent_arm && race->incumbent_arm->guest &&
           gt_sweep_is_incumbent(race, row->kernel, &row->point);
}

void gt_sweep_part_guest(struct gt_race *race)
{
    struct gt_sweep_result *result = race->result;
    size_t i = 0;

    while (i < result->rows && !gt_sweep_is_guest(race, &result->row[i]))
        i++;
    if (i == result->rows)
        return;
    result->incumbent = result->row[i];
    result->stays = i == 0 || result->row[0].trial.stage < 3;
    memmove(&result->row[i], &result->row[i + 1], (--result->rows - i) * sizeof(*result->row));
    if (result->rows)
        result->row[0].tie = false; /* the tie may have been with the incumbent */
}

/* The place of the incumbent's row; result->rows: the incumbent has no row. */
static size_t find_row(const struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;
    size_t i = 0;

    while (i < result->rows &&
           !gt_sweep_is_incumbent(race, result->row[i].kernel, &result->row[i].point))
        i++;
    return i;
}

bool gt_sweep_has_incumbent(const struct gt_race *race)
{
    return find_row(race) < race->result->rows;
}

size_t gt_sweep_seat_incumbent(struct gt_race *race, size_t rows, size_t most)
{
    size_t at = find_row(race);

    if (at < rows || at == race->result->rows)
        return rows;
    if (rows < most)
        rows++;
    GT_SWEEP_MOVE(race->result->row, at, rows - 1);
    return rows;
}

/* ---- ranking ---- */

static bool same_row(const struct gt_sweep_row *row, const struct gt_kernel *kernel,
                     const struct gt_point *point)
{
    return row->kernel == kernel && gt_point_same(kernel, &row->point, point);
}

double gt_sweep_best_us(const struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;
    double us = 0, guest_us = 0;

    for (size_t i = 0; i < result->rows; i++) {
        double *least = gt_sweep_is_guest(race, &result->row[i]) ? &guest_us : &us;

        if (!(*least > 0) || result->row[i].trial.us < *least)
            *least = result->row[i].trial.us;
    }
    return us > 0 ? us : guest_us;
}

/* The order of two points' texts.  The texts are not made, so that nothing here can fail. */
static int point_order(const struct gt_kernel *kernel, const struct gt_point *x,
                       const struct gt_point *y)
{
    char of_x[24], of_y[24];
    char *const *word;
    size_t i = 0;

    while (i < kernel->params && x->value[i] == y->value[i])
        i++;
    if (i == kernel->params)
        return 0;
    word = kernel->param[i].word;
    if (word)
        return strcmp(word[x->value[i]], word[y->value[i]]);
    snprintf(of_x, sizeof(of_x), "%lld", (long long)x->value[i]);
    snprintf(of_y, sizeof(of_y), "%lld", (long long)y->value[i]);
    return strcmp(of_x, of_y);
}

/* A sampled trial comes before a trial that was not sampled.  A hot device makes sampled times
 * longer than race times, and without this rule race times would push sampled times out of the
 * list.  Among equal times, which are frequent among predictions, the database takes the first
 * kernel and point in alphabetical order (db/schema.sql).  The list does the same, whatever the
 * order of the trials. */
static bool is_better(const struct gt_sweep_row *x, const struct gt_sweep_row *y)
{
    const bool x_sampled = x->trial.stage >= 2, y_sampled = y->trial.stage >= 2;
    const int order = strcmp(x->kernel->name, y->kernel->name);

    if (x_sampled != y_sampled)
        return x_sampled;
    if (x->trial.us != y->trial.us)
        return x->trial.us < y->trial.us;
    return (order ? order : point_order(x->kernel, &x->point, &y->point)) < 0;
}

/* The row that is removed from a full list: the last row or, if the last row is the incumbent's,
 * the row before it, because a winner is to be timed beside the incumbent. */
static size_t victim(const struct gt_race *race)
{
    const size_t last = race->result->rows - 1;
    const struct gt_sweep_row *row = &race->result->row[last];

    return last - (last && gt_sweep_is_incumbent(race, row->kernel, &row->point));
}

int gt_sweep_rank(struct gt_race *race, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_trial *trial, bool resumed,
                  struct gt_err *err)
{
    const struct gt_sweep_row row = {
        .kernel = kernel, .point = *point, .trial = *trial, .resumed = resumed};
    struct gt_sweep_result *result = race->result;
    size_t at = 0;

    if (!result->row)
        result->row = calloc(GT_SWEEP_ROWS, sizeof(*result->row));
    if (!result->row)
        return gt_err_nomem(err);
    while (at < result->rows && !same_row(&result->row[at], kernel, point))
        at++;
    if (at < result->rows) /* the point was ranked before: the new trial replaces the old */
        memmove(&result->row[at], &result->row[at + 1],
                (--result->rows - at) * sizeof(*result->row));
    if (trial->status != GT_STATUS_OK)
        return GT_OK;
    for (at = result->rows; at > 0 && is_better(&row, &result->row[at - 1]); at--)
        ;
    if (result->rows == GT_SWEEP_ROWS) {
        const size_t gone = victim(race);

        if (at > gone && !gt_sweep_is_incumbent(race, kernel, point))
            return GT_OK;
        memmove(&result->row[gone], &result->row[gone + 1],
                (--result->rows - gone) * sizeof(*result->row));
        at -= at > gone;
    }
    GT_ARRAY_OPEN(result->row, at, result->rows);
    result->row[at] = row;
    result->rows++;
    return GT_OK;
}

void gt_sweep_blame(struct gt_sweep_result *result, const struct gt_kernel *kernel,
                    const struct gt_point *point)
{
    for (size_t i = 0; i < result->rows; i++)
        if (same_row(&result->row[i], kernel, point))
            result->row[i].blamed = true;
}

/* ---- the totals ---- */

void gt_sweep_sum_up(struct gt_race *race, const struct gt_evaluator_stats *before)
{
    struct gt_sweep_result *result = race->result;
    const struct gt_evaluator_stats *after = &race->evaluator->stats;

    result->wall_s = gt_evaluator_now(race->evaluator) - race->begin_s;
    result->busy_s = race->opened ? after->busy_s : 0;
    result->compiled = after->compiled - before->compiled;
    result->cache_hits = after->cache_hits - before->cache_hits;
    result->respawns = after->respawns - before->respawns;
    for (size_t i = 1; i < result->rows && !race->measures; i++)
        result->row[i].tie = result->row[i].trial.us == result->row[0].trial.us;
    for (size_t i = 0; i < race->bests && result->rows; i++) {
        result->to_best_s = race->history[i].seconds;
        if (race->history[i].us <= NEAR_BEST * result->row[0].trial.us)
            break;
    }
}

void gt_sweep_join(struct gt_sweep_result *result, struct gt_sweep_result *earlier)
{
    if (result->to_best_s > 0 || !(earlier->wall_s > 0))
        result->to_best_s += earlier->wall_s;
    else
        result->to_best_s = earlier->to_best_s;
    if (earlier->wall_s > 0)
        result->resumed = earlier->resumed;
    result->fresh += earlier->fresh;
    result->timed += earlier->timed;
    result->compiled += earlier->compiled;
    result->cache_hits += earlier->cache_hits;
    result->respawns += earlier->respawns;
    result->wall_s += earlier->wall_s;
    result->busy_s += earlier->busy_s;
    if (!result->rows && earlier->rows) { /* a signal came before the turn had the earlier trials */
        result->row = earlier->row;
        result->rows = earlier->rows;
        result->points = earlier->points;
        result->points_estimated = earlier->points_estimated;
        result->have_baseline = earlier->have_baseline;
        result->baseline = earlier->baseline;
        memcpy(result->status, earlier->status, sizeof(result->status));
        earlier->row = NULL;
    }
    if (!result->incumbent.kernel) { /* the incumbent was beaten in an earlier turn, or not timed in
                                        this turn */
        result->incumbent = earlier->incumbent;
        result->stays = earlier->stays;
    }
    gt_sweep_result_release(earlier);
}

void gt_sweep_result_release(struct gt_sweep_result *result)
{
    free(result->row);
    *result = (struct gt_sweep_result){0};
}
