/* shares.c - which problem of a sweep is worked on next, and for how long.
 *
 * A budget of time is spent in two parts.  First every problem has a visit, those of most weight
 * first and longest; each starts from what its neighbours have left.  One in which nothing was
 * timed is made good by a second before any other problem has one.  Then one problem at a time has
 * one more: those hardly tried first, of which nothing can be told yet; then the one that promises
 * most for its time: by its weight, by what it still gained in the second half of its last visit,
 * and by a hope that fades with each.  Finals belong to a visit, and so does the wait for its first
 * trial, while the compilers start; what both took so far is set aside, and a visit's time runs
 * from that trial.  Without a budget of time every problem has one visit. */
#include "base/err.h"
#include "sweep/sweep_parts.h"

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
#define FOLLOW       0.3   /* of an estimate towards what a visit's wait or finals took */

struct gt_share {
    size_t visits;
    int64_t tried;  /* trials, those of earlier runs included */
    size_t params;  /* of the kernel that has most */
    double seconds; /* of its first visit's search, or the one that made it good */
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

/* Seconds that a visit takes besides its search. */
static double aside(const struct gt_shares *shares)
{
    return shares->head_s + shares->tail_s;
}

/* Seconds for the search of a visit that is due. */
static double due_seconds(const struct gt_shares *shares, double part, double left)
{
    double total = shares->options->budget.seconds, visit;

    if (shares->options->problems == 1)
        return left;
    visit = part * fmax(FIRST_LATER * left, left - (1 - FIRST) * total);
    return fmax(visit - aside(shares), RACE_LEAST * visit);
}

/* Whether nothing can be told from its trials: they are fewer than the unknowns of the simplest
 * model, an effect of each parameter and a constant. */
static bool hardly_tried(const struct gt_share *share)
{
    return share->tried <= (int64_t)share->params;
}

/* What one more visit promises for its time; more than any gain where hardly anything was tried. */
static double promise_of(const struct gt_shares *shares, size_t i)
{
    const struct gt_share *share = &shares->share[i];
    double gain = share->late + HOPE / (double)share->visits;

    if (hardly_tried(share))
        return INFINITY;
    return gain * weight_of(shares->options, i) / (share->seconds + aside(shares));
}

/* The problem that promises most for the time of one more visit, of equals the one with fewest
 * trials; SIZE_MAX: there is time for none. */
static size_t next_visit(const struct gt_shares *shares, double left)
{
    size_t next = SIZE_MAX;
    double most = 0;

    for (size_t i = 0; i < shares->options->problems; i++) {
        const struct gt_share *share = &shares->share[i];
        double promise = promise_of(shares, i);

        if (share->spent || VISIT_LEAST * share->seconds + aside(shares) > left)
            continue;
        if (next == SIZE_MAX || promise > most ||
            (promise == most && share->tried < shares->share[next].tried)) {
            most = promise;
            next = i;
        }
    }
    return next;
}

bool gt_shares_next(struct gt_shares *shares, size_t *problem, double *search_s, double *deadline_s)
{
    double now = gt_evaluator_now(shares->options->evaluator), part = 0, latest;
    double left = fmax(0, shares->begin_s + shares->options->budget.seconds - now);
    bool timed = shares->options->budget.seconds > 0;

    *problem = due_visit(shares, &part);
    if (!(left > 0) && (*problem == SIZE_MAX || shares->share[*problem].visits))
        return false; /* the time is over, or there is no budget of time */
    if (*problem != SIZE_MAX) {
        shares->share[*problem].seconds = due_seconds(shares, part, left);
        latest = left;
    } else {
        *problem = next_visit(shares, left);
        if (*problem == SIZE_MAX)
            return false;
        latest = left - shares->tail_s;
    }
    *search_s = shares->share[*problem].seconds;
    *deadline_s = timed ? now + latest : 0;
    shares->share[*problem].visits++;
    return true;
}

/* The logarithm of what the second half of the race gained, from its first trial on. */
static double late_gain(const struct gt_race *race)
{
    double half = (race->first_s + race->end_s) / 2 - race->begin_s, then = race->resumed_us;

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
    double step = shares->visits ? FOLLOW : 1;

    share->timed = race->best_us > 0;
    share->tried = race->tried;
    for (size_t i = 0; i < race->lanes; i++)
        if (race->lane[i].kernel->params > share->params)
            share->params = race->lane[i].kernel->params;
    share->spent = race->end_s < race->deadline_s;
    if (!(race->end_s > 0))
        return;
    if (race->result->fresh) {
        share->late = late_gain(race);
        shares->head_s += step * (race->first_s - race->begin_s - shares->head_s);
    }
    shares->tail_s += step * (tail - shares->tail_s);
    shares->visits++;
}
