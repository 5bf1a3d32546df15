/* sweep_shares.c - which problem of a sweep is worked on next, and for how long.
 *
 * A budget of time is spent in two parts.  First every problem has a visit, those of most weight
 * first and longest; each starts from what its neighbours have left.  One in which nothing was
 * timed is made good by a second before any other problem has one.  Then one problem at a time has
 * one more, the one that promises most for its time: by its weight, by what it still gained in
 * the second half of its last visit, and by a hope that fades with each.  Finals belong to a visit,
 * and what they took so far is set aside.  Without a budget of time every problem has one visit. */
#include "../src/err.h"
#include "sweep_parts.h"

#include <math.h>
#include <stdlib.h>

#define WEIGHT_LEAST 0.1   /* of the mean weight: nobody asks for a problem to be left out */
#define FIRST        0.6   /* of the time, for the first visits of several problems ... */
#define FIRST_LATER  0.5   /* ... and of what is left, once they have taken longer */
#define UNTIMED_MOST 2     /* visits before one without a time is a problem like the others */
#define RACE_LEAST   0.3   /* of a visit, whatever its finals take */
#define VISIT_LEAST  0.5   /* of a problem's first visit; a shorter one is not worth it */
#define HOPE         0.005 /* logarithm of time that a second visit is expected to gain anyway */
#define UNTOLD       0.05  /* the same of one in whose first half nothing was timed */
#define TAIL_STEP    0.3   /* of the estimate towards what finals took, by each visit */

struct gt_share {
    size_t visits;
    double seconds; /* of its first visit's race, or the one that made it good */
    double late;    /* logarithm: what the second half of its last visit gained */
    bool spent;     /* another visit would find nothing to try */
    bool timed;     /* it has a time, be it of an earlier run */
};

int gt_shares_init(struct gt_shares *shares, const struct gt_sweep_options *options,
                   struct gt_err *err)
{
    *shares = (struct gt_shares){.options = options};
    shares->begin_s = gt_evaluator_now(options->evaluator);
    shares->share = calloc(options->problems, sizeof(*shares->share));
    return shares->share ? GT_OK : gt_err_nomem(err);
}

void gt_shares_release(struct gt_shares *shares)
{
    free(shares->share);
}

static double weight_of(const struct gt_sweep_options *options, size_t i)
{
    double mean = 0;

    for (size_t j = 0; j < options->problems && options->weight; j++)
        mean += options->weight[j] / (double)options->problems;
    return mean > 0 ? fmax(options->weight[i], WEIGHT_LEAST * mean) : 1;
}

/* Whether its next visit is due whatever it promises. */
static bool is_due(const struct gt_share *share)
{
    return !share->visits || (share->visits < UNTIMED_MOST && !share->timed && !share->spent);
}

/* Of the problems due those without a visit first, then the one of most weight, and of equals the
 * first; SIZE_MAX: there is none.  *part: its weight among theirs. */
static size_t due_visit(const struct gt_shares *shares, double *part)
{
    const struct gt_sweep_options *options = shares->options;
    size_t next = SIZE_MAX;
    double left = 0;

    for (size_t i = 0; i < options->problems; i++) {
        size_t visits = shares->share[i].visits;

        if (!is_due(&shares->share[i]))
            continue;
        left += weight_of(options, i);
        if (next == SIZE_MAX || visits < shares->share[next].visits ||
            (visits == shares->share[next].visits &&
             weight_of(options, i) > weight_of(options, next)))
            next = i;
    }
    if (next != SIZE_MAX)
        *part = weight_of(options, next) / left;
    return next;
}

/* Seconds for the race of a visit that is due. */
static double due_seconds(const struct gt_shares *shares, double part, double left)
{
    double total = shares->options->budget.seconds, visit;

    if (shares->options->problems == 1)
        return left;
    visit = part * fmax(FIRST_LATER * left, left - (1 - FIRST) * total);
    return fmax(visit - shares->tail_s, RACE_LEAST * visit);
}

/* The problem that promises most for the time of one more visit, or SIZE_MAX. */
static size_t next_visit(const struct gt_shares *shares, double left)
{
    size_t next = SIZE_MAX;
    double most = 0;

    for (size_t i = 0; i < shares->options->problems; i++) {
        const struct gt_share *share = &shares->share[i];
        double promise = share->late + HOPE / (double)share->visits;

        promise *= weight_of(shares->options, i) / (share->seconds + shares->tail_s);
        if (share->spent || VISIT_LEAST * share->seconds + shares->tail_s > left)
            continue;
        if (next == SIZE_MAX || promise > most) {
            most = promise;
            next = i;
        }
    }
    return next;
}

bool gt_shares_next(struct gt_shares *shares, size_t *problem, double *deadline_s)
{
    double now = gt_evaluator_now(shares->options->evaluator), part = 0, seconds;
    double left = fmax(0, shares->begin_s + shares->options->budget.seconds - now);
    bool timed = shares->options->budget.seconds > 0;

    *problem = due_visit(shares, &part);
    if (!(left > 0) && (*problem == SIZE_MAX || shares->share[*problem].visits))
        return false; /* the time is over, or there is no budget of time */
    if (*problem != SIZE_MAX) {
        seconds = due_seconds(shares, part, left);
        shares->share[*problem].seconds = seconds;
    } else {
        *problem = next_visit(shares, left);
        if (*problem == SIZE_MAX)
            return false;
        seconds = fmin(shares->share[*problem].seconds, left - shares->tail_s);
    }
    *deadline_s = timed ? now + seconds : 0;
    shares->share[*problem].visits++;
    return true;
}

/* The logarithm of what the second half of the race gained. */
static double late_gain(const struct gt_race *race)
{
    double half = (race->end_s - race->begin_s) / 2, then = race->resumed_us;

    for (size_t i = 0; i < race->bests && race->history[i].at_s <= half; i++)
        then = race->history[i].us;
    if (!(race->best_us > 0))
        return 0;
    return then > 0 ? log(then / race->best_us) : UNTOLD;
}

void gt_shares_note(struct gt_shares *shares, size_t problem, const struct gt_race *race)
{
    struct gt_share *share = &shares->share[problem];
    double tail = gt_evaluator_now(race->evaluator) - race->end_s;

    share->timed = race->best_us > 0;
    share->spent = !race->result->fresh || race->end_s < race->deadline_s;
    if (!(race->end_s > 0))
        return;
    share->late = late_gain(race);
    shares->tail_s += (shares->visits++ ? TAIL_STEP : 1) * (tail - shares->tail_s);
}
