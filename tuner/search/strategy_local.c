/* strategy_local.c - strategy: greedy local search from many starts (walkers.h).
 *
 * The list of starts are the seeds; random points take the place of missing ones.  While all
 * walkers wait and little is in flight, the best point with a few parameters changed at random is
 * given out: a machine with many compilers would idle otherwise. */
#include "search/walkers.h"

#define BUSY 48 /* points in flight that keep many compilers and the GPU at work */
#define KICK 4  /* parameters changed at most to leave the best point */

enum { WALKERS, EXPLORE, FRESH };

static const struct gt_strategy_option options[] = {
    {"walkers", 6, 1, GT_WALKERS_MAX, "searches at once"},
    {"explore", 24, 1, 10000, "random points before the first walk, less the seeds"},
    {"fresh", 4, 1, 1e9, "every so many new starts a random point; else the best one, changed"},
    {NULL},
};

struct local {
    struct gt_walkers walkers;
    size_t explore; /* still to be explored */
};

static int init(struct gt_strategy *strategy, bool adjacent, struct gt_err *err)
{
    struct local *local = strategy->state;
    size_t explore = (size_t)strategy->option[EXPLORE];
    int rc;

    rc = gt_walkers_init(&local->walkers, (size_t)strategy->option[WALKERS], adjacent,
                         strategy->seeds + explore, NULL, err);
    if (rc)
        return rc;
    local->walkers.random_each = (uint64_t)strategy->option[FRESH];
    for (size_t i = 0; i < strategy->seeds; i++)
        gt_walkers_add_start(&local->walkers, strategy->seed[i]);
    local->explore = strategy->seeds < explore ? explore - strategy->seeds : 0;
    return GT_OK;
}

static int init_hamming(struct gt_strategy *strategy, struct gt_err *err)
{
    return init(strategy, false, err);
}

static int init_adjacent(struct gt_strategy *strategy, struct gt_err *err)
{
    return init(strategy, true, err);
}

static void release(struct gt_strategy *strategy)
{
    gt_walkers_release(&((struct local *)strategy->state)->walkers);
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct local *local = strategy->state;
    enum gt_next answer;

    if (local->explore) {
        local->explore--;
        *point = gt_strategy_draw(strategy);
        gt_walkers_add_start(&local->walkers, *point);
        return GT_NEXT_POINT;
    }
    answer = gt_walkers_next(strategy, &local->walkers, point);
    if (answer == GT_NEXT_POINT || strategy->flying >= BUSY || strategy->best == SIZE_MAX)
        return answer;
    *point = gt_strategy_kick(strategy, strategy->best, KICK);
    return *point == SIZE_MAX ? GT_NEXT_WAIT : GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct local *local = strategy->state;

    gt_walkers_tell(strategy, &local->walkers, point);
}

const struct gt_strategy_ops gt_strategy_local = {
    .name = "local",
    .option = options,
    .doc = "greedy local search from many starts; neighbours differ in one parameter",
    .state_size = sizeof(struct local),
    .init = init_hamming,
    .next = next,
    .tell = tell,
    .release = release,
};

const struct gt_strategy_ops gt_strategy_adjacent = {
    .name = "adjacent",
    .option = options,
    .doc = "the same; neighbours differ by one step of one parameter",
    .state_size = sizeof(struct local),
    .init = init_adjacent,
    .next = next,
    .tell = tell,
    .release = release,
};
