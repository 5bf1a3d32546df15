/* strategy_annealing.c - strategy: simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220,
 * 1983) of the logarithm of time.
 *
 * A chain proposes a neighbour of its place and moves there if it is faster.  It moves to a slower
 * one with a probability that falls with the slow-down and with the chain's temperature.  A cold
 * chain is heated again and goes on from the best point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/agents.h"
#include "search/hill_climb.h"

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

/* Strategy: dual annealing, which is generalised simulated annealing (Tsallis,
 * Stariolo, Physica A 233, 1996) with local search.
 *
 * The chain jumps by steps of heavy-tailed length that shrink as it cools.  A greedy hill climb
 * starts from every new best point, and from the chain's place after every few jumps. */

enum { HOT_DUAL, COLD_DUAL, COOL_DUAL, SHARE, EVERY };

static const struct gt_strategy_option options_dual[] = {
    [HOT_DUAL] = {"hot", 0.3, 1e-6, 100,
                  "first temperature: slow-down accepted with probability 1/e"},
    [COLD_DUAL] = {"cold", 0.02, 1e-6, 100, "temperature at which the chain is heated again"},
    [COOL_DUAL] = {"cool", 0.95, 0.01, 0.9999, "factor on the temperature at each jump"},
    [SHARE] = {"share", 0.2, 0.01, 1, "share of the parameters that a jump changes, on average"},
    [EVERY] = {"every", 8, 1, 1e6, "jumps between two hill climbs from the chain's place"},
    {.name = NULL},
};

struct dual {
    size_t place;               /* SIZE_MAX: none */
    double heat, jumps;         /* jumps since the last climb */
    struct gt_hill_climb climb; /* idle where it has no place */
    size_t climbed;             /* the best point climbed from or to; SIZE_MAX: none */
};

static int init_dual(struct gt_strategy *strategy, struct gt_err *err)
{
    struct dual *dual = strategy->state;

    dual->place = dual->climbed = SIZE_MAX;
    dual->heat = strategy->option[HOT_DUAL];
    return gt_hill_climb_init(&dual->climb, false, NULL, err);
}

static void release(struct gt_strategy *strategy)
{
    gt_hill_climb_release(&((struct dual *)strategy->state)->climb);
}

/* A place drawn around the chain's.  The steps of the parameters follow a Cauchy distribution that
 * is the wider the hotter the chain is, and are folded back into the range. */
static size_t jump(struct gt_strategy *strategy, const struct dual *dual)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    const uint8_t *from = strategy->space->index + dual->place * kernel->params;
    double width = 0.1 + 0.4 * dual->heat / strategy->option[HOT_DUAL];
    uint8_t index[GT_MAX_PARAMS];

    memcpy(index, from, kernel->params);
    for (size_t p = 0; p < kernel->params; p++) {
        double count = (double)kernel->param[p].count, to;

        if (count < 2 || gt_random_unit(&strategy->random) >= strategy->option[SHARE])
            continue;
        to = width * count * tan(M_PI * (gt_random_unit(&strategy->random) - 0.5));
        to = fmod(fabs((double)from[p] + to), 2 * count);
        index[p] = (uint8_t)fmin(to < count ? to : 2 * count - to, count - 1);
    }
    return gt_strategy_snap(strategy, index);
}

static void absorb_dual(struct gt_strategy *strategy, size_t point)
{
    struct dual *dual = strategy->state;
    const float *known = strategy->known;
    double slower = 0;

    if (known[point] <= 0)
        return;
    if (dual->place != SIZE_MAX && known[dual->place] > 0)
        slower = log((double)known[point] / (double)known[dual->place]);
    if (slower <= 0 || gt_random_unit(&strategy->random) < exp(-slower / dual->heat))
        dual->place = point;
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct dual *dual = strategy->state;
    enum gt_next answer;

    if (strategy->best != SIZE_MAX && strategy->best != dual->climbed) {
        gt_hill_climb_to(strategy, &dual->climb, strategy->best);
        dual->climbed = dual->climb.place;
    } else if (dual->place != SIZE_MAX && dual->jumps >= strategy->option[EVERY]) {
        gt_hill_climb_to(strategy, &dual->climb, dual->place);
        dual->jumps = 0;
    }
    answer = gt_hill_climb_next(strategy, &dual->climb, point);
    if (answer == GT_NEXT_POINT)
        return answer;
    if (dual->heat < strategy->option[COLD_DUAL]) {
        dual->heat = strategy->option[HOT_DUAL];
        dual->place = strategy->best;
    }
    *point = SIZE_MAX;
    for (int tries = 0; dual->place != SIZE_MAX && tries < 32; tries++) {
        *point = jump(strategy, dual);
        dual->heat *= strategy->option[COOL_DUAL];
        dual->jumps++;
        if (*point == SIZE_MAX || strategy->known[*point] == GT_POINT_NEW)
            break;
        absorb_dual(strategy, *point);
    }
    if (*point == SIZE_MAX || strategy->known[*point] != GT_POINT_NEW)
        *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct dual *dual = strategy->state;

    if (!gt_hill_climb_tell(strategy, &dual->climb, point)) {
        absorb_dual(strategy, point);
        return;
    }
    if (dual->climb.place != SIZE_MAX && strategy->known[point] > 0)
        dual->place = dual->climb.place;
    if (dual->climb.place == strategy->best)
        dual->climbed = strategy->best;
}

const struct gt_strategy_ops gt_strategy_dual = {
    .name = "dual",
    .doc = "dual annealing: long jumps that shrink, and a hill climb from each new best",
    .option = options_dual,
    .state_size = sizeof(struct dual),
    .init = init_dual,
    .next = next,
    .tell = tell,
    .release = release,
};
