/* strategy_local.c - strategy: greedy local search from many starts.
 *
 * A few walkers search at once, so that compilers and the GPU have work while answers are awaited;
 * the one at the fastest place is served first.
 * A walker tries the neighbours of its place in random order and moves to the first faster one; a
 * place without faster neighbours is a local optimum, and the walker starts anew: from the fastest
 * seed nobody started from (random points take the place of missing seeds), else from the best
 * point with a few parameters changed at random.  Such points are also given out while all walkers
 * wait and little is in flight: a machine with many compilers would idle otherwise. */
#include "../src/err.h"
#include "climb.h"

#include <stdlib.h>
#include <string.h>

#define WALKERS_MAX  16
#define BUSY         48   /* points in flight that keep many compilers and the GPU at work */
#define START_WITHIN 1.5f /* a point slower than this times the best is no start */
#define KICK         4    /* parameters changed at most to leave the best point */

enum { WALKERS, EXPLORE, FRESH };

static const struct gt_strategy_option options[] = {
    {"walkers", 6, 1, WALKERS_MAX, "searches at once"},
    {"explore", 24, 1, 10000, "random points before the first walk, less the seeds"},
    {"fresh", 4, 1, 1e9, "every so many new starts a random point; else the best one, changed"},
    {NULL},
};

struct local {
    struct gt_climb walker[WALKERS_MAX];
    size_t walkers;
    size_t *start;          /* points to start from: the seeds, then those explored */
    bool *started;          /* somebody did */
    size_t starts, explore; /* in the list; still to be explored */
    uint64_t restarts;      /* elsewhere: kicks of the best, now and then a random point */
};

static int init(struct gt_strategy *strategy, bool adjacent, struct gt_err *err)
{
    struct local *local = calloc(1, sizeof(*local));
    size_t explore = (size_t)strategy->option[EXPLORE];

    if (!local)
        return gt_err_nomem(err);
    strategy->state = local;
    local->walkers = (size_t)strategy->option[WALKERS];
    local->start = calloc(strategy->seeds + explore, sizeof(*local->start));
    local->started = calloc(strategy->seeds + explore, sizeof(*local->started));
    if (!local->start || !local->started)
        return gt_err_nomem(err);
    memcpy(local->start, strategy->seed, strategy->seeds * sizeof(*local->start));
    local->starts = strategy->seeds;
    local->explore = strategy->seeds < explore ? explore - strategy->seeds : 0;
    for (size_t w = 0; w < local->walkers; w++) {
        int rc = gt_climb_init(&local->walker[w], adjacent, err);

        if (rc)
            return rc;
    }
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
    struct local *local = strategy->state;

    if (!local)
        return;
    for (size_t w = 0; w < WALKERS_MAX; w++)
        gt_climb_release(&local->walker[w]);
    free(local->start);
    free(local->started);
    free(local);
}

/* The fastest point of the list that nobody started from, or SIZE_MAX. */
static size_t listed_start(struct gt_strategy *strategy)
{
    struct local *local = strategy->state;
    const float *known = strategy->known;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < local->starts; i++) {
        float us = known[local->start[i]];

        if (local->started[i] || us <= 0 || us > START_WITHIN * known[strategy->best])
            continue;
        if (best == SIZE_MAX || us < known[local->start[best]])
            best = i;
    }
    if (best == SIZE_MAX)
        return SIZE_MAX;
    local->started[best] = true;
    return local->start[best];
}

static size_t kick(struct gt_strategy *strategy)
{
    return strategy->best == SIZE_MAX ? SIZE_MAX : gt_strategy_kick(strategy, strategy->best, KICK);
}

/* Gives an idle walker a place, or a point to try as its start. */
static enum gt_next start(struct gt_strategy *strategy, struct gt_climb *walker, size_t *point)
{
    struct local *local = strategy->state;
    size_t place;

    if (strategy->best == SIZE_MAX && strategy->flying)
        return GT_NEXT_WAIT; /* the list will tell where to start */
    place = strategy->best == SIZE_MAX ? SIZE_MAX : listed_start(strategy);
    if (place != SIZE_MAX) {
        gt_climb_to(strategy, walker, place);
        return GT_NEXT_WAIT;
    }
    *point = ++local->restarts % (uint64_t)strategy->option[FRESH] ? kick(strategy) : SIZE_MAX;
    if (*point == SIZE_MAX)
        *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

/* The walker's next point; WAIT if it has enough in flight or must hear first. */
static enum gt_next step(struct gt_strategy *strategy, struct gt_climb *walker, size_t *point)
{
    enum gt_next answer = gt_climb_next(strategy, walker, point);

    if (answer != GT_NEXT_DONE)
        return answer;
    walker->place = SIZE_MAX;
    if (start(strategy, walker, point) == GT_NEXT_POINT) {
        gt_climb_own(walker, *point);
        return GT_NEXT_POINT;
    }
    return walker->place == SIZE_MAX ? GT_NEXT_WAIT : step(strategy, walker, point);
}

/* The walkers in the order in which they are served: the one at the fastest place first. */
static void sort_walkers(const struct gt_strategy *strategy, struct gt_climb *order[WALKERS_MAX])
{
    struct local *local = strategy->state;
    const float *known = strategy->known;

    for (size_t w = 0; w < local->walkers; w++) {
        struct gt_climb *walker = &local->walker[w];
        size_t at = w;

        for (; at > 0 && walker->place != SIZE_MAX; at--) {
            if (order[at - 1]->place != SIZE_MAX &&
                known[order[at - 1]->place] <= known[walker->place])
                break;
            order[at] = order[at - 1];
        }
        order[at] = walker;
    }
}

/* Ends: the list of starts runs out, and any other start is a point. */
static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct local *local = strategy->state;
    struct gt_climb *order[WALKERS_MAX];

    if (local->explore) {
        local->explore--;
        *point = local->start[local->starts++] = gt_strategy_draw(strategy);
        return GT_NEXT_POINT;
    }
    for (;;) {
        sort_walkers(strategy, order);
        for (size_t i = 0; i < local->walkers; i++)
            if (step(strategy, order[i], point) == GT_NEXT_POINT)
                return GT_NEXT_POINT;
        if (strategy->flying) {
            *point = strategy->flying < BUSY ? kick(strategy) : SIZE_MAX;
            return *point == SIZE_MAX ? GT_NEXT_WAIT : GT_NEXT_POINT;
        }
    }
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct local *local = strategy->state;

    for (size_t w = 0; w < local->walkers; w++)
        gt_climb_tell(strategy, &local->walker[w], point);
}

const struct gt_strategy_ops gt_strategy_local = {
    .name = "local",
    .option = options,
    .doc = "greedy local search from many starts; neighbours differ in one parameter",
    .init = init_hamming,
    .next = next,
    .tell = tell,
    .release = release,
};

const struct gt_strategy_ops gt_strategy_adjacent = {
    .name = "adjacent",
    .option = options,
    .doc = "the same; neighbours differ by one step of one parameter",
    .init = init_adjacent,
    .next = next,
    .tell = tell,
    .release = release,
};
