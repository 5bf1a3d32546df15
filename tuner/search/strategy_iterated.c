/* strategy_iterated.c - strategies: iterated local search and basin hopping.
 *
 * Each of a few searchers climbs from its home, a local optimum, kicked away from it, to another
 * optimum, which becomes its home if it is faster; basin hopping also takes a slower one, the less
 * likely the slower it is.  A searcher whose home does not change for long starts anew. */
#include "search/climb.h"

#include <math.h>

#define SEARCHERS 4 /* the first one that can answer does; the others only keep compilers busy */

enum { STRENGTH, RESTART, HEAT };

static const struct gt_strategy_option iterated_options[] = {
    {"strength", 3, 1, GT_MAX_PARAMS, "parameters changed at most by a kick"},
    {"restart", 20, 1, 1e6, "kicks in vain before a new start"},
    {NULL},
};

static const struct gt_strategy_option basin_options[] = {
    {"strength", 2, 1, GT_MAX_PARAMS, "parameters changed at most by a hop"},
    {"restart", 20, 1, 1e6, "hops in vain before a new start"},
    {"heat", 0.02, 0, 10, "relative slow-down that is taken with probability 1/e"},
    {NULL},
};

struct searcher {
    struct gt_climb climb;
    size_t home; /* SIZE_MAX: none yet */
    double vain; /* kicks since home changed */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++) {
        int rc = gt_climb_init(&searcher[i].climb, false, NULL, err);

        if (rc)
            return rc;
        searcher[i].home = SIZE_MAX;
    }
    return GT_OK;
}

static void release(struct gt_strategy *strategy)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++)
        gt_climb_release(&searcher[i].climb);
}

/* Whether to move from home to the optimum reached. */
static bool accepts(struct gt_strategy *strategy, const struct searcher *searcher)
{
    const float *known = strategy->known;
    double slower;

    if (searcher->home == SIZE_MAX || known[searcher->home] <= 0)
        return true;
    slower = log((double)known[searcher->climb.place] / (double)known[searcher->home]);
    return slower < 0 ||
           gt_random_unit(&strategy->random) < exp(-slower / fmax(strategy->option[HEAT], 1e-9));
}

/* From an optimum: where the next climb starts. */
static size_t leave(struct gt_strategy *strategy, struct searcher *searcher)
{
    struct gt_climb *climb = &searcher->climb;
    size_t point = SIZE_MAX;

    if (climb->place != SIZE_MAX && climb->place != searcher->home &&
        strategy->known[climb->place] > 0 && accepts(strategy, searcher)) {
        searcher->home = climb->place;
        searcher->vain = 0;
    }
    climb->place = SIZE_MAX;
    if (searcher->home == SIZE_MAX && strategy->best != SIZE_MAX && searcher->vain++ < 1)
        searcher->home = strategy->best; /* a seed, or a point of an earlier run */
    if (searcher->home != SIZE_MAX && searcher->vain++ < strategy->option[RESTART])
        point = gt_strategy_kick(strategy, searcher->home, (size_t)strategy->option[STRENGTH]);
    if (point == SIZE_MAX) {
        searcher->home = SIZE_MAX;
        point = gt_strategy_draw(strategy);
    }
    return point;
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++) {
        enum gt_next answer = gt_climb_next(strategy, &searcher[i].climb, point);

        if (answer == GT_NEXT_DONE) {
            *point = leave(strategy, &searcher[i]);
            gt_climb_own(&searcher[i].climb, *point);
            return GT_NEXT_POINT;
        }
        if (answer == GT_NEXT_POINT)
            return answer;
    }
    return GT_NEXT_WAIT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++)
        gt_climb_tell(strategy, &searcher[i].climb, point);
}

const struct gt_strategy_ops gt_strategy_iterated = {
    .name = "iterated",
    .doc = "iterated local search: kicks a local optimum, climbs, keeps the faster",
    .option = iterated_options,
    .state_size = SEARCHERS * sizeof(struct searcher),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};

const struct gt_strategy_ops gt_strategy_basin = {
    .name = "basin",
    .doc = "basin hopping: the same, now and then content with a slower optimum",
    .option = basin_options,
    .state_size = SEARCHERS * sizeof(struct searcher),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};
