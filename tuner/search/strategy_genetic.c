/* strategy_agents.c - strategies with many agents (chains, members of a population, particles):
 * annealing, genetic, differential evolution, particle swarm.  Each agent proposes points and
 * absorbs their results at its own pace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/strategy.h"

#define AGENTS_MAX 256
#define REPEATS    100 /* known points proposed in a row, after which a random point is given out */

/* The point that an agent wants to try, known already or not; SIZE_MAX: none. */
typedef size_t agent_propose(struct gt_strategy *strategy, size_t agent);

/* The result of a point that the agent proposed.  agent SIZE_MAX: the point came from elsewhere (a
 * seed, an earlier run). */
typedef void agent_absorb(struct gt_strategy *strategy, size_t agent, size_t point);

struct agents {
    size_t count;
    bool turns; /* agents propose in turn; else the first agent that does not wait proposes */
    size_t turn;
    size_t flying[AGENTS_MAX]; /* the point that each agent waits for; SIZE_MAX: none */
    agent_propose *propose;
    agent_absorb *absorb;
};

static void init_agents(struct agents *agents, size_t count, bool turns, agent_propose *propose,
                        agent_absorb *absorb)
{
    agents->propose = propose;
    agents->absorb = absorb;
    agents->count = count;
    agents->turns = turns;
    memset(agents->flying, 0xff, sizeof(agents->flying));
}

/* An agent that does not wait, or SIZE_MAX. */
static size_t idle(struct agents *agents)
{
    for (size_t i = 0; i < agents->count; i++) {
        size_t agent = (agents->turn + i) % agents->count;

        if (agents->flying[agent] == SIZE_MAX) {
            if (agents->turns)
                agents->turn = agent + 1;
            return agent;
        }
    }
    return SIZE_MAX;
}

/* `next` and `tell` of a strategy whose state begins with a struct agents.  A proposal that is
 * known already is absorbed at once and costs nothing.  WAIT: all agents wait. */
static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct agents *agents = strategy->state;
    size_t agent = idle(agents);

    if (agent == SIZE_MAX)
        return GT_NEXT_WAIT;
    for (int repeats = 0; repeats < REPEATS; repeats++) {
        *point = agents->propose(strategy, agent);
        if (*point == SIZE_MAX)
            break;
        if (strategy->known[*point] == GT_POINT_NEW) {
            agents->flying[agent] = *point;
            return GT_NEXT_POINT;
        }
        if (strategy->known[*point] != GT_POINT_ASKED)
            agents->absorb(strategy, agent, *point);
        if (agents->turns)
            agent = idle(agents); /* an idle agent exists: this agent does not wait */
    }
    *point = agents->flying[agent] = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct agents *agents = strategy->state;
    bool mine = false;

    for (size_t i = 0; i < agents->count; i++)
        if (agents->flying[i] == point) {
            agents->flying[i] = SIZE_MAX;
            agents->absorb(strategy, i, point);
            mine = true;
        }
    if (!mine)
        agents->absorb(strategy, SIZE_MAX, point);
}

/* Strategy: simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220, 1983) of the logarithm
 * of time.
 *
 * A chain proposes a neighbour of its place.  The chain moves to a faster neighbour; it moves to a
 * slower neighbour with a probability that is the smaller the greater the slow-down and the lower
 * the chain's temperature.  A cold chain is heated again and goes on from the best point. */

#define NEIGHBOURS_MAX (GT_MAX_PARAMS * 16)

enum { CHAINS, HOT, COLD, COOL };

static const struct gt_strategy_option annealing_options[] = {
    [CHAINS] = {"chains", 8, 1, AGENTS_MAX, "chains; all but the first only work while it waits"},
    [HOT] = {"hot", 0.2, 1e-6, 100, "first temperature: slow-down accepted with probability 1/e"},
    [COLD] = {"cold", 0.01, 1e-6, 100, "temperature at which a chain is heated again"},
    [COOL] = {"cool", 0.97, 0.01, 0.9999, "factor on the temperature at each step"},
    {.name = NULL},
};

struct annealing {
    struct agents agents;
    struct {
        size_t place; /* SIZE_MAX: none */
        double heat;
    } chain[AGENTS_MAX];
};

static size_t propose_step(struct gt_strategy *strategy, size_t agent)
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

static void absorb_step(struct gt_strategy *strategy, size_t agent, size_t point)
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

static int init_annealing(struct gt_strategy *strategy, struct gt_err *err)
{
    struct annealing *annealing = strategy->state;

    (void)err;
    init_agents(&annealing->agents, (size_t)strategy->option[CHAINS], false, propose_step,
                absorb_step);
    for (size_t i = 0; i < AGENTS_MAX; i++) {
        annealing->chain[i].place = SIZE_MAX;
        annealing->chain[i].heat = strategy->option[HOT];
    }
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_annealing = {
    .name = "annealing",
    .doc = "simulated annealing: moves to slower neighbours less and less often",
    .option = annealing_options,
    .state_size = sizeof(struct annealing),
    .init = init_annealing,
    .next = next,
    .tell = tell,
};

/* Strategy: a genetic algorithm without generations (steady state: Whitley,
 * GENITOR, 1989).
 *
 * A child has two parents, each the faster of two members drawn at random.  The child takes every
 * parameter from one of its parents, mutates a little, and replaces the slowest member if the child
 * is faster.  Many children are in flight at once, because no child waits for another. */

#define CHILDREN 64 /* in flight at once */

enum { POPULATION, MUTATE };

static const struct gt_strategy_option genetic_options[] = {
    [POPULATION] = {"population", 20, 4, AGENTS_MAX, "members"},
    [MUTATE] = {"mutate", 1, 0, GT_MAX_PARAMS, "parameters of a child drawn anew, on average"},
    {.name = NULL},
};

struct genetic {
    struct agents agents;
    size_t member[AGENTS_MAX]; /* fastest first */
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

static size_t propose_child(struct gt_strategy *strategy, size_t agent)
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

static void absorb_child(struct gt_strategy *strategy, size_t agent, size_t point)
{
    struct genetic *genetic = strategy->state;

    (void)agent;
    gt_strategy_place(strategy, genetic->member, &genetic->members,
                      (size_t)strategy->option[POPULATION], point);
}

static int init_genetic(struct gt_strategy *strategy, struct gt_err *err)
{
    struct genetic *genetic = strategy->state;
    size_t population = (size_t)strategy->option[POPULATION];

    (void)err;
    init_agents(&genetic->agents, CHILDREN, false, propose_child, absorb_child);
    genetic->founders = strategy->seeds < population ? population - strategy->seeds : 0;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_genetic = {
    .name = "genetic",
    .doc = "genetic algorithm: crosses fast points and mutates them a little",
    .option = genetic_options,
    .state_size = sizeof(struct genetic),
    .init = init_genetic,
    .next = next,
    .tell = tell,
};

/* Strategy: differential evolution (Storn, Price, Journal of Global
 * Optimization 11, 1997), variant current-to-best/1/bin, over the indices of the values.
 *
 * Each member in turn is moved, in some of its parameters, towards the best point and along the
 * difference of two other members.  The new point replaces the member if it is faster. */

enum { MEMBERS, WEIGHT, CROSS };

static const struct gt_strategy_option differential_options[] = {
    [MEMBERS] = {"population", 20, 4, AGENTS_MAX, "members"},
    [WEIGHT] = {"weight", 0.6, 0, 2, "factor on the differences"},
    [CROSS] = {"cross", 0.5, 0, 1, "probability that a parameter is moved"},
    {.name = NULL},
};

struct differential {
    struct agents agents;
    size_t member[AGENTS_MAX]; /* SIZE_MAX: not yet tried */
};

static const uint8_t *index_of(const struct gt_strategy *strategy, size_t point)
{
    return strategy->space->index + point * strategy->space->kernel->params;
}

/* The point of a member drawn at random; the best point if this member has none. */
static const uint8_t *other(struct gt_strategy *strategy, const struct differential *differential)
{
    size_t i = gt_random_below(&strategy->random, differential->agents.count);
    size_t point = differential->member[i];

    return index_of(strategy, point == SIZE_MAX ? strategy->best : point);
}

static size_t propose_member(struct gt_strategy *strategy, size_t agent)
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
static void absorb_member(struct gt_strategy *strategy, size_t agent, size_t point)
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
    init_agents(&differential->agents, (size_t)strategy->option[MEMBERS], true, propose_member,
                absorb_member);
    for (size_t i = 0; i < AGENTS_MAX; i++)
        differential->member[i] = SIZE_MAX;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_differential = {
    .name = "differential",
    .doc = "differential evolution: moves members along the differences of others",
    .option = differential_options,
    .state_size = sizeof(struct differential),
    .init = init_differential,
    .next = next,
    .tell = tell,
};

/* Strategy: particle swarm (Kennedy, Eberhart, 1995; the constants are Clerc's
 * and Kennedy's, IEEE Transactions on Evolutionary Computation 6, 2002) over the indices of the
 * values.
 *
 * A particle moves through the space of indices.  The best place that the particle has seen and the
 * best place of the swarm attract it, and the point nearest to its position is tried. */

enum { PARTICLES, INERTIA, OWN, COMMON };

static const struct gt_strategy_option swarm_options[] = {
    [PARTICLES] = {"particles", 20, 2, AGENTS_MAX, "particles in the swarm"},
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
    struct agents agents;
    struct particle particle[AGENTS_MAX];
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

static size_t propose_position(struct gt_strategy *strategy, size_t agent)
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
static void absorb_position(struct gt_strategy *strategy, size_t agent, size_t point)
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
    init_agents(&swarm->agents, (size_t)strategy->option[PARTICLES], true, propose_position,
                absorb_position);
    for (size_t i = 0; i < AGENTS_MAX; i++)
        swarm->particle[i].best = SIZE_MAX;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_swarm = {
    .name = "swarm",
    .doc = "particle swarm: particles are drawn to their own best place and to the swarm's",
    .option = swarm_options,
    .state_size = sizeof(struct swarm),
    .init = init_swarm,
    .next = next,
    .tell = tell,
};
