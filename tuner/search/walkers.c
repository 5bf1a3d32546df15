/* walkers.c - stage "choose": greedy local search from many starts.
 *
 * A few walkers search at once, so that compilers and the GPU have work while answers are awaited;
 * the one at the fastest place is served first.  A walker tries the neighbours of its place and
 * moves to the first faster one; a place without faster neighbours is a local optimum, and the
 * walker starts anew: from the fastest start of the list that nobody started from, else from the
 * best point with a few parameters changed at random, now and then from a random point. */
#include "search/walkers.h"

#include "base/err.h"

#include <stdlib.h>

#define START_WITHIN 1.5f /* a point slower than this times the best is no start */
#define KICK         4    /* parameters changed at most to leave the best point */

int gt_walkers_init(struct gt_walkers *walkers, size_t count, bool adjacent, size_t room,
                    gt_climb_order *order, struct gt_err *err)
{
    walkers->count = count;
    walkers->room = room;
    walkers->random_each = 1;
    walkers->start = calloc(room + 1, sizeof(*walkers->start));
    walkers->started = calloc(room + 1, sizeof(*walkers->started));
    if (!walkers->start || !walkers->started)
        return gt_err_nomem(err);
    for (size_t w = 0; w < count; w++) {
        int rc = gt_climb_init(&walkers->walker[w], adjacent, order, err);

        if (rc)
            return rc;
    }
    return GT_OK;
}

void gt_walkers_release(struct gt_walkers *walkers)
{
    for (size_t w = 0; w < GT_WALKERS_MAX; w++)
        gt_climb_release(&walkers->walker[w]);
    free(walkers->start);
    free(walkers->started);
}

void gt_walkers_add_start(struct gt_walkers *walkers, size_t point)
{
    if (walkers->starts < walkers->room)
        walkers->start[walkers->starts++] = point;
}

/* The fastest point of the list that nobody started from, or SIZE_MAX. */
static size_t listed_start(const struct gt_strategy *strategy, struct gt_walkers *walkers)
{
    const float *known = strategy->known;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < walkers->starts; i++) {
        float us = known[walkers->start[i]];

        if (walkers->started[i] || us <= 0 || us > START_WITHIN * known[strategy->best])
            continue;
        if (best == SIZE_MAX || us < known[walkers->start[best]])
            best = i;
    }
    if (best == SIZE_MAX)
        return SIZE_MAX;
    walkers->started[best] = true;
    return walkers->start[best];
}

/* Gives an idle walker a place, or a point to try as its start. */
static enum gt_next start(struct gt_strategy *strategy, struct gt_walkers *walkers,
                          struct gt_climb *walker, size_t *point)
{
    size_t place;

    if (strategy->best == SIZE_MAX && strategy->flying)
        return GT_NEXT_WAIT; /* the list will tell where to start */
    place = strategy->best == SIZE_MAX ? SIZE_MAX : listed_start(strategy, walkers);
    if (place != SIZE_MAX) {
        gt_climb_to(strategy, walker, place);
        return GT_NEXT_WAIT;
    }
    *point = SIZE_MAX;
    if (++walkers->restarts % walkers->random_each && strategy->best != SIZE_MAX)
        *point = gt_strategy_kick(strategy, strategy->best, KICK);
    if (*point == SIZE_MAX)
        *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

/* The walker's next point; WAIT if it has enough in flight or must hear first. */
static enum gt_next step(struct gt_strategy *strategy, struct gt_walkers *walkers,
                         struct gt_climb *walker, size_t *point)
{
    enum gt_next answer = gt_climb_next(strategy, walker, point);

    if (answer != GT_NEXT_DONE)
        return answer;
    walker->place = SIZE_MAX;
    if (start(strategy, walkers, walker, point) == GT_NEXT_POINT) {
        gt_climb_own(walker, *point);
        return GT_NEXT_POINT;
    }
    return walker->place == SIZE_MAX ? GT_NEXT_WAIT : step(strategy, walkers, walker, point);
}

/* The walkers in the order in which they are served: the one at the fastest place first. */
static void sort(const struct gt_strategy *strategy, struct gt_walkers *walkers,
                 struct gt_climb *order[GT_WALKERS_MAX])
{
    const float *known = strategy->known;

    for (size_t w = 0; w < walkers->count; w++) {
        struct gt_climb *walker = &walkers->walker[w];
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

/* Without a point in flight some walker has one: the list of starts runs out, and any other start
 * is a point. */
enum gt_next gt_walkers_next(struct gt_strategy *strategy, struct gt_walkers *walkers,
                             size_t *point)
{
    struct gt_climb *order[GT_WALKERS_MAX];

    do {
        sort(strategy, walkers, order);
        for (size_t i = 0; i < walkers->count; i++)
            if (step(strategy, walkers, order[i], point) == GT_NEXT_POINT)
                return GT_NEXT_POINT;
    } while (!strategy->flying);
    return GT_NEXT_WAIT;
}

bool gt_walkers_tell(struct gt_strategy *strategy, struct gt_walkers *walkers, size_t point)
{
    bool mine = false;

    for (size_t w = 0; w < walkers->count; w++)
        mine |= gt_climb_tell(strategy, &walkers->walker[w], point);
    return mine;
}
