/* hill_climb.c - greedy hill climbing from one place. */
#include "search/hill_climb.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS_MAX (GT_MAX_PARAMS * 16)

int gt_hill_climb_init(struct gt_hill_climb *climb, bool adjacent, gt_hill_climb_order *order,
                       struct gt_err *err)
{
    climb->adjacent = adjacent;
    climb->order = order;
    climb->place = SIZE_MAX;
    memset(climb->flying, 0xff, sizeof(climb->flying));
    climb->list = calloc(NEIGHBOURS_MAX, sizeof(*climb->list));
    return climb->list ? GT_OK : gt_err_nomem(err);
}

void gt_hill_climb_release(struct gt_hill_climb *climb)
{
    free(climb->list);
}

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

void gt_hill_climb_to(struct gt_strategy *strategy, struct gt_hill_climb *climb, size_t place)
{
    const float *known = strategy->known;

    for (;;) {
        size_t fastest = place;

        climb->count = gt_space_neighbours(strategy->space, place, climb->adjacent, climb->list,
                                           NEIGHBOURS_MAX);
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

enum gt_next gt_hill_climb_next(struct gt_strategy *strategy, struct gt_hill_climb *climb,
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
            gt_hill_climb_own(climb, *point);
            return GT_NEXT_POINT;
        }
    }
    return slots < GT_HILL_CLIMB_FLYING ? GT_NEXT_WAIT : GT_NEXT_DONE;
}

bool gt_hill_climb_own(struct gt_hill_climb *climb, size_t point)
{
    for (size_t i = 0; i < GT_HILL_CLIMB_FLYING; i++)
        if (climb->flying[i] == SIZE_MAX) {
            climb->flying[i] = point;
            return true;
        }
    return false;
}

bool gt_hill_climb_tell(struct gt_strategy *strategy, struct gt_hill_climb *climb, size_t point)
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
        gt_hill_climb_to(strategy, climb, point);
    return mine;
}
