/* strategy_auto.c - strategy: Bayesian search with two models, the default.
 *
 * 1. First points.  The search starts from the seeds.  Without seeds it starts near the middle of
 *    the space, because extreme values are seldom fast and slow points cost most time (elites.h).
 * 2. Models.  A Gaussian process (gp_model.h) and a forest of trees (forest.h) are fitted to the
 *    times told.  Transfer data and the expectation of a model enter the process (prior_mean.h).
 * 3. Candidates.  A pool is drawn around the elites and elsewhere (elites.h).
 * 4. Acquisition.  The point of the pool with the greatest expected improvement is given out.  A
 *    fixed blend of both predictions gives the expected improvement.
 * 5. Local points.  Now and then, and every other time while nothing is gained, a point near the
 *    best point is given out instead.
 *
 * The models know nothing of the far ends of a large space.  There the pool stays around the
 * elites, and every other point comes from hill climbing (hill_climb.h).
 *
 * The search is done once the expected improvement has been negligible for many points in a row.
 * The worth of each part: db/measured/search-removals.csv. */
#include "search/auto/elites.h"
#include "search/auto/forest.h"
#include "search/auto/gp_model.h"
#include "search/auto/prior_mean.h"
#include "search/hill_climb.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

#define DESIGN_LEAST 6 /* points of the first design */
#define DESIGN_MOST  8
#define LEAST_TOLD   3             /* times before the models are asked */
#define GP_WEIGHT    (2.0f / 3.0f) /* weight of the process in the blend; the forest has the rest */
#define TREES_DOUBT  1e-3f /* added to the forest's deviation, which is 0 where trees agree */
/* A good part of a small space can be tried, so that expectations far below the best time are
 * soon corrected, and a low floor does no harm.  A large space always has regions without
 * observations. */
#define SMALL       100000
#define GAP_SMALL   1.0
#define GAP_LARGE   0.1
#define STALLED     50 /* points in a row without an expected improvement; the model may be wrong */
#define KICK        4  /* parameters changed at most to leave the best point */
#define DRY         15 /* points without a gain, after which every other point is a neighbour */
#define CLIMBS      6  /* climbs at once; this and RANDOM_EACH are as in `local` */
#define RANDOM_EACH 4

enum { START, SEEDED, GAIN, STALL, LOCAL, KAPPA, FLOOR, CLIMB };

static const struct gt_strategy_option options[] = {
    [START] = {"start", 0, 0, 1000,
               "first points, if no seeds (0: as many as parameters vary, 6 to 8)"},
    [SEEDED] = {"seeded", 16, 0, 1e6, "seeds given out first; the others compete with all points"},
    [GAIN] = {"gain", 0.0002, 0, 1,
              "done when no improvement above this share is expected (0: never) ..."},
    [STALL] = {"stall", 1000, 1, 1e9, "... of as many points in a row: the stall limit"},
    [LOCAL] = {"local", 10, 0, 1e9, "every so many points is a neighbour of the best (0: never)"},
    [KAPPA] = {"kappa", 0.8, 0.01, 10,
               "factor on the Gaussian process's deviations; less explores less"},
    [FLOOR] = {"floor", 0, 0, 1,
               "share by which the best may be beaten, at most (0: by the space's size)"},
    [CLIMB] = {"climb", 2, 0, 1e9,
               "in a large space every so many points is a hill climb's (0: never)"},
    {.name = NULL},
};

struct state {
    struct gt_gp_model gp;
    struct gt_forest forest;
    struct gt_prior_means priors;
    struct gt_elites elites;
    struct gt_pool pool;
    float mean[GT_POOL_MAX], sd[GT_POOL_MAX]; /* the blend's prediction for the pool */
    size_t *start;                            /* points of the first design so far */
    size_t starts, design, given;             /* points of the design so far; of the whole design;
                                                 seeds given out */
    double stalled;                           /* points in a row without an expected improvement */
    size_t asked;                             /* points asked for after the first points */
    size_t gained;                            /* the value of `asked` at the last gain */
    struct gt_multi_start climbs;
    size_t turn; /* points asked for while climbs take part */
};

/* Neighbours that are expected to be fast are tried first. */
static float order(struct gt_strategy *strategy, size_t point)
{
    struct state *state = strategy->state;

    return gt_gp_model_is_fitted(&state->gp) ? gt_gp_model_mean(&state->gp, point) : 0;
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
    struct state *state = strategy->state;
    const struct gt_space *space = strategy->space;
    double gap = strategy->option[FLOOR];
    int rc;

    if (!(gap > 0))
        gap = is_large(strategy) ? GAP_LARGE : GAP_SMALL;
    state->design = design_size(strategy);
    state->start = calloc(state->design, sizeof(*state->start));
    if (!state->start)
        return gt_err_nomem(err);
    rc = gt_multi_start_init(&state->climbs, CLIMBS, strategy->seeds + state->design, order, err);
    state->climbs.random_each = RANDOM_EACH;
    GT_STEP(rc, gt_prior_mean_init(&state->priors, space, strategy->given, err));
    GT_STEP(rc, gt_pool_init(&state->pool, space, err));
    GT_STEP(rc, gt_gp_model_init(&state->gp, strategy, &state->priors, gap, err));
    return rc ? rc : gt_forest_init(&state->forest, space, err);
}

static void release(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;

    gt_gp_model_release(&state->gp);
    gt_forest_release(&state->forest);
    gt_pool_release(&state->pool);
    gt_prior_mean_release(&state->priors);
    gt_multi_start_release(&state->climbs);
    free(state->start);
}

/* A seed or a point of the first design, or SIZE_MAX once all were given out. */
static size_t first(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;
    bool ready = state->elites.count >= LEAST_TOLD;
    size_t point = SIZE_MAX;

    if (!ready || (double)state->given < strategy->option[SEEDED]) {
        point = gt_strategy_seed(strategy);
        if (point == SIZE_MAX)
            point = gt_prior_mean_next(&state->priors, strategy);
    }
    if (point != SIZE_MAX) {
        state->given++;
        return point;
    }
    if (state->given || state->starts >= state->design)
        return ready ? SIZE_MAX : gt_strategy_draw(strategy);
    point = gt_spread(strategy, state->start, state->starts);
    state->start[state->starts++] = point;
    return point;
}

/* ---- the models ---- */

static void fill_pool(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;

    gt_pool_clear(&state->pool);
    for (size_t i = 0; i < strategy->seeds && i < GT_POOL_MAX / 8; i++)
        gt_pool_add(strategy, &state->pool, strategy->seed[i]);
    gt_prior_mean_fill(&state->priors, strategy, &state->pool, GT_POOL_MAX / 4);
    gt_pool_fill(strategy, &state->pool, &state->elites, is_large(strategy));
}

static void fit(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;

    fill_pool(strategy);
    gt_gp_model_fit(&state->gp, &state->elites, &state->pool);
    gt_forest_fit(&state->forest, &strategy->random, &state->elites, gt_gp_model_target,
                  &state->gp);
    gt_forest_predict(&state->forest, &state->pool);
}

/* The prediction of both models for the pool. */
static struct gt_prediction blend(struct state *state, const struct gt_prediction *gp, double kappa)
{
    for (size_t c = 0; c < state->pool.count; c++) {
        float gp_sd = (float)kappa * gp->sd[c], trees_sd = state->forest.sd[c] + TREES_DOUBT;

        state->mean[c] = GP_WEIGHT * gp->mean[c] + (1 - GP_WEIGHT) * state->forest.mean[c];
        state->sd[c] = sqrtf(GP_WEIGHT * gp_sd * gp_sd + (1 - GP_WEIGHT) * trees_sd * trees_sd);
    }
    return (struct gt_prediction){state->mean, state->sd, gp->best};
}

/* The place in the pool of the NEW point with the greatest expected improvement (Jones, Schonlau,
 * Welch, Journal of Global Optimization 13, 1998), SIZE_MAX if no point is NEW; *improvement: the
 * greatest expected improvement. */
static size_t acquire(const struct gt_strategy *strategy, const struct gt_prediction *prediction,
                      double *improvement)
{
    const struct gt_pool *pool = &((struct state *)strategy->state)->pool;
    size_t found = SIZE_MAX;

    *improvement = -1;
    for (size_t c = 0; c < pool->count; c++) {
        double sd = (double)prediction->sd[c];
        double z = (prediction->best - (double)prediction->mean[c]) / sd, expected;

        if (strategy->known[pool->point[c]] != GT_POINT_NEW)
            continue;
        expected = sd * (z * 0.5 * erfc(-z * M_SQRT1_2) + exp(-0.5 * z * z) / sqrt(2 * M_PI));
        if (expected > *improvement) {
            *improvement = expected;
            found = c;
        }
    }
    return found;
}

/* The best candidate, or SIZE_MAX if no point of the pool is NEW.  The Gaussian process alone
 * decides whether the search has stalled, since the trees never agree. */
static size_t candidate(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;
    struct gt_prediction gp = gt_gp_model_predict(&state->gp);
    struct gt_prediction both = blend(state, &gp, strategy->option[KAPPA]);
    double improvement;
    size_t at = acquire(strategy, &both, &improvement);

    if (at == SIZE_MAX)
        return SIZE_MAX;
    acquire(strategy, &gp, &improvement);
    improvement *= state->gp.gap;
    state->stalled = improvement < strategy->option[GAIN] ? state->stalled + 1 : 0;
    gt_gp_model_pending(&state->gp, &state->pool, at, gp.mean[at]);
    return state->pool.point[at];
}

/* ---- the interface ---- */

/* An option that counts "every so many points"; a value below 1 counts as 1.  The caller handles 0
 * (never). */
static size_t period(double every)
{
    return (size_t)fmax(every, 1);
}

/* How often a point is a neighbour of the best.  In a space of which a search can see a good part,
 * every other point is a neighbour while nothing is gained. */
static size_t local_period(const struct gt_strategy *strategy)
{
    const struct state *state = strategy->state;
    size_t every = period(strategy->option[LOCAL]);

    return !is_large(strategy) && state->asked - state->gained > DRY && every > 2 ? 2 : every;
}

/* Now and then a neighbour of the best point, whatever time the models expect.  Once the models
 * expect no improvement, every other point is a point farther from the best. */
static size_t beside_best(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;

    state->asked++;
    if (state->stalled >= STALLED && state->asked % 2)
        return gt_strategy_kick(strategy, strategy->best, KICK);
    if (!(strategy->option[LOCAL] > 0) || state->asked % local_period(strategy))
        return SIZE_MAX;
    return gt_strategy_kick(strategy, strategy->best, 1);
}

/* In a large space, every so many points the next point of a hill climb, unless all climbs wait. */
static size_t climb(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;
    double every = strategy->option[CLIMB];
    size_t point;

    if (!is_large(strategy) || strategy->best == SIZE_MAX || !(every > 0) ||
        state->turn++ % period(every) ||
        gt_multi_start_next(strategy, &state->climbs, &point) != GT_NEXT_POINT)
        return SIZE_MAX;
    return point;
}

static size_t ask_models(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;
    size_t point;

    if (gt_gp_model_is_stale(&state->gp, &state->elites))
        fit(strategy);
    point = candidate(strategy);
    if (point == SIZE_MAX) { /* the pool is empty */
        fit(strategy);
        point = candidate(strategy);
    }
    return point == SIZE_MAX ? gt_strategy_draw(strategy) : point;
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct state *state = strategy->state;

    if (state->stalled >= strategy->option[STALL])
        return strategy->flying ? GT_NEXT_WAIT : GT_NEXT_DONE;
    *point = first(strategy);
    if (*point != SIZE_MAX)
        gt_multi_start_add(&state->climbs, *point);
    if (*point == SIZE_MAX)
        *point = climb(strategy);
    if (*point == SIZE_MAX)
        *point = beside_best(strategy);
    if (*point == SIZE_MAX)
        *point = ask_models(strategy);
    else
        state->stalled += state->stalled > 0;
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct state *state = strategy->state;

    gt_elites_tell(strategy, &state->elites, point);
    if (point == strategy->best)
        state->gained = state->asked;
    gt_multi_start_tell(strategy, &state->climbs, point);
    gt_gp_model_tell(&state->gp, point);
}

static float expect(struct gt_strategy *strategy, size_t point)
{
    struct state *state = strategy->state;

    return gt_gp_model_is_fitted(&state->gp) ? gt_gp_model_us(&state->gp, point) : NAN;
}

const struct gt_strategy_ops gt_strategy_auto = {
    .name = "auto",
    .doc = "Bayesian search with a Gaussian process and a forest, from what is known",
    .option = options,
    .own_seeds = true,
    .state_size = sizeof(struct state),
    .init = init,
    .next = next,
    .expect = expect,
    .tell = tell,
    .release = release,
};
