/* strategy_swarm.c - strategy: particle swarm (Kennedy, Eberhart, 1995; the constants are Clerc's
 * and Kennedy's, IEEE Transactions on Evolutionary Computation 6, 2002) over the indices of the
 * values.
 *
 * A particle moves through the space of indices.  It is drawn to the best place that it has seen
 * and to the best place of the swarm, and the point nearest to its position is tried. */
#include "search/agents.h"

#include <math.h>
#include <stdlib.h>

enum { PARTICLES, INERTIA, OWN, COMMON };

static const struct gt_strategy_option options[] = {
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

static size_t propose(struct gt_strategy *strategy, size_t agent)
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
static void absorb(struct gt_strategy *strategy, size_t agent, size_t point)
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

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct swarm *swarm = strategy->state;

    (void)err;
    gt_agents_init(&swarm->agents, (size_t)strategy->option[PARTICLES], true, propose, absorb);
    for (size_t i = 0; i < GT_AGENTS_MAX; i++)
        swarm->particle[i].best = SIZE_MAX;
    return GT_OK;
}

const struct gt_strategy_ops gt_strategy_swarm = {
    .name = "swarm",
    .doc = "particle swarm: particles are drawn to their own best place and to the swarm's",
    .option = options,
    .state_size = sizeof(struct swarm),
    .init = init,
    .next = gt_agents_next,
    .tell = gt_agents_tell,
};
