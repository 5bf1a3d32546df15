/* arms.c - the arms of a race: which kernels take part, and which arm tries a point next. */
#include "base/err.h"
#include "sweep/shares.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEEDS      96  /* per problem, if the budget is not one of trials */
#define SEED_SHARE 0.9 /* of a budget of trials */

int gt_sweep_make_key(struct gt_race *race, struct gt_arm *arm, struct gt_err *err)
{
    arm->key = (struct gt_trial_key){
        .sweep = race->sweep,
        .device = race->device,
        .toolchain = race->toolchain,
        .problem = race->problem_id,
        .timing = race->evaluator->options.bench.timing,
    };
    return gt_store_kernel(race->options->store, arm->kernel, &arm->key.kernel, err);
}

static int open_arm(struct gt_race *race, const struct gt_kernel *kernel, struct gt_err *err)
{
    struct gt_arm *arm = &race->arm[race->arms];
    struct gt_scouted found;
    int rc = gt_scouts_take(race->scouts, kernel, &found, err);

    if (rc)
        return rc;
    race->arms++;
    arm->race = race;
    arm->kernel = kernel;
    arm->space = found.space;
    arm->list = found.list;
    arm->listed = found.listed;
    arm->learned = found.learned;
    arm->described = found.described;
    arm->predicted_us = found.listed ? found.list[0].us : 0;
    arm->random = found.random;
    race->result->points += arm->space.valid;
    race->result->points_estimated |= arm->space.estimated;
    race->result->cross_product += arm->space.cross_product;
    return gt_sweep_make_key(race, arm, err);
}

static size_t seeds_wanted(const struct gt_race *race)
{
    double wanted = SEEDS;

    if (race->options->budget.trials)
        wanted = fmin(SEED_SHARE * (double)race->options->budget.trials, 4 * SEEDS);
    return (size_t)fmax(1, wanted / (double)race->arms);
}

/* Opens the arm of a kernel that serves the problem, unless no point of it is valid: *none counts
 * such kernels, and *nothing has the reason of the first.  none may be NULL: nobody is told. */
static int open_served(struct gt_race *race, const struct gt_kernel *kernel, size_t *none,
                       struct gt_err *nothing, struct gt_err *err)
{
    struct gt_err reason = {0};
    char phase[80];
    int rc;

    snprintf(phase, sizeof(phase), "enumerating the points of %.40s", kernel->name);
    gt_sweep_show(race, phase, false);
    rc = open_arm(race, kernel, &reason);
    if (rc == GT_ERANGE && none) {
        gt_sweep_note(race, reason.msg);
        if (!(*none)++)
            *nothing = reason;
    }
    if (rc == GT_ERANGE)
        return GT_OK;
    if (rc && err)
        *err = reason;
    return rc;
}

/* Opens an arm for each kernel of the list that has a valid point. */
static int open_list(struct gt_race *race, const struct gt_kernel *const *kernel, size_t count,
                     size_t *none, struct gt_err *nothing, struct gt_err *err)
{
    const struct gt_device *device = &race->evaluator->device;
    char why[GT_UNSERVED_MAX], note[GT_UNSERVED_MAX + 80];
    int rc = GT_OK;

    for (size_t i = 0; i < count && !rc; i++) {
        if (!gt_unserved(why, "it", &kernel[i], 1, race->problem, device)) {
            rc = open_served(race, kernel[i], none, nothing, err);
        } else if (none && race->options->verbose) {
            snprintf(note, sizeof(note), "%.60s takes no part: %s", kernel[i]->name, why);
            gt_sweep_note(race, note);
        }
    }
    return rc;
}

/* Sums up why there is no arm: no kernel serves the problem, or no point of those that do is
 * valid. */
static void sum_up(struct gt_race *race, size_t none, struct gt_err *nothing)
{
    const struct gt_sweep_options *options = race->options;
    const struct gt_err first = *nothing;
    char who[80] = "these kernels", why[GT_UNSERVED_MAX];

    if (options->kernels == 1)
        snprintf(who, sizeof(who), "kernel %.60s", options->kernel[0]->name);
    if (!none && gt_unserved(why, options->fallbacks ? NULL : who, options->kernel,
                             options->kernels, race->problem, &race->evaluator->device))
        gt_err_set(nothing, GT_ENOTFOUND, "%s", why);
    else if (none > 1)
        gt_err_set(nothing, first.code, "%.800s; nor has one of %zu other%s", first.msg, none - 1,
                   none > 2 ? "s" : "");
}

int gt_sweep_open_arms(struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    struct gt_err *nothing = &race->result->nothing;
    size_t none = 0;
    int rc;

    race->arm =
        calloc(options->kernels + options->fallbacks + 1, sizeof(*race->arm)); /* 1: guest */
    if (!race->arm)
        return gt_err_nomem(err);
    rc = open_list(race, options->kernel, options->kernels, &none, nothing, err);
    if (!rc && !race->arms) {
        rc = open_list(race, options->fallback, options->fallbacks, NULL, NULL, err);
        if (race->arms)
            gt_sweep_note(race, "kernels of the ladder take part instead");
    }
    if (race->arms || rc) /* an error or a signal came before all kernels had been asked */
        *nothing = (struct gt_err){0};
    else
        sum_up(race, none, nothing);
    for (size_t i = 0; i < race->arms && !rc; i++) {
        rc = gt_sweep_seed(race, &race->arm[i], seeds_wanted(race), err);
        GT_STEP(rc, gt_sweep_resume(race, &race->arm[i], err));
    }
    GT_STEP(rc, gt_sweep_retry_slow(race, err));
    return rc ? rc : gt_sweep_open_incumbent(race, err);
}

struct gt_arm *gt_sweep_arm_of(const struct gt_race *race, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].kernel == kernel)
            return &race->arm[i];
    return NULL;
}

/* The share of the candidates that an arm deserves.  The arm of look-up's answer is known to be
 * good, whatever is predicted. */
static double share_of(const struct gt_race *race, const struct gt_arm *arm, double least_predicted)
{
    const struct gt_arm_record record = {
        .drawn = arm->tried + arm->flying - arm->backfilled,
        .reached_us = arm->best_us > 0 ? arm->best_us : arm->reached_us,
        .predicted_us = arm->predicted_us,
        .trusted = arm == race->incumbent_arm,
    };

    return gt_arm_share(&record, race->best_us, least_predicted, GT_SHARE_POWER);
}

struct gt_arm *gt_sweep_choose_arm(struct gt_race *race)
{
    struct gt_arm *chosen = NULL;
    double least = 0, least_predicted = INFINITY;

    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].predicted_us > 0)
            least_predicted = fmin(least_predicted, race->arm[i].predicted_us);
    for (size_t i = 0; i < race->arms; i++) {
        struct gt_arm *arm = &race->arm[i];
        double weighted;

        if (arm->done || arm->waiting)
            continue;
        weighted = (double)(arm->tried + arm->flying - arm->backfilled) /
                   share_of(race, arm, least_predicted);
        if (!chosen || weighted < least) {
            chosen = arm;
            least = weighted;
        }
    }
    return chosen;
}

void gt_sweep_close_arms(struct gt_race *race)
{
    for (size_t i = 0; i < race->arms; i++) {
        gt_strategy_free(race->arm[i].strategy);
        gt_space_release(&race->arm[i].space);
        free(race->arm[i].list);
        free(race->arm[i].described);
        free(race->arm[i].retry);
        free(race->arm[i].reuse);
    }
    free(race->arm);
}
