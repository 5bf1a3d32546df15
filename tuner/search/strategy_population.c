/* strategy_population.c - strategies of populations: genetic, differential evolution, particle
 * swarm. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "search/agents.h"

/* Strategy: a genetic algorithm without generations (steady state: Whitley,
 * GENITOR, 1989).
 *
 * A child has two parents, each the faster of two members drawn at random.  It takes every
 * parameter from one of them, mutates a little, and replaces the slowest member if it is faster.
 * Many children are in flight at once, since none of them waits for another. */

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

/* Strategy: differential evolution (Storn, Price, Journal of Global
 * Optimization 11, 1997), variant current-to-best/1/bin, over the indices of the values.
 *
 * Each member in turn is moved, in some of its parameters, towards the best point and along the
 * difference of two other members.  The result replaces the member if it is faster. */

enum { POPULATION_DIFFERENTIAL, WEIGHT, CROSS };

static const struct gt_strategy_option options_differential[] = {
    [POPULATION_DIFFERENTIAL] = {"population", 20, 4, GT_AGENTS_MAX, "members"},
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

static size_t propose_differential(struct gt_strategy *strategy, size_t agent)
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
static void absorb_differential(struct gt_strategy *strategy, size_t agent, size_t point)
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

static int init_differential(struct gt_strategy *strategy, struct gt_err *err)
{
    struct differential *differential = strategy->state;

    (void)err;
    gt_agents_init(&differential->agents, (size_t)strategy->option[POPULATION_DIFFERENTIAL], true,
                   propose_differential, absorb_differential);
    for (size_t i = 0; i < GT_AGENTS_MAX; i++)
        differential->member[i] = SIZE_MAX;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_differential = {
    .name = "differential",
    .doc = "differential evolution: moves members along the differences of others",
    .option = options_differential,
    .state_size = sizeof(struct differential),
    .init = init_differential,
    .next = gt_agents_next,
    .tell = gt_agents_tell,
};

/* Strategy: particle swarm (Kennedy, Eberhart, 1995; the constants are Clerc's
 * and Kennedy's, IEEE Transactions on Evolutionary Computation 6, 2002) over the indices of the
 * values.
 *
 * A particle moves through the space of indices.  It is drawn to the best place that it has seen
 * and to the best place of the swarm, and the point nearest to its position is tried. */

enum { PARTICLES, INERTIA, OWN, COMMON };

static const struct gt_strategy_option options_swarm[] = {
    [PARTICLES] = {"particles", 20, 2, GT_AGENTS_MAX, "particles in the swarm"},
    [INERTIA] = {"inertia", 0.73, 0, 1, "share of its velocity that a particle keeps"},
    [OWN] = {"own", 1.5, 0, 4, "pull of the best place that the particle has seen"},
    [COMMON] = {"common", 1.5, 0, 4, "pull of the best place of the swarm"},
    {.name = NULL},
};

struct particle {
    size_t best; /* SIZE_MAX: none */
    float at[GT_MAX_PARAMS], speed[GT_MAX_PARAMS];
    bool placed;
};

struct swarm {
    struct gt_agents agents;
    struct particle particle[GT_AGENTS_MAX];
};

/* Puts a particle on a point, with a random velocity. */
static void place(struct gt_strategy *strategy, struct particle *particle, size_t point)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    const uint8_t *index = strategy->space->index + point * kernel->params;

    for (size_t p = 0; p < kernel->params; p++) {
        double width = (double)kernel->param[p].count - 1;

        particle->at[p] = index[p];
        particle->speed[p] = (float)(width * (gt_random_unit(&strategy->random) - 0.5));
    }
    particle->placed = true;
}

static void fly(struct gt_strategy *strategy, struct particle *particle)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    const uint8_t *own = strategy->space->index + particle->best * kernel->params;
    const uint8_t *common = strategy->space->index + strategy->best * kernel->params;

    for (size_t p = 0; p < kernel->params; p++) {
        float top = (float)kernel->param[p].count - 1;
        double own_pull = strategy->option[OWN] * gt_random_unit(&strategy->random);
        double pull = strategy->option[COMMON] * gt_random_unit(&strategy->random);
        double speed = strategy->option[INERTIA] * (double)particle->speed[p] +
                       own_pull * (own[p] - (double)particle->at[p]) +
                       pull * (common[p] - (double)particle->at[p]);

        particle->speed[p] = fminf(fmaxf((float)speed, -top), top);
        particle->at[p] = fminf(fmaxf(particle->at[p] + particle->speed[p], 0), top);
    }
}

static size_t propose_swarm(struct gt_strategy *strategy, size_t agent)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    struct particle *particle = &((struct swarm *)strategy->state)->particle[agent];
    uint8_t index[GT_MAX_PARAMS];

    if (!particle->placed) {
        size_t point = gt_strategy_draw(strategy);

        place(strategy, particle, point);
        return point;
    }
    if (particle->best != SIZE_MAX && strategy->best != SIZE_MAX)
        fly(strategy, particle);
    for (size_t p = 0; p < kernel->params; p++)
        index[p] = (uint8_t)lrintf(particle->at[p]);
    return gt_strategy_snap(strategy, index);
}

/* A point from elsewhere becomes the first place of a particle that has none. */
static void absorb_swarm(struct gt_strategy *strategy, size_t agent, size_t point)
{
    struct swarm *swarm = strategy->state;
    const float *known = strategy->known;
    struct particle *particle;

    for (size_t i = 0; agent == SIZE_MAX && i < swarm->agents.count; i++)
        if (!swarm->particle[i].placed)
            agent = i;
    if (agent == SIZE_MAX)
        return;
    particle = &swarm->particle[agent];
    if (known[point] <= 0) {
        particle->placed =
            particle->placed && particle->best != SIZE_MAX; /* a new particle tries another point */
        return;
    }
    if (!particle->placed)
        place(strategy, particle, point);
    if (particle->best == SIZE_MAX || known[particle->best] <= 0 ||
        known[point] < known[particle->best])
        particle->best = point;
}

static int init_swarm(struct gt_strategy *strategy, struct gt_err *err)
{
    struct swarm *swarm = strategy->state;

    (void)err;
    gt_agents_init(&swarm->agents, (size_t)strategy->option[PARTICLES], true, propose_swarm,
                   absorb_swarm);
    for (size_t i = 0; i < GT_AGENTS_MAX; i++)
        swarm->particle[i].best = SIZE_MAX;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_swarm = {
    .name = "swarm",
    .doc = "particle swarm: particles are drawn to their own best place and to the swarm's",
    .option = options_swarm,
    .state_size = sizeof(struct swarm),
    .init = init_swarm,
    .next = gt_agents_next,
    .tell = gt_agents_tell,
};
