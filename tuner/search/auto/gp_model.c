/* gp_model.c - the Gaussian process of the times that a strategy was told.
 *
 * Until it is told, a point that was given out counts as observed with its predicted mean, so that
 * many points may be in flight (Ginsbourger, Le Riche, Carraro, "Kriging is well-suited to
 * parallelize optimization", 2010). */
#include "search/auto/gp_model.h"

#include "base/err.h"

#include <math.h>

#define OBSERVED     144 /* points with a time in a fit, at most */
#define FAILED       16  /* failed points in a fit, at most */
#define SLOW         4.0 /* a point this many times as slow as the best counts as a failure */
#define FIT_EVERY    8   /* most points told between fits; fewer while few points are known */
#define LEARN_GROWTH 8   /* learn again when 1/8 more points are known */

_Static_assert(GT_GP_POOL >= GT_POOL_MAX, "the gp predicts for the whole pool");
_Static_assert(GT_GP_SEEN >= OBSERVED + FAILED + GT_GP_MODEL_FLYING, "a fit takes all of these");

/* The model's scale: the logarithm of the distance of a time, in units of the best time, from a
 * floor a little below the best time.  The hardware sets a floor for times.  A model of plain
 * logarithms does not know the floor, and would always expect great improvements in regions without
 * observations.  Times beyond SLOW count as SLOW, because nothing is learned from how slow a slow
 * point is. */
static float above_floor(const struct gt_gp_model *model, double times)
{
    double gap = model->gap;

    if (times < 1) /* faster than the best time at the last fit: the scale continues with the same
                      slope */
        return (float)(log(gap) + log(times) / gap);
    return (float)log(fmin(times, SLOW) - 1 + gap);
}

/* The time, in units of the best, that a mean stands for. */
static double times_of(const struct gt_gp_model *model, double mean)
{
    return fmax(exp(mean) + 1 - model->gap, 0.5);
}

static float prior_of(void *context, size_t prior, size_t point)
{
    const struct gt_gp_model *model = context;

    return above_floor(model, exp((double)gt_prior_mean_of(model->priors, prior, point)));
}

float gt_gp_model_target(const void *context, size_t point)
{
    const struct gt_gp_model *model = context;
    double us = (double)model->strategy->known[point];

    return above_floor(model, us > 0 ? us / model->level : SLOW);
}

int gt_gp_model_init(struct gt_gp_model *model, const struct gt_strategy *strategy,
                     const struct gt_prior_means *priors, double gap, struct gt_err *err)
{
    *model = (struct gt_gp_model){
        .strategy = strategy, .priors = priors, .fit_best = SIZE_MAX, .gap = gap};
    return gt_gp_new(&model->gp, strategy->space, priors->count, prior_of, model, err);
}

void gt_gp_model_release(struct gt_gp_model *model)
{
    gt_gp_free(model->gp);
}

bool gt_gp_model_is_stale(const struct gt_gp_model *model, const struct gt_elites *elites)
{
    return elites->told >= model->fit_at || model->fit_best != model->strategy->best;
}

bool gt_gp_model_is_fitted(const struct gt_gp_model *model)
{
    return model->fit_best != SIZE_MAX;
}

/* Moves the expected values of points in flight from the level of the last fit to the present one.
 */
static void move_level(struct gt_gp_model *model)
{
    double level = (double)model->strategy->known[model->strategy->best];

    for (size_t i = 0; i < model->flights; i++) {
        double times = times_of(model, (double)model->flight[i].expected);

        model->flight[i].expected = above_floor(model, times * model->level / level);
    }
    model->level = level;
}

void gt_gp_model_fit(struct gt_gp_model *model, const struct gt_elites *elites,
                     const struct gt_pool *pool)
{
    size_t seen[GT_GP_SEEN], count = gt_elites_mix(elites, seen, OBSERVED);
    size_t failed = elites->failures < FAILED ? elites->failures : FAILED;
    size_t told = elites->told;
    bool learn = told >= model->learn_at;
    float y[GT_GP_SEEN];

    move_level(model);
    for (size_t i = 1; i <= failed; i++)
        seen[count++] = elites->failed[(elites->failures - i) % GT_FAILED_MAX];
    for (size_t i = 0; i < count; i++)
        y[i] = gt_gp_model_target(model, seen[i]);
    for (size_t i = 0; i < model->flights; i++) {
        model->flight[i].number = count;
        seen[count] = model->flight[i].point;
        y[count++] = model->flight[i].expected;
    }
    gt_gp_fit(model->gp, pool->point, pool->count, seen, y, count, learn);
    if (learn)
        model->learn_at = told + 1 + told / LEARN_GROWTH;
    model->fit_at = told + (told < LEARN_GROWTH * FIT_EVERY ? 1 + told / LEARN_GROWTH : FIT_EVERY);
    model->fit_best = model->strategy->best;
}

struct gt_prediction gt_gp_model_predict(struct gt_gp_model *model)
{
    struct gt_prediction prediction = {
        .best = (double)gt_gp_model_target(model, model->strategy->best)};

    gt_gp_predict(model->gp, &prediction.mean, &prediction.sd);
    return prediction;
}

float gt_gp_model_mean(struct gt_gp_model *model, size_t point)
{
    return gt_gp_mean(model->gp, point);
}

float gt_gp_model_us(struct gt_gp_model *model, size_t point)
{
    return (float)(times_of(model, (double)gt_gp_mean(model->gp, point)) * model->level);
}

void gt_gp_model_pending(struct gt_gp_model *model, const struct gt_pool *pool, size_t at,
                         float expected)
{
    size_t number = gt_gp_count(model->gp);

    if (model->flights == GT_GP_MODEL_FLYING)
        return;
    if (!gt_gp_add(model->gp, at, expected)) {
        model->fit_at = 0;
        number = SIZE_MAX;
    }
    model->flight[model->flights].point = pool->point[at];
    model->flight[model->flights].number = number;
    model->flight[model->flights++].expected = expected;
}

void gt_gp_model_tell(struct gt_gp_model *model, size_t point)
{
    for (size_t i = 0; i < model->flights; i++)
        if (model->flight[i].point == point) {
            if (model->flight[i].number != SIZE_MAX && model->strategy->best != SIZE_MAX)
                gt_gp_correct(model->gp, model->flight[i].number, gt_gp_model_target(model, point));
            model->flight[i] = model->flight[--model->flights];
            return;
        }
}
