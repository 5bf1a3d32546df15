/* strategy_exhaustive.c - strategy: every point, in the order of the space. */
#include "search/strategy.h"

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
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
    .next = next,
};
