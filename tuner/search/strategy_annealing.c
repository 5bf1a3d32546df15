/* strategy_annealing.c - strategy: simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220,
 * 1983) of the logarithm of time.
 *
 * A chain proposes a neighbour of its place and moves there if it is faster.  It moves to a slower
 * one with a probability that falls with the slow-down and with the chain's temperature.  A cold
 * chain is heated again and goes on from the best point. */
#include "search/agents.h"

#include <math.h>
#include <stdlib.h>

#define NEIGHBOURS_MAX (GT_MAX_PARAMS * 16)

enum { CHAINS, HOT, COLD, COOL };

static const struct gt_strategy_option options[] = {
    [CHAINS] = {"chains", 8, 1, GT_AGENTS_MAX,
                "chains; all but the first only work while it waits"},
    [HOT] = {"hot", 0.2, 1e-6, 100, "first temperature: slow-down accepted with probability 1/e"},
    [COLD] = {"cold", 0.01, 1e-6, 100, "temperature at which a chain is heated again"},
    [COOL] = {"cool", 0.97, 0.01, 0.9999, "factor on the temperature at each step"},
    {.name = NULL},
};

struct annealing {
    struct gt_agents agents;
    struct {
        size_t place; /* SIZE_MAX: none */
        double heat;
    } chain[GT_AGENTS_MAX];
};

static size_t propose(struct gt_strategy *strategy, size_t agent)
{
    struct annealing *annealing = strategy->state;
    size_t *place = &annealing->chain[agent].place, list[NEIGHBOURS_MAX], count;

    if (annealing->chain[agent].heat < strategy->option[COLD]) {
        annealing->chain[agent].heat = strategy->option[HOT];
        *place = strategy->best;
    }
    if (*place == SIZE_MAX)
        return gt_strategy_draw(strategy);
    count = gt_space_neighbours(strategy->space, *place, false, list, NEIGHBOURS_MAX);
    if (count > NEIGHBOURS_MAX)
        count = NEIGHBOURS_MAX;
    return count ? list[gt_random_below(&strategy->random, count)] : SIZE_MAX;
}

static void absorb(struct gt_strategy *strategy, size_t agent, size_t point)
{
    struct annealing *annealing = strategy->state;
    const float *known = strategy->known;
    size_t own = agent == SIZE_MAX ? 0 : agent;
    size_t *place = &annealing->chain[own].place;
    double slower = 0;

    if (agent != SIZE_MAX)
        annealing->chain[own].heat *= strategy->option[COOL];
    if (known[point] <= 0)
        return;
    if (*place != SIZE_MAX && known[*place] > 0)
        slower = log((double)known[point] / (double)known[*place]);
    if (slower <= 0 || (agent != SIZE_MAX && gt_random_unit(&strategy->random) <
                                                 exp(-slower / annealing->chain[own].heat)))
        *place = point;
}

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct annealing *annealing = strategy->state;

    (void)err;
    gt_agents_init(&annealing->agents, (size_t)strategy->option[CHAINS], false, propose, absorb);
    for (size_t i = 0; i < GT_AGENTS_MAX; i++) {
        annealing->chain[i].place = SIZE_MAX;
        annealing->chain[i].heat = strategy->option[HOT];
    }
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_annealing = {
    .name = "annealing",
    .doc = "simulated annealing: moves to slower neighbours less and less often",
    .option = options,
    .state_size = sizeof(struct annealing),
    .init = init,
    .next = gt_agents_next,
    .tell = gt_agents_tell,
};
