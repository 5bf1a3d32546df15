/* seeds.c - the points that a strategy tries first: those that earlier runs, the description or
 * the predictor call good.  Far ones are mixed in, because the predictor's errors would otherwise
 * keep the search away from good points. */
#include "base/err.h"
#include "problem/problem.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STORED_MAX  16  /* seeds taken from the store */
#define NEAR_MAX    4   /* of them winners of neighbouring problems */
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

/* A stored winner, and the distance of its problem from this one. */
struct near {
    double distance;
    size_t point;
};

struct stored {
    struct gt_race *race;
    struct picks *picks;
    struct near near[NEAR_MAX];
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
    if (at == NEAR_MAX)
        return;
    if (stored->nears < NEAR_MAX)
        stored->nears++;
    memmove(&stored->near[at + 1], &stored->near[at],
            (stored->nears - at - 1) * sizeof(stored->near[0]));
    stored->near[at] = near;
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
    found = gt_space_find(&arm->space, &point);
    if (found == SIZE_MAX)
        return GT_OK;
    if (strcmp(row->problem, stored->text) == 0) {
        if (!stored->picks->count) /* the best one */
            gt_sweep_add_lead(stored->race, (struct gt_lead){stored->picks->arm, found, 0});
        pick(stored->picks, found);
    } else {
        keep_nearest(stored, (struct near){gt_sweep_distance(stored->race->problem, row) +
                                               type_distance(stored->race->problem, row),
                                           found});
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

/* Picks the best known points of this problem on any device of the arch, predicted ones included,
 * and then the winners of the nearest problems, stored or shipped. */
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
        .limit = STORED_MAX - NEAR_MAX,
    };
    int rc;

    gt_problem_format(race->problem, stored.text);
    rc = gt_store_rows(race->options->store, &filter, on_row, &stored, err);
    filter.problem = NULL;
    filter.limit = 0;
    filter.winners_only = true;
    GT_STEP(rc, gt_store_rows(race->options->store, &filter, on_row, &stored, err));
    offer_shipped(&stored);
    for (size_t i = 0; i < stored.nears; i++) {
        pick(picks, stored.near[i].point);
        gt_sweep_add_lead(
            race, (struct gt_lead){picks->arm, stored.near[i].point, stored.near[i].distance});
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

/* What a pattern names. */
struct named {
    size_t param[GT_MAX_PARAMS];
    uint8_t index[GT_MAX_PARAMS]; /* of the value */
    size_t count;
};

static struct named named_by(const struct gt_kernel *kernel, const struct gt_pattern *pattern)
{
    struct named named = {.count = 0};

    for (size_t p = 0; p < kernel->params; p++) {
        uint8_t index = 0;

        if (!(pattern->named >> p & 1))
            continue;
        while (kernel->param[p].value[index] != pattern->point.value[p])
            index++;
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

/* The point that has the values that a pattern names, and the most defaults among its other
 * parameters; SIZE_MAX: no such point is valid. */
static size_t best_match(const struct gt_space *space, const struct gt_pattern *pattern)
{
    const struct gt_kernel *kernel = space->kernel;
    const struct named named = named_by(kernel, pattern);
    size_t params = kernel->params, best = SIZE_MAX, best_usual = 0;

    for (size_t i = 0; i < space->count; i++) {
        const uint8_t *index = space->index + i * params;
        size_t usual = 1;

        if (!has_values(index, &named))
            continue;
        for (size_t p = 0; p < params; p++)
            usual += !(pattern->named >> p & 1) && index[p] == kernel->param[p].standard;
        if (usual > best_usual) {
            best_usual = usual;
            best = i;
        }
    }
    return best;
}

static void pick_described(struct picks *picks)
{
    const struct gt_kernel *kernel = picks->arm->kernel;

    for (size_t i = 0; i < kernel->seeds; i++) {
        size_t point = best_match(&picks->arm->space, &kernel->seed[i]);

        if (point != SIZE_MAX)
            pick(picks, point);
    }
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
    arm->list = NULL;
    return rc;
}
