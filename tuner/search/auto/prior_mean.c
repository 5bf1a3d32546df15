/* prior_mean.c - stage "choose": what is known of points before they are tried. */
#include "search/auto/prior_mean.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEST_OF    400  /* points of each prior that may be among the best */
#define BEST       512  /* points kept for gt_prior_mean_next */
#define LEARN_FROM 128  /* trials of a prior that its surrogate learns from */
#define LEVEL_FROM 64   /* points beside the seeds that tell the level of a model */
#define SLOW       2.0f /* logarithm beyond which it does not matter how slow */

struct trial {
    uint32_t point;
    float y; /* logarithm of how much slower than the fastest */
};

struct gt_prior_mean {
    struct trial *trial; /* by point */
    size_t count;
    struct gt_gp *surrogate; /* of them; NULL: every point of the space is known */
};

static int by_point(const void *x, const void *y)
{
    const struct trial *a = x, *b = y;

    return (a->point > b->point) - (a->point < b->point);
}

static int by_time(const void *x, const void *y)
{
    const struct trial *a = x, *b = y;

    if (a->y != b->y)
        return a->y < b->y ? -1 : 1;
    return by_point(x, y);
}

/* Learns from the fastest trials and from an even choice of the others; they are sorted by time. */
static int learn(struct gt_prior_mean *hint, const struct gt_space *space, struct gt_err *err)
{
    size_t point[LEARN_FROM], count = hint->count < LEARN_FROM ? hint->count : LEARN_FROM;
    size_t fast = count / 2, slow = count - fast;
    float y[LEARN_FROM];
    int rc = gt_gp_new(&hint->surrogate, space, 0, NULL, NULL, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        size_t rank = i / 2; /* the two kinds by turns: the first few choose the reach */

        if (i % 2 == 0)
            rank = fast + (hint->count - fast) * rank / slow;
        point[i] = hint->trial[rank].point;
        y[i] = hint->trial[rank].y;
    }
    gt_gp_fit(hint->surrogate, NULL, 0, point, y, count, true);
    return GT_OK;
}

static int take_prior(struct gt_prior_mean *hint, const struct gt_space *space,
                      const struct gt_prior *prior, struct gt_err *err)
{
    float best = INFINITY;
    int rc = GT_OK;

    hint->trial = calloc(prior->count, sizeof(*hint->trial));
    if (!hint->trial)
        return gt_err_nomem(err);
    for (size_t i = 0; i < prior->count; i++)
        best = fminf(best, prior->us[i]);
    for (size_t i = 0; i < prior->count; i++)
        if (prior->point[i] < space->count)
            hint->trial[hint->count++] =
                (struct trial){(uint32_t)prior->point[i], fminf(logf(prior->us[i] / best), SLOW)};
    qsort(hint->trial, hint->count, sizeof(*hint->trial), by_time);
    if (hint->count < space->count)
        rc = learn(hint, space, err);
    return rc;
}

static float mean_of(const struct gt_prior_means *hints, size_t point)
{
    float sum = 0;

    for (size_t h = 0; h < hints->count; h++)
        sum += gt_prior_mean_of(hints, h, point);
    return sum / (float)hints->count;
}

/* Ranks the fastest points of all priors by the mean of their hints.  The trials are by time yet.
 */
static int rank(struct gt_prior_means *hints, const struct gt_space *space, struct gt_err *err)
{
    struct trial *list = calloc(hints->count * BEST_OF + 1, sizeof(*list));
    uint8_t *taken = calloc(space->count + 1, 1);
    size_t count = 0;

    hints->best = calloc(BEST, sizeof(*hints->best));
    if (list && taken && hints->best) {
        for (size_t h = 0; h < hints->count && hints->hint[h]; h++)
            for (size_t i = 0; i < hints->hint[h]->count && i < BEST_OF; i++)
                if (!taken[hints->hint[h]->trial[i].point]++)
                    list[count++].point = hints->hint[h]->trial[i].point;
        for (size_t h = 0; h < hints->count && hints->hint[h]; h++)
            qsort(hints->hint[h]->trial, hints->hint[h]->count, sizeof(struct trial), by_point);
        for (size_t i = 0; i < count; i++)
            list[i].y = mean_of(hints, list[i].point);
        qsort(list, count, sizeof(*list), by_time);
        for (hints->bests = 0; hints->bests < count && hints->bests < BEST; hints->bests++)
            hints->best[hints->bests] = list[hints->bests].point;
    }
    free(list);
    free(taken);
    return hints->best && list && taken ? GT_OK : gt_err_nomem(err);
}

/* The best a model expects of the seeds and of some other points. */
static float find_level(const struct gt_space *space, const struct gt_seeds *given)
{
    size_t step = space->count / LEVEL_FROM + 1;
    float least = INFINITY;

    for (size_t i = 0; i < given->count; i++)
        if (given->point[i] < space->count)
            least = fminf(least, given->expect(given->context, given->point[i]));
    for (size_t i = 0; i < space->count; i += step)
        least = fminf(least, given->expect(given->context, i));
    return isfinite(least) ? least : 0;
}

int gt_prior_mean_init(struct gt_prior_means *hints, const struct gt_space *space,
                       const struct gt_seeds *given, struct gt_err *err)
{
    size_t most = GT_GP_PRIORS - (given && given->expect);

    for (size_t i = 0; given && i < given->priors && hints->count < most; i++) {
        struct gt_prior_mean *hint;
        int rc;

        if (!given->prior[i].count)
            continue;
        hint = calloc(1, sizeof(*hint));
        if (!hint)
            return gt_err_nomem(err);
        hints->hint[hints->count++] = hint;
        rc = take_prior(hint, space, &given->prior[i], err);
        if (rc)
            return rc;
    }
    if (given && given->expect) {
        hints->expect = given->expect;
        hints->context = given->context;
        hints->count++;
        hints->level = find_level(space, given);
    }
    return hints->count ? rank(hints, space, err) : GT_OK;
}

void gt_prior_mean_release(struct gt_prior_means *hints)
{
    for (size_t h = 0; h < hints->count && hints->hint[h]; h++) {
        free(hints->hint[h]->trial);
        gt_gp_free(hints->hint[h]->surrogate);
        free(hints->hint[h]);
    }
    free(hints->best);
}

float gt_prior_mean_of(const struct gt_prior_means *hints, size_t which, size_t point)
{
    const struct gt_prior_mean *hint = hints->hint[which];
    struct trial wanted = {.point = (uint32_t)point}, *found;
    float y;

    if (!hint) {
        y = hints->expect(hints->context, point) - hints->level;
        return isfinite(y) ? fminf(y, SLOW) : SLOW;
    }
    found = bsearch(&wanted, hint->trial, hint->count, sizeof(wanted), by_point);
    return found ? found->y : fminf(gt_gp_mean(hint->surrogate, point), SLOW);
}

size_t gt_prior_mean_next(struct gt_prior_means *hints, const struct gt_strategy *strategy)
{
    while (hints->next < hints->bests) {
        size_t point = hints->best[hints->next++];

        if (strategy->known[point] == GT_POINT_NEW)
            return point;
    }
    return SIZE_MAX;
}

void gt_prior_mean_fill(const struct gt_prior_means *hints, const struct gt_strategy *strategy,
                        struct gt_pool *pool, size_t count)
{
    for (size_t i = 0; i < hints->bests && pool->count < count; i++)
        gt_pool_add(strategy, pool, hints->best[i]);
}
