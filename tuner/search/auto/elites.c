/* elites.c - the fastest points told, and the pools of points from which models choose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/auto/elites.h"

#define NEIGHBOURS_OF  8 /* elites whose neighbours come into the pool */
#define NEIGHBOURS_MAX (GT_MAX_PARAMS * 16)
#define PARENTS        20   /* elites that have offspring */
#define NEAR_SHARE     0.65 /* of the pool, for neighbours */
#define RANDOM_SHARE   0.15 /* of the pool, at least */
#define CROSS_EVERY    3    /* one of so many offspring is crossed, the others are changed */
#define CHANGES        3    /* most parameters changed in offspring; at least two */

void gt_elites_tell(const struct gt_strategy *strategy, struct gt_elites *elites, size_t point)
{
    elites->told++;
    gt_strategy_place(strategy, elites->point, &elites->count, GT_ELITES_MAX, point);
    if (strategy->known[point] <= 0)
        elites->failed[elites->failures++ % GT_FAILED_MAX] = point;
}

size_t gt_elites_mix(const struct gt_elites *elites, size_t *list, size_t max)
{
    size_t count = elites->count < max ? elites->count : max;
    size_t fast = count < elites->count ? count - count / 4 : count / 2, slow = count - fast;
    size_t fasts = 0, slows = 0;

    for (size_t i = 0; i < count; i++)
        if (fasts < fast && (slows == slow || fasts <= slows))
            list[i] = elites->point[fasts++];
        else
            list[i] = elites->point[fast + (elites->count - fast) * slows++ / slow];
    return count;
}

int gt_pool_init(struct gt_pool *pool, const struct gt_space *space, struct gt_err *err)
{
    pool->taken = calloc(space->count + 1, 1);
    return pool->taken ? GT_OK : gt_err_nomem(err);
}

void gt_pool_release(struct gt_pool *pool)
{
    free(pool->taken);
}

void gt_pool_clear(struct gt_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        pool->taken[pool->point[i]] = 0;
    pool->count = 0;
}

void gt_pool_add(const struct gt_strategy *strategy, struct gt_pool *pool, size_t point)
{
    if (pool->count == GT_POOL_MAX || pool->taken[point] || strategy->known[point] != GT_POINT_NEW)
        return;
    pool->taken[point] = 1;
    pool->point[pool->count++] = point;
}

static void add_neighbours(const struct gt_strategy *strategy, struct gt_pool *pool,
                           const struct gt_elites *elites)
{
    size_t room = (size_t)(NEAR_SHARE * GT_POOL_MAX);

    for (size_t i = 0; i < elites->count && i < NEIGHBOURS_OF; i++) {
        size_t list[NEIGHBOURS_MAX];
        size_t count = gt_space_neighbours(strategy->space, elites->point[i], list, NEIGHBOURS_MAX);

        for (size_t j = 0; j < count && j < NEIGHBOURS_MAX && pool->count < room; j++)
            gt_pool_add(strategy, pool, list[j]);
    }
}

static void add_offspring(struct gt_strategy *strategy, struct gt_pool *pool,
                          const struct gt_elites *elites, bool near)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    size_t parents = elites->count < PARENTS ? elites->count : PARENTS;
    size_t room = GT_POOL_MAX - (near ? 0 : (size_t)(RANDOM_SHARE * GT_POOL_MAX));

    for (size_t throws = 0; parents && throws < GT_POOL_MAX && pool->count < room; throws++) {
        double rank = gt_random_unit(&strategy->random);
        size_t one = elites->point[(size_t)(rank * rank * (double)parents)];
        size_t other = elites->point[gt_random_below(&strategy->random, parents)];
        const uint8_t *x = strategy->space->index + one * kernel->params;
        const uint8_t *y = strategy->space->index + other * kernel->params;
        uint64_t changes = 2 + gt_random_below(&strategy->random, CHANGES - 1);
        uint8_t index[GT_MAX_PARAMS];
        size_t found;

        memcpy(index, x, kernel->params);
        if (throws % CROSS_EVERY == 0)
            for (size_t p = 0; p < kernel->params; p++)
                index[p] = gt_random_below(&strategy->random, 2) ? x[p] : y[p];
        else
            gt_strategy_change(strategy, index, changes);
        found = gt_space_find_index(strategy->space, index);
        if (found != SIZE_MAX)
            gt_pool_add(strategy, pool, found);
    }
}

void gt_pool_fill(struct gt_strategy *strategy, struct gt_pool *pool,
                  const struct gt_elites *elites, bool near)
{
    size_t count = strategy->space->count;

    if (count <= GT_POOL_MAX) {
        for (size_t i = 0; i < count; i++)
            gt_pool_add(strategy, pool, i);
        return;
    }
    add_neighbours(strategy, pool, elites);
    add_offspring(strategy, pool, elites, near);
    for (size_t throws = 0; !near && throws < 2 * GT_POOL_MAX && pool->count < GT_POOL_MAX;
         throws++)
        gt_pool_add(strategy, pool, gt_random_below(&strategy->random, count));
    if (!pool->count && strategy->fresh)
        gt_pool_add(strategy, pool, gt_strategy_draw(strategy));
}

/* ---- the first points of a search that has no seeds ---- */

#define DRAWS       20   /* random points from which each point of the design is chosen */
#define FIRST_DRAWS 4096 /* the same for the first point */

/* Distance of two points, or of a point from the middle (other: SIZE_MAX), a parameter's range
 * being 1. */
static double distance(const struct gt_space *space, size_t point, size_t other)
{
    const struct gt_kernel *kernel = space->kernel;
    const uint8_t *x = space->index + point * kernel->params;
    double sum = 0;

    for (size_t p = 0; p < kernel->params; p++) {
        double range = (double)kernel->param[p].count - 1;
        double y = range / 2;

        if (other != SIZE_MAX)
            y = space->index[other * kernel->params + p];
        if (range > 0)
            sum += fabs(x[p] - y) / range;
    }
    return sum;
}

size_t gt_spread(struct gt_strategy *strategy, const size_t *start, size_t starts)
{
    size_t draws = starts ? DRAWS : FIRST_DRAWS, best = SIZE_MAX;
    double most = 0;

    for (size_t t = 0; t < draws; t++) {
        size_t point = gt_strategy_draw(strategy);
        double far = starts ? distance(strategy->space, point, start[0]) : 0, worth;

        for (size_t i = 1; i < starts; i++)
            far = fmin(far, distance(strategy->space, point, start[i]));
        worth = far - distance(strategy->space, point, SIZE_MAX);
        if (best == SIZE_MAX || worth > most) {
            most = worth;
            best = point;
        }
    }
    return best;
}
