/* strategy_genetic.c - strategy: a genetic algorithm without generations (steady state: Whitley,
 * GENITOR, 1989).
 *
 * A child has two parents, each the faster of two members drawn at random.  It takes every
 * parameter from one of them, mutates a little, and replaces the slowest member if it is faster.
 * Many children are in flight at once, since none of them waits for another. */
#include "search/agents.h"

#include "base/array.h"
#include <stdlib.h>
#include <string.h>

#define CHILDREN 64 /* in flight at once */

enum { POPULATION, MUTATE };

static const struct gt_strategy_option options[] = {
    [POPULATION] = {"population", 20, 4, GT_AGENTS_MAX, "members"},
    [MUTATE] = {"mutate", 1, 0, GT_MAX_PARAMS, "parameters of a child drawn anew, on average"},
    {.name = NULL},
};

struct genetic {
    struct gt_agents agents;
    size_t member[GT_AGENTS_MAX]; /* fastest first */
    size_t members;
    size_t founders; /* random points still to be tried */
};

/* The faster of two members drawn at random. */
static size_t parent(struct gt_strategy *strategy, const struct genetic *genetic)
{
    size_t a = gt_random_below(&strategy->random, genetic->members);
    size_t b = gt_random_below(&strategy->random, genetic->members);

    return genetic->member[a < b ? a : b];
}

static size_t propose(struct gt_strategy *strategy, size_t agent)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    struct genetic *genetic = strategy->state;
    const uint8_t *one, *other;
    uint8_t index[GT_MAX_PARAMS];
    double mutate = strategy->option[MUTATE] / (double)kernel->params;

    (void)agent;
    if (genetic->founders || genetic->members < 2) {
        genetic->founders -= genetic->founders > 0;
        return gt_strategy_draw(strategy);
    }
    one = strategy->space->index + parent(strategy, genetic) * kernel->params;
    other = strategy->space->index + parent(strategy, genetic) * kernel->params;
    for (size_t p = 0; p < kernel->params; p++) {
        index[p] = gt_random_below(&strategy->random, 2) ? one[p] : other[p];
        if (gt_random_unit(&strategy->random) < mutate)
            index[p] = (uint8_t)gt_random_below(&strategy->random, kernel->param[p].count);
    }
    return gt_strategy_snap(strategy, index);
}

static void absorb(struct gt_strategy *strategy, size_t agent, size_t point)
{
    struct genetic *genetic = strategy->state;
    size_t *member = genetic->member, at = 0;
    const float *known = strategy->known;

    (void)agent;
    while (at < genetic->members && member[at] != point)
        at++;
    if (at < genetic->members) /* measured again, or proposed again */
        memmove(&member[at], &member[at + 1], (--genetic->members - at) * sizeof(*member));
    if (known[point] <= 0)
        return;
    for (at = genetic->members; at > 0 && known[point] < known[member[at - 1]]; at--)
        ;
    if (at >= (size_t)strategy->option[POPULATION])
        return;
    if (genetic->members == (size_t)strategy->option[POPULATION])
        genetic->members--;
    GT_ARRAY_OPEN(member, at, genetic->members);
    member[at] = point;
    genetic->members++;
}

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct genetic *genetic = strategy->state;
    size_t population = (size_t)strategy->option[POPULATION];

    (void)err;
    gt_agents_init(&genetic->agents, CHILDREN, false, propose, absorb);
    genetic->founders = strategy->seeds < population ? population - strategy->seeds : 0;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_genetic = {
    .name = "genetic",
    .doc = "genetic algorithm: crosses fast points and mutates them a little",
    .option = options,
    .state_size = sizeof(struct genetic),
    .init = init,
    .next = gt_agents_next,
    .tell = gt_agents_tell,
};
