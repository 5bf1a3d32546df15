/* space_order.c - in which order a walk binds the parameters of a kernel, for space_walk.c.
 *
 * A good order prunes early: parameters whose values the constraints mostly decide come first, and
 * those that are free to vary come last.  The constraints do not show which is which, so it is
 * tried out on a few random prefixes.  The parameter that is bound next is the one, or belongs to
 * the few that a constraint relates, of whose combinations the smallest part survives. */
#include "search/space_walk.h"

#include "base/stats.h"

#include <math.h>
#include <string.h>

#define PREFIXES   24   /* of a sample */
#define TOGETHER   4    /* parameters tried together */
#define TRIED_MOST 4096 /* combinations tried for one choice, over all prefixes */
#define ORDER_SEED 1

struct prefix {
    int64_t slots[GT_MAX_SLOTS];
};

struct orderer {
    const struct gt_kernel *kernel;
    const uint64_t *need; /* of each constraint: the parameters it depends on */
    uint64_t constrained; /* parameters that some constraint depends on */
    uint64_t bound;
    struct prefix prefix[PREFIXES];
    size_t prefixes;
    struct gt_random random;
};

/* A few parameters to be bound together. */
struct choice {
    uint64_t set;
    size_t param[TOGETHER], count;
    double open; /* how much of the choice survives: 0 one combination, 1 all of them */
};

/* Whether what depends on `need` becomes known when the set is bound. */
static bool becomes_known(const struct orderer *orderer, uint64_t need, uint64_t set)
{
    return need & set && !(need & ~(orderer->bound | set));
}

/* Computes what the newly bound set determines; false: a constraint rejects the prefix.  The walk
 * deals with expressions that fail. */
static bool survives(const struct orderer *orderer, int64_t *slots, uint64_t set)
{
    const struct gt_kernel *kernel = orderer->kernel;
    int64_t value;

    for (size_t d = 0; d < kernel->deriveds; d++)
        if (becomes_known(orderer, kernel->derived[d].depends, set) &&
            gt_expr_eval(kernel->derived[d].expr, slots, &value, NULL) == GT_OK)
            slots[kernel->first_param + kernel->params + d] = value;
    for (size_t c = 0; c < kernel->constraints; c++)
        if (becomes_known(orderer, orderer->need[c], set) &&
            gt_expr_eval(kernel->constraint[c].expr, slots, &value, NULL) == GT_OK && !value)
            return false;
    return true;
}

static size_t combinations(const struct gt_kernel *kernel, const struct choice *choice)
{
    size_t all = 1;

    for (size_t i = 0; i < choice->count; i++)
        all *= kernel->param[choice->param[i]].count;
    return all;
}

/* Extends the first prefixes of the sample by every combination of the choice's values.  Returns
 * how many survive; keeps PREFIXES of them, evenly drawn, if kept is not NULL. */
static size_t extend(struct orderer *orderer, const struct choice *choice, size_t prefixes,
                     struct prefix *kept)
{
    const struct gt_kernel *kernel = orderer->kernel;
    size_t all = combinations(kernel, choice), survivors = 0;

    for (size_t p = 0; p < prefixes; p++) {
        struct prefix prefix = orderer->prefix[p];

        for (size_t c = 0; c < all; c++) {
            size_t rest = c, place;

            for (size_t i = 0; i < choice->count; i++) {
                const struct gt_param *param = &kernel->param[choice->param[i]];

                prefix.slots[kernel->first_param + choice->param[i]] =
                    param->value[rest % param->count];
                rest /= param->count;
            }
            if (!survives(orderer, prefix.slots, choice->set))
                continue;
            place = survivors++;
            if (kept && place >= PREFIXES)
                place = gt_random_below(&orderer->random, survivors);
            if (kept && place < PREFIXES)
                kept[place] = prefix;
        }
    }
    return survivors;
}

static void consider(struct orderer *orderer, uint64_t set, struct choice *best)
{
    const struct gt_kernel *kernel = orderer->kernel;
    struct choice choice = {.set = set};
    size_t all, prefixes = orderer->prefixes;
    double survivors;

    for (size_t i = 0; i < kernel->params; i++)
        if (set >> i & 1)
            choice.param[choice.count++] = i;
    all = combinations(kernel, &choice);
    if (all > TRIED_MOST && choice.count > 1)
        return;
    if (all * prefixes > TRIED_MOST)
        prefixes = all < TRIED_MOST ? TRIED_MOST / all : 1;
    survivors = (double)extend(orderer, &choice, prefixes, NULL) / (double)prefixes;
    choice.open = all > 1 ? log(fmax(survivors, 1e-3)) / log((double)all) : -1;
    if (!best->set || choice.open < best->open)
        *best = choice;
}

/* The best choice among the parameters of `among`; sets: several at once too. */
static struct choice choose(struct orderer *orderer, uint64_t among, bool sets)
{
    const struct gt_kernel *kernel = orderer->kernel;
    struct choice best = {0};

    for (size_t i = 0; i < kernel->params; i++)
        if (among >> i & 1)
            consider(orderer, 1ull << i, &best);
    for (size_t c = 0; sets && c < kernel->constraints; c++) {
        uint64_t open = orderer->need[c] & ~orderer->bound;
        int count = __builtin_popcountll(open);

        if (count > 1 && count <= TOGETHER)
            consider(orderer, open, &best);
    }
    return best;
}

/* Binds one parameter and goes on with the prefixes that survive it. */
static void bind(struct orderer *orderer, const struct choice *choice)
{
    struct prefix kept[PREFIXES];
    size_t survivors = extend(orderer, choice, orderer->prefixes, kept);

    orderer->bound |= choice->set;
    if (!survivors)
        return; /* no prefix is left: the old sample stays */
    orderer->prefixes = survivors < PREFIXES ? survivors : PREFIXES;
    memcpy(orderer->prefix, kept, orderer->prefixes * sizeof(kept[0]));
}

size_t gt_space_order(const struct gt_kernel *kernel, const int64_t *facts, const uint64_t *need,
                      size_t order[GT_MAX_PARAMS])
{
    struct orderer orderer = {.kernel = kernel, .need = need, .prefixes = 1};
    size_t count = 0, walked;

    orderer.random.state = ORDER_SEED;
    memcpy(orderer.prefix[0].slots, facts, sizeof(orderer.prefix[0].slots));
    for (size_t c = 0; c < kernel->constraints; c++)
        orderer.constrained |= need[c];
    while (orderer.constrained & ~orderer.bound) {
        uint64_t set = choose(&orderer, orderer.constrained & ~orderer.bound, true).set;

        while (set & ~orderer.bound) {
            struct choice one = choose(&orderer, set & ~orderer.bound, false);

            order[count++] = one.param[0];
            bind(&orderer, &one);
        }
    }
    walked = count;
    for (size_t i = 0; i < kernel->params; i++)
        if (!(orderer.constrained >> i & 1))
            order[count++] = i;
    return walked;
}
