/* strategy_random.c - strategies: points drawn at random, none twice; every point in order. */
#include "search/strategy.h"

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

const struct gt_strategy_ops gt_strategy_random = {
    .name = "random",
    .doc = "points drawn at random, none twice",
    .next = next,
};

static enum gt_next next_exhaustive(struct gt_strategy *strategy, size_t *point)
{
    size_t *cursor = strategy->state; /* the first point that may be NEW */

    while (strategy->known[*cursor] != GT_POINT_NEW)
        ++*cursor;
    *point = *cursor;
    return GT_NEXT_POINT;
}

const struct gt_strategy_ops gt_strategy_exhaustive = {
    .name = "exhaustive",
    .doc = "every point of the space, in order",
    .state_size = sizeof(size_t),
    .next = next_exhaustive,
};
