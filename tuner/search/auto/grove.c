/* grove.c - stage "choose": a forest of what a strategy was told. */
#include "search/auto/grove.h"

#include "base/err.h"

#include <stdlib.h>

int gt_grove_init(struct gt_grove *grove, const struct gt_space *space, size_t room,
                  struct gt_err *err)
{
    grove->mean = calloc(room, sizeof(*grove->mean));
    grove->sd = calloc(room, sizeof(*grove->sd));
    if (!grove->mean || !grove->sd)
        return gt_err_nomem(err);
    return gt_forest_init(&grove->forest, space, err);
}

void gt_grove_release(struct gt_grove *grove)
{
    gt_forest_release(&grove->forest);
    free(grove->mean);
    free(grove->sd);
}

void gt_grove_grow(struct gt_grove *grove, struct gt_random *random, const struct gt_elites *elites,
                   gt_forest_target *worth, const void *context)
{
    size_t seen[GT_FOREST_SEEN];
    size_t count = gt_elites_mix(elites, seen, GT_FOREST_SEEN - GT_FAILED_MAX);
    float y[GT_FOREST_SEEN];

    for (size_t i = 0; i < elites->failures && i < GT_FAILED_MAX; i++)
        seen[count++] = elites->failed[i];
    for (size_t i = 0; i < count; i++)
        y[i] = worth(context, seen[i]);
    gt_forest_fit(&grove->forest, random, seen, y, count);
}

void gt_grove_ask(struct gt_grove *grove, const struct gt_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        double mean, sd;

        gt_forest_predict(&grove->forest, pool->point[i], &mean, &sd);
        grove->mean[i] = (float)mean;
        grove->sd[i] = (float)sd;
    }
}
