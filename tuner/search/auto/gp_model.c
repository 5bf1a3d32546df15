/* gp_model.c - stage "choose": the Gaussian process of what a strategy was told.
 *
 * A point given out counts as observed with the mean it was expected to have until it is told, so
 * that any number may be in flight (Ginsbourger, Le Riche, Carraro, "Kriging is well-suited to
 * parallelize optimization", 2010). */
#include "search/auto/gp_model.h"

#include "base/err.h"

#include <math.h>

#define OBSERVED     144 /* points told that a fit takes, at most; the rest is for those below */
#define FAILED       16  /* of the points that failed */
#define SLOW         4.0 /* times as slow as the best is as bad as a failure */
#define FIT_EVERY    8   /* points told between fits at most; fewer while little is known */
#define LEARN_GROWTH 8   /* learn again when 1/8 more is known */

/* What so many times the best time counts for: the logarithm of how far it is above a floor a
 * little below the best.  Times have a floor, the hardware's, that a model of plain logarithms does
 * not know: it would go on expecting wonders of places where nobody was yet.  Nothing is learned
 * from how slow a slow point is. */
static float above_floor(const struct gt_gp_model *gauss, double times)
{
    double room = gauss->room;

    if (times < 1) /* where the level was not the best: goes on as steeply */
        return (float)(log(room) + log(times) / room);
    return (float)log(fmin(times, SLOW) - 1 + room);
}

/* How many times the best time a mean stands for. */
static double times_of(const struct gt_gp_model *gauss, double mean)
{
    return fmax(exp(mean) + 1 - gauss->room, 0.5);
}

static float hint_of(void *context, size_t hint, size_t point)
{
    const struct gt_gp_model *gauss = context;

    return above_floor(gauss, exp((double)gt_prior_mean_of(gauss->hints, hint, point)));
}

float gt_gp_model_target(const void *context, size_t point)
{
    const struct gt_gp_model *gauss = context;
    double us = (double)gauss->strategy->known[point];

    return above_floor(gauss, us > 0 ? us / gauss->level : SLOW);
}

int gt_gp_model_init(struct gt_gp_model *gauss, const struct gt_strategy *strategy,
                     const struct gt_prior_means *hints, double room, struct gt_err *err)
{
    *gauss = (struct gt_gp_model){
        .strategy = strategy, .hints = hints, .fit_best = SIZE_MAX, .room = room};
    return gt_gp_new(&gauss->surrogate, strategy->space, hints->count, hint_of, gauss, err);
}

void gt_gp_model_release(struct gt_gp_model *gauss)
{
    gt_gp_free(gauss->surrogate);
}

bool gt_gp_model_is_stale(const struct gt_gp_model *gauss, const struct gt_elites *elites)
{
    return elites->told >= gauss->fit_at || gauss->fit_best != gauss->strategy->best;
}

bool gt_gp_model_is_fitted(const struct gt_gp_model *gauss)
{
    return gauss->fit_best != SIZE_MAX;
}

/* What was expected of those in flight is about the level of the fit before this one. */
static void move_level(struct gt_gp_model *gauss)
{
    double level = (double)gauss->strategy->known[gauss->strategy->best];

    for (size_t i = 0; i < gauss->flights; i++) {
        double times = times_of(gauss, (double)gauss->flight[i].expected);

        gauss->flight[i].expected = above_floor(gauss, times * gauss->level / level);
    }
    gauss->level = level;
}

void gt_gp_model_fit(struct gt_gp_model *gauss, const struct gt_elites *elites,
                     const struct gt_pool *pool)
{
    size_t seen[GT_GP_SEEN], count = gt_elites_mix(elites, seen, OBSERVED);
    size_t failed = elites->failures < FAILED ? elites->failures : FAILED;
    size_t told = elites->told;
    bool learn = told >= gauss->learn_at;
    float y[GT_GP_SEEN];

    move_level(gauss);
    for (size_t i = 1; i <= failed; i++)
        seen[count++] = elites->failed[(elites->failures - i) % GT_FAILED_MAX];
    for (size_t i = 0; i < count; i++)
        y[i] = gt_gp_model_target(gauss, seen[i]);
    for (size_t i = 0; i < gauss->flights; i++) {
        gauss->flight[i].number = count;
        seen[count] = gauss->flight[i].point;
        y[count++] = gauss->flight[i].expected;
    }
    gt_gp_fit(gauss->surrogate, pool->point, pool->count, seen, y, count, learn);
    if (learn)
        gauss->learn_at = told + 1 + told / LEARN_GROWTH;
    gauss->fit_at = told + (told < LEARN_GROWTH * FIT_EVERY ? 1 + told / LEARN_GROWTH : FIT_EVERY);
    gauss->fit_best = gauss->strategy->best;
}

struct gt_prediction gt_gp_model_predict(struct gt_gp_model *gauss)
{
    struct gt_prediction prediction = {
        .best = (double)gt_gp_model_target(gauss, gauss->strategy->best)};

    gt_gp_predict(gauss->surrogate, &prediction.mean, &prediction.sd);
    return prediction;
}

float gt_gp_model_mean(struct gt_gp_model *gauss, size_t point)
{
    return gt_gp_mean(gauss->surrogate, point);
}

double gt_gp_model_log_time(const struct gt_gp_model *gauss, float mean)
{
    return log(gauss->level * times_of(gauss, (double)mean));
}

void gt_gp_model_pending(struct gt_gp_model *gauss, const struct gt_pool *pool, size_t at,
                         float expected)
{
    size_t number = gt_gp_count(gauss->surrogate);

    if (gauss->flights == GT_GP_MODEL_FLYING)
        return;
    if (!gt_gp_add(gauss->surrogate, at, expected)) {
        gauss->fit_at = 0;
        number = SIZE_MAX;
    }
    gauss->flight[gauss->flights].point = pool->point[at];
    gauss->flight[gauss->flights].number = number;
    gauss->flight[gauss->flights++].expected = expected;
}

void gt_gp_model_tell(struct gt_gp_model *gauss, size_t point)
{
    for (size_t i = 0; i < gauss->flights; i++)
        if (gauss->flight[i].point == point) {
            if (gauss->flight[i].number != SIZE_MAX && gauss->strategy->best != SIZE_MAX)
                gt_gp_correct(gauss->surrogate, gauss->flight[i].number,
                              gt_gp_model_target(gauss, point));
            gauss->flight[i] = gauss->flight[--gauss->flights];
            return;
        }
}
