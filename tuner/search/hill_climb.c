/* hill_climb.c - greedy hill climbing from one place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/hill_climb.h"

#define NEIGHBOURS_MAX (GT_MAX_PARAMS * 16)

/* Sorts the list by the keys of the order.  Equal keys stay in their random order, and known points
 * come last. */
static void sort_list(struct gt_strategy *strategy, struct gt_hill_climb *climb)
{
    float key[NEIGHBOURS_MAX];

    for (size_t i = 0; i < climb->count; i++) {
        size_t point = climb->list[i], at = i;
        float own =
            strategy->known[point] == GT_POINT_NEW ? climb->order(strategy, point) : INFINITY;

        for (; at > 0 && key[at - 1] > own; at--) {
            key[at] = key[at - 1];
            climb->list[at] = climb->list[at - 1];
        }
        key[at] = own;
        climb->list[at] = point;
    }
}

/* Moves to a point whose time is known, then to faster neighbours as long as a faster neighbour is
 * known. */
static void climb_to(struct gt_strategy *strategy, struct gt_hill_climb *climb, size_t place)
{
    const float *known = strategy->known;

    for (;;) {
        size_t fastest = place;

        climb->count = gt_space_neighbours(strategy->space, place, climb->list, NEIGHBOURS_MAX);
        if (climb->count > NEIGHBOURS_MAX)
            climb->count = NEIGHBOURS_MAX;
        for (size_t i = 0; i < climb->count; i++) {
            size_t point = climb->list[i];

            if (known[point] > 0 && known[point] < known[fastest])
                fastest = point;
        }
        if (fastest == place)
            break;
        place = fastest;
    }
    climb->place = place;
    climb->cursor = 0;
    for (size_t i = climb->count; i > 1; i--) {
        size_t j = gt_random_below(&strategy->random, i);
        size_t point = climb->list[i - 1];

        climb->list[i - 1] = climb->list[j];
        climb->list[j] = point;
    }
    if (climb->order)
        sort_list(strategy, climb);
}

/* Counts a point as one of the climb's, which has a free slot. */
static void own(struct gt_hill_climb *climb, size_t point)
{
    size_t slot = 0;

    while (climb->flying[slot] != SIZE_MAX)
        slot++;
    climb->flying[slot] = point;
}

/* POINT: a NEW neighbour.  WAIT: enough neighbours are in flight, or there are no others.  DONE:
 * the climb has no place, or its place is a local optimum. */
static enum gt_next climb_next(struct gt_strategy *strategy, struct gt_hill_climb *climb,
                               size_t *point)
{
    size_t slots = 0;

    for (size_t i = 0; i < GT_HILL_CLIMB_FLYING; i++)
        slots += climb->flying[i] == SIZE_MAX;
    if (!slots)
        return GT_NEXT_WAIT;
    while (climb->place != SIZE_MAX && climb->cursor < climb->count) {
        *point = climb->list[climb->cursor++];
        if (strategy->known[*point] == GT_POINT_NEW) {
            own(climb, *point);
            return GT_NEXT_POINT;
        }
    }
    return slots < GT_HILL_CLIMB_FLYING ? GT_NEXT_WAIT : GT_NEXT_DONE;
}

/* After a point was told: moves to the point if this climb gave it out and it is faster than the
 * place. */
static void climb_tell(struct gt_strategy *strategy, struct gt_hill_climb *climb, size_t point)
{
    const float *known = strategy->known;
    bool mine = false;

    for (size_t i = 0; i < GT_HILL_CLIMB_FLYING; i++)
        if (climb->flying[i] == point) {
            climb->flying[i] = SIZE_MAX;
            mine = true;
        }
    if (mine && known[point] > 0 &&
        (climb->place == SIZE_MAX || known[point] < known[climb->place]))
        climb_to(strategy, climb, point);
}

/* Greedy hill climbing from many starts.
 *
 * Several climbs run at once, so that the compilers and the GPU have work while climbs wait for
 * times.  The climb at the fastest place is served first.  A climb that has reached a local optimum
 * starts anew: from the fastest unused point of the list of starts.  If there is none, the climb
 * starts from the best point with a few parameters changed at random, and now and then from a
 * random point. */

#define START_WITHIN 1.5f /* a point slower than this times the best is no start */
#define KICK         4    /* parameters changed at most to leave the best point */

int gt_multi_start_init(struct gt_multi_start *multi, size_t count, size_t room,
                        gt_hill_climb_order *order, struct gt_err *err)
{
    multi->count = count;
    multi->room = room;
    multi->random_each = 1;
    multi->start = calloc(room + 1, sizeof(*multi->start));
    multi->started = calloc(room + 1, sizeof(*multi->started));
    if (!multi->start || !multi->started)
        return gt_err_nomem(err);
    for (size_t c = 0; c < count; c++) {
        struct gt_hill_climb *climb = &multi->climb[c];

        climb->order = order;
        climb->place = SIZE_MAX;
        memset(climb->flying, 0xff, sizeof(climb->flying));
        climb->list = calloc(NEIGHBOURS_MAX, sizeof(*climb->list));
        if (!climb->list)
            return gt_err_nomem(err);
    }
    return GT_OK;
}

void gt_multi_start_release(struct gt_multi_start *multi)
{
    for (size_t c = 0; c < GT_MULTI_START_MAX; c++)
        free(multi->climb[c].list);
    free(multi->start);
    free(multi->started);
}

void gt_multi_start_add(struct gt_multi_start *multi, size_t point)
{
    if (multi->starts < multi->room)
        multi->start[multi->starts++] = point;
}

/* The fastest point of the list from which no climb started, or SIZE_MAX. */
static size_t listed_start(const struct gt_strategy *strategy, struct gt_multi_start *multi)
{
    const float *known = strategy->known;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < multi->starts; i++) {
        float us = known[multi->start[i]];

        if (multi->started[i] || us <= 0 || us > START_WITHIN * known[strategy->best])
            continue;
        if (best == SIZE_MAX || us < known[multi->start[best]])
            best = i;
    }
    if (best == SIZE_MAX)
        return SIZE_MAX;
    multi->started[best] = true;
    return multi->start[best];
}

/* Gives an idle climb a place, or a point to try as its start. */
static enum gt_next start(struct gt_strategy *strategy, struct gt_multi_start *multi,
                          struct gt_hill_climb *climb, size_t *point)
{
    size_t place;

    if (strategy->best == SIZE_MAX && strategy->flying)
        return GT_NEXT_WAIT; /* the list will have a start */
    place = strategy->best == SIZE_MAX ? SIZE_MAX : listed_start(strategy, multi);
    if (place != SIZE_MAX) {
        climb_to(strategy, climb, place);
        return GT_NEXT_WAIT;
    }
    *point = SIZE_MAX;
    if (++multi->restarts % multi->random_each && strategy->best != SIZE_MAX)
        *point = gt_strategy_kick(strategy, strategy->best, KICK);
    if (*point == SIZE_MAX)
        *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

/* The climb's next point.  WAIT: the climb has enough points in flight, or needs their times
 * first. */
static enum gt_next step(struct gt_strategy *strategy, struct gt_multi_start *multi,
                         struct gt_hill_climb *climb, size_t *point)
{
    enum gt_next answer = climb_next(strategy, climb, point);

    if (answer != GT_NEXT_DONE)
        return answer;
    climb->place = SIZE_MAX;
    if (start(strategy, multi, climb, point) == GT_NEXT_POINT) {
        own(climb, *point);
        return GT_NEXT_POINT;
    }
    return climb->place == SIZE_MAX ? GT_NEXT_WAIT : step(strategy, multi, climb, point);
}

/* The climbs in the order in which they are served, the climb at the fastest place first. */
static void sort(const struct gt_strategy *strategy, struct gt_multi_start *multi,
                 struct gt_hill_climb *order[GT_MULTI_START_MAX])
{
    const float *known = strategy->known;

    for (size_t c = 0; c < multi->count; c++) {
        struct gt_hill_climb *climb = &multi->climb[c];
        size_t at = c;

        for (; at > 0 && climb->place != SIZE_MAX; at--) {
            if (order[at - 1]->place != SIZE_MAX &&
                known[order[at - 1]->place] <= known[climb->place])
                break;
            order[at] = order[at - 1];
        }
        order[at] = climb;
    }
}

/* The loop ends: if no point is in flight, some climb gives a point, because the list of starts
 * runs out and every later start is itself a point to try. */
enum gt_next gt_multi_start_next(struct gt_strategy *strategy, struct gt_multi_start *multi,
                                 size_t *point)
{
    struct gt_hill_climb *order[GT_MULTI_START_MAX];

    do {
        sort(strategy, multi, order);
        for (size_t i = 0; i < multi->count; i++)
            if (step(strategy, multi, order[i], point) == GT_NEXT_POINT)
                return GT_NEXT_POINT;
    } while (!strategy->flying);
    return GT_NEXT_WAIT;
}

void gt_multi_start_tell(struct gt_strategy *strategy, struct gt_multi_start *multi, size_t point)
{
    for (size_t c = 0; c < multi->count; c++)
        climb_tell(strategy, &multi->climb[c], point);
}
