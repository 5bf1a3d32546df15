/* strategy_forest.c - strategy: Bayesian search with a forest of extremely randomised trees, after
 * SMAC (Hutter, Hoos, Leyton-Brown, 2011).
 *
 * After some random points, a forest is fitted again and again to all points that were told.  Each
 * forest gives out a batch of points: those with the lowest confidence bounds in a pool drawn
 * around the elites and elsewhere. */
#include "search/auto/forest.h"

#include <math.h>

#define SLOW 2.0f /* points e^this times as slow as the best count as much as failures */

enum { START, BATCH, KAPPA, RANDOM };

static const struct gt_strategy_option options[] = {
    [START] = {"start", 20, 1, 1e6, "points before the first forest: the seeds, then random ones"},
    [BATCH] = {"batch", 8, 1, GT_POOL_MAX, "points given out from one forest"},
    [KAPPA] = {"kappa", 1, 0, 100, "of the confidence bound: mean less kappa standard deviations"},
    [RANDOM] = {"random", 0.05, 0, 1, "share of points drawn at random"},
    {.name = NULL},
};

struct state {
    struct gt_forest forest;
    struct gt_elites elites;
    struct gt_pool pool;
    double bound[GT_POOL_MAX]; /* of each point of the pool */
    size_t left;               /* points still to be given out from this forest */
    size_t start;              /* random points still to be tried */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct state *state = strategy->state;
    size_t start = (size_t)strategy->option[START];
    int rc;

    state->start = strategy->seeds < start ? start - strategy->seeds : 0;
    rc = gt_pool_init(&state->pool, strategy->space, err);
    return rc ? rc : gt_forest_init(&state->forest, strategy->space, err);
}

static void release(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;

    gt_pool_release(&state->pool);
    gt_forest_release(&state->forest);
}

/* The logarithm of a time.  Failures and points far slower than the best count the same. */
static float target(const void *context, size_t point)
{
    const struct gt_strategy *strategy = context;
    float us = strategy->known[point], most = logf(strategy->known[strategy->best]) + SLOW;

    return us > 0 ? fminf(logf(us), most) : most;
}

/* Fits a forest to the known points, and draws a pool and its bounds. */
static void fit(struct gt_strategy *strategy)
{
    struct state *state = strategy->state;

    gt_forest_fit(&state->forest, &strategy->random, &state->elites, target, strategy);
    gt_pool_clear(&state->pool);
    gt_pool_fill(strategy, &state->pool, &state->elites, false);
    gt_forest_predict(&state->forest, &state->pool);
    /* A small random term decides among equals; else the order of the pool would. */
    for (size_t i = 0; i < state->pool.count; i++)
        state->bound[i] = (double)state->forest.mean[i] -
                          strategy->option[KAPPA] * (double)state->forest.sd[i] +
                          1e-6 * gt_random_unit(&strategy->random);
    state->left = (size_t)strategy->option[BATCH];
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct state *state = strategy->state;
    size_t best = SIZE_MAX;

    if (state->start || strategy->best == SIZE_MAX ||
        gt_random_unit(&strategy->random) < strategy->option[RANDOM]) {
        state->start -= state->start > 0;
        *point = gt_strategy_draw(strategy);
        return GT_NEXT_POINT;
    }
    if (!state->left)
        fit(strategy);
    state->left--;
    for (size_t i = 0; i < state->pool.count; i++)
        if (strategy->known[state->pool.point[i]] == GT_POINT_NEW &&
            (best == SIZE_MAX || state->bound[i] < state->bound[best]))
            best = i;
    *point = best == SIZE_MAX ? gt_strategy_draw(strategy) : state->pool.point[best];
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    gt_elites_tell(strategy, &((struct state *)strategy->state)->elites, point);
}

const struct gt_strategy_ops gt_strategy_forest = {
    .name = "forest",
    .doc = "Bayesian search with extremely randomised trees",
    .option = options,
    .state_size = sizeof(struct state),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};
