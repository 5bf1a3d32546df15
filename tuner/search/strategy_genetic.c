/* strategy_genetic.c - strategy: a genetic algorithm without generations (steady state: Whitley,
 * GENITOR, 1989).
 *
 * A child has two parents, each the faster of two members drawn at random.  The child takes every
 * parameter from one of its parents, mutates a little, and replaces the slowest member if the child
 * is faster.  Many children are in flight at once, because no child waits for another. */
#include <string.h>

#include "search/strategy.h"

#define MEMBERS_MAX 256
#define CHILDREN    64  /* in flight at once */
#define DRAWS       64  /* points near a child that are drawn, until one is valid */
#define REPEATS     100 /* known points bred in a row, after which a random point is given out */

enum { POPULATION, MUTATE };

static const struct gt_strategy_option options[] = {
    [POPULATION] = {"population", 20, 4, MEMBERS_MAX, "members"},
    [MUTATE] = {"mutate", 1, 0, GT_MAX_PARAMS, "parameters of a child drawn anew, on average"},
    {.name = NULL},
};

struct genetic {
    size_t member[MEMBERS_MAX]; /* fastest first */
    size_t members;
    size_t founders; /* random points still to be tried */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct genetic *genetic = strategy->state;
    size_t population = (size_t)strategy->option[POPULATION];

    (void)err;
    genetic->founders = strategy->seeds < population ? population - strategy->seeds : 0;
    return GT_OK;
}

/* The faster of two members drawn at random. */
static const uint8_t *parent(struct gt_strategy *strategy)
{
    const struct genetic *genetic = strategy->state;
    size_t a = gt_random_below(&strategy->random, genetic->members);
    size_t b = gt_random_below(&strategy->random, genetic->members);

    return strategy->space->index +
           genetic->member[a < b ? a : b] * strategy->space->kernel->params;
}

/* The point with this index of a value for each parameter.  If it is not valid, a point a few
 * random changes away; SIZE_MAX if a number of draws finds none. */
static size_t snap(struct gt_strategy *strategy, const uint8_t *index)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    size_t found = gt_space_find_index(strategy->space, index);

    for (size_t draws = 0; draws < DRAWS && found == SIZE_MAX && kernel->params; draws++) {
        uint8_t near[GT_MAX_PARAMS];

        memcpy(near, index, kernel->params);
        gt_strategy_change(strategy, near, 1 + draws / 16);
        found = gt_space_find_index(strategy->space, near);
    }
    return found;
}

/* A child, which may be known already; SIZE_MAX: no valid point is near the child. */
static size_t breed(struct gt_strategy *strategy)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    const double mutate = strategy->option[MUTATE] / (double)kernel->params;
    const uint8_t *one = parent(strategy), *other = parent(strategy);
    uint8_t index[GT_MAX_PARAMS];

    for (size_t p = 0; p < kernel->params; p++) {
        index[p] = gt_random_below(&strategy->random, 2) ? one[p] : other[p];
        if (gt_random_unit(&strategy->random) < mutate)
            index[p] = (uint8_t)gt_random_below(&strategy->random, kernel->param[p].count);
    }
    return snap(strategy, index);
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct genetic *genetic = strategy->state;

    gt_strategy_place(strategy, genetic->member, &genetic->members,
                      (size_t)strategy->option[POPULATION], point);
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct genetic *genetic = strategy->state;

    if (strategy->flying >= CHILDREN)
        return GT_NEXT_WAIT;
    if (!genetic->founders && genetic->members >= 2)
        for (int repeats = 0; repeats < REPEATS; repeats++) {
            *point = breed(strategy);
            if (*point == SIZE_MAX)
                break;
            if (strategy->known[*point] == GT_POINT_NEW)
                return GT_NEXT_POINT;
            if (strategy->known[*point] != GT_POINT_ASKED)
                tell(strategy, *point); /* a member that was displaced may come back */
        }
    genetic->founders -= genetic->founders > 0;
    *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

const struct gt_strategy_ops gt_strategy_genetic = {
    .name = "genetic",
    .doc = "genetic algorithm: crosses fast points and mutates them a little",
    .option = options,
    .state_size = sizeof(struct genetic),
    .init = init,
    .next = next,
    .tell = tell,
};
