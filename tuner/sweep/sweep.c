/* sweep.c - one run of `tune`, from problems to winners.  Newcomers: read this file first.
 *
 * The only file that calls the stages in order.  For each turn of a problem (which, and for how
 * long: time_slices.c):
 *
 *     gt_sweep_open_arms  kernels that serve it -> their valid points       arms.c, space.h
 *                          -> points worth trying first -> a strategy        seeds.c
 *                          -> what earlier runs found                        record.c
 *     run_race             strategy -> evaluator (compile, prove, time)      this file
 *                          -> store, strategy, ranking                       record.c
 *     gt_sweep_finals      sampling, baseline, paired final, ties -> winner  finals.c
 *
 * The evaluator decides what "time" means: `cuda` measures, `predict` estimates,
 * `replay` answers from a recording; and what time it is.  Several kernels
 * race in arms that share the budget; a arm that does better gets more of it. */
#include "sweep/sweep.h"

#include "base/err.h"
#include "problem/problem.h"
#include "sweep/progress.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLLECT_MS 200  /* between looks at signals and clock */
#define NEAR_BEST  1.02 /* for "time to best" */

/* Beyond its deadline, for a problem that has no time yet: */
#define LATE_FLIGHTS 4  /* more are not sent while so many are under way: the next problem waits */
#define LATE_TRIALS  16 /* of a turn; so many failures tell that the others would fail too */

int gt_sweep_signals(const struct gt_race *race)
{
    return race->options->signals ? (int)*race->options->signals : 0;
}

void gt_sweep_note(const struct gt_race *race, const char *sentence)
{
    gt_progress_note(race->options->progress, sentence);
}

void gt_sweep_show(const struct gt_race *race, const char *phase, bool force)
{
    struct gt_progress_state state = {
        .done = race->tried,
        .fresh = race->result->fresh,
        .trials_limit = race->options->budget.trials,
        .elapsed_s = gt_evaluator_now(race->evaluator) - race->begin_s,
        .seconds_limit = race->deadline_s > 0 ? race->deadline_s - race->begin_s : 0,
        .best_us = race->best_us,
        .flops = gt_problem_flops(race->problem),
        .predicted = !race->measures,
        .phase = phase,
    };

    memcpy(state.status, race->result->status, sizeof(state.status));
    gt_progress_show(race->options->progress, &state, force);
}

/* ---- events of the evaluator ---- */

static struct gt_flight *find_flight(struct gt_race *race, uint64_t id)
{
    for (size_t i = 0; i < race->flights; i++)
        if (race->flight[i].id == id)
            return &race->flight[i];
    return NULL;
}

/* The attempt is durable before the launch: whatever happens, the right candidate is blamed. */
static int on_launching(void *context, uint64_t id, struct gt_err *err)
{
    struct gt_race *race = context;
    struct gt_flight *flight = find_flight(race, id);
    int rc;

    if (!flight || flight->launched)
        return GT_OK;
    rc = gt_sweep_attempt(race, flight->arm, &flight->candidate.point, err);
    flight->launched = rc == GT_OK;
    return rc;
}

static bool on_in_doubt(void *context, uint64_t id)
{
    const struct gt_flight *flight = find_flight(context, id);

    return flight && flight->what.attempts > 0;
}

static void on_notice(void *context, const char *sentence)
{
    gt_sweep_note(context, sentence);
}

/* ---- the race ---- */

static bool time_is_up(const struct gt_race *race)
{
    return race->deadline_s > 0 && gt_evaluator_now(race->evaluator) >= race->deadline_s;
}

/* A slow compiler must not leave a problem without a winner: the clock ends a race only once the
 * problem has a time.  Until then what is under way is waited for, and few more are sent. */
static bool clock_ends(const struct gt_race *race)
{
    return time_is_up(race) && race->best_us > 0;
}

/* Whether the clock lets no more be sent. */
static bool is_late(const struct gt_race *race)
{
    return time_is_up(race) && (race->best_us > 0 || race->flights >= LATE_FLIGHTS ||
                                race->result->fresh + (int64_t)race->flights >= LATE_TRIALS);
}

/* Whether no new point may be tried; what must be tried again still may. */
static bool trials_spent(const struct gt_race *race)
{
    const struct gt_budget *budget = &race->options->budget;
    int64_t tried = race->tried + (int64_t)race->flights;

    return (budget->trials && tried >= budget->trials) ||
           (budget->patience && race->best_us > 0 &&
            race->tried - race->improved_at >= budget->patience);
}

static int submit(struct gt_race *race, struct gt_arm *arm, struct gt_retry what,
                  struct gt_err *err)
{
    struct gt_flight *flight;
    int rc;

    rc = gt_sweep_reserve((void **)&race->flight, race->flights, &race->flight_capacity,
                          sizeof(*race->flight), err);
    if (rc)
        return rc;
    flight = &race->flight[race->flights];
    *flight = (struct gt_flight){.id = ++*race->next_id, .arm = arm, .what = what};
    flight->candidate.kernel = arm->kernel;
    flight->candidate.problem = race->problem;
    flight->candidate.device = &race->evaluator->device;
    gt_space_point(&arm->space, what.point, &flight->candidate.point);
    race->flights++;
    arm->flying++;
    rc = race->evaluator->ops->submit(race->evaluator, flight->id, &flight->candidate, err);
    if (rc)
        race->flights--;
    return rc;
}

static bool has_urgent(const struct gt_arm *arm)
{
    return arm->retries && arm->retry[arm->retries - 1].urgent;
}

/* The arm that may submit next, or NULL. */
static struct gt_arm *next_arm(struct gt_race *race)
{
    if (is_late(race))
        return NULL;
    for (size_t i = 0; i < race->arms; i++)
        if (has_urgent(&race->arm[i]))
            return &race->arm[i];
    return trials_spent(race) ? NULL : gt_sweep_choose_arm(race);
}

/* Takes the next point of a arm: an urgent or due one to try again, the strategy's, or while that
 * waits, any to try again. */
static enum gt_next next_of(const struct gt_race *race, struct gt_arm *arm, struct gt_retry *what)
{
    bool due = arm->retries && arm->retry[arm->retries - 1].due <= race->tried;
    enum gt_next answer;

    *what = (struct gt_retry){0};
    if (!has_urgent(arm) && !due) {
        answer = gt_strategy_next(arm->strategy, &what->point);
        if (answer == GT_NEXT_POINT || !arm->retries)
            return answer;
    }
    *what = arm->retry[--arm->retries];
    return GT_NEXT_POINT;
}

/* Keeps the evaluator fed. */
static int submit_all(struct gt_race *race, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < race->arms; i++)
        race->arm[i].waiting = false;
    while (!rc && race->evaluator->ops->room(race->evaluator) > 0) {
        struct gt_arm *arm = next_arm(race);
        struct gt_retry what;
        enum gt_next answer;

        if (!arm)
            break;
        answer = next_of(race, arm, &what);
        arm->waiting = answer == GT_NEXT_WAIT;
        arm->done = answer == GT_NEXT_DONE;
        if (answer == GT_NEXT_POINT)
            rc = submit(race, arm, what, err);
    }
    return rc;
}

/* Whether something that a strategy asked for is under way.  Were backfill points to keep each
 * other company, a strategy that is done would never hear that all is told. */
static bool strategies_wait(const struct gt_race *race)
{
    for (size_t i = 0; i < race->flights; i++)
        if (!race->flight[i].backfill)
            return true;
    return false;
}

/* A device that would wait for the compilers gets what can be had without them, where the clock is
 * what ends the race: one to work at and one to follow. */
static int submit_backfill(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;
    const struct gt_budget *budget = &race->options->budget;
    struct gt_arm *arm;
    struct gt_retry what;
    int rc = GT_OK;

    for (int i = 0; !rc && i < 2 && strategies_wait(race); i++) {
        if (!evaluator->ops->starved || !evaluator->ops->starved(evaluator) || is_late(race) ||
            !(budget->seconds > 0) || budget->patience || trials_spent(race) ||
            !gt_sweep_backfill(race, &arm, &what))
            break;
        rc = submit(race, arm, what, err);
        if (!rc)
            race->flight[race->flights - 1].backfill = true;
    }
    return rc;
}

/* The time of a turn runs from its first trial: before that the compilers start. */
static void start_clock(struct gt_race *race)
{
    race->first_s = gt_evaluator_now(race->evaluator);
    if (race->deadline_s > 0)
        race->deadline_s = fmin(race->deadline_s, race->first_s + race->search_s);
}

/* A finished trial: recorded, or put back if its status may change at another try. */
static int finish(struct gt_race *race, uint64_t id, const struct gt_trial *trial,
                  struct gt_err *err)
{
    struct gt_flight *found = find_flight(race, id), flight;
    bool first = !race->result->fresh;
    int rc;

    if (!found)
        return gt_err_set(err, GT_ERANGE, "the evaluator answered for the unknown candidate %llu",
                          (unsigned long long)id);
    flight = *found;
    *found = race->flight[--race->flights];
    flight.arm->flying--;
    rc = gt_sweep_record(race, &flight, trial, err);
    if (first && race->result->fresh)
        start_clock(race);
    return rc;
}

/* Waits for a trial; what is recorded and not yet durable is made so while the GPU works. */
static int collect(struct gt_race *race, uint64_t *id, struct gt_trial *trial, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int got = evaluator->ops->collect(evaluator, 0, id, trial, err);

    if (got == 0)
        got = gt_store_settle(race->options->store, err);
    return got ? got : evaluator->ops->collect(evaluator, COLLECT_MS, id, trial, err);
}

static int run_race(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    bool stopping = false;
    size_t left = 1; /* trials still to come once it stops */
    int rc = GT_OK;

    while (!rc) {
        struct gt_trial trial;
        uint64_t id;
        int got;

        if (gt_sweep_signals(race) > 1)
            return gt_err_set(err, GT_EINTERRUPTED, "stopped at once; the same command resumes");
        if (!stopping && (gt_sweep_signals(race) || clock_ends(race))) {
            stopping = true;
            left = evaluator->ops->drop(evaluator);
        }
        if (!stopping)
            rc = submit_all(race, err);
        if (!rc && !stopping)
            rc = submit_backfill(race, err);
        if (rc || !race->flights || !left)
            break;
        got = collect(race, &id, &trial, err);
        if (got < 0)
            return got;
        if (got > 0)
            rc = finish(race, id, &trial, err);
        left -= stopping && got > 0;
        if (!rc && !stopping)
            rc = gt_sweep_check_drift(race, err);
        gt_sweep_show(race, stopping ? "stopping" : NULL, false);
    }
    if (!rc && stopping && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return rc;
}

/* ---- a problem ---- */

static void sum_up(struct gt_race *race, const struct gt_evaluator_stats *before)
{
    struct gt_sweep_result *result = race->result;
    const struct gt_evaluator_stats *after = &race->evaluator->stats;

    result->wall_s = gt_evaluator_now(race->evaluator) - race->begin_s;
    result->busy_s = race->opened ? after->busy_s : 0;
    result->compiled = after->compiled - before->compiled;
    result->cache_hits = after->cache_hits - before->cache_hits;
    result->respawns = after->respawns - before->respawns;
    for (size_t i = 0; i < race->bests && result->rows; i++) {
        result->to_best_s = race->history[i].at_s;
        if (race->history[i].us <= NEAR_BEST * result->row[0].trial.us)
            break;
    }
}

static int run_problem(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    char text[GT_PROBLEM_TEXT_MAX];
    int rc;

    gt_problem_format(race->problem, text);
    gt_progress_title(race->options->progress, text);
    rc = gt_store_problem(race->options->store, race->problem, &race->problem_id, err);
    if (!rc)
        rc = gt_sweep_open_arms(race, err);
    if (rc || !race->arms)
        return rc;
    rc = evaluator->ops->open_problem(evaluator, race->problem, err);
    if (rc == GT_ETOOBIG) {
        race->result->nothing = *err;
        return GT_OK;
    }
    race->opened = rc == GT_OK;
    if (!rc && race->best_us > 0)
        evaluator->ops->set_best(evaluator, race->best_us);
    race->resumed_us = race->best_us;
    if (!rc)
        rc = run_race(race, err);
    race->end_s = gt_evaluator_now(evaluator);
    race->busy_s = evaluator->stats.busy_s;
    if (!rc)
        rc = gt_store_settle(race->options->store, err);
    if (!rc && race->measures)
        rc = gt_sweep_finals(race, err);
    gt_sweep_show(race, NULL, true);
    return rc;
}

/* Adds what earlier turns of this run came to. */
static void join(struct gt_sweep_result *result, struct gt_sweep_result *earlier)
{
    if (result->to_best_s > 0 || !(earlier->wall_s > 0))
        result->to_best_s += earlier->wall_s;
    else
        result->to_best_s = earlier->to_best_s;
    if (earlier->wall_s > 0)
        result->resumed = earlier->resumed;
    result->fresh += earlier->fresh;
    result->compiled += earlier->compiled;
    result->cache_hits += earlier->cache_hits;
    result->respawns += earlier->respawns;
    result->wall_s += earlier->wall_s;
    result->busy_s += earlier->busy_s;
    gt_sweep_result_release(earlier);
}

static void add_sums(struct gt_store_sweep_stats *sums, const struct gt_sweep_result *turn)
{
    sums->busy_s += turn->busy_s;
    sums->trials += turn->fresh;
    sums->compiled += turn->compiled;
}

/* What was reached is kept of an interrupted turn too; rc: how it ended. */
static int end_turn(const struct gt_race *race, int rc, struct gt_err *err)
{
    int code = gt_sweep_put_turn(race, rc ? NULL : err);

    return rc ? rc : code;
}

/* Visits the problems; *sums is what the store is told of the run. */
static int run_problems(const struct gt_sweep_options *options, int64_t sweep,
                        struct gt_sweep_result *result, struct gt_store_sweep_stats *sums,
                        struct gt_err *err)
{
    struct gt_evaluator *evaluator = options->evaluator;
    struct gt_time_slices slices;
    int64_t device, toolchain;
    uint64_t next_id = 0;
    double search_s, deadline_s;
    size_t i;
    int rc = gt_time_slices_init(&slices, options, err);

    if (!rc)
        rc = gt_store_device(options->store, &evaluator->device, &device, err);
    if (!rc)
        rc = gt_store_toolchain(options->store, evaluator->nvrtc_version, &toolchain, err);
    while (!rc && gt_time_slices_next(&slices, &i, &search_s, &deadline_s)) {
        struct gt_evaluator_stats before = evaluator->stats;
        struct gt_sweep_result earlier = result[i];
        struct gt_race race = {
            .options = options,
            .problem = &options->problem[i],
            .result = &result[i],
            .evaluator = evaluator,
            .measures = evaluator->ops->sample != NULL,
            .sweep = sweep,
            .seed = options->seed + slices.turns,
            .device = device,
            .toolchain = toolchain,
            .next_id = &next_id,
            .begin_s = gt_evaluator_now(evaluator),
            .deadline_s = deadline_s,
            .search_s = search_s,
        };

        result[i] = (struct gt_sweep_result){.problem = race.problem};
        evaluator->options.events =
            (struct gt_evaluator_events){&race, on_launching, on_in_doubt, on_notice};
        evaluator->options.signals = options->signals;
        rc = run_problem(&race, err);
        sum_up(&race, &before);
        if (!rc || rc == GT_EINTERRUPTED)
            rc = end_turn(&race, rc, err);
        add_sums(sums, &result[i]);
        gt_time_slices_note(&slices, i, &race);
        join(&result[i], &earlier);
        result[i].interrupted = rc == GT_EINTERRUPTED;
        sums->to_best_s = fmax(sums->to_best_s, result[i].to_best_s);
        gt_sweep_close_arms(&race);
        free(race.flight);
        free(race.recent);
        free(race.backfill);
        free(race.history);
    }
    evaluator->options.events = (struct gt_evaluator_events){0};
    evaluator->options.signals = NULL;
    sums->wall_s = gt_evaluator_now(evaluator) - slices.begin_s;
    gt_time_slices_release(&slices);
    return rc;
}

int gt_sweep_run(const struct gt_sweep_options *options, struct gt_sweep_result *result,
                 struct gt_err *err)
{
    struct gt_store_sweep_stats sums = {0};
    struct gt_err own = {0}, late = {0};
    const char *outcome = "finished";
    int64_t sweep;
    int rc;

    memset(result, 0, options->problems * sizeof(*result));
    for (size_t i = 0; i < options->problems; i++)
        result[i].problem = &options->problem[i];
    rc =
        gt_store_sweep_begin(options->store, options->command ? options->command : "", &sweep, err);
    if (rc)
        return rc;
    rc = run_problems(options, sweep, result, &sums, &own);
    if (!rc && options->problems == 1 && result[0].nothing.code) {
        own = result[0].nothing;
        rc = own.code;
    }
    if (rc)
        outcome = rc == GT_EINTERRUPTED ? "interrupted" : own.msg;
    if (gt_store_sweep_end(options->store, sweep, outcome, &sums, &late) && !rc) {
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
