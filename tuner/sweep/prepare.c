/* prepare.c - prepares a problem for its race.  The spaces of the probable next problem are scouted
 * during the two races before its own.  Towards the end of the race before it, its arms are opened
 * and its first points go to the compilers, which would be idle during the finals.  The first
 * problem of a sweep has its incumbent compiled while its spaces are scouted, and its first points
 * while the GPU's worker opens the problem. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/sweep_parts.h"

#define SEEDS      96  /* per problem, unless the budget counts trials */
#define SEED_SHARE 0.9 /* seeds as a part of a budget of trials */

#define DRAWS_JOB  3  /* points drawn for each compile worker, to be compiled during finals */
#define DRAWS_MOST 96 /* no more, because the results of the race are not known yet */

/* ---- the incumbent: what look-up hands out for the problem before the sweep ---- */

/* The incumbent is the first candidate of a turn and takes part in the finals, whichever kernel it
 * has, so that a sweep replaces an answer only by a candidate that was timed in turns with it. */

/* Asks look-up for the incumbent, once in a sweep.  If no state of look-up was kept before the
 * sweep, there is no incumbent. */
static int find_incumbent(const struct gt_race *race, struct gt_err *err)
{
    const struct gt_run *run = race->run;
    struct gt_incumbent *incumbent = &run->incumbent[race->problem - run->options->problem];
    struct gt_resolved resolved;
    int rc;

    if (!run->before.kernels || incumbent->asked)
        return GT_OK;
    rc = gt_snapshot_lookup(&run->before, &race->evaluator->device, race->problem, &resolved, err);
    if (rc)
        return rc;
    *incumbent = (struct gt_incumbent){resolved.kernel, resolved.point, true};
    gt_resolved_release(&resolved);
    return GT_OK;
}

/* Appends the point to a list of points as a space has them, unless the list has it. */
static void list_point(const struct gt_kernel *kernel, const struct gt_point *point, uint8_t *index,
                       size_t *points)
{
    uint8_t *at = index + *points * kernel->params;
    size_t same = 0;

    memset(at, 0, kernel->params);
    for (size_t p = 0; p < kernel->params; p++)
        while (kernel->param[p].value[at[p]] != point->value[p])
            at[p]++;
    while (same < *points && memcmp(index + same * kernel->params, at, kernel->params) != 0)
        same++;
    *points += same == *points;
}

/* Opens an arm of the first candidate's kernel, whose only points are those of that kernel's
 * candidates. */
static int open_listed(struct gt_race *race, const struct gt_candidate *candidate, size_t count,
                       struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_arm *arm = &race->arm[race->arms];
    uint8_t *index = calloc(count, kernel->params + 1);
    size_t points = 0;
    int rc;

    if (!index)
        return gt_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (candidate[i].kernel == kernel)
            list_point(kernel, &candidate[i].point, index, &points);
    rc = gt_space_list(&arm->space, kernel, race->problem, &race->evaluator->device, index, points,
                       err);
    free(index);
    if (rc)
        return rc;
    race->arms++;
    arm->race = race;
    arm->kernel = kernel;
    arm->guest = !race->options->given;
    rc = gt_sweep_make_key(race, arm, err);
    GT_STEP(rc, gt_strategy_new(&arm->strategy, "exhaustive", &arm->space, race->seed, NULL, err));
    return rc ? rc : gt_sweep_resume(race, arm, err);
}

/* The searched arm that has the incumbent among its points; NULL: no arm has. */
static struct gt_arm *arm_of_incumbent(const struct gt_race *race)
{
    for (size_t i = 0; i < race->arms; i++)
        if (strcmp(race->arm[i].kernel->name, race->incumbent->kernel->name) == 0 &&
            gt_space_find(&race->arm[i].space, &race->incumbent->point) != SIZE_MAX)
            return &race->arm[i];
    return NULL;
}

/* Moves the point to the top of the arm's stack of points to be tried again. */
static void move_to_top(struct gt_arm *arm, size_t point)
{
    size_t at = 0;

    while (at < arm->retries && arm->retry[at].point != point)
        at++;
    if (at == arm->retries)
        return;
    arm->retry[at].urgent = true;
    GT_SWEEP_MOVE(arm->retry, at, arm->retries - 1);
}

/* Makes the incumbent the first point to be tried, unless an earlier run has timed and ranked it.
 * An incumbent without a rank has no comparable time, because it was given up as slow after its
 * first run. */
static int put_first(struct gt_race *race, struct gt_err *err)
{
    struct gt_arm *arm = race->incumbent_arm;
    const size_t point = race->incumbent_point;
    const float known = arm->strategy->known[point];

    if (known == GT_POINT_FAILED) {
        race->incumbent_arm = NULL; /* the incumbent does not work here: there is nothing to beat */
        return GT_OK;
    }
    race->incumbent_due = !(known > 0) || !gt_sweep_has_incumbent(race);
    if (!race->incumbent_due)
        return GT_OK;
    if (known == GT_POINT_ASKED) {
        move_to_top(arm, point); /* an earlier run ended while the incumbent was on the device */
        return GT_OK;
    }
    gt_strategy_claim(arm->strategy, point);
    return gt_sweep_retry(
        arm, (struct gt_retry){.point = point, .urgent = true, .remeasure = known > 0}, err);
}

/* Opens the arms of the candidates that the caller gives, an arm for each kernel. */
static int open_given(struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    const struct gt_sweep_given *given = &options->given[race->problem - options->problem];
    int rc = GT_OK;

    race->arm = calloc(given->count + 1, sizeof(*race->arm));
    if (!race->arm)
        return gt_err_nomem(err);
    for (size_t i = 0; i < given->count && !rc; i++)
        if (!gt_sweep_arm_of(race, given->candidate[i].kernel))
            rc = open_listed(race, &given->candidate[i], given->count - i, err);
    return rc;
}

/* Makes the incumbent the first candidate of the arms, which are open and know the trials of
 * earlier runs.  If no arm has the incumbent's point, a guest's arm is opened. */
static int open_incumbent(struct gt_race *race, struct gt_err *err)
{
    int rc = GT_OK;

    if (!race->incumbent->kernel || !race->arms)
        return GT_OK;
    race->incumbent_arm = arm_of_incumbent(race);
    if (!race->incumbent_arm) {
        if (!race->measures) /* a look-up would ask the same model again */
            return GT_OK;
        rc = open_listed(
            race, &(struct gt_candidate){race->incumbent->kernel, .point = race->incumbent->point},
            1, err);
        race->incumbent_arm = &race->arm[race->arms - 1];
    }
    if (rc)
        return rc;
    race->incumbent_point = gt_space_find(&race->incumbent_arm->space, &race->incumbent->point);
    return put_first(race, err);
}

/* ---- the arms: which kernels take part ---- */

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

/* Opens the arm of a kernel that serves the problem, unless no point of the kernel is valid.  *none
 * counts kernels without a valid point, and result->nothing has the reason of the first.  none may
 * be NULL: such kernels are passed over in silence. */
static int open_served(struct gt_race *race, const struct gt_kernel *kernel, size_t *none,
                       struct gt_err *err)
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
            race->result->nothing = reason;
    }
    if (rc == GT_ERANGE)
        return GT_OK;
    if (rc && err)
        *err = reason;
    return rc;
}

/* Opens an arm for each kernel of the list that has a valid point. */
static int open_list(struct gt_race *race, const struct gt_kernel *const *kernel, size_t count,
                     size_t *none, struct gt_err *err)
{
    const struct gt_device *device = &race->evaluator->device;
    char why[GT_UNSERVED_MAX], note[GT_UNSERVED_MAX + 80];
    int rc = GT_OK;

    for (size_t i = 0; i < count && !rc; i++) {
        if (!gt_unserved(why, "it", &kernel[i], 1, race->problem, device)) {
            rc = open_served(race, kernel[i], none, err);
        } else if (none && race->options->verbose) {
            snprintf(note, sizeof(note), "%.60s takes no part: %s", kernel[i]->name, why);
            gt_sweep_note(race, note);
        }
    }
    return rc;
}

/* Sums up why there is no arm: no kernel serves the problem, or the kernels that serve it have no
 * valid point. */
static void sum_up(struct gt_race *race, size_t none)
{
    struct gt_err *nothing = &race->result->nothing;
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

/* Opens the arms.  If there is no arm, result->nothing says why. */
static int open_arms(struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    const double trials = (double)options->budget.trials;
    const double seeds = trials > 0 ? fmin(SEED_SHARE * trials, 4 * SEEDS) : SEEDS;
    size_t none = 0;
    int rc;

    race->arm =
        calloc(options->kernels + options->fallbacks + 1, sizeof(*race->arm)); /* 1: guest */
    if (!race->arm)
        return gt_err_nomem(err);
    rc = open_list(race, options->kernel, options->kernels, &none, err);
    if (!rc && !race->arms) {
        rc = open_list(race, options->fallback, options->fallbacks, NULL, err);
        if (race->arms)
            gt_sweep_note(race, "kernels of the ladder take part instead");
    }
    if (race->arms || rc) /* or an error or a signal came before all kernels were opened */
        race->result->nothing = (struct gt_err){0};
    else
        sum_up(race, none);
    for (size_t i = 0; i < race->arms && !rc; i++) {
        rc = gt_sweep_seed(race, &race->arm[i], (size_t)fmax(1, seeds / (double)race->arms), err);
        GT_STEP(rc, gt_sweep_resume(race, &race->arm[i], err));
    }
    GT_STEP(rc, gt_sweep_retry_slow(race, err));
    return rc ? rc : open_incumbent(race, err);
}

static void close_arms(struct gt_race *race)
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

/* ---- the race of a problem ---- */

/* Takes the spaces that an earlier sweep scouted for this race; spaces scouted for another problem
 * are dropped. */
static bool take_foresight(struct gt_race *race)
{
    struct gt_scouts **foresight = race->options->foresight;

    if (!foresight || !*foresight || race->run->races > 1) /* later *foresight belongs to the next
                                                              sweep */
        return false;
    if (gt_scouts_are_of(*foresight, race->options, race->problem, race->seed))
        race->scouts = *foresight;
    else
        gt_scouts_free(*foresight);
    *foresight = NULL;
    return race->scouts != NULL;
}

int gt_race_new(struct gt_run *run, size_t i, struct gt_race **made, struct gt_err *err)
{
    struct gt_evaluator *evaluator = run->options->evaluator;
    struct gt_race *race = calloc(1, sizeof(*race));

    *made = race;
    if (!race)
        return gt_err_nomem(err);
    *race = (struct gt_race){
        .run = run,
        .options = run->options,
        .problem = &run->options->problem[i],
        .result = &race->own,
        .own.problem = &run->options->problem[i],
        .incumbent = &run->incumbent[i],
        .evaluator = evaluator,
        .measures = evaluator->ops->sample != NULL,
        .seed = run->options->seed + run->races++,
        .next_id = &run->next_id,
    };
    gt_strbuf_init(&race->early);
    if (take_foresight(race))
        return GT_OK;
    return gt_scouts_new(&race->scouts, run->options, race->problem, race->seed, err);
}

void gt_race_free(struct gt_race *race)
{
    if (!race)
        return;
    close_arms(race);
    gt_sweep_result_release(&race->own);
    gt_strbuf_release(&race->early);
    free(race->draw);
    free(race->ready);
    free(race->flight);
    free(race->recent);
    free(race->backfill);
    free(race->history);
    gt_scouts_free(race->scouts);
    free(race);
}

/* Has the incumbent compiled, which is the first candidate, and whose kernel and point are known
 * before any space is. */
static int compile_incumbent(const struct gt_race *race, struct gt_err *err)
{
    const struct gt_incumbent *incumbent = race->incumbent;
    struct gt_candidate candidate;

    if (!race->evaluator->ops->ahead || !incumbent->kernel)
        return GT_OK;
    candidate = gt_sweep_candidate(race, incumbent->kernel, &incumbent->point);
    return race->evaluator->ops->ahead(race->evaluator, &candidate, err);
}

int gt_race_prepare(struct gt_race *race, struct gt_err *err)
{
    int rc;

    if (race->prepared)
        return GT_OK;
    race->prepared = true;
    rc = gt_store_problem(race->options->store, race->problem, &race->problem_id, err);
    GT_STEP(rc, find_incumbent(race, err));
    GT_STEP(rc, compile_incumbent(race, err));
    GT_STEP(rc, race->options->given ? open_given(race, err) : open_arms(race, err));
    return rc;
}

/* ---- ahead of the race ---- */

/* Takes points from the arms of a race that has not begun, until there are `most`, and has these
 * points compiled when a compiler is idle. */
static int draw_points(struct gt_race *race, size_t most, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;
    struct gt_proposal draw = {0};
    int rc = GT_OK;

    while (!rc && race->draws < (most < DRAWS_MOST ? most : DRAWS_MOST) &&
           gt_sweep_choose_point(race, &draw)) {
        struct gt_candidate candidate;

        rc = GT_ARRAY_RESERVE(&race->draw, race->draws + 1, &race->draw_capacity, err);
        if (rc)
            break;
        race->draw[race->draws++] = draw;
        draw.arm->flying++;
        candidate = gt_arm_candidate(draw.arm, draw.what.point);
        rc = evaluator->ops->ahead(race->evaluator, &candidate, err);
    }
    return rc;
}

/* Has given candidates of the next problems compiled while this problem is on the GPU: a problem
 * has few candidates, so that those of one problem would leave compilers idle. */
static int compile_given(const struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    struct gt_evaluator *evaluator = race->evaluator;
    int left = 2 * evaluator->jobs, rc = GT_OK;

    for (const struct gt_problem *problem = race->problem + 1;
         problem < options->problem + options->problems && left > 0 && !rc; problem++) {
        const struct gt_sweep_given *given = &options->given[problem - options->problem];

        for (size_t i = 0; i < given->count && left-- > 0 && !rc; i++) {
            struct gt_candidate candidate = given->candidate[i];

            candidate.problem = problem;
            candidate.device = &evaluator->device;
            rc = evaluator->ops->ahead(evaluator, &candidate, err);
        }
    }
    return rc;
}

int gt_race_draw_first(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int rc;

    if (!evaluator->ops->ahead)
        return GT_OK;
    rc = draw_points(race, evaluator->ops->room(evaluator), err);
    return rc || !race->options->given ? rc : compile_given(race, err);
}

int gt_sweep_scout_next(struct gt_run *run, struct gt_err *err)
{
    const struct gt_sweep_options *options = run->options;
    size_t next, after;
    int rc = GT_OK;

    if (!options->evaluator->ops->ahead)
        return GT_OK;
    if (options->then && options->foresight && !*options->foresight) /* for the next sweep */
        rc = gt_scouts_new(options->foresight, options, options->then, options->seed, err);
    if (!rc && !run->next && gt_time_slices_peek(&run->slices, run->now, &next))
        rc = gt_race_new(run, next, &run->next, err);
    if (rc || !run->next || run->after)
        return rc;
    next = (size_t)(run->next->problem - run->options->problem);
    if (gt_time_slices_peek_after(&run->slices, run->now, next, &after))
        rc = gt_race_new(run, after, &run->after, err);
    return rc;
}

int gt_sweep_prepare_next(struct gt_run *run, bool may_wait, struct gt_err *err)
{
    int rc = gt_sweep_scout_next(run, err);

    if (rc || !run->next || run->next->prepared ||
        (!may_wait && !gt_scouts_done(run->next->scouts)))
        return rc;
    rc = gt_race_prepare(run->next, err);
    return rc ? rc : draw_points(run->next, (size_t)run->next->evaluator->jobs * DRAWS_JOB, err);
}

int gt_sweep_take_race(struct gt_run *run, size_t i, struct gt_race **race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = run->options->evaluator;

    run->now = i;
    for (int tries = 0; tries < 2 && run->next; tries++) {
        *race = run->next;
        run->next = run->after;
        run->after = NULL;
        if ((*race)->problem == &run->options->problem[i])
            return GT_OK;
        if ((*race)->prepared && evaluator->ops->drop_ahead)
            evaluator->ops->drop_ahead(run->options->evaluator);
        gt_race_free(*race);
    }
    return gt_race_new(run, i, race, err);
}
