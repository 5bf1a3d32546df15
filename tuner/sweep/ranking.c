/* ranking.c - ranks a space by the predictor, for seeds.c.  The model predicts an even sample of
 * the points, and descends from the best of them to those with the shortest predicted time; of the
 * first ones the times are then corrected by what was learned of measured trials, if anything was.
 */
#include "base/err.h"
#include "lookup/predict.h"
#include "lookup/ranking.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLE     150000 /* points; predicting them takes about 0.5 s */
#define DESCENTS   48
#define NEIGHBOURS 512
#define CORRECTED  16384 /* points of a list; 0.2 s */

static int compare(const void *x, const void *y)
{
    const struct gt_ranked *a = x, *b = y;

    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    if (a->unusual != b->unusual)
        return a->unusual < b->unusual ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

static uint16_t unusual(const struct gt_kernel *kernel, const struct gt_point *point)
{
    uint16_t count = 0;

    for (size_t p = 0; p < kernel->params; p++)
        count += point->value[p] != kernel->param[p].value[kernel->param[p].standard];
    return count;
}

/* Predicts one point, by the model alone if ranking is NULL.  False: there is no prediction,
 * because no block fits an SM or an expression fails. */
static bool predict(const struct gt_space *space, const struct gt_ranking *ranking, size_t i,
                    struct gt_ranked *ranked)
{
    struct gt_candidate candidate = {space->kernel, space->problem, space->device, {{0}}};
    struct gt_geometry geometry;
    struct gt_prediction unused;
    double us;

    gt_space_point(space, i, &candidate.point);
    if (gt_candidate_geometry(&candidate, &geometry, NULL))
        return false;
    if (ranking)
        us = gt_ranking_us(ranking, &candidate, &geometry, HUGE_VAL, &unused);
    else if (gt_predict(&candidate, &geometry, 0, 0, &us, NULL))
        return false;
    if (!(us > 0))
        return false;
    *ranked = (struct gt_ranked){(uint32_t)i, unusual(space->kernel, &candidate.point), (float)us};
    return true;
}

float gt_sweep_expect(void *context, size_t point)
{
    const struct gt_arm *arm = context;
    struct gt_ranked ranked;

    return predict(&arm->space, arm->race->options->ranking, point, &ranked) ? logf(ranked.us)
                                                                             : NAN;
}

/* Goes from a point to its best neighbour as long as that is faster. */
static struct gt_ranked descend(const struct gt_space *space, struct gt_ranked here)
{
    for (;;) {
        struct gt_ranked best = here, next;
        size_t list[NEIGHBOURS];
        size_t count = gt_space_neighbours(space, here.point, false, list, NEIGHBOURS);

        for (size_t i = 0; i < count && i < NEIGHBOURS; i++)
            if (predict(space, NULL, list[i], &next) && compare(&next, &best) < 0)
                best = next;
        if (best.point == here.point)
            return here;
        here = best;
    }
}

/* Adds what descents from the best of the list find. */
static size_t polish(const struct gt_space *space, struct gt_ranked *list, size_t count)
{
    size_t from = count < DESCENTS ? count : DESCENTS, added = count;

    for (size_t i = 0; i < from; i++) {
        struct gt_ranked found = descend(space, list[i]);
        size_t known = count; /* only among those added: a second one of the sample is harmless */

        while (known < added && list[known].point != found.point)
            known++;
        if (known == added)
            list[added++] = found;
    }
    qsort(list, added, sizeof(*list), compare);
    return added;
}

/* Puts the first of a list into the order of corrected times. */
static void correct(const struct gt_space *space, const struct gt_ranking *ranking,
                    struct gt_ranked *list, size_t count)
{
    const size_t first = count < CORRECTED ? count : CORRECTED;
    struct gt_ranked corrected;

    for (size_t i = 0; i < first; i++)
        if (predict(space, ranking, list[i].point, &corrected))
            list[i].us = corrected.us;
    qsort(list, first, sizeof(*list), compare);
}

int gt_sweep_predict(const struct gt_space *space, const struct gt_ranking *ranking,
                     struct gt_random *random, struct gt_ranked **list, size_t *count,
                     struct gt_err *err)
{
    size_t step = space->count / SAMPLE + 1, point;

    *count = 0;
    *list = NULL;
    if (!space->kernel->launches)
        return GT_OK; /* a recorded kernel, for which there is no model */
    *list = malloc((space->count / step + 1 + DESCENTS) * sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    for (size_t i = 0; i < space->count; i += step) {
        if (space->signals && *space->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        point = i + gt_random_below(random, step); /* a fixed stride would miss values */

        if (point < space->count && predict(space, NULL, point, &(*list)[*count]))
            ++*count;
    }
    qsort(*list, *count, sizeof(**list), compare);
    if (step > 1)
        *count = polish(space, *list, *count);
    if (ranking)
        correct(space, ranking, *list, *count);
    return GT_OK;
}
