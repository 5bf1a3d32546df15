/* strategy_local.c - strategies of greedy hill climbing (hill_climb.h): local, iterated, basin
 * hopping, dual annealing. */
#include <math.h>
#include <string.h>

#include "search/hill_climb.h"

/* Strategies: greedy hill climbing from many starts, with two kinds of neighbours.
 *
 * The seeds are the starts; random points are added if there are few seeds.  While all climbs wait
 * and few points are in flight, the best point with a few parameters changed at random is given
 * out, because a machine with many compilers would otherwise be idle. */

#define BUSY 48 /* points in flight that keep many compilers and the GPU at work */
#define KICK 4  /* parameters changed at most to leave the best point */

enum { CLIMBS, EXPLORE, FRESH };

static const struct gt_strategy_option options[] = {
    [CLIMBS] = {"climbs", 6, 1, GT_MULTI_START_MAX, "hill climbs at once"},
    [EXPLORE] = {"explore", 24, 1, 10000,
                 "points before the first climb: the seeds, then random ones"},
    [FRESH] = {"fresh", 4, 1, 1e9,
               "every so many restarts is a random point, the others change the best"},
    {.name = NULL},
};

struct local {
    struct gt_multi_start multi;
    size_t explore; /* points still to be explored */
};

static int init(struct gt_strategy *strategy, struct gt_err *err)
{
    const bool adjacent = strategy->ops == &gt_strategy_adjacent;
    struct local *local = strategy->state;
    size_t explore = (size_t)strategy->option[EXPLORE];
    int rc;

    rc = gt_multi_start_init(&local->multi, (size_t)strategy->option[CLIMBS], adjacent,
                             strategy->seeds + explore, NULL, err);
    if (rc)
        return rc;
    local->multi.random_each = (uint64_t)strategy->option[FRESH];
    for (size_t i = 0; i < strategy->seeds; i++)
        gt_multi_start_add(&local->multi, strategy->seed[i]);
    local->explore = strategy->seeds < explore ? explore - strategy->seeds : 0;
    return GT_OK;
}

static void release(struct gt_strategy *strategy)
{
    gt_multi_start_release(&((struct local *)strategy->state)->multi);
}

static enum gt_next next(struct gt_strategy *strategy, size_t *point)
{
    struct local *local = strategy->state;
    enum gt_next answer;

    if (local->explore) {
        local->explore--;
        *point = gt_strategy_draw(strategy);
        gt_multi_start_add(&local->multi, *point);
        return GT_NEXT_POINT;
    }
    answer = gt_multi_start_next(strategy, &local->multi, point);
    if (answer == GT_NEXT_POINT || strategy->flying >= BUSY || strategy->best == SIZE_MAX)
        return answer;
    *point = gt_strategy_kick(strategy, strategy->best, KICK);
    return *point == SIZE_MAX ? GT_NEXT_WAIT : GT_NEXT_POINT;
}

static void tell(struct gt_strategy *strategy, size_t point)
{
    struct local *local = strategy->state;

    gt_multi_start_tell(strategy, &local->multi, point);
}

const struct gt_strategy_ops gt_strategy_local = {
    .name = "local",
    .option = options,
    .doc = "greedy hill climbing from many starts; neighbours differ in one parameter",
    .state_size = sizeof(struct local),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};

const struct gt_strategy_ops gt_strategy_adjacent = {
    .name = "adjacent",
    .option = options,
    .doc = "as local, but neighbours differ by one step of one parameter",
    .state_size = sizeof(struct local),
    .init = init,
    .next = next,
    .tell = tell,
    .release = release,
};

/* Strategies: iterated local search and basin hopping.
 *
 * Each of a few searchers has a home, which is a local optimum.  A searcher changes a few
 * parameters of its home at random and climbs from there to another optimum, which becomes the
 * searcher's home if it is faster.  Basin hopping also accepts a slower optimum, with a probability
 * that falls with the slow-down.  A searcher whose home has not changed for long starts anew. */

#define SEARCHERS 4 /* the first searcher with a point gives it; the others keep compilers busy */

enum { STRENGTH, RESTART, HEAT };

static const struct gt_strategy_option iterated_options[] = {
    [STRENGTH] = {"strength", 3, 1, GT_MAX_PARAMS, "parameters that a kick changes at most"},
    [RESTART] = {"restart", 20, 1, 1e6, "kicks without success before a new start"},
    {.name = NULL},
};

static const struct gt_strategy_option basin_options[] = {
    [STRENGTH] = {"strength", 2, 1, GT_MAX_PARAMS, "parameters that a hop changes at most"},
    [RESTART] = {"restart", 20, 1, 1e6, "hops without success before a new start"},
    [HEAT] = {"heat", 0.02, 0, 10, "relative slow-down accepted with probability 1/e"},
    {.name = NULL},
};

struct searcher {
    struct gt_hill_climb climb;
    size_t home;   /* SIZE_MAX: none yet */
    double failed; /* kicks since home changed */
};

static int init_iterated(struct gt_strategy *strategy, struct gt_err *err)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++) {
        int rc = gt_hill_climb_init(&searcher[i].climb, false, NULL, err);

        if (rc)
            return rc;
        searcher[i].home = SIZE_MAX;
    }
    return GT_OK;
}

static void release_iterated(struct gt_strategy *strategy)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++)
        gt_hill_climb_release(&searcher[i].climb);
}

/* Whether to move from home to the optimum reached. */
static bool accepts(struct gt_strategy *strategy, const struct searcher *searcher)
{
    const float *known = strategy->known;
    double slower;

    if (searcher->home == SIZE_MAX || known[searcher->home] <= 0)
        return true;
    slower = log((double)known[searcher->climb.place] / (double)known[searcher->home]);
    return slower < 0 ||
           gt_random_unit(&strategy->random) < exp(-slower / fmax(strategy->option[HEAT], 1e-9));
}

/* Where the next climb starts, after a climb has reached an optimum. */
static size_t leave(struct gt_strategy *strategy, struct searcher *searcher)
{
    struct gt_hill_climb *climb = &searcher->climb;
    size_t point = SIZE_MAX;

    if (climb->place != SIZE_MAX && climb->place != searcher->home &&
        strategy->known[climb->place] > 0 && accepts(strategy, searcher)) {
        searcher->home = climb->place;
        searcher->failed = 0;
    }
    climb->place = SIZE_MAX;
    if (searcher->home == SIZE_MAX && strategy->best != SIZE_MAX && searcher->failed++ < 1)
        searcher->home = strategy->best; /* a seed, or a point of an earlier run */
    if (searcher->home != SIZE_MAX && searcher->failed++ < strategy->option[RESTART])
        point = gt_strategy_kick(strategy, searcher->home, (size_t)strategy->option[STRENGTH]);
    if (point == SIZE_MAX) {
        searcher->home = SIZE_MAX;
        point = gt_strategy_draw(strategy);
    }
    return point;
}

static enum gt_next next_iterated(struct gt_strategy *strategy, size_t *point)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++) {
        enum gt_next answer = gt_hill_climb_next(strategy, &searcher[i].climb, point);

        if (answer == GT_NEXT_DONE) {
            *point = leave(strategy, &searcher[i]);
            gt_hill_climb_own(&searcher[i].climb, *point);
            return GT_NEXT_POINT;
        }
        if (answer == GT_NEXT_POINT)
            return answer;
    }
    return GT_NEXT_WAIT;
}

static void tell_iterated(struct gt_strategy *strategy, size_t point)
{
    struct searcher *searcher = strategy->state;

    for (size_t i = 0; i < SEARCHERS; i++)
        gt_hill_climb_tell(strategy, &searcher[i].climb, point);
}

const struct gt_strategy_ops gt_strategy_iterated = {
    .name = "iterated",
    .doc = "iterated local search: changes a local optimum, climbs again, keeps the faster",
    .option = iterated_options,
    .state_size = SEARCHERS * sizeof(struct searcher),
    .init = init_iterated,
    .next = next_iterated,
    .tell = tell_iterated,
    .release = release_iterated,
};

const struct gt_strategy_ops gt_strategy_basin = {
    .name = "basin",
    .doc = "basin hopping: as iterated, but now and then accepts a slower optimum",
    .option = basin_options,
    .state_size = SEARCHERS * sizeof(struct searcher),
    .init = init_iterated,
    .next = next_iterated,
    .tell = tell_iterated,
    .release = release_iterated,
};

/* Strategy: dual annealing, which is generalised simulated annealing (Tsallis,
 * Stariolo, Physica A 233, 1996) with local search.
 *
 * The chain jumps by steps of heavy-tailed length that shrink as it cools.  A greedy hill climb
 * starts from every new best point, and from the chain's place after every few jumps. */

enum { HOT, COLD, COOL, SHARE, EVERY };

static const struct gt_strategy_option dual_options[] = {
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

static int init_dual(struct gt_strategy *strategy, struct gt_err *err)
{
    struct dual *dual = strategy->state;

    dual->place = dual->climbed = SIZE_MAX;
    dual->heat = strategy->option[HOT];
    return gt_hill_climb_init(&dual->climb, false, NULL, err);
}

static void release_dual(struct gt_strategy *strategy)
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

static enum gt_next next_dual(struct gt_strategy *strategy, size_t *point)
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

static void tell_dual(struct gt_strategy *strategy, size_t point)
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
    .option = dual_options,
    .state_size = sizeof(struct dual),
    .init = init_dual,
    .next = next_dual,
    .tell = tell_dual,
    .release = release_dual,
};
