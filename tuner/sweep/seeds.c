/* seeds.c - the points that a strategy tries first: those that earlier runs, what was learned of
 * other problems, the description or the predictor call good.  Far ones are mixed in, because the
 * predictor's errors would otherwise keep the search away from good points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "lookup/lookup_impl.h"
#include "lookup/predict.h"
#include "lookup/ranking.h"
#include "problem/problem.h"
#include "sweep/sweep_parts.h"

/* Finds the points that a description names as seeds, for scout.c: it looks at every
 * point of a space, which may have millions. */

/* What a pattern names, and the best match so far. */
struct named {
    size_t param[GT_MAX_PARAMS];
    uint8_t index[GT_MAX_PARAMS]; /* of the value */
    size_t count;
    bool nowhere;       /* a value named is not among those that are searched (--values) */
    size_t best, usual; /* usual: 1 + its defaults among the parameters that are not named */
};

static struct named named_by(const struct gt_kernel *kernel, const struct gt_pattern *pattern)
{
    struct named named = {.count = 0, .best = SIZE_MAX};

    for (size_t p = 0; p < kernel->params; p++) {
        uint8_t index = 0;

        if (!(pattern->named >> p & 1))
            continue;
        while (index < kernel->param[p].count &&
               kernel->param[p].value[index] != pattern->point.value[p])
            index++;
        named.nowhere |= index == kernel->param[p].count;
        named.param[named.count] = p;
        named.index[named.count++] = index;
    }
    return named;
}

static bool has_values(const uint8_t *index, const struct named *named)
{
    for (size_t i = 0; i < named->count; i++)
        if (index[named->param[i]] != named->index[i])
            return false;
    return true;
}

static void try_match(const struct gt_kernel *kernel, const struct gt_pattern *pattern,
                      struct named *named, const uint8_t *index, size_t point)
{
    size_t usual = 1;

    if (named->nowhere || !has_values(index, named))
        return;
    for (size_t p = 0; p < kernel->params; p++)
        usual += !(pattern->named >> p & 1) && index[p] == kernel->param[p].standard;
    if (usual <= named->usual)
        return;
    named->usual = usual;
    named->best = point;
}

int gt_sweep_describe(const struct gt_space *space, size_t **described, struct gt_err *err)
{
    const struct gt_kernel *kernel = space->kernel;
    struct named *named = calloc(kernel->seeds + 1, sizeof(*named));

    *described = calloc(kernel->seeds + 1, sizeof(**described));
    if (!named || !*described) {
        free(named);
        return gt_err_nomem(err);
    }
    for (size_t i = 0; i < kernel->seeds; i++)
        named[i] = named_by(kernel, &kernel->seed[i]);
    for (size_t point = 0; point < space->count && kernel->seeds; point++)
        for (size_t i = 0; i < kernel->seeds; i++)
            try_match(kernel, &kernel->seed[i], &named[i], space->index + point * kernel->params,
                      point);
    for (size_t i = 0; i < kernel->seeds; i++)
        (*described)[i] = named[i].best;
    free(named);
    return GT_OK;
}

/* Ranks a space by the predictor, for seeds.c.  The model predicts an even sample of
 * the points, and descends from the best of them to those with the shortest predicted time; of the
 * first ones the times are then corrected by what was learned of measured trials, if anything was.
 */

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
    struct gt_arm *arm = context;
    const size_t place = point % (sizeof(arm->expected) / sizeof(*arm->expected));
    struct gt_ranked ranked;

    if (arm->expected[place].after != point + 1) {
        arm->expected[place].after = point + 1;
        arm->expected[place].us = predict(&arm->space, arm->race->options->ranking, point, &ranked)
                                      ? logf(ranked.us)
                                      : NAN;
    }
    return arm->expected[place].us;
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

#define STORED_MAX  12  /* seeds that are points of the problem itself */
#define NEAR_MAX    8   /* seeds that are winners of neighbouring problems, */
#define NEAR_LOOKED 24  /* chosen from so many: not all of them can be adapted */
#define LEARNED_MAX 6   /* seeds that what was learned of trials expects most of; */
#define APART       3   /* they differ from all others in so many parameters at least */
#define OTHER_TYPES 2.0 /* distance of a problem of other types, as in transfer.c */
#define FAR_EVERY   4   /* every n-th seed is a far one */
#define FAR_DRAWS   48  /* random points from which a far one is chosen */
#define FAR_WITHIN  3.0 /* a far one's predicted time is at most this times the best */

/* The points chosen so far. */
struct picks {
    struct gt_arm *arm;
    size_t *point;
    size_t count, max;
};

static bool picked(const struct picks *picks, size_t point)
{
    for (size_t i = 0; i < picks->count; i++)
        if (picks->point[i] == point)
            return true;
    return false;
}

static void pick(struct picks *picks, size_t point)
{
    if (picks->count < picks->max && !picked(picks, point))
        picks->point[picks->count++] = point;
}

/* ---- from the store ---- */

/* A stored winner as it won, and the distance of its problem from this one. */
struct near {
    double distance;
    struct gt_point point;
};

struct stored {
    struct gt_race *race;
    struct picks *picks;
    struct near near[NEAR_LOOKED];
    size_t nears;
    char text[GT_PROBLEM_TEXT_MAX];
};

double gt_sweep_distance(const struct gt_problem *problem, const struct gt_row *row)
{
    double dm = log2(((double)problem->m + 1) / ((double)row->m + 1));
    double dn = log2(((double)problem->n + 1) / ((double)row->n + 1));
    double dk = log2(((double)problem->k + 1) / ((double)row->k + 1));
    double db = log2((double)problem->batch / (double)row->batch);

    return dm * dm + dn * dn + 0.5 * dk * dk + 0.5 * db * db +
           (strcmp(row->layout, gt_layout_name(gt_problem_layout(problem))) != 0);
}

/* What the types add: a winner of other types may use the same kernel. */
static double type_distance(const struct gt_problem *problem, const struct gt_row *row)
{
    return OTHER_TYPES * (strcmp(row->dtype, gt_dtype_name(problem->type)) != 0) +
           (strcmp(row->accuracy, gt_accuracy_name(problem->accuracy)) != 0);
}

static void keep_nearest(struct stored *stored, struct near near)
{
    size_t at = stored->nears;

    while (at > 0 && near.distance < stored->near[at - 1].distance)
        at--;
    if (at == NEAR_LOOKED)
        return;
    if (stored->nears == NEAR_LOOKED)
        stored->nears--;
    GT_ARRAY_OPEN(stored->near, at, stored->nears);
    stored->near[at] = near;
    stored->nears++;
}

/* The point in the arm's space, or what it becomes by bets that are younger than it is; SIZE_MAX:
 * there is none. */
static size_t find_renewed(const struct gt_race *race, const struct gt_arm *arm,
                           const struct gt_point *point)
{
    struct gt_candidate candidate = {arm->kernel, race->problem, &race->evaluator->device, *point};
    const size_t found = gt_space_find(&arm->space, point);

    return found == SIZE_MAX && gt_candidate_renew(&candidate)
               ? gt_space_find(&arm->space, &candidate.point)
               : found;
}

/* The point in the arm's space, or the one that it becomes when it is adapted to the problem, say
 * with narrower loads where rows are not aligned; SIZE_MAX: there is none.  (Of the four winners
 * nearest to 128 drawn problems, 44 % of `hopper`'s were valid as they had won, and 6 % of `mma`'s;
 * all but one in a hundred of the others can be adapted.) */
static size_t adapt(const struct gt_race *race, const struct gt_arm *arm,
                    const struct gt_point *point)
{
    struct gt_candidate candidate = {arm->kernel, race->problem, &race->evaluator->device, *point};
    struct gt_geometry geometry;
    size_t found = gt_space_find(&arm->space, point);

    if (found == SIZE_MAX && arm->kernel->launches && gt_lookup_repair(&candidate, &geometry))
        found = gt_space_find(&arm->space, &candidate.point);
    return found;
}

/* Picks the nearest winners, and makes them leads. */
static void pick_near(const struct stored *stored)
{
    struct picks *picks = stored->picks;
    size_t taken = 0;

    for (size_t i = 0; i < stored->nears && taken < NEAR_MAX; i++) {
        const struct near *near = &stored->near[i];
        size_t found = adapt(stored->race, picks->arm, &near->point);

        if (found == SIZE_MAX || picked(picks, found))
            continue;
        pick(picks, found);
        gt_sweep_add_lead(stored->race, (struct gt_lead){picks->arm, found, near->distance});
        taken++;
    }
}

static int on_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct stored *stored = context;
    const struct gt_arm *arm = stored->picks->arm;
    struct gt_point point;
    size_t found;

    (void)err;
    if (row->status != GT_STATUS_OK || gt_point_parse(&point, arm->kernel, row->point, NULL))
        return GT_OK;
    if (strcmp(row->problem, stored->text) == 0) {
        found = find_renewed(stored->race, arm, &point);
        if (found == SIZE_MAX)
            return GT_OK;
        if (!stored->picks->count) /* the best one */
            gt_sweep_add_lead(stored->race, (struct gt_lead){stored->picks->arm, found, 0});
        pick(stored->picks, found);
    } else {
        keep_nearest(stored, (struct near){gt_sweep_distance(stored->race->problem, row) +
                                               type_distance(stored->race->problem, row),
                                           point});
    }
    return GT_OK;
}

/* Treats the winners that this project ships for the arch as rows of the store.  The template may
 * have changed since they were measured, but a point that is still valid is worth trying. */
static void offer_shipped(struct stored *stored)
{
    const struct gt_race *race = stored->race;
    const struct gt_table *table = race->options->shipped;

    if (!table || race->evaluator->ops->provenance == GT_REPLAYED)
        return;
    for (size_t i = 0; i < table->rows; i++) {
        const struct gt_table_row *from = &table->row[i];
        const struct gt_row row = {
            .status = GT_STATUS_OK,
            .dtype = gt_dtype_name(from->problem.type),
            .accuracy = gt_accuracy_name(from->problem.accuracy),
            .problem = from->text,
            .point = from->point,
            .layout = gt_layout_name(gt_problem_layout(&from->problem)),
            .m = from->problem.m,
            .n = from->problem.n,
            .k = from->problem.k,
            .batch = from->problem.batch,
        };

        if (from->cc == race->evaluator->device.cc &&
            strcmp(from->kernel, stored->picks->arm->kernel->name) == 0)
            on_row(stored, &row, NULL);
    }
}

/* The number of parameters in which a point differs from the pick nearest to it. */
static size_t remoteness(const struct picks *picks, size_t point)
{
    const struct gt_space *space = &picks->arm->space;
    size_t params = space->kernel->params, least = params;

    for (size_t i = 0; i < picks->count; i++) {
        size_t differ = 0;

        for (size_t p = 0; p < params; p++)
            differ +=
                space->index[picks->point[i] * params + p] != space->index[point * params + p];
        if (differ < least)
            least = differ;
    }
    return least;
}

/* Picks the points of which the corrected model expects most.  They come before near winners: of
 * untuned problems its first choice is 9 % behind the best in the mean
 * (db/measured/h200-left-out.csv), near winners are 10 to 21 %. */
static void pick_learned(struct picks *picks)
{
    const struct gt_arm *arm = picks->arm;
    size_t taken = 0;

    if (!arm->learned)
        return;
    for (size_t i = 0; i < arm->listed && taken < LEARNED_MAX; i++) {
        const size_t point = arm->list[i].point;

        if (picks->count && remoteness(picks, point) < APART)
            continue;
        pick(picks, point);
        taken++;
    }
}

/* Picks the best known points of this problem on any device of the arch, predicted ones included,
 * then what was learned, and the winners of the nearest problems, stored or shipped, adapted to
 * this one. */
static int pick_stored(struct gt_race *race, struct picks *picks, struct gt_err *err)
{
    struct stored stored = {.race = race, .picks = picks};
    struct gt_row_filter filter = {
        .problem = stored.text,
        .kernel = picks->arm->kernel->name,
        .cc = race->evaluator->device.cc,
        .provenance = race->evaluator->ops->provenance == GT_REPLAYED
                          ? 1u << GT_REPLAYED
                          : 1u << GT_MEASURED | 1u << GT_PREDICTED,
        .limit = STORED_MAX,
    };
    int rc;

    gt_problem_format(race->problem, stored.text);
    rc = gt_store_rows(race->options->store, &filter, on_row, &stored, err);
    filter.problem = NULL;
    filter.limit = 0;
    filter.winners_only = true;
    GT_STEP(rc, gt_store_rows(race->options->store, &filter, on_row, &stored, err));
    offer_shipped(&stored);
    if (!rc) {
        pick_learned(picks);
        pick_near(&stored);
    }
    return rc;
}

/* ---- from the predictor ---- */

static bool cubin_picked(const struct picks *picks, size_t point)
{
    const struct gt_space *space = &picks->arm->space;

    for (size_t i = 0; i < picks->count; i++)
        if (gt_space_same_cubin(space->kernel, space->index, picks->point[i], point))
            return true;
    return false;
}

/* The most remote of FAR_DRAWS random points among the first `count` of the list. */
static size_t far_point(const struct picks *picks, const struct gt_ranked *list, size_t count,
                        struct gt_random *random)
{
    size_t best = SIZE_MAX, most = 0;

    for (int i = 0; i < FAR_DRAWS; i++) {
        size_t point = list[gt_random_below(random, count)].point;
        size_t remote = remoteness(picks, point);

        if (remote > most && !cubin_picked(picks, point)) {
            most = remote;
            best = point;
        }
    }
    return best;
}

static void pick_described(struct picks *picks)
{
    const struct gt_arm *arm = picks->arm;

    for (size_t i = 0; arm->described && i < arm->kernel->seeds; i++)
        if (arm->described[i] != SIZE_MAX)
            pick(picks, arm->described[i]);
}

/* Picks points in the order of the ranking.  Many points have the same predicted time; each pass
 * takes one of them, the one with most defaults first. */
static void pick_ranked(struct picks *picks, const struct gt_ranked *list, size_t count,
                        struct gt_random *random)
{
    size_t near = 0, taken = 1;

    while (near < count && list[near].us <= FAR_WITHIN * list[0].us)
        near++;
    while (picks->count < picks->max && taken > 0) {
        float last = 0;

        taken = 0;
        for (size_t i = 0; i < count && picks->count < picks->max; i++) {
            size_t far;

            if (list[i].us == last || cubin_picked(picks, list[i].point))
                continue;
            last = list[i].us;
            pick(picks, list[i].point);
            if (++taken % (FAR_EVERY - 1))
                continue;
            far = far_point(picks, list, near, random);
            if (far != SIZE_MAX)
                pick(picks, far);
        }
    }
}

int gt_sweep_seed(struct gt_race *race, struct gt_arm *arm, size_t count, struct gt_err *err)
{
    const char *name = race->options->strategy ? race->options->strategy : GT_STRATEGY_DEFAULT;
    struct picks picks = {.arm = arm, .max = count};
    struct gt_transfers transfers = {.count = 0};
    struct gt_transfer chosen[GT_TRANSFERS_USED];
    int rc;

    picks.point = calloc(count + 1, sizeof(*picks.point));
    rc = picks.point ? pick_stored(race, &picks, err) : gt_err_nomem(err);
    if (!rc) {
        pick_described(&picks);
        pick_ranked(&picks, arm->list, arm->listed, &arm->random);
    }
    GT_STEP(rc, gt_sweep_transfer(race, arm, &transfers, err));
    if (!rc) {
        const struct gt_seeds seeds = {
            .point = picks.point,
            .count = picks.count,
            .transfer = chosen,
            .transfers = gt_sweep_transfer_choose(&transfers, chosen),
            .expect = arm->listed ? gt_sweep_expect : NULL,
            .context = arm,
        };

        rc = gt_strategy_new(&arm->strategy, name, &arm->space, race->seed, &seeds, err);
        GT_STEP(rc, gt_sweep_reuse_note(arm, &transfers, err));
    }
    gt_sweep_transfer_release(&transfers);
    free(picks.point);
    free(arm->list);
    free(arm->described);
    arm->list = NULL;
    arm->described = NULL;
    return rc;
}
