/* strategy.c - stage "choose": the table of strategies and the bookkeeping all of them share. */
#include "strategy.h"

#include "../src/err.h"
#include "../src/strbuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

extern const struct gt_strategy_ops gt_strategy_local, gt_strategy_adjacent, gt_strategy_random,
    gt_strategy_exhaustive;

const struct gt_strategy_ops *const gt_strategies[] = {
    &gt_strategy_local, &gt_strategy_adjacent, &gt_strategy_random, &gt_strategy_exhaustive, NULL,
};

static const struct gt_strategy_ops *find_ops(const char *name, struct gt_err *err)
{
    struct gt_strbuf names = GT_STRBUF_INIT;

    for (size_t i = 0; gt_strategies[i]; i++)
        if (strcmp(gt_strategies[i]->name, name) == 0)
            return gt_strategies[i];
    for (size_t i = 0; gt_strategies[i]; i++)
        gt_strbuf_addf(&names, "%s%s", i ? ", " : "", gt_strategies[i]->name);
    gt_err_set(err, GT_ENOTFOUND, "unknown strategy '%s'; there are: %s", name, names.text);
    gt_strbuf_release(&names);
    return NULL;
}

/* Keeps the seeds that are points of the space, each once. */
static void copy_seeds(struct gt_strategy *strategy, const struct gt_seeds *seeds)
{
    for (size_t i = 0; i < seeds->count; i++) {
        size_t point = seeds->point[i], j = 0;

        while (j < strategy->seeds && strategy->seed[j] != point)
            j++;
        if (j == strategy->seeds && point < strategy->space->count)
            strategy->seed[strategy->seeds++] = point;
    }
}

int gt_strategy_new(struct gt_strategy **strategy, const char *name, const struct gt_space *space,
                    uint64_t seed, const struct gt_seeds *seeds, struct gt_err *err)
{
    const struct gt_strategy_ops *ops = find_ops(name, err);
    struct gt_strategy *new;
    int rc = GT_OK;

    if (!ops)
        return GT_ENOTFOUND;
    new = calloc(1, sizeof(*new));
    if (!new)
        return gt_err_nomem(err);
    new->ops = ops;
    new->space = space;
    new->random.state = seed;
    new->fresh = space->count;
    new->best = SIZE_MAX;
    new->known = calloc(space->count + 1, sizeof(*new->known));
    new->seed = calloc((seeds ? seeds->count : 0) + 1, sizeof(*new->seed));
    if (!new->known || !new->seed) {
        gt_strategy_free(new);
        return gt_err_nomem(err);
    }
    if (seeds)
        copy_seeds(new, seeds);
    if (ops->init)
        rc = ops->init(new, err);
    if (rc) {
        gt_strategy_free(new);
        return rc;
    }
    *strategy = new;
    return GT_OK;
}

void gt_strategy_free(struct gt_strategy *strategy)
{
    if (!strategy)
        return;
    if (strategy->ops->release)
        strategy->ops->release(strategy);
    free(strategy->known);
    free(strategy->seed);
    free(strategy);
}

/* The next seed that is still NEW, or SIZE_MAX. */
static size_t next_seed(struct gt_strategy *strategy)
{
    while (strategy->next_seed < strategy->seeds) {
        size_t point = strategy->seed[strategy->next_seed++];

        if (strategy->known[point] == GT_POINT_NEW)
            return point;
    }
    return SIZE_MAX;
}

void gt_strategy_claim(struct gt_strategy *strategy, size_t point)
{
    if (strategy->known[point] != GT_POINT_NEW)
        return;
    strategy->known[point] = GT_POINT_ASKED;
    strategy->fresh--;
    strategy->flying++;
}

enum gt_next gt_strategy_next(struct gt_strategy *strategy, size_t *point)
{
    enum gt_next answer = GT_NEXT_POINT;

    if (!strategy->fresh)
        return GT_NEXT_DONE;
    *point = next_seed(strategy);
    if (*point == SIZE_MAX)
        answer = strategy->ops->next(strategy, point);
    if (answer != GT_NEXT_POINT)
        return answer;
    assert(*point < strategy->space->count && strategy->known[*point] == GT_POINT_NEW);
    gt_strategy_claim(strategy, *point);
    return GT_NEXT_POINT;
}

static void find_best(struct gt_strategy *strategy)
{
    const float *known = strategy->known;

    strategy->best = SIZE_MAX;
    for (size_t i = 0; i < strategy->space->count; i++)
        if (known[i] > 0 && (strategy->best == SIZE_MAX || known[i] < known[strategy->best]))
            strategy->best = i;
}

void gt_strategy_tell(struct gt_strategy *strategy, size_t point, double us)
{
    float *known = &strategy->known[point];

    if (*known == GT_POINT_NEW)
        strategy->fresh--;
    if (*known == GT_POINT_ASKED)
        strategy->flying--;
    *known = us > 0 ? (float)us : GT_POINT_NOGOOD;
    if (point == strategy->best)
        find_best(strategy); /* it may have become slower */
    else if (*known > 0 && (strategy->best == SIZE_MAX || *known < strategy->known[strategy->best]))
        strategy->best = point;
    if (strategy->ops->tell)
        strategy->ops->tell(strategy, point);
}

size_t gt_strategy_draw(struct gt_strategy *strategy)
{
    size_t count = strategy->space->count;
    size_t point = 0;

    assert(strategy->fresh > 0);
    /* Where NEW points are common a few throws find one; else take the next one after a throw. */
    for (int throws = 0; throws < 32; throws++) {
        point = gt_random_below(&strategy->random, count);
        if (strategy->known[point] == GT_POINT_NEW)
            return point;
    }
    while (strategy->known[point] != GT_POINT_NEW)
        point = (point + 1) % count;
    return point;
}
