/* strategy_random.c - strategy: points drawn at random, none twice. */
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
