/* time_slices.c - chooses which problem of a sweep is worked on next, and for how long.
 *
 * A budget of time is spent in two parts.  First every problem has a turn.  Problems of larger
 * weight come earlier and get more time, but only time that leaves each problem after them a short
 * turn: in a budget too short for all, the heaviest that fit have a short turn each, so that it
 * covers as much of the weight as it can.  Each problem starts from the winners of the problems
 * before it.  A problem without a time after its turn gets a second turn before any other problem
 * does.
 *
 * The rest of the budget is for further turns of single problems.  This rest is small if turns are
 * short, because much of another turn would not be search.  Problems with too few trials for an
 * estimate come first, then the problem with the largest expected gain per second.  The expected
 * gain of a problem is its weight times a sum: the gain in the second half of its last turn, plus a
 * constant divided by its number of turns.
 *
 * A turn also has the wait for its first trial, while the compilers start, the trials of ready
 * points when the search ends, and the finals.  The estimated time of these parts is set aside, and
 * so is the time that a search takes beyond its own, which is counted from the first trial.  No
 * turn begins once the budget is spent: problems that are left then have no turn, and the program
 * names them.  Without a budget of time every problem has one turn. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sweep/sweep.h"
#include "sweep/sweep_parts.h"

/* The budget of a sweep: its text form and its default. */

#define PATIENCE        "patience="
#define EACH            "/problem"
#define PREDICT_TRIALS  120   /* 120 trials take about a minute of compiling on two cores */
#define MEASURE_SECONDS 120.0 /* per run */

static const struct {
    const char *name;
    double seconds;
} unit[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

/* Reads one part of the list, [text, end). */
static int parse_part(struct gt_budget *budget, const char *text, const char *end,
                      struct gt_err *err)
{
    const char *number = text;
    bool patience = strncmp(text, PATIENCE, strlen(PATIENCE)) == 0;
    const bool each =
        (size_t)(end - text) > strlen(EACH) && strncmp(end - strlen(EACH), EACH, strlen(EACH)) == 0;
    const char *stop = each ? end - strlen(EACH) : end;
    char *after;
    double value;

    if (patience)
        number += strlen(PATIENCE);
    errno = 0;
    value = strtod(number, &after);
    if (after == number || after > end || errno || !(value > 0) || value > 1e9)
        goto malformed;
    if (after == end) {
        int64_t *count = patience ? &budget->patience : &budget->trials;

        if (*count)
            goto twice;
        *count = (int64_t)value;
        if ((double)*count != value)
            goto malformed;
        return GT_OK;
    }
    for (size_t i = 0; !patience && i < sizeof(unit) / sizeof(unit[0]); i++) {
        if (after <= stop && strlen(unit[i].name) == (size_t)(stop - after) &&
            strncmp(unit[i].name, after, (size_t)(stop - after)) == 0) {
            if (budget->seconds > 0)
                goto twice;
            budget->seconds = value * unit[i].seconds;
            budget->each = each;
            return GT_OK;
        }
    }
    goto malformed;
twice:
    return gt_err_set(err, GT_ESYNTAX, "budget \"%.*s\": a limit of this kind was given before",
                      (int)(end - text), text);
malformed:
    return gt_err_set(
        err, GT_ESYNTAX,
        "budget \"%.*s\": expected a time such as 90s, 30m, 8h or 10s/problem, a number "
        "of trials such as 500, or patience=200",
        (int)(end - text), text);
}

int gt_budget_parse(struct gt_budget *budget, const char *text, struct gt_err *err)
{
    int rc = GT_OK;

    *budget = (struct gt_budget){0};
    for (;;) {
        const char *end = text + strcspn(text, ",");

        rc = parse_part(budget, text, end, err);
        if (rc || !*end)
            return rc;
        text = end + 1;
    }
}

struct gt_budget gt_budget_default(bool measures)
{
    if (measures)
        return (struct gt_budget){.seconds = MEASURE_SECONDS};
    return (struct gt_budget){.trials = PREDICT_TRIALS};
}

#define WEIGHT_LEAST 0.1   /* of the mean weight; a smaller weight counts as this */
#define REST         0.4   /* part of the budget for delays and further turns */
#define REST_SHORT   0.15  /* the same where turns are short */
#define SHORT_TURN   8.0   /* a turn is short if its budget is less than this times aside() */
#define UNTIMED_MOST 2     /* turns of an untimed problem before others get a second turn */
#define DUE_LEAST    2.0   /* times aside(): what a turn that is due leaves each other one */
#define SEARCH_LEAST 0.2   /* least part of a turn for the search, however long the rest takes */
#define TURN_LEAST   0.5   /* of the first turn's search; shorter turns are not worth their start */
#define GAIN         0.005 /* logarithm of time that a second turn gains if the first gained none */
#define GAIN_UNKNOWN 0.05  /* assumed gain of a turn if its first half had no time */
#define FOLLOW       0.3   /* how much of its error a new value of head_s or tail_s corrects */

struct gt_time_slice {
    size_t turns;
    int64_t tried;  /* trials, earlier runs included */
    size_t params;  /* parameters of the kernel that has most */
    double seconds; /* of the search in the first turn; in the second turn if the first found no
                       time */
    double late;    /* gain in the second half of the last turn, as a logarithm of time */
    bool spent;     /* another turn would find nothing to try */
    bool timed;     /* the problem has a time, of this or an earlier run */
};

int gt_time_slices_init(struct gt_time_slices *slices, const struct gt_sweep_options *options,
                        struct gt_err *err)
{
    *slices = (struct gt_time_slices){.options = options};
    for (size_t i = 0; i < options->problems && options->weight; i++)
        slices->mean_weight += options->weight[i] / (double)options->problems;
    slices->begin_s = gt_evaluator_now(options->evaluator);
    slices->slice = calloc(options->problems, sizeof(*slices->slice));
    return slices->slice ? GT_OK : gt_err_nomem(err);
}

void gt_time_slices_release(struct gt_time_slices *slices)
{
    free(slices->slice);
}

static double weight_of(const struct gt_time_slices *slices, size_t i)
{
    const double mean = slices->mean_weight;

    return mean > 0 ? fmax(slices->options->weight[i], WEIGHT_LEAST * mean) : 1;
}

/* Whether the problem gets its next turn whatever the expected gain. */
static bool is_due(const struct gt_time_slice *slice)
{
    return !slice->turns || (slice->turns < UNTIMED_MOST && !slice->timed && !slice->spent);
}

/* The next problem that is due: the problem with fewest turns, among equals with the largest
 * weight, among equals the first of the list; SIZE_MAX: no problem is due.  `but` is passed over.
 * *part: the problem's weight as a part of the sum over all problems that are due. */
static size_t due_turn(const struct gt_time_slices *slices, size_t but, double *part)
{
    const struct gt_sweep_options *options = slices->options;
    size_t next = SIZE_MAX;
    double left = 0;

    for (size_t i = 0; i < options->problems; i++) {
        size_t turns = slices->slice[i].turns;

        if (i == but || !is_due(&slices->slice[i]))
            continue;
        left += weight_of(slices, i);
        if (next == SIZE_MAX || turns < slices->slice[next].turns ||
            (turns == slices->slice[next].turns && weight_of(slices, i) > weight_of(slices, next)))
            next = i;
    }
    if (next != SIZE_MAX)
        *part = weight_of(slices, next) / left;
    return next;
}

/* Seconds that a turn takes besides its search. */
static double aside(const struct gt_time_slices *slices)
{
    return slices->head_s + slices->tail_s;
}

/* Seconds for the search of a turn that is due.  part: the problem's weight as a part of the sum
 * over all that are due. */
static double due_seconds(const struct gt_time_slices *slices, size_t i, double part, double left)
{
    const struct gt_sweep_options *options = slices->options;
    const double mean = options->budget.seconds / (double)options->problems;
    const double rest = mean < SHORT_TURN * aside(slices) ? REST_SHORT : REST;
    const double least = DUE_LEAST * aside(slices);
    double sum = 0, share, others = 0;

    if (options->problems == 1)
        return left;
    for (size_t j = 0; j < options->problems; j++) {
        sum += weight_of(slices, j);
        others += j != i && is_due(&slices->slice[j]) ? least : 0;
    }
    share = fmin((1 - rest) * options->budget.seconds * weight_of(slices, i) / sum, part * left);
    share = fmin(share, fmax(least, left - others));
    return fmax(share - aside(slices), SEARCH_LEAST * share);
}

/* The expected gain per second of one more turn; INFINITY if the problem has fewer trials than the
 * simplest model has unknowns, which are one effect for each parameter and a constant. */
static double gain_per_second(const struct gt_time_slices *slices, size_t i)
{
    const struct gt_time_slice *slice = &slices->slice[i];
    double gain = slice->late + GAIN / (double)slice->turns;

    if (slice->tried <= (int64_t)slice->params)
        return INFINITY;
    return gain * weight_of(slices, i) / (slice->seconds + aside(slices));
}

/* The problem with the largest expected gain per second, among equals the problem with fewest
 * trials; SIZE_MAX: no turn fits the time left. */
static size_t next_turn(const struct gt_time_slices *slices, double left)
{
    size_t next = SIZE_MAX;
    double most = 0;

    for (size_t i = 0; i < slices->options->problems; i++) {
        const struct gt_time_slice *slice = &slices->slice[i];
        double gain = gain_per_second(slices, i);

        if (slice->spent || TURN_LEAST * slice->seconds + aside(slices) > left)
            continue;
        if (next == SIZE_MAX || gain > most ||
            (gain == most && slice->tried < slices->slice[next].tried)) {
            most = gain;
            next = i;
        }
    }
    return next;
}

bool gt_time_slices_next(struct gt_time_slices *slices, size_t *problem, struct gt_turn_time *time)
{
    double now = gt_evaluator_now(slices->options->evaluator), part = 0, latest;
    double left = fmax(0, slices->begin_s + slices->options->budget.seconds - now);
    bool timed = slices->options->budget.seconds > 0;

    *problem = due_turn(slices, SIZE_MAX, &part);
    if (!(left > 0) && (timed || *problem == SIZE_MAX || slices->slice[*problem].turns))
        return false; /* the time is over, or there is no budget of time */
    if (*problem != SIZE_MAX) {
        slices->slice[*problem].seconds = due_seconds(slices, *problem, part, left);
        latest = left;
    } else {
        *problem = next_turn(slices, left);
        if (*problem == SIZE_MAX)
            return false;
        latest = left - slices->tail_s;
    }
    *time = (struct gt_turn_time){.search_s = slices->slice[*problem].seconds};
    if (timed) {
        time->deadline_s = now + latest;
        time->latest_s = now + left - (slices->options->problems > 1 ? slices->tail_s : 0);
    }
    slices->slice[*problem].turns++;
    return true;
}

size_t gt_time_slices_begun(const struct gt_time_slices *slices)
{
    size_t begun = 0;

    for (size_t i = 0; i < slices->options->problems; i++)
        begun += slices->slice[i].turns > 0;
    return begun;
}

size_t gt_time_slices_turn(const struct gt_time_slices *slices, size_t problem)
{
    return slices->slice[problem].turns;
}

bool gt_time_slices_peek(const struct gt_time_slices *slices, size_t now, size_t *problem)
{
    const struct gt_sweep_options *options = slices->options;
    double end_s = slices->begin_s + options->budget.seconds, part;

    *problem = due_turn(slices, SIZE_MAX, &part);
    if (*problem != SIZE_MAX && slices->slice[*problem].turns && !(options->budget.seconds > 0))
        return false;
    if (*problem == SIZE_MAX && options->budget.seconds > 0)
        *problem = next_turn(slices, end_s - gt_evaluator_now(options->evaluator) - slices->tail_s);
    return *problem != SIZE_MAX && *problem != now;
}

bool gt_time_slices_peek_after(const struct gt_time_slices *slices, size_t now, size_t next,
                               size_t *problem)
{
    double part;

    *problem = due_turn(slices, next, &part);
    return *problem != SIZE_MAX && *problem != now && !slices->slice[*problem].turns;
}

/* The gain in the second half of the race, counted from its first trial, as a logarithm of time. */
static double late_gain(const struct gt_race *race)
{
    double half = (race->first_s + race->end_s) / 2 - race->begin_s, then = race->resumed_us;

    for (size_t i = 0; i < race->bests && race->history[i].seconds <= half; i++)
        then = race->history[i].us;
    if (!(race->best_us > 0))
        return 0;
    return then > 0 ? log(then / race->best_us) : GAIN_UNKNOWN;
}

void gt_time_slices_note(struct gt_time_slices *slices, size_t problem, const struct gt_race *race)
{
    struct gt_time_slice *slice = &slices->slice[problem];
    double now = gt_evaluator_now(race->evaluator), tail = now - race->searched_s;
    double head = fmax(0, race->searched_s - race->begin_s - race->search_s);
    double step = slices->turns ? FOLLOW : 1;

    slice->timed = race->best_us > 0;
    slice->tried = race->tried;
    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].kernel->params > slice->params)
            slice->params = race->arm[i].kernel->params;
    slice->spent = race->end_s < race->deadline_s && !race->closing;
    if (!(race->end_s > 0))
        return;
    if (race->result->fresh) {
        slice->late = late_gain(race);
        if (slices->turns || !race->evaluator->ops->ahead) /* the first start is cold */
            slices->head_s += step * (head - slices->head_s);
    }
    slices->tail_s += step * (tail - slices->tail_s);
    slices->turns++;
}
