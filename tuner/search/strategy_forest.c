/* strategy_forest.c - strategy: Bayesian search with a forest of extremely randomised trees, after
 * SMAC (Hutter, Hoos, Leyton-Brown, 2011).
 *
 * After some random points a forest is grown again and again from all that was told; of a pool of
 * candidates around the elites and elsewhere those with the lowest confidence bound are given out,
 * a batch from each forest. */
#include "search/auto/grove.h"
#include "search/auto/elites.h"

#include <math.h>

#define POOL 1024
#define SLOW 2.0f /* logarithm of how much slower than the best is as bad as a failure */

enum { START, BATCH, KAPPA, RANDOM };

static const struct gt_strategy_option options[] = {
    [START] = {"start", 20, 1, 1e6, "points before the first forest: the seeds, then random ones"},
    [BATCH] = {"batch", 8, 1, POOL, "points given out from one forest"},
    [KAPPA] = {"kappa", 1, 0, 100, "of the confidence bound: mean less kappa standard deviations"},
    [RANDOM] = {"random", 0.05, 0, 1, "share of points drawn at random"},
    {NULL},
};

struct wood {
    struct gt_grove grove;
    struct gt_elites elites;
    struct gt_pool pool;
    double bound[POOL]; /* of each candidate */
    size_t left;        /* points still to be given out from this forest */
    size_t start;       /* random points still to be tried */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct wood *wood = strategy->state;
    size_t start = (size_t)strategy->option[START];
    int rc;

    wood->start = strategy->seeds < start ? start - strategy->seeds : 0;
    rc = gt_pool_init(&wood->pool, strategy->space, POOL, err);
    return rc ? rc : gt_grove_init(&wood->grove, strategy->space, POOL, err);
}

static void release(struct gt_strategy *strategy)
{
    struct wood *wood = strategy->state;

    gt_pool_release(&wood->pool);
    gt_grove_release(&wood->grove);
}

/* Logarithm of a time; what is far slower than the best, or failed, is all the same. */
static float worth(const void *context, size_t point)
{
    const struct gt_strategy *strategy = context;
    float us = strategy->known[point], most = logf(strategy->known[strategy->best]) + SLOW;

    return us > 0 ? fminf(logf(us), most) : most;
}

/* Grows a forest from what is known, and draws a pool and its bounds. */
static void plant(struct gt_strategy *strategy)
{
    struct wood *wood = strategy->state;

    gt_grove_grow(&wood->grove, &strategy->random, &wood->elites, worth, strategy);
    gt_pool_clear(&wood->pool);
    gt_pool_fill(strategy, &wood->pool, &wood->elites, false);
    gt_grove_ask(&wood->grove, &wood->pool);
    /* A grain of chance among equals, or the order of the pool would choose. */
    for (size_t i = 0; i < wood->pool.count; i++)
        wood->bound[i] = (double)wood->grove.mean[i] -
                         strategy->option[KAPPA] * (double)wood->grove.sd[i] +
                         1e-6 * gt_random_unit(&strategy->random);
    wood->left = (size_t)strategy->option[BATCH];
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct wood *wood = strategy->state;
    size_t best = SIZE_MAX;

    if (wood->start || strategy->best == SIZE_MAX ||
        gt_random_unit(&strategy->random) < strategy->option[RANDOM]) {
        wood->start -= wood->start > 0;
        *point = gt_strategy_draw(strategy);
        return GT_NEXT_POINT;
    }
    if (!wood->left)
        plant(strategy);
    wood->left--;
    for (size_t i = 0; i < wood->pool.count; i++)
        if (strategy->known[wood->pool.point[i]] == GT_POINT_NEW &&
            (best == SIZE_MAX || wood->bound[i] < wood->bound[best]))
            best = i;
    *point = best == SIZE_MAX ? gt_strategy_draw(strategy) : wood->pool.point[best];
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    gt_elites_tell(strategy, &((struct wood *)strategy->state)->elites, point);
}

const struct gt_strategy_ops gt_strategy_forest = {
    .name = "forest",
    .doc = "Bayesian search with extremely randomised trees",
    .option = options,
    .state_size = sizeof(struct wood),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};
