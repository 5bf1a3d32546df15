/* strategy_auto.c - strategy: Bayesian search with a Gaussian process, the default.
 *
 * Starts from the seeds, or, without any, from the middle of the space and points spread around it
 * (extreme values are seldom fast, and slow points cost the most time).  Then it fits a surrogate
 * to the logarithms of the times told, draws a pool of candidates around the leaders and elsewhere,
 * and gives out the one with the greatest expected improvement (Jones, Schonlau, Welch, Journal of
 * Global Optimization 13, 1998).  A point given out counts as observed with the mean it was
 * expected to have until it is told, so that any number may be in flight.
 *
 * What a model expects of a point, and times of the same points in other circumstances, enter the
 * surrogate as hints (hints.h).  Gain is weighed against what a point costs (costs.h).  In a space
 * too large for a surrogate to know its far ends, it looks only around the leaders, and takes turns
 * with greedy walkers from the seeds (walkers.h), whose next steps it orders.  It is done once the
 * expected improvement has been negligible for a while. */
#include "../src/err.h"
#include "costs.h"
#include "design.h"
#include "hints.h"
#include "leaders.h"
#include "surrogate.h"
#include "walkers.h"

#include <math.h>
#include <stdlib.h>

#define DESIGN_LEAST 6   /* points of the first design */
#define LEAST_TOLD   3   /* times before the surrogate is asked */
#define OBSERVED     144 /* points told that a fit takes, at most; the rest is for those below */
#define FAILED       16  /* of the points that failed */
#define FLYING       48  /* of those in flight */
#define SLOW         4.0 /* times as slow as the best is as bad as a failure */
#define FIT_EVERY    8   /* points told between fits at most; fewer while little is known */
/* Where a fair share of the points can be tried, wonders are soon disproved, and room for them does
 * no harm; in a larger space there are always more places where nobody was. */
#define SMALL        100000
#define ROOM_SMALL   1.0
#define ROOM_LARGE   0.1
#define QUIET        50 /* points in a row without hope, and the surrogate is in doubt */
#define KICK         4  /* parameters changed at most to leave the best point */
#define WALKERS      6  /* as in `local`, the same two */
#define RANDOM_EACH  4
#define THRIFT       0.1 /* of a walker: a logarithm of time for one of cost */
#define LEARN_GROWTH 8   /* learn again when 1/8 more is known */

enum { START, SEEDED, GAIN, CALM, LOCAL, BOLD, ROOM, WALK };

static const struct gt_strategy_option options[] = {
    {"start", 0, 0, 1000,
     "points of the first design, if no seeds (0: as many as parameters vary)"},
    {"seeded", 16, 0, 1e6, "seeds given out first; the others compete with all points"},
    {"gain", 0.0002, 0, 1, "done when no improvement above this share is expected (0: never) ..."},
    {"calm", 1000, 1, 1e9, "... of as many points in a row"},
    {"local", 10, 0, 1e9, "every so many points, a neighbour of the best (0: never)"},
    {"bold", 0.8, 0.01, 10, "deviations that count as one; less stays nearer to what is known"},
    {"room", 0, 0, 1, "share by which the best may be beaten, at most (0: by the space's size)"},
    {"walk", 2, 0, 1e9, "in a large space every so many points one of greedy search (0: never)"},
    {NULL},
};

struct flight {
    size_t point, number; /* observation of the surrogate, SIZE_MAX: none */
    float expected;
};

struct automatic {
    struct gt_surrogate *surrogate;
    struct gt_hints hints;
    struct gt_leaders leaders;
    struct gt_pool pool;
    struct flight flight[FLYING];
    size_t flights;
    size_t *start;                /* points of the first design so far */
    size_t starts, design, given; /* how many there are, and will be; seeds given out */
    size_t fit_at, learn_at;      /* leaders.told when to fit, to learn next */
    size_t fit_best;              /* the best point when it was fitted; SIZE_MAX: not yet */
    double room;                  /* the option, or what stands for it */
    double level;                 /* the best time when it was fitted */
    double calm;                  /* points in a row of which nothing was expected */
    size_t asked;
    struct gt_costs costs;
    struct gt_walkers walkers;
    size_t turn; /* points asked for where walkers take part */
};

/* What so many times the best time counts for: the logarithm of how far it is above a floor a
 * little below the best.  Times have a floor, the hardware's, that a model of plain logarithms does
 * not know: it would go on expecting wonders of places where nobody was yet.  Nothing is learned
 * from how slow a slow point is. */
static float above_floor(const struct gt_strategy *strategy, double times)
{
    double room = ((const struct automatic *)strategy->state)->room;

    if (times < 1) /* where the level was not the best: goes on as steeply */
        return (float)(log(room) + log(times) / room);
    return (float)log(fmin(times, SLOW) - 1 + room);
}

static float hint_of(void *context, size_t hint, size_t point)
{
    const struct gt_strategy *strategy = context;
    const struct automatic *a = strategy->state;

    return above_floor(strategy, exp((double)gt_hints_of(&a->hints, hint, point)));
}

/* Which of a walker's neighbours come first: those thought to be fast, and cheap to try. */
static float order(struct gt_strategy *strategy, size_t point)
{
    const struct automatic *a = strategy->state;

    if (!gt_surrogate_count(a->surrogate))
        return 0;
    return gt_surrogate_mean(a->surrogate, point) +
           (float)(THRIFT * log(gt_costs_of(&a->costs, point)));
}

static bool is_large(const struct gt_strategy *strategy)
{
    return strategy->space->count > SMALL;
}

static size_t design_size(const struct gt_strategy *strategy)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    size_t vary = 0;

    for (size_t p = 0; p < kernel->params; p++)
        vary += kernel->param[p].count > 1;
    if (strategy->option[START] > 0)
        return (size_t)strategy->option[START];
    return vary > DESIGN_LEAST ? vary : DESIGN_LEAST;
}

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct automatic *a = calloc(1, sizeof(*a));
    int rc;

    if (!a)
        return gt_err_nomem(err);
    strategy->state = a;
    a->fit_best = SIZE_MAX;
    a->room = strategy->option[ROOM];
    if (!(a->room > 0))
        a->room = is_large(strategy) ? ROOM_LARGE : ROOM_SMALL;
    a->design = design_size(strategy);
    a->start = calloc(a->design, sizeof(*a->start));
    if (!a->start)
        return gt_err_nomem(err);
    rc = gt_walkers_init(&a->walkers, WALKERS, false, strategy->seeds + a->design, order, err);
    a->walkers.random_each = RANDOM_EACH;
    if (!rc)
        rc = gt_costs_init(&a->costs, strategy->space, err);
    if (!rc)
        rc = gt_hints_init(&a->hints, strategy->space, strategy->given, err);
    if (!rc)
        rc = gt_pool_init(&a->pool, strategy->space, GT_SURROGATE_POOL, err);
    if (!rc)
        rc = gt_surrogate_new(&a->surrogate, strategy->space, a->hints.count, hint_of, strategy,
                              err);
    return rc;
}

static void release(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;

    if (!a)
        return;
    gt_surrogate_free(a->surrogate);
    gt_pool_release(&a->pool);
    gt_hints_release(&a->hints);
    gt_walkers_release(&a->walkers);
    gt_costs_release(&a->costs);
    free(a->start);
    free(a);
}

static void cost(struct gt_strategy *strategy, size_t point, double run_s, double compile_s)
{
    struct automatic *a = strategy->state;

    gt_costs_tell(&a->costs, point, run_s, compile_s);
}

/* A point of the first design, or SIZE_MAX once it is complete. */
static size_t first(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;
    bool ready = a->leaders.count >= LEAST_TOLD;
    size_t point = SIZE_MAX;

    if (!ready || (double)a->given < strategy->option[SEEDED])
        point = gt_strategy_seed(strategy);
    if (point == SIZE_MAX && (!ready || (double)a->given < strategy->option[SEEDED]))
        point = gt_hints_best(&a->hints, strategy);
    if (point != SIZE_MAX) {
        a->given++;
        return point;
    }
    if (a->given || a->starts >= a->design)
        return ready ? SIZE_MAX : gt_strategy_draw(strategy);
    point = gt_spread(strategy, a->start, a->starts);
    a->start[a->starts++] = point;
    return point;
}

/* ---- the surrogate ---- */

static float worth(const struct gt_strategy *strategy, size_t point)
{
    const struct automatic *a = strategy->state;
    double us = (double)strategy->known[point];

    return above_floor(strategy, us > 0 ? us / a->level : SLOW);
}

static void fill_pool(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;

    gt_pool_clear(&a->pool);
    for (size_t i = 0; i < strategy->seeds && i < GT_SURROGATE_POOL / 8; i++)
        gt_pool_add(strategy, &a->pool, strategy->seed[i]);
    gt_hints_fill(&a->hints, strategy, &a->pool, GT_SURROGATE_POOL / 4);
    gt_pool_fill(strategy, &a->pool, &a->leaders, is_large(strategy));
}

/* Fits the surrogate to a choice of what is known, and to what is in flight as it was expected. */
static void fit(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;
    size_t seen[GT_SURROGATE_SEEN], count = gt_leaders_mix(&a->leaders, seen, OBSERVED);
    size_t failed = a->leaders.failures < FAILED ? a->leaders.failures : FAILED;
    bool learn = a->leaders.told >= a->learn_at;
    float y[GT_SURROGATE_SEEN];

    /* What was expected of those in flight is about the level of the fit before this one. */
    for (size_t i = 0; i < a->flights; i++) {
        double times = fmax(exp((double)a->flight[i].expected) + 1 - a->room, 0.5);

        a->flight[i].expected =
            above_floor(strategy, times * a->level / (double)strategy->known[strategy->best]);
    }
    a->level = (double)strategy->known[strategy->best];
    for (size_t i = 0; i < count; i++)
        y[i] = worth(strategy, seen[i]);
    for (size_t i = 1; i <= failed; i++) {
        size_t point = a->leaders.failed[(a->leaders.failures - i) % GT_FAILED_MAX];

        seen[count] = point;
        y[count++] = worth(strategy, point);
    }
    for (size_t i = 0; i < a->flights; i++) {
        a->flight[i].number = count;
        seen[count] = a->flight[i].point;
        y[count++] = a->flight[i].expected;
    }
    fill_pool(strategy);
    gt_surrogate_fit(a->surrogate, a->pool.point, a->pool.count, seen, y, count, learn);
    if (learn)
        a->learn_at = a->leaders.told + 1 + a->leaders.told / LEARN_GROWTH;
    a->fit_at = a->leaders.told + (a->leaders.told < LEARN_GROWTH * FIT_EVERY
                                       ? 1 + a->leaders.told / LEARN_GROWTH
                                       : FIT_EVERY);
    a->fit_best = strategy->best;
}

/* Of a gain below `best`, a logarithm, at a point of that mean and deviation. */
static double improvement(double best, double mean, double sd)
{
    double z = (best - mean) / sd;

    return sd * (z * 0.5 * erfc(-z * M_SQRT1_2) + exp(-0.5 * z * z) / sqrt(2 * M_PI));
}

/* The point of the pool that promises most for what it costs, or SIZE_MAX where none is NEW. */
static size_t promising(struct gt_strategy *strategy, double *gain, float *expected)
{
    struct automatic *a = strategy->state;
    double best = (double)worth(strategy, strategy->best);
    const float *mean, *sd;
    size_t found = SIZE_MAX;
    double most = -1;

    gt_surrogate_predict(a->surrogate, &mean, &sd);
    for (size_t c = 0; c < a->pool.count; c++) {
        double g, worth;

        if (strategy->known[a->pool.point[c]] != GT_POINT_NEW)
            continue;
        g = improvement(best, (double)mean[c], strategy->option[BOLD] * (double)sd[c]);
        worth = g / gt_costs_of(&a->costs, a->pool.point[c]);
        if (worth > most) {
            most = worth;
            *gain = g * a->room; /* as a share of the best time, where it is small */
            found = c;
        }
    }
    if (found != SIZE_MAX)
        *expected = mean[found];
    return found;
}

/* Takes note that a point is given out; what does not fit in is not known to be in flight. */
static void take_off(struct automatic *a, size_t at, float expected)
{
    size_t number = gt_surrogate_count(a->surrogate);

    if (a->flights == FLYING)
        return;
    if (!gt_surrogate_add(a->surrogate, at, expected)) {
        a->fit_at = 0;
        number = SIZE_MAX;
    }
    a->flight[a->flights++] = (struct flight){a->pool.point[at], number, expected};
}

/* Now and then a neighbour of the best, whatever the surrogate thinks of it; once that expects
 * nothing any more, every other point is one farther from the best. */
static size_t beside_best(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;

    a->asked++;
    if (a->calm >= QUIET && a->asked % 2)
        return gt_strategy_kick(strategy, strategy->best, KICK);
    if (!(strategy->option[LOCAL] > 0) || a->asked % (size_t)strategy->option[LOCAL])
        return SIZE_MAX;
    return gt_strategy_kick(strategy, strategy->best, 1);
}

/* In a large space every so many points the next of a walker, unless all of them wait. */
static size_t walk(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;
    double every = strategy->option[WALK];
    size_t point;

    if (!is_large(strategy) || strategy->best == SIZE_MAX || !(every > 0) ||
        a->turn++ % (size_t)every ||
        gt_walkers_next(strategy, &a->walkers, &point) != GT_NEXT_POINT)
        return SIZE_MAX;
    return point;
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct automatic *a = strategy->state;
    float expected = 0;
    double gain = 0;
    size_t at = SIZE_MAX;

    if (a->calm >= strategy->option[CALM])
        return strategy->flying ? GT_NEXT_WAIT : GT_NEXT_DONE;
    *point = first(strategy);
    if (*point != SIZE_MAX)
        gt_walkers_add_start(&a->walkers, *point);
    if (*point == SIZE_MAX)
        *point = walk(strategy);
    if (*point == SIZE_MAX)
        *point = beside_best(strategy);
    if (*point != SIZE_MAX) {
        a->calm += a->calm > 0;
        return GT_NEXT_POINT;
    }
    for (int tries = 0; tries < 2 && at == SIZE_MAX; tries++) {
        if (tries || a->leaders.told >= a->fit_at || a->fit_best != strategy->best)
            fit(strategy);
        at = promising(strategy, &gain, &expected);
    }
    if (at == SIZE_MAX) {
        *point = gt_strategy_draw(strategy);
        return GT_NEXT_POINT;
    }
    a->calm = gain < strategy->option[GAIN] ? a->calm + 1 : 0;
    *point = a->pool.point[at];
    take_off(a, at, expected);
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct automatic *a = strategy->state;

    gt_leaders_tell(strategy, &a->leaders, point);
    gt_walkers_tell(strategy, &a->walkers, point);
    for (size_t i = 0; i < a->flights; i++)
        if (a->flight[i].point == point) {
            if (a->flight[i].number != SIZE_MAX && strategy->best != SIZE_MAX)
                gt_surrogate_correct(a->surrogate, a->flight[i].number, worth(strategy, point));
            a->flight[i] = a->flight[--a->flights];
            return;
        }
}

const struct gt_strategy_ops gt_strategy_auto = {
    .name = "auto",
    .doc = "Bayesian search with a Gaussian process, from seeds and what is known elsewhere",
    .option = options,
    .own_seeds = true,
    .init = init,
    .next = next,
    .cost = cost,
    .tell = tell,
    .release = release,
};
