/* lanes.c - the kernels of a race: who takes part, and whose turn it is. */
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdlib.h>

#define SPACE_BYTES  1.2e8 /* for the points of all kernels; beyond, a sample is kept */
#define POINT_BYTES  14    /* of a point beside its parameters: look-up table, time */
#define SEEDS        96    /* per problem, where the budget does not say otherwise */
#define SEED_SHARE   0.9   /* of a trials budget */
#define WEIGHT_LEAST 0.05  /* of a slow lane's share */

/* sharers: the kernels that share the room for points. */
static int open_lane(struct gt_race *race, const struct gt_kernel *kernel, size_t sharers,
                     struct gt_err *err)
{
    struct gt_lane *lane = &race->lane[race->lanes];
    double limit = SPACE_BYTES / (double)sharers / (double)(kernel->params + POINT_BYTES);
    const struct gt_evaluator *evaluator = race->evaluator;
    int rc = evaluator->ops->space
                 ? evaluator->ops->space(evaluator, &lane->space, race->problem, err)
                 : gt_space_init(&lane->space, kernel, race->problem, &evaluator->device,
                                 (size_t)limit, err);

    if (rc)
        return rc;
    race->lanes++;
    lane->race = race;
    lane->kernel = kernel;
    race->result->points += lane->space.valid;
    race->result->cross_product += lane->space.cross_product;
    lane->key = (struct gt_trial_key){
        .sweep = race->sweep,
        .device = race->device,
        .toolchain = race->toolchain,
        .problem = race->problem_id,
        .warm_l2 = race->evaluator->options.bench.warm_l2,
    };
    return gt_store_kernel(race->options->store, kernel, &lane->key.kernel, err);
}

static size_t seeds_wanted(const struct gt_race *race)
{
    double wanted = SEEDS;

    if (race->options->budget.trials)
        wanted = fmin(SEED_SHARE * (double)race->options->budget.trials, 4 * SEEDS);
    return (size_t)fmax(1, wanted / (double)race->lanes);
}

/* Joins why one more kernel stays out. */
static void add_reason(struct gt_err *nothing, const struct gt_err *reason)
{
    struct gt_err before;

    if (!nothing)
        return;
    before = *nothing;
    gt_err_set(nothing, reason->code, "%s%s%s", before.msg, before.code ? "; " : "", reason->msg);
}

/* A lane for each kernel of the list that has a valid point; nothing: where to tell why others have
 * none (NULL: nowhere). */
static int open_list(struct gt_race *race, const struct gt_kernel *const *kernel, size_t count,
                     struct gt_err *nothing, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < count && !rc; i++) {
        const char *why = NULL;
        struct gt_err reason = {0};

        if (!gt_kernel_serves(kernel[i], race->problem, &race->evaluator->device, &why)) {
            gt_err_set(&reason, GT_ENOTFOUND, "kernel %s does not serve it: %s", kernel[i]->name,
                       why ? why : "not in its description");
            add_reason(nothing, &reason);
            continue;
        }
        rc = open_lane(race, kernel[i], count, &reason);
        if (rc == GT_ERANGE) { /* no valid point: that kernel stays out */
            if (nothing)
                gt_sweep_note(race, reason.msg);
            add_reason(nothing, &reason);
            rc = GT_OK;
        } else if (rc && err) {
            *err = reason;
        }
    }
    return rc;
}

/* Fills the lanes; no lane at all is told in result->nothing. */
int gt_sweep_open_lanes(struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    struct gt_err *nothing = &race->result->nothing;
    int rc;

    race->lane = calloc(options->kernels + options->spares + 1, sizeof(*race->lane));
    if (!race->lane)
        return gt_err_nomem(err);
    rc = open_list(race, options->kernel, options->kernels, nothing, err);
    if (!rc && !race->lanes) {
        rc = open_list(race, options->spare, options->spares, NULL, err);
        if (race->lanes)
            gt_sweep_note(race, "kernels of the ladder take part instead");
    }
    if (race->lanes)
        *nothing = (struct gt_err){0};
    for (size_t i = 0; i < race->lanes && !rc; i++) {
        rc = gt_sweep_seed(race, &race->lane[i], seeds_wanted(race), err);
        if (!rc)
            rc = gt_sweep_resume(race, &race->lane[i], err);
    }
    return rc;
}

struct gt_lane *gt_sweep_lane_of(const struct gt_race *race, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < race->lanes; i++)
        if (race->lane[i].kernel == kernel)
            return &race->lane[i];
    return NULL;
}

/* The lane whose turn it is: the one that had the fewest trials for what its best promises. */
struct gt_lane *gt_sweep_choose_lane(struct gt_race *race)
{
    struct gt_lane *chosen = NULL;
    double least = 0;

    for (size_t i = 0; i < race->lanes; i++) {
        struct gt_lane *lane = &race->lane[i];
        double weight = 1, share;

        if (lane->done || lane->waiting)
            continue;
        if (race->best_us > 0 && lane->best_us > 0)
            weight = fmax(WEIGHT_LEAST, pow(race->best_us / lane->best_us, 4));
        share = (double)(lane->tried + lane->flying - lane->spared) / weight;
        if (!chosen || share < least) {
            chosen = lane;
            least = share;
        }
    }
    return chosen;
}

void gt_sweep_close_lanes(struct gt_race *race)
{
    for (size_t i = 0; i < race->lanes; i++) {
        gt_strategy_free(race->lane[i].strategy);
        gt_space_release(&race->lane[i].space);
        free(race->lane[i].retry);
    }
    free(race->lane);
}
