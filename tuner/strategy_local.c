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
#include "strategy.h"

#include <stdlib.h>
#include <string.h>

#define WALKERS        6
#define FLYING         8    /* neighbours a walker has in flight at most */
#define BUSY           48   /* points in flight that keep many compilers and the GPU at work */
#define EXPLORE        24   /* random points before the first walk, if there are fewer seeds */
#define START_WITHIN   1.5f /* a point slower than this times the best is no start */
#define NEIGHBOURS_MAX (GT_MAX_PARAMS * 16)
#define KICK_TRIES     64

struct walker {
    size_t place; /* SIZE_MAX: none, needs a start */
    size_t *list; /* neighbours of the place, shuffled */
    size_t count, cursor;
    size_t flying[FLYING]; /* given out on its behalf; SIZE_MAX: free slot */
};

struct local {
    bool adjacent;
    struct walker walker[WALKERS];
    size_t *start;          /* points to start from: the seeds, then those explored */
    bool *started;          /* somebody did */
    size_t starts, explore; /* in the list; still to be explored */
    unsigned restarts;      /* elsewhere: three kicks of the best, then a random point */
};

static int init(struct gt_strategy *strategy, bool adjacent, struct gt_err *err)
{
    struct local *local = calloc(1, sizeof(*local));

    if (!local)
        return gt_err_nomem(err);
    strategy->state = local;
    local->adjacent = adjacent;
    local->start = calloc(strategy->seeds + EXPLORE, sizeof(*local->start));
    local->started = calloc(strategy->seeds + EXPLORE, sizeof(*local->started));
    if (!local->start || !local->started)
        return gt_err_nomem(err);
    memcpy(local->start, strategy->seed, strategy->seeds * sizeof(*local->start));
    local->starts = strategy->seeds;
    local->explore = strategy->seeds < EXPLORE ? EXPLORE - strategy->seeds : 0;
    for (size_t w = 0; w < WALKERS; w++) {
        struct walker *walker = &local->walker[w];

        walker->place = SIZE_MAX;
        memset(walker->flying, 0xff, sizeof(walker->flying));
        walker->list = calloc(NEIGHBOURS_MAX, sizeof(*walker->list));
        if (!walker->list)
            return gt_err_nomem(err);
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
    for (size_t w = 0; w < WALKERS; w++)
        free(local->walker[w].list);
    free(local->start);
    free(local->started);
    free(local);
}

/* Goes to a point and, as long as a neighbour is already known to be faster, on to that one. */
static void settle(struct gt_strategy *strategy, struct walker *walker, size_t place)
{
    const struct local *local = strategy->state;
    const float *known = strategy->known;

    for (;;) {
        size_t fastest = place;

        walker->count = gt_space_neighbours(strategy->space, place, local->adjacent, walker->list,
                                            NEIGHBOURS_MAX);
        if (walker->count > NEIGHBOURS_MAX)
            walker->count = NEIGHBOURS_MAX;
        for (size_t i = 0; i < walker->count; i++) {
            size_t point = walker->list[i];

            if (known[point] > 0 && known[point] < known[fastest])
                fastest = point;
        }
        if (fastest == place)
            break;
        place = fastest;
    }
    walker->place = place;
    walker->cursor = 0;
    for (size_t i = walker->count; i > 1; i--) {
        size_t j = gt_random_below(&strategy->random, i);
        size_t point = walker->list[i - 1];

        walker->list[i - 1] = walker->list[j];
        walker->list[j] = point;
    }
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

/* A NEW point that differs from the best one in two to four parameters, or SIZE_MAX. */
static size_t kick(struct gt_strategy *strategy)
{
    const struct gt_space *space = strategy->space;
    const struct gt_kernel *kernel = space->kernel;

    if (strategy->best == SIZE_MAX || !kernel->params)
        return SIZE_MAX;
    for (int tries = 0; tries < KICK_TRIES; tries++) {
        uint64_t changes = 2 + gt_random_below(&strategy->random, 3);
        struct gt_point point;
        size_t found;

        gt_space_point(space, strategy->best, &point);
        while (changes--) {
            size_t p = gt_random_below(&strategy->random, kernel->params);
            size_t value = gt_random_below(&strategy->random, kernel->param[p].count);

            point.value[p] = kernel->param[p].value[value];
        }
        found = gt_space_find(space, &point);
        if (found != SIZE_MAX && strategy->known[found] == GT_POINT_NEW)
            return found;
    }
    return SIZE_MAX;
}

/* Gives an idle walker a place, or a point to try as its start. */
static enum gt_next start(struct gt_strategy *strategy, struct walker *walker, size_t *point)
{
    struct local *local = strategy->state;
    size_t place;

    if (strategy->best == SIZE_MAX && strategy->flying)
        return GT_NEXT_WAIT; /* the list will tell where to start */
    place = strategy->best == SIZE_MAX ? SIZE_MAX : listed_start(strategy);
    if (place != SIZE_MAX) {
        settle(strategy, walker, place);
        return GT_NEXT_WAIT;
    }
    *point = ++local->restarts % 4 ? kick(strategy) : SIZE_MAX;
    if (*point == SIZE_MAX)
        *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

/* The walker's next point; WAIT if it has enough in flight or must hear first. */
static enum gt_next step(struct gt_strategy *strategy, struct walker *walker, size_t *point)
{
    size_t slot = FLYING, flying = 0;
    enum gt_next answer = GT_NEXT_WAIT;

    for (size_t i = 0; i < FLYING; i++) {
        if (walker->flying[i] == SIZE_MAX)
            slot = i;
        else
            flying++;
    }
    if (slot == FLYING)
        return GT_NEXT_WAIT;
    for (int tries = 0; tries < 2 && answer == GT_NEXT_WAIT; tries++) {
        while (walker->place != SIZE_MAX && walker->cursor < walker->count &&
               strategy->known[walker->list[walker->cursor]] != GT_POINT_NEW)
            walker->cursor++;
        if (walker->place != SIZE_MAX && walker->cursor < walker->count) {
            *point = walker->list[walker->cursor++];
            answer = GT_NEXT_POINT;
        } else if (flying) {
            return GT_NEXT_WAIT;
        } else {
            walker->place = SIZE_MAX;
            answer = start(strategy, walker, point);
        }
    }
    if (answer == GT_NEXT_POINT)
        walker->flying[slot] = *point;
    return answer;
}

/* The walkers in the order in which they are served: the one at the fastest place first. */
static void sort_walkers(const struct gt_strategy *strategy, struct walker *order[WALKERS])
{
    struct local *local = strategy->state;
    const float *known = strategy->known;

    for (size_t w = 0; w < WALKERS; w++) {
        struct walker *walker = &local->walker[w];
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
    struct walker *order[WALKERS];

    if (local->explore) {
        local->explore--;
        *point = local->start[local->starts++] = gt_strategy_draw(strategy);
        return GT_NEXT_POINT;
    }
    for (;;) {
        sort_walkers(strategy, order);
        for (size_t i = 0; i < WALKERS; i++)
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

    for (size_t w = 0; w < WALKERS; w++) {
        struct walker *walker = &local->walker[w];
        bool mine = false;

        for (size_t i = 0; i < FLYING; i++) {
            if (walker->flying[i] == point) {
                walker->flying[i] = SIZE_MAX;
                mine = true;
            }
        }
        if (mine && strategy->known[point] > 0 &&
            (walker->place == SIZE_MAX || strategy->known[point] < strategy->known[walker->place]))
            settle(strategy, walker, point);
    }
}

const struct gt_strategy_ops gt_strategy_local = {
    .name = "local",
    .doc = "greedy local search from many starts; neighbours differ in one parameter",
    .init = init_hamming,
    .next = next,
    .tell = tell,
    .release = release,
};

const struct gt_strategy_ops gt_strategy_adjacent = {
    .name = "adjacent",
    .doc = "the same; neighbours differ by one step of one parameter",
    .init = init_adjacent,
    .next = next,
    .tell = tell,
    .release = release,
};
