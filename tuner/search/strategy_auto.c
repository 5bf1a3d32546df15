/* strategy_auto.c - strategy: Bayesian search by several experts, the default.
 *
 * Starts from the seeds, or, without any, from the middle of the space and points spread around it
 * (extreme values are seldom fast, and slow points cost the most time).  Then a Gaussian process
 * (gp_model.h) and a forest of trees (grove.h) are fitted to the times told, and a pool of
 * candidates is drawn around the elites and elsewhere.  Whose turn it is gives out the candidate
 * with the greatest expected improvement for its cost (promise.h); nobody's turn is a step of
 * greedy walkers from the first points (multi_start.h).  The turns go to whoever has been right of
 * late (experts.h): no one of them is the best in every space.
 *
 * What a model expects of a point, and times of the same points in other circumstances, enter the
 * Gaussian process as hints (hints.h).  In a space too large for a surrogate to know its far ends,
 * candidates are only around the elites, and the walkers have turns of their own.  It is done once
 * the expected improvement has been negligible for a while. */
#include "base/err.h"
#include "search/auto/costs.h"
#include "search/auto/design.h"
#include "search/auto/experts.h"
#include "search/auto/gp_model.h"
#include "search/auto/grove.h"
#include "search/auto/prior_mean.h"
#include "search/auto/elites.h"
#include "search/auto/acquisition.h"
#include "search/multi_start.h"

#include <math.h>
#include <stdlib.h>

#define DESIGN_LEAST 6     /* points of the first design ... */
#define DESIGN_MOST  10    /* ... however many parameters vary: more tell no more than models ask */
#define LEAST_TOLD   3     /* times before the models are asked */
#define SLOW         1.39f /* e^this times as slow as the best is as bad as a failure */
#define TREES_DOUBT  1e-3f /* deviation that trees have where they agree: no time is exact */
/* Where a fair share of the points can be tried, wonders are soon disproved, and room for them does
 * no harm; in a larger space there are always more places where nobody was. */
#define SMALL       100000
#define ROOM_SMALL  1.0
#define ROOM_LARGE  0.1
#define QUIET       50 /* points in a row without hope, and the surrogate is in doubt */
#define KICK        4  /* parameters changed at most to leave the best point */
#define WALKERS     6  /* as in `local`, the same two */
#define RANDOM_EACH 4
#define THRIFT      0.1 /* of a walker: a logarithm of time for one of cost */

enum { START, SEEDED, GAIN, CALM, LOCAL, BOLD, ROOM, WALK };

static const struct gt_strategy_option options[] = {
    {"start", 0, 0, 1000,
     "points of the first design, if no seeds (0: as many as parameters vary, 6 to 10)"},
    {"seeded", 16, 0, 1e6, "seeds given out first; the others compete with all points"},
    {"gain", 0.0002, 0, 1, "done when no improvement above this share is expected (0: never) ..."},
    {"calm", 1000, 1, 1e9, "... of as many points in a row"},
    {"local", 10, 0, 1e9, "every so many points, a neighbour of the best (0: never)"},
    {"bold", 0.8, 0.01, 10, "deviations that count as one; less stays nearer to what is known"},
    {"room", 0, 0, 1, "share by which the best may be beaten, at most (0: by the space's size)"},
    {"walk", 2, 0, 1e9, "in a large space every so many points one of greedy search (0: never)"},
    {NULL},
};

struct automatic {
    struct gt_gp_model gauss;
    struct gt_grove grove;
    struct gt_experts experts;
    struct gt_prior_means hints;
    struct gt_elites elites;
    struct gt_pool pool;
    float mean[GT_GP_POOL], sd[GT_GP_POOL]; /* of its points, by both models */
    size_t *start;                          /* points of the first design so far */
    size_t starts, design, given;           /* how many there are, and will be; seeds given out */
    double calm;                            /* points in a row of which nothing was expected */
    size_t asked;
    struct gt_costs costs;
    struct gt_multi_start walkers;
    size_t turn; /* points asked for where walkers take part */
};

/* Which of a walker's neighbours come first: those thought to be fast, and cheap to try. */
static float order(struct gt_strategy *strategy, size_t point)
{
    struct automatic *a = strategy->state;

    if (!gt_gp_model_is_fitted(&a->gauss))
        return 0;
    return gt_gp_model_mean(&a->gauss, point) +
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
    if (vary < DESIGN_LEAST)
        return DESIGN_LEAST;
    return vary < DESIGN_MOST ? vary : DESIGN_MOST;
}

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct automatic *a = strategy->state;
    double room = strategy->option[ROOM];
    int rc;

    if (!(room > 0))
        room = is_large(strategy) ? ROOM_LARGE : ROOM_SMALL;
    gt_experts_init(&a->experts);
    a->design = design_size(strategy);
    a->start = calloc(a->design, sizeof(*a->start));
    if (!a->start)
        return gt_err_nomem(err);
    rc = gt_multi_start_init(&a->walkers, WALKERS, false, strategy->seeds + a->design, order, err);
    a->walkers.random_each = RANDOM_EACH;
    if (!rc)
        rc = gt_costs_init(&a->costs, strategy->space, err);
    if (!rc)
        rc = gt_prior_mean_init(&a->hints, strategy->space, strategy->given, err);
    if (!rc)
        rc = gt_pool_init(&a->pool, strategy->space, GT_GP_POOL, err);
    if (!rc)
        rc = gt_gp_model_init(&a->gauss, strategy, &a->hints, room, err);
    if (!rc)
        rc = gt_grove_init(&a->grove, strategy->space, GT_GP_POOL, err);
    return rc;
}

static void release(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;

    gt_gp_model_release(&a->gauss);
    gt_grove_release(&a->grove);
    gt_pool_release(&a->pool);
    gt_prior_mean_release(&a->hints);
    gt_multi_start_release(&a->walkers);
    gt_costs_release(&a->costs);
    free(a->start);
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
    bool ready = a->elites.count >= LEAST_TOLD;
    size_t point = SIZE_MAX;

    if (!ready || (double)a->given < strategy->option[SEEDED])
        point = gt_strategy_seed(strategy);
    if (point == SIZE_MAX && (!ready || (double)a->given < strategy->option[SEEDED]))
        point = gt_prior_mean_next(&a->hints, strategy);
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

/* ---- the models ---- */

static void fill_pool(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;

    gt_pool_clear(&a->pool);
    for (size_t i = 0; i < strategy->seeds && i < GT_GP_POOL / 8; i++)
        gt_pool_add(strategy, &a->pool, strategy->seed[i]);
    gt_prior_mean_fill(&a->hints, strategy, &a->pool, GT_GP_POOL / 4);
    gt_pool_fill(strategy, &a->pool, &a->elites, is_large(strategy));
}

static void fit(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;

    fill_pool(strategy);
    gt_gp_model_fit(&a->gauss, &a->elites, &a->pool);
    gt_grove_grow(&a->grove, &strategy->random, &a->elites, gt_gp_model_target, &a->gauss);
    gt_grove_ask(&a->grove, &a->pool);
}

/* A point is given out that the experts are to be judged by; the surrogate's mean of it. */
static void note(struct gt_strategy *strategy, size_t point, float expected)
{
    struct automatic *a = strategy->state;
    double mean, sd;

    gt_forest_predict(&a->grove.forest, point, &mean, &sd);
    gt_experts_note(&a->experts, point, gt_gp_model_log_time(&a->gauss, expected),
                    gt_gp_model_log_time(&a->gauss, (float)mean));
}

/* What both models say of the pool, each weighed by how far it is trusted. */
static struct gt_prediction blend(struct automatic *a, const struct gt_prediction *gauss,
                                  double bold)
{
    const double *share = a->experts.share;
    double models = share[GT_EXPERT_GAUSS] + share[GT_EXPERT_TREES];
    float g = (float)(share[GT_EXPERT_GAUSS] / models), t = 1 - g, daring = (float)bold;

    for (size_t c = 0; c < a->pool.count; c++) {
        float sure = daring * gauss->sd[c], unsure = a->grove.sd[c] + TREES_DOUBT;

        a->mean[c] = g * gauss->mean[c] + t * a->grove.mean[c];
        a->sd[c] = sqrtf(g * sure * sure + t * unsure * unsure);
    }
    return (struct gt_prediction){a->mean, a->sd, gauss->best};
}

/* The candidate that promises most, or SIZE_MAX where none is NEW.  How calm it is, is the Gaussian
 * process's to say: trees never agree. */
static size_t promising(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;
    struct gt_prediction gauss = gt_gp_model_predict(&a->gauss);
    struct gt_prediction both = blend(a, &gauss, strategy->option[BOLD]);
    size_t at = gt_acquisition_best(strategy, &a->pool, &a->costs, &both);
    double hope = gt_expected_improvement(strategy, &a->pool, &gauss) * a->gauss.room;

    if (at == SIZE_MAX)
        return SIZE_MAX;
    a->calm = hope < strategy->option[GAIN] ? a->calm + 1 : 0;
    note(strategy, a->pool.point[at], gauss.mean[at]);
    gt_gp_model_pending(&a->gauss, &a->pool, at, gauss.mean[at]);
    return a->pool.point[at];
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
        gt_multi_start_next(strategy, &a->walkers, &point) != GT_NEXT_POINT)
        return SIZE_MAX;
    return point;
}

/* A walker's point where the models are to be passed by this time, else what they promise. */
static size_t ask(struct gt_strategy *strategy)
{
    struct automatic *a = strategy->state;
    size_t point = SIZE_MAX;

    if (gt_gp_model_is_stale(&a->gauss, &a->elites))
        fit(strategy);
    if (gt_experts_pass(&a->experts) &&
        gt_multi_start_next(strategy, &a->walkers, &point) == GT_NEXT_POINT) {
        note(strategy, point, gt_gp_model_mean(&a->gauss, point));
        return point;
    }
    point = promising(strategy);
    if (point == SIZE_MAX) { /* the pool is empty */
        fit(strategy);
        point = promising(strategy);
    }
    return point == SIZE_MAX ? gt_strategy_draw(strategy) : point;
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct automatic *a = strategy->state;

    if (a->calm >= strategy->option[CALM])
        return strategy->flying ? GT_NEXT_WAIT : GT_NEXT_DONE;
    *point = first(strategy);
    if (*point != SIZE_MAX)
        gt_multi_start_add(&a->walkers, *point);
    if (*point == SIZE_MAX)
        *point = walk(strategy);
    if (*point == SIZE_MAX)
        *point = beside_best(strategy);
    if (*point == SIZE_MAX)
        *point = ask(strategy);
    else
        a->calm += a->calm > 0;
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct automatic *a = strategy->state;

    gt_elites_tell(strategy, &a->elites, point);
    gt_multi_start_tell(strategy, &a->walkers, point);
    gt_gp_model_tell(&a->gauss, point);
    if (strategy->best != SIZE_MAX) {
        double most = log((double)strategy->known[strategy->best]) + (double)SLOW;
        float us = strategy->known[point];

        gt_experts_tell(&a->experts, point, us > 0 ? log((double)us) : most, most);
    }
}

const struct gt_strategy_ops gt_strategy_auto = {
    .name = "auto",
    .doc = "Bayesian search with a Gaussian process, trees and walkers, from what is known",
    .option = options,
    .own_seeds = true,
    .state_size = sizeof(struct automatic),
    .init = init,
    .next = next,
    .cost = cost,
    .tell = tell,
    .release = release,
};
