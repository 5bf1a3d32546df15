/* sweep.c - one run of `tune`, from problems to winners.  Newcomers: read this file first.
 *
 * This is the only file that calls the stages in order.  time_slices.c chooses the problem of each
 * turn and its time.  A turn is:
 *
 *     gt_race_prepare      kernels that serve the problem -> their valid points  prepare.c, scout.c
 *                          -> points to try first -> a strategy                  seeds.c
 *                          -> trials of earlier runs                             record.c
 *                          -> what look-up hands out, to be tried before all     prepare.c
 *     gt_sweep_race        strategy -> evaluator (compile, prove, time)          choose.c, race.c
 *                          -> store, strategy, ranking                           record.c, result.c
 *     gt_sweep_finals      sampling, baseline, paired final, ties -> winner      finals.c
 *     put_turn             record of the turn                                    sweep.c
 *
 * The evaluator decides what a time is: `cuda` measures it, `predict` estimates it, `replay` reads
 * it from a recording.  It also has the clock.  Each kernel of a race is an arm.  The arms share
 * the budget; an arm with better times gets more trials.  Given candidates take the same way: their
 * kernels are arms that have these points alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "sweep/progress.h"
#include "sweep/sweep.h"
#include "sweep/sweep_parts.h"

/* ---- the record of a turn ---- */

/* How long the turn took, how busy the GPU was, and when the best time improved.  `tune export
 * --format search` makes a table of the records. */

/* Stores the record of this turn; does nothing if the evaluator does not measure, or nothing was
 * searched. */
static int put_turn(const struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    const struct gt_sweep_result *result = race->result;
    struct gt_strbuf kernels = GT_STRBUF_INIT;
    bool won = race->measures && result->rows > 0 && result->row[0].trial.stage == 3;
    int rc;

    if (!race->measures || !race->opened || options->given)
        return GT_OK;
    for (size_t i = 0; i < race->arms && !race->arm[i].guest; i++) /* the guest is the last one */
        gt_strbuf_addf(&kernels, "%s%s", i ? "," : "", race->arm[i].kernel->name);
    rc = gt_strbuf_check(&kernels, err);
    GT_STEP(rc, gt_store_put_turn(
                    options->store, &race->arm[0].key,
                    &(struct gt_turn){
                        .kernels = kernels.text,
                        .strategy = options->strategy ? options->strategy : GT_STRATEGY_DEFAULT,
                        .seed = options->seed,
                        .known = result->resumed,
                        .trials = result->fresh,
                        .seconds = result->wall_s,
                        .race_s = race->end_s - race->begin_s,
                        .busy_s = race->busy_s,
                        .us = won ? result->row[0].trial.us : 0,
                        .baseline_us = won && result->have_baseline ? result->baseline.us : 0,
                        .improvement = race->history,
                        .improvements = race->bests,
                    },
                    err));
    gt_strbuf_release(&kernels);
    return rc;
}

/* ---- a turn ---- */

static int run_problem(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int rc;

    gt_sweep_show_begin(race);
    rc = gt_race_prepare(race, err);
    GT_STEP(rc, gt_race_draw_first(race, err)); /* compiled while the GPU's worker opens it */
    if (rc || !race->arms)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, race->problem, err);
    if (rc == GT_ETOOBIG) {
        race->result->nothing = *err;
        return GT_OK;
    }
    race->opened = rc == GT_OK;
    if (!rc)
        gt_sweep_tell_best(race);
    race->resumed_us = race->best_us;
    GT_STEP(rc, gt_sweep_scout_next(race->run, err));
    GT_STEP(rc, gt_sweep_race(race, err));
    race->end_s = gt_evaluator_now(evaluator);
    race->busy_s = evaluator->stats.busy_s;
    GT_STEP(rc, gt_store_settle(race->options->store, err));
    GT_STEP(rc, gt_sweep_prepare_next(race->run, true, err));
    if (!rc && race->measures && !race->options->search_only)
        rc = gt_sweep_finals(race, err);
    gt_sweep_part_guest(race);
    gt_sweep_show_end(race);
    return rc;
}

/* Runs one turn of problem run->now, up to its record and its place in the sums. */
static int run_turn(struct gt_run *run, struct gt_race *race, struct gt_sweep_result *result,
                    struct gt_err *err)
{
    struct gt_evaluator *evaluator = run->options->evaluator;
    struct gt_evaluator_stats before = evaluator->stats;
    struct gt_sweep_result earlier = *result;
    int rc;

    *result = (struct gt_sweep_result){.problem = race->problem};
    evaluator->options.events = gt_sweep_events(race);
    rc = run_problem(race, err);
    gt_sweep_part_guest(race); /* also where the problem was not opened */
    *result = race->own;
    race->own = (struct gt_sweep_result){.problem = race->problem};
    race->result = result;
    if (!rc && result->rows && result->row[0].trial.stage == 3 && !result->stays)
        run->incumbent[run->now] =
            (struct gt_incumbent){result->row[0].kernel, result->row[0].point, true};
    gt_sweep_sum_up(race, &before);
    if (!rc)
        rc = put_turn(race, err);
    else if (rc == GT_EINTERRUPTED) /* the results so far are kept; the interrupt is the error
                                       told */
        put_turn(race, NULL);
    run->sums.busy_s += result->busy_s;
    run->sums.trials += result->fresh;
    run->sums.compiled += result->compiled;
    run->timed += result->timed;
    gt_time_slices_note(&run->slices, run->now, race);
    gt_sweep_join(result, &earlier);
    result->interrupted = rc == GT_EINTERRUPTED;
    run->sums.to_best_s = fmax(run->sums.to_best_s, result->to_best_s);
    return rc;
}

/* ---- a run ---- */

/* Tells the caller how the run used its time. */
static void fill_totals(const struct gt_run *run, double compile_s)
{
    const struct gt_evaluator *evaluator = run->options->evaluator;
    struct gt_sweep_totals *totals = run->options->totals;

    if (!totals)
        return;
    *totals = (struct gt_sweep_totals){
        .wall_s = run->sums.wall_s,
        .busy_s = run->sums.busy_s,
        .compile_s = evaluator->stats.compile_s - compile_s,
        .jobs = evaluator->jobs,
        .compiled = run->sums.compiled,
        .timed = run->timed,
    };
}

/* Remembers the state of look-up before the sweep changes it.  run->before and run->incumbent
 * are to be released also after a failure.  A recording says nothing about the kernels that are
 * here. */
static int take_snapshot(struct gt_run *run, struct gt_err *err)
{
    const struct gt_sweep_options *options = run->options;

    run->incumbent = calloc(options->problems, sizeof(*run->incumbent));
    if (!run->incumbent)
        return gt_err_nomem(err);
    if (!options->known || options->evaluator->ops->provenance == GT_REPLAYED)
        return GT_OK;
    return gt_snapshot_take(&run->before, options->known, options->store, options->shipped, err);
}

/* Runs turn after turn until the time slices end. */
static int run_turns(struct gt_run *run, struct gt_sweep_result *result, struct gt_err *err)
{
    const struct gt_sweep_options *options = run->options;
    struct gt_evaluator *evaluator = options->evaluator;
    const struct gt_evaluator_events before = evaluator->options.events;
    const double compile_s = evaluator->stats.compile_s;
    struct gt_turn_time time;
    size_t i;
    int rc = gt_time_slices_init(&run->slices, options, err);

    GT_STEP(rc, take_snapshot(run, err));
    GT_STEP(rc, gt_store_device(options->store, &evaluator->device, &run->device, err));
    GT_STEP(rc, gt_store_toolchain(options->store, evaluator->nvrtc_version, &run->toolchain, err));
    evaluator->options.signals = options->signals;
    while (!rc && gt_time_slices_next(&run->slices, &i, &time)) {
        struct gt_race *race;

        rc = gt_sweep_take_race(run, i, &race, err);
        if (!rc) {
            race->begin_s = gt_evaluator_now(evaluator);
            race->search_s = time.search_s;
            race->deadline_s = time.deadline_s;
            race->latest_s = time.latest_s;
            rc = run_turn(run, race, &result[i], err);
        }
        gt_race_free(race);
        if (!rc && options->ended)
            rc = options->ended(options->context, i, &result[i], err);
    }
    evaluator->options.events = before;
    evaluator->options.signals = NULL;
    run->sums.wall_s = gt_evaluator_now(evaluator) - run->slices.begin_s;
    fill_totals(run, compile_s);
    gt_race_free(run->next);
    gt_race_free(run->after);
    gt_time_slices_release(&run->slices);
    gt_snapshot_release(&run->before);
    free(run->incumbent);
    return rc;
}

int gt_sweep_run(const struct gt_sweep_options *options, struct gt_sweep_result *result,
                 struct gt_err *err)
{
    struct gt_run run = {.options = options};
    struct gt_err own = {0}, late = {0};
    const char *outcome = "finished";
    int rc;

    memset(result, 0, options->problems * sizeof(*result));
    for (size_t i = 0; i < options->problems; i++)
        result[i].problem = &options->problem[i];
    rc = gt_store_sweep_begin(options->store, options->command ? options->command : "", &run.sweep,
                              err);
    if (rc)
        return rc;
    rc = run_turns(&run, result, &own);
    if (!rc && options->problems == 1 && !options->given && result[0].nothing.code) {
        own = result[0].nothing;
        rc = own.code;
    }
    if (rc)
        outcome = rc == GT_EINTERRUPTED ? "interrupted" : own.msg;
    if (gt_store_sweep_end(options->store, run.sweep, outcome, &run.sums, &late) && !rc) {
        own = late;
        rc = late.code;
    }
    if (rc && err)
        *err = own;
    return rc;
}

/* ---- compiling ahead ---- */

/* The first candidates of a sweep are compiled and not run, so that a sweep of the same problem on
 * a GPU finds their cubins in the cache.  These candidates are the points that a sweep chooses
 * before it has a time: the incumbent, leads, seeds. */

#define COLLECT_MS 200 /* between two looks at the signals */

/* Hands points to the compilers while there is room. */
static int submit_all(struct gt_race *race, size_t *left, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_proposal next;
    int rc = GT_OK;

    while (!rc && *left && evaluator->ops->room(evaluator) > 0) {
        struct gt_candidate candidate;

        if (!gt_sweep_choose_point(race, &next)) {
            *left = 0;
            break;
        }
        candidate = gt_arm_candidate(next.arm, next.what.point);
        next.arm->flying++;
        rc = evaluator->ops->submit(evaluator, ++*race->next_id, &candidate, err);
        --*left;
        race->flights++;
    }
    return rc;
}

static int compile(struct gt_race *race, size_t most, struct gt_sweep_ahead *ahead,
                   struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int rc = submit_all(race, &most, err);

    while (!rc && race->flights) {
        struct gt_trial trial;
        uint64_t id;
        int got = evaluator->ops->collect(evaluator, COLLECT_MS, &id, &trial, err);

        if (got < 0)
            return got;
        race->flights -= (size_t)got;
        ahead->candidates += got;
        if (gt_sweep_signals(race)) {
            evaluator->ops->drop(evaluator);
            return gt_err_set(err, GT_EINTERRUPTED,
                              "interrupted; what was compiled is in the cache");
        }
        rc = submit_all(race, &most, err);
    }
    return rc;
}

/* Opens the problem like a sweep that measures. */
static int open_race(struct gt_race *race, struct gt_err *err)
{
    int rc;

    race->measures = true;
    rc = gt_race_prepare(race, err);
    if (rc || !race->arms)
        return rc;
    rc = race->evaluator->ops->open_problem(race->evaluator, race->problem, err);
    race->opened = rc == GT_OK;
    return rc == GT_ETOOBIG ? GT_OK : rc;
}

int gt_sweep_compile(const struct gt_sweep_options *options, size_t most,
                     struct gt_sweep_ahead *ahead, struct gt_err *err)
{
    struct gt_evaluator *evaluator = options->evaluator;
    struct gt_run run = {.options = options};
    struct gt_race *race = NULL;
    int64_t before;
    int rc = take_snapshot(&run, err);

    *ahead = (struct gt_sweep_ahead){0};
    GT_STEP(rc, gt_store_device(options->store, &evaluator->device, &run.device, err));
    GT_STEP(rc, gt_store_toolchain(options->store, evaluator->nvrtc_version, &run.toolchain, err));
    GT_STEP(rc, gt_race_new(&run, 0, &race, err));
    before = evaluator->stats.compiled;
    GT_STEP(rc, open_race(race, err));
    if (!rc && race->opened)
        rc = compile(race, most, ahead, err);
    ahead->compiled = evaluator->stats.compiled - before;
    gt_race_free(race);
    gt_snapshot_release(&run.before);
    free(run.incumbent);
    return rc;
}
