/* strategy_local.c - strategy: greedy hill climbing from many starts (hill_climb.h).
 *
 * The seeds are the starts; random points are added if there are few seeds.  While all climbs wait
 * and few points are in flight, the best point with a few parameters changed at random is given
 * out, because a machine with many compilers would otherwise be idle. */
#include "search/hill_climb.h"

#define BUSY 48 /* points in flight that keep many compilers and the GPU at work */
#define KICK 4  /* parameters changed at most to leave the best point */

enum { CLIMBS, EXPLORE, FRESH };

static const struct gt_strategy_option options[] = {
    [CLIMBS] = {"climbs", 6, 1, GT_MULTI_START_MAX, "hill climbs at once"},
    [EXPLORE] = {"explore", 24, 1, 10000,
                 "points before the first climb: the seeds, then random ones"},
    [FRESH] = {"fresh", 4, 1, 1e9,
               "every so many restarts is a random point, the others change the best"},
    {.name = NULL},
};

struct local {
    struct gt_multi_start multi;
    size_t explore; /* points still to be explored */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct local *local = strategy->state;
    size_t explore = (size_t)strategy->option[EXPLORE];
    int rc = gt_multi_start_init(&local->multi, (size_t)strategy->option[CLIMBS],
                                 strategy->seeds + explore, NULL, err);

    if (rc)
        return rc;
    local->multi.random_each = (uint64_t)strategy->option[FRESH];
    for (size_t i = 0; i < strategy->seeds; i++)
        gt_multi_start_add(&local->multi, strategy->seed[i]);
    local->explore = strategy->seeds < explore ? explore - strategy->seeds : 0;
    return GT_OK;
}

static void release(struct gt_strategy *strategy)
{
    gt_multi_start_release(&((struct local *)strategy->state)->multi);
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct local *local = strategy->state;
    enum gt_next answer;

    if (local->explore) {
        local->explore--;
        *point = gt_strategy_draw(strategy);
        gt_multi_start_add(&local->multi, *point);
        return GT_NEXT_POINT;
    }
    answer = gt_multi_start_next(strategy, &local->multi, point);
    if (answer == GT_NEXT_POINT || strategy->flying >= BUSY || strategy->best == SIZE_MAX)
        return answer;
    *point = gt_strategy_kick(strategy, strategy->best, KICK);
    return *point == SIZE_MAX ? GT_NEXT_WAIT : GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct local *local = strategy->state;

    gt_multi_start_tell(strategy, &local->multi, point);
}

const struct gt_strategy_ops gt_strategy_local = {
    .name = "local",
    .option = options,
    .doc = "greedy hill climbing from many starts; neighbours differ in one parameter",
    .state_size = sizeof(struct local),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};
