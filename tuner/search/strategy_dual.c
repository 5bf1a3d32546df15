/* strategy_dual.c - strategy: dual annealing, which is generalised simulated annealing (Tsallis,
 * Stariolo, Physica A 233, 1996) with local search.
 *
 * The chain jumps by steps of heavy-tailed length that shrink as it cools.  A greedy hill climb
 * starts from every new best point, and from the chain's place after every few jumps. */
#include <math.h>
#include <string.h>

#include "search/hill_climb.h"

enum { HOT, COLD, COOL, SHARE, EVERY };

static const struct gt_strategy_option options[] = {
    [HOT] = {"hot", 0.3, 1e-6, 100, "first temperature: slow-down accepted with probability 1/e"},
    [COLD] = {"cold", 0.02, 1e-6, 100, "temperature at which the chain is heated again"},
    [COOL] = {"cool", 0.95, 0.01, 0.9999, "factor on the temperature at each jump"},
    [SHARE] = {"share", 0.2, 0.01, 1, "share of the parameters that a jump changes, on average"},
    [EVERY] = {"every", 8, 1, 1e6, "jumps between two hill climbs from the chain's place"},
    {.name = NULL},
};

struct dual {
    size_t place;               /* SIZE_MAX: none */
    double heat, jumps;         /* jumps since the last climb */
    struct gt_hill_climb climb; /* idle while it has no place */
    size_t climbed;             /* the best point climbed from or to; SIZE_MAX: none */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    struct dual *dual = strategy->state;

    dual->place = dual->climbed = SIZE_MAX;
    dual->heat = strategy->option[HOT];
    return gt_hill_climb_init(&dual->climb, NULL, err);
}

static void release(struct gt_strategy *strategy)
{
    gt_hill_climb_release(&((struct dual *)strategy->state)->climb);
}

/* A place drawn around the chain's place.  The steps of the parameters follow a Cauchy
 * distribution, which is the wider the hotter the chain is, and are folded back into each
 * parameter's range. */
static size_t jump(struct gt_strategy *strategy, const struct dual *dual)
{
    const struct gt_kernel *kernel = strategy->space->kernel;
    const uint8_t *from = strategy->space->index + dual->place * kernel->params;
    double width = 0.1 + 0.4 * dual->heat / strategy->option[HOT];
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

static void absorb(struct gt_strategy *strategy, size_t point)
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
    if (dual->heat < strategy->option[COLD]) {
        dual->heat = strategy->option[HOT];
        dual->place = strategy->best;
    }
    *point = SIZE_MAX;
    for (int tries = 0; dual->place != SIZE_MAX && tries < 32; tries++) {
        *point = jump(strategy, dual);
        dual->heat *= strategy->option[COOL];
        dual->jumps++;
        if (*point == SIZE_MAX || strategy->known[*point] == GT_POINT_NEW)
            break;
        absorb(strategy, *point);
    }
    if (*point == SIZE_MAX || strategy->known[*point] != GT_POINT_NEW)
        *point = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct dual *dual = strategy->state;

    if (!gt_hill_climb_tell(strategy, &dual->climb, point)) {
        absorb(strategy, point);
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
    .option = options,
    .state_size = sizeof(struct dual),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};
