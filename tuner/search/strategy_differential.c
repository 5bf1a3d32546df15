/* strategy_differential.c - strategy: differential evolution (Storn, Price, Journal of Global
 * Optimization 11, 1997), variant current-to-best/1/bin, over the indices of the values.
 *
 * Each member in turn is moved, in some of its parameters, towards the best point and along the
 * difference of two other members.  The result replaces the member if it is faster. */
#include "search/agents.h"

#include <math.h>
#include <stdlib.h>

enum { POPULATION, WEIGHT, CROSS };

static const struct gt_strategy_option options[] = {
    [POPULATION] = {"population", 20, 4, GT_AGENTS_MAX, "members"},
    [WEIGHT] = {"weight", 0.6, 0, 2, "factor on the differences"},
    [CROSS] = {"cross", 0.5, 0, 1, "probability that a parameter is moved"},
    {.name = NULL},
};

struct differential {
    struct gt_agents agents;
    size_t member[GT_AGENTS_MAX]; /* SIZE_MAX: not yet tried */
};

static const uint8_t *index_of(const struct gt_strategy *strategy, size_t point)
{
    return strategy->space->index + point * strategy->space->kernel->params;
}

/* A member drawn at random that has a point; the best point if that one has none. */
static const uint8_t *other(struct gt_strategy *strategy, const struct differential *differential)
{
    size_t i = gt_random_below(&strategy->random, differential->agents.count);
    size_t point = differential->member[i];

    return index_of(strategy, point == SIZE_MAX ? strategy->best : point);
}

static size_t propose(struct gt_strategy *strategy, size_t agent)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    struct differential *differential = strategy->state;
    double weight = strategy->option[WEIGHT];
    const uint8_t *own, *best, *a, *b;
    uint8_t index[GT_MAX_PARAMS];
    size_t always;

    if (differential->member[agent] == SIZE_MAX || strategy->best == SIZE_MAX)
        return gt_strategy_draw(strategy);
    own = index_of(strategy, differential->member[agent]);
    best = index_of(strategy, strategy->best);
    a = other(strategy, differential);
    b = other(strategy, differential);
    always = gt_random_below(&strategy->random, kernel->params);
    for (size_t p = 0; p < kernel->params; p++) {
        double to = own[p] + weight * (best[p] - own[p]) + weight * (a[p] - b[p]);
        double top = (double)kernel->param[p].count - 1;

        /* Rounded up or down at random, because small differences would always round to none. */
        to = floor(to + gt_random_unit(&strategy->random));
        index[p] = own[p];
        if (p == always || gt_random_unit(&strategy->random) < strategy->option[CROSS])
            index[p] = (uint8_t)fmin(fmax(to, 0), top);
    }
    return gt_strategy_snap(strategy, index);
}

/* A point from elsewhere replaces the slowest member. */
static void absorb(struct gt_strategy *strategy, size_t agent, size_t point)
{
    struct differential *differential = strategy->state;
    size_t *member = differential->member, slowest = 0;
    const float *known = strategy->known;

    for (size_t i = 0; agent == SIZE_MAX && i < differential->agents.count; i++)
        if (member[i] == SIZE_MAX ||
            (member[slowest] != SIZE_MAX && known[member[i]] > known[member[slowest]]))
            slowest = i;
    if (agent != SIZE_MAX)
        slowest = agent;
    if (known[point] > 0 && (member[slowest] == SIZE_MAX || known[member[slowest]] <= 0 ||
                             known[point] <= known[member[slowest]]))
        member[slowest] = point;
}

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct differential *differential = strategy->state;

    (void)err;
    gt_agents_init(&differential->agents, (size_t)strategy->option[POPULATION], true, propose,
                   absorb);
    for (size_t i = 0; i < GT_AGENTS_MAX; i++)
        differential->member[i] = SIZE_MAX;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_differential = {
    .name = "differential",
    .doc = "differential evolution: moves members along the differences of others",
    .option = options,
    .state_size = sizeof(struct differential),
    .init = init,
    .next = gt_agents_next,
    .tell = gt_agents_tell,
};
