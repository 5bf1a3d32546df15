/* prior_mean.c - prior means, known for points before they are tried. */
#include "search/auto/prior_mean.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEST_OF    400  /* points of each set that are candidates for the best */
#define BEST       512  /* points kept for gt_prior_mean_next */
#define LEARN_FROM 128  /* trials of one set that its gp learns from */
#define LEVEL_FROM 64   /* points beside the seeds from which a model's level is computed */
#define SLOW       2.0f /* a point slower than e^this times the best counts as e^this times */

struct trial {
    uint32_t point;
    float y; /* logarithm of the time over the fastest time */
};

struct gt_prior_mean {
    struct trial *trial; /* by point */
    size_t count;
    struct gt_gp *gp; /* gp of the trials; NULL: every point of the space has a trial */
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

/* Fits a gp to the fastest trials and to an even choice of the other trials.  The trials are sorted
 * by time. */
static int learn(struct gt_prior_mean *prior, const struct gt_space *space, struct gt_err *err)
{
    size_t point[LEARN_FROM], count = prior->count < LEARN_FROM ? prior->count : LEARN_FROM;
    size_t fast = count / 2, slow = count - fast;
    float y[LEARN_FROM];
    int rc = gt_gp_new(&prior->gp, space, 0, NULL, NULL, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        size_t rank = i / 2; /* fastest and other trials alternate, because gp.c learns from the
                                first LEARN only */

        if (i % 2 == 0)
            rank = fast + (prior->count - fast) * rank / slow;
        point[i] = prior->trial[rank].point;
        y[i] = prior->trial[rank].y;
    }
    gt_gp_fit(prior->gp, NULL, 0, point, y, count, true);
    return GT_OK;
}

static int take(struct gt_prior_mean *prior, const struct gt_space *space,
                const struct gt_transfer *data, struct gt_err *err)
{
    float best = INFINITY;
    int rc = GT_OK;

    prior->trial = calloc(data->count, sizeof(*prior->trial));
    if (!prior->trial)
        return gt_err_nomem(err);
    for (size_t i = 0; i < data->count; i++)
        best = fminf(best, data->us[i]);
    for (size_t i = 0; i < data->count; i++)
        if (data->point[i] < space->count)
            prior->trial[prior->count++] =
                (struct trial){(uint32_t)data->point[i], fminf(logf(data->us[i] / best), SLOW)};
    qsort(prior->trial, prior->count, sizeof(*prior->trial), by_time);
    if (prior->count < space->count)
        rc = learn(prior, space, err);
    return rc;
}

static float mean_of(const struct gt_prior_means *priors, size_t point)
{
    float sum = 0;

    for (size_t h = 0; h < priors->count; h++)
        sum += gt_prior_mean_of(priors, h, point);
    return sum / (float)priors->count;
}

/* Ranks the fastest points of all sets by their mean over the priors.  The trials are sorted by
 * time before, and by point afterwards. */
static int rank(struct gt_prior_means *priors, const struct gt_space *space, struct gt_err *err)
{
    struct trial *list = calloc(priors->count * BEST_OF + 1, sizeof(*list));
    uint8_t *taken = calloc(space->count + 1, 1);
    size_t count = 0;

    priors->best = calloc(BEST, sizeof(*priors->best));
    if (list && taken && priors->best) {
        for (size_t h = 0; h < priors->count && priors->prior[h]; h++)
            for (size_t i = 0; i < priors->prior[h]->count && i < BEST_OF; i++)
                if (!taken[priors->prior[h]->trial[i].point]++)
                    list[count++].point = priors->prior[h]->trial[i].point;
        for (size_t h = 0; h < priors->count && priors->prior[h]; h++)
            qsort(priors->prior[h]->trial, priors->prior[h]->count, sizeof(struct trial), by_point);
        for (size_t i = 0; i < count; i++)
            list[i].y = mean_of(priors, list[i].point);
        qsort(list, count, sizeof(*list), by_time);
        for (priors->bests = 0; priors->bests < count && priors->bests < BEST; priors->bests++)
            priors->best[priors->bests] = list[priors->bests].point;
    }
    free(list);
    free(taken);
    return priors->best && list && taken ? GT_OK : gt_err_nomem(err);
}

/* The lowest value that a model expects of the seeds and of some other points. */
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

int gt_prior_mean_init(struct gt_prior_means *priors, const struct gt_space *space,
                       const struct gt_seeds *given, struct gt_err *err)
{
    size_t most = GT_GP_PRIORS - (given && given->expect);

    for (size_t i = 0; given && i < given->transfers && priors->count < most; i++) {
        struct gt_prior_mean *prior;
        int rc;

        if (!given->transfer[i].count)
            continue;
        prior = calloc(1, sizeof(*prior));
        if (!prior)
            return gt_err_nomem(err);
        priors->prior[priors->count++] = prior;
        rc = take(prior, space, &given->transfer[i], err);
        if (rc)
            return rc;
    }
    if (given && given->expect) {
        priors->expect = given->expect;
        priors->context = given->context;
        priors->count++;
        priors->level = find_level(space, given);
    }
    return priors->count ? rank(priors, space, err) : GT_OK;
}

void gt_prior_mean_release(struct gt_prior_means *priors)
{
    for (size_t h = 0; h < priors->count && priors->prior[h]; h++) {
        free(priors->prior[h]->trial);
        gt_gp_free(priors->prior[h]->gp);
        free(priors->prior[h]);
    }
    free(priors->best);
}

float gt_prior_mean_of(const struct gt_prior_means *priors, size_t which, size_t point)
{
    const struct gt_prior_mean *prior = priors->prior[which];
    struct trial wanted = {.point = (uint32_t)point}, *found;
    float y;

    if (!prior) {
        y = priors->expect(priors->context, point) - priors->level;
        return isfinite(y) ? fminf(y, SLOW) : SLOW;
    }
    found = bsearch(&wanted, prior->trial, prior->count, sizeof(wanted), by_point);
    return found ? found->y : fminf(gt_gp_mean(prior->gp, point), SLOW);
}

size_t gt_prior_mean_next(struct gt_prior_means *priors, const struct gt_strategy *strategy)
{
    while (priors->next < priors->bests) {
        size_t point = priors->best[priors->next++];

        if (strategy->known[point] == GT_POINT_NEW)
            return point;
    }
    return SIZE_MAX;
}

void gt_prior_mean_fill(const struct gt_prior_means *priors, const struct gt_strategy *strategy,
                        struct gt_pool *pool, size_t count)
{
    for (size_t i = 0; i < priors->bests && pool->count < count; i++)
        gt_pool_add(strategy, pool, priors->best[i]);
}
