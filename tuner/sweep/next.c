/* next.c - what is done for a problem before its race: of the one that is probably the next,
 * the spaces are scouted while a race goes on, and the one before; towards the end of the race its
 * arms are opened, and its first points go to the compilers, which would have nothing to do during
 * the finals.  The first problem of a sweep has its first points compiled while the GPU's worker
 * opens it, and the incumbent while its spaces are scouted. */
#include "base/strbuf.h"
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <stdlib.h>

#define DRAWS_JOB  3  /* points drawn for each compile worker: what they compile during finals */
#define DRAWS_MOST 96 /* because what the race will find is not known yet */

/* Takes points from the arms of a race that has not begun, until there are `most`, and has them
 * compiled when no compiler has anything else to do. */
static int draw_points(struct gt_race *race, size_t most, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;
    struct gt_draw draw;
    int rc = GT_OK;

    while (!rc && race->draws < (most < DRAWS_MOST ? most : DRAWS_MOST) &&
           gt_sweep_choose_point(race, &draw.arm, &draw.what)) {
        struct gt_candidate candidate;

        rc = GT_ARRAY_RESERVE(&race->draw, race->draws + 1, &race->draw_capacity, err);
        if (rc)
            break;
        race->draw[race->draws++] = draw;
        draw.arm->flying++;
        candidate = (struct gt_candidate){
            .kernel = draw.arm->kernel, .problem = race->problem, .device = &evaluator->device};
        gt_space_point(&draw.arm->space, draw.what.point, &candidate.point);
        rc = evaluator->ops->ahead(race->evaluator, &candidate, err);
    }
    return rc;
}

int gt_race_draw_first(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;

    return evaluator->ops->ahead ? draw_points(race, evaluator->ops->room(evaluator), err) : GT_OK;
}

/* Has the incumbent compiled, which is the first candidate: its kernel and point are known before
 * any space is. */
static int compile_incumbent(const struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    const struct gt_incumbent *incumbent = race->incumbent;
    const struct gt_candidate candidate = {.kernel = incumbent->kernel,
                                           .problem = race->problem,
                                           .device = &evaluator->device,
                                           .point = incumbent->point};

    return evaluator->ops->ahead && incumbent->kernel
               ? evaluator->ops->ahead(evaluator, &candidate, err)
               : GT_OK;
}

void gt_race_free(struct gt_race *race)
{
    if (!race)
        return;
    gt_sweep_close_arms(race);
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

/* Takes what an earlier sweep has scouted for this race; what it did not guess right is dropped. */
static bool take_foresight(struct gt_race *race)
{
    struct gt_scouts **foresight = race->options->foresight;

    if (!foresight || !*foresight || race->run->races > 1) /* later it is of the next sweep */
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
        .sweep = run->sweep,
        .seed = run->options->seed + run->races++,
        .device = run->device,
        .toolchain = run->toolchain,
        .next_id = &run->next_id,
    };
    gt_strbuf_init(&race->early);
    if (take_foresight(race))
        return GT_OK;
    return gt_scouts_new(&race->scouts, run->options, race->problem, race->seed, err);
}

int gt_race_prepare(struct gt_race *race, struct gt_err *err)
{
    struct gt_run *run = race->run;
    int rc;

    if (race->prepared)
        return GT_OK;
    race->prepared = true;
    rc = gt_store_problem(race->options->store, race->problem, &race->problem_id, err);
    GT_STEP(rc,
            gt_sweep_find_incumbent(race, &run->before,
                                    &run->incumbent[race->problem - run->options->problem], err));
    GT_STEP(rc, compile_incumbent(race, err));
    return rc ? rc : gt_sweep_open_arms(race, err);
}

/* Begins to scout for the sweep that comes after this one. */
static int foresee(const struct gt_sweep_options *options, struct gt_err *err)
{
    if (!options->then || !options->foresight || *options->foresight)
        return GT_OK;
    return gt_scouts_new(options->foresight, options, options->then, options->seed, err);
}

int gt_sweep_scout_next(struct gt_run *run, struct gt_err *err)
{
    size_t next, after;
    int rc = GT_OK;

    if (!run->options->evaluator->ops->ahead)
        return GT_OK;
    rc = foresee(run->options, err);
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
