/* sweep.c - one run of `tune`, from problems to winners.  Newcomers: read this file first.
 *
 * This is the only file that calls the stages in order.  time_slices.c chooses the problem of each
 * turn and its time.  A turn is:
 *
 *     gt_sweep_open_arms   kernels that serve the problem -> their valid points  race.c, space.h
 *                          -> points to try first -> a strategy                  seeds.c
 *                          -> trials of earlier runs                             record.c
 *                          -> what look-up hands out, to be tried before all     incumbent.c
 *     gt_sweep_race        strategy -> evaluator (compile, prove, time)          race.c
 *                          -> store, strategy, ranking                           record.c
 *     gt_sweep_finals      sampling, baseline, paired final, ties -> winner      finals.c
 *     gt_sweep_put_turn    record of the turn                                    sweep.c
 *
 * The evaluator decides what a time is: `cuda` measures it, `predict` estimates it, `replay` reads
 * it from a recording.  It also has the clock.  Each kernel of a race is an arm.  The arms share
 * the budget; an arm with better times gets more trials. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "sweep/progress.h"
#include "sweep/sweep.h"
#include "sweep/sweep_parts.h"

/* The end of a turn: its totals, and the record that is kept of it: how long it took, how
 * busy the GPU was, and when its best improved.  `tune export --format search` makes a table of the
 * records. */

#define NEAR_BEST 1.02 /* times the best: from here on the best counts as reached */

/* Fills the result's totals at the end of a turn; before: the evaluator's at its beginning. */
static void gt_sweep_sum_up(struct gt_race *race, const struct gt_evaluator_stats *before)
{
    struct gt_sweep_result *result = race->result;
    const struct gt_evaluator_stats *after = &race->evaluator->stats;

    result->wall_s = gt_evaluator_now(race->evaluator) - race->begin_s;
    result->busy_s = race->opened ? after->busy_s : 0;
    result->compiled = after->compiled - before->compiled;
    result->cache_hits = after->cache_hits - before->cache_hits;
    result->respawns = after->respawns - before->respawns;
    for (size_t i = 1; i < result->rows && !race->measures; i++)
        result->row[i].tie = result->row[i].trial.us == result->row[0].trial.us;
    for (size_t i = 0; i < race->bests && result->rows; i++) {
        result->to_best_s = race->history[i].at_s;
        if (race->history[i].us <= NEAR_BEST * result->row[0].trial.us)
            break;
    }
}

void gt_sweep_join(struct gt_sweep_result *result, struct gt_sweep_result *earlier)
{
    if (result->to_best_s > 0 || !(earlier->wall_s > 0))
        result->to_best_s += earlier->wall_s;
    else
        result->to_best_s = earlier->to_best_s;
    if (earlier->wall_s > 0)
        result->resumed = earlier->resumed;
    result->fresh += earlier->fresh;
    result->timed += earlier->timed;
    result->compiled += earlier->compiled;
    result->cache_hits += earlier->cache_hits;
    result->respawns += earlier->respawns;
    result->wall_s += earlier->wall_s;
    result->busy_s += earlier->busy_s;
    if (!result->rows && earlier->rows) { /* a signal, before the turn had the earlier trials */
        result->row = earlier->row;
        result->rows = earlier->rows;
        result->points = earlier->points;
        result->points_estimated = earlier->points_estimated;
        result->have_baseline = earlier->have_baseline;
        result->baseline = earlier->baseline;
        memcpy(result->status, earlier->status, sizeof(result->status));
        earlier->row = NULL;
    }
    if (!result->incumbent.kernel) { /* beaten in an earlier turn, or not timed in this one */
        result->incumbent = earlier->incumbent;
        result->stays = earlier->stays;
    }
    gt_sweep_result_release(earlier);
}

static int name_kernels(const struct gt_race *race, struct gt_strbuf *text, struct gt_err *err)
{
    for (size_t i = 0; i < race->arms && !race->arm[i].guest; i++) /* the guest is the last one */
        gt_strbuf_addf(text, "%s%s", i ? "," : "", race->arm[i].kernel->name);
    return gt_strbuf_check(text, err);
}

/* *list is malloc'ed. */
static int list_improvements(const struct gt_race *race, struct gt_improvement **list,
                             struct gt_err *err)
{
    *list = calloc(race->bests + 1, sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    for (size_t i = 0; i < race->bests; i++)
        (*list)[i] = (struct gt_improvement){.seconds = race->history[i].at_s,
                                             .us = race->history[i].us,
                                             .trials = race->history[i].trials};
    return GT_OK;
}

/* Stores the record of this turn; does nothing if the evaluator does not measure. */
static int gt_sweep_put_turn(const struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    const struct gt_sweep_result *result = race->result;
    struct gt_strbuf kernels = GT_STRBUF_INIT;
    struct gt_improvement *list = NULL;
    bool won = race->measures && result->rows > 0 && result->row[0].trial.stage == 3;
    int rc;

    if (!race->measures || !race->opened)
        return GT_OK;
    rc = name_kernels(race, &kernels, err);
    GT_STEP(rc, list_improvements(race, &list, err));
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
                        .improvement = list,
                        .improvements = race->bests,
                    },
                    err));
    free(list);
    gt_strbuf_release(&kernels);
    return rc;
}

int gt_sweep_signals(const struct gt_race *race)
{
    return race->options->signals ? (int)*race->options->signals : 0;
}

void gt_sweep_note(struct gt_race *race, const char *sentence)
{
    if (race->begun)
        gt_progress_note(race->options->progress, sentence);
    else
        gt_strbuf_addf(&race->early, "%s\n", sentence);
}

/* Seconds until all problems have had their turns, 0 where nothing says so. */
static double all_left_s(const struct gt_race *race)
{
    const struct gt_run *run = race->run;
    const struct gt_sweep_options *options = race->options;
    double elapsed = gt_evaluator_now(race->evaluator) - run->slices.begin_s;
    size_t begun = gt_time_slices_begun(&run->slices);

    if (options->problems < 2)
        return 0;
    if (options->budget.seconds > 0)
        return options->budget.seconds - elapsed;
    return begun > 1 ? elapsed / (double)(begun - 1) * (double)(options->problems - begun + 1) : 0;
}

static struct gt_progress_state state_of(const struct gt_race *race, const char *phase)
{
    const struct gt_sweep_result *result = race->result;
    struct gt_progress_state state = {
        .done = race->tried,
        .fresh = race->result->fresh,
        .trials_limit = race->options->budget.trials,
        .elapsed_s = gt_evaluator_now(race->evaluator) - race->begin_s,
        .seconds_limit = race->deadline_s > 0 ? race->deadline_s - race->begin_s : 0,
        .best_us = race->best_us,
        .flops = gt_problem_flops(race->problem),
        .predicted = !race->measures,
        .points = result->points_estimated ? 0 : result->points,
        .all_left_s = all_left_s(race),
        .searched = race->closing || race->end_s > 0,
        .phase = phase,
    };

    memcpy(state.status, result->status, sizeof(state.status));
    return state;
}

void gt_sweep_show(struct gt_race *race, const char *phase, bool force)
{
    struct gt_progress_state state;

    if (!race->begun)
        return;
    if (phase != race->phase)
        snprintf(race->phase, sizeof(race->phase), "%s", phase ? phase : "");
    state = state_of(race, phase);
    gt_progress_show(race->options->progress, &state, force);
}

/* The line of a problem that stays. */
static void show_end(struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;
    struct gt_progress_state state = state_of(race, NULL);

    state.searched = state.ended = true;
    if (result->rows) /* the finals' time, as in the table */
        state.best_us = result->row[0].trial.us;
    if (result->have_baseline && result->rows)
        state.ratio = result->baseline.us / result->row[0].trial.us;
    gt_progress_end(race->options->progress, &state);
}

/* ---- a problem ---- */

/* Tells what was noted before the turn. */
static void begin(struct gt_race *race)
{
    const struct gt_sweep_options *options = race->options;
    char text[GT_PROBLEM_TEXT_MAX], title[GT_PROBLEM_TEXT_MAX + 80], *rest, *sentence;
    const struct gt_time_slices *slices = &race->run->slices;
    size_t turn = gt_time_slices_turn(slices, race->run->now);

    race->begun = true;
    gt_problem_format(race->problem, text);
    if (options->problems > 1 && turn > 1)
        snprintf(title, sizeof(title), "again, turn %zu: %s", turn, text);
    else if (options->problems > 1)
        snprintf(title, sizeof(title), "%zu of %zu: %s", gt_time_slices_begun(slices),
                 options->problems, text);
    else
        snprintf(title, sizeof(title), "%s%s", options->label ? options->label : "", text);
    gt_progress_title(options->progress, title);
    rest = gt_strbuf_check(&race->early, NULL) ? NULL : race->early.text;
    while (rest && (sentence = strsep(&rest, "\n")) && *sentence)
        gt_sweep_note(race, sentence);
}

static int run_problem(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int rc;

    begin(race);
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
    show_end(race);
    return rc;
}

static void add_sums(struct gt_store_sweep_stats *sums, const struct gt_sweep_result *turn)
{
    sums->busy_s += turn->busy_s;
    sums->trials += turn->fresh;
    sums->compiled += turn->compiled;
}

/* Tells the caller what the run made of its time. */
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
        rc = gt_sweep_put_turn(race, err);
    else if (rc == GT_EINTERRUPTED) /* what was reached is kept; the interrupt is the error told */
        gt_sweep_put_turn(race, NULL);
    add_sums(&run->sums, result);
    run->timed += result->timed;
    gt_time_slices_note(&run->slices, run->now, race);
    gt_sweep_join(result, &earlier);
    result->interrupted = rc == GT_EINTERRUPTED;
    run->sums.to_best_s = fmax(run->sums.to_best_s, result->to_best_s);
    return rc;
}

/* A recording says nothing of the kernels that are here. */
int gt_sweep_take_snapshot(struct gt_run *run, struct gt_err *err)
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

    GT_STEP(rc, gt_sweep_take_snapshot(run, err));
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
    if (!rc && options->problems == 1 && result[0].nothing.code) {
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

void gt_sweep_result_release(struct gt_sweep_result *result)
{
    free(result->row);
    *result = (struct gt_sweep_result){0};
}
