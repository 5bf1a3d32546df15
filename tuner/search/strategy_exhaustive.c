/* strategy_exhaustive.c - strategy: every point, in the order of the space. */
#include "base/err.h"
#include "search/strategy.h"

#include <stdlib.h>

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    strategy->state = calloc(1, sizeof(size_t)); /* the first point that may be NEW */
    return strategy->state ? GT_OK : gt_err_nomem(err);
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    size_t *cursor = strategy->state;

    while (strategy->known[*cursor] != GT_POINT_NEW)
        ++*cursor;
    *point = *cursor;
    return GT_NEXT_POINT;
}

static void release(struct gt_strategy *strategy)
{
    free(strategy->state);
}

const struct gt_strategy_ops gt_strategy_exhaustive = {
    .name = "exhaustive",
    .doc = "every point of the space, one after the other",
    .init = init,
    .next = next,
    .release = release,
};
