/* sweep.c - one run of `tune`, from problems to winners.  Newcomers: read this file first.
 *
 * This is the only file that calls the stages in order.  time_slices.c chooses the problem of each
 * turn and its time.  A turn is:
 *
 *     gt_sweep_open_arms   kernels that serve the problem -> their valid points  arms.c, space.h
 *                          -> points to try first -> a strategy                  seeds.c
 *                          -> trials of earlier runs                             record.c
 *                          -> what look-up hands out, to be tried before all     incumbent.c
 *     run_race             strategy -> evaluator (compile, prove, time)          this file
 *                          -> store, strategy, ranking                           record.c
 *     gt_sweep_finals      sampling, baseline, paired final, ties -> winner      finals.c
 *     gt_sweep_put_turn    record of the turn                                    turn.c
 *
 * The evaluator decides what a time is: `cuda` measures it, `predict` estimates it, `replay` reads
 * it from a recording.  It also has the clock.  Each kernel of a race is an arm.  The arms share
 * the budget; an arm with better times gets more trials. */
#include "sweep/sweep.h"

#include "base/array.h"
#include "base/err.h"
#include "problem/problem.h"
#include "sweep/progress.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLLECT_MS 200 /* between two checks of the signals and the clock */

#define FINALS_PART    0.33 /* of the time of the search that the finals may take ... */
#define FINALS_LEAST_S 0.4  /* ... and what they may always take: most of it is the pre-heat */

/* Limits of a problem that has no time yet when its deadline has passed. */
#define LATE_FLIGHTS 4  /* candidates in flight, because the next problem waits */
#define LATE_TRIALS  16 /* of a turn; after so many failures the others would probably fail too */

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

void gt_sweep_show(struct gt_race *race, const char *phase, bool force)
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

    if (!race->begun)
        return;
    if (phase != race->phase)
        snprintf(race->phase, sizeof(race->phase), "%s", phase ? phase : "");
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

/* Makes the attempt durable before the launch, so that the right candidate is blamed if the launch
 * ends the program. */
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

static void on_waiting(void *context, double seconds)
{
    struct gt_race *race = context;

    if (race->opened)
        gt_sweep_show(race, *race->phase ? race->phase : NULL, false);
    else
        gt_progress_wait(race->options->progress, "the GPU's worker prepares proof and timing",
                         seconds);
}

/* ---- the race ---- */

static bool time_is_up(const struct gt_race *race)
{
    return race->deadline_s > 0 && gt_evaluator_now(race->evaluator) >= race->deadline_s;
}

/* Whether the clock ends the race.  It does so only if the problem has a time, because a slow
 * compiler must not leave a problem without a winner, and not before the incumbent has one, because
 * nothing could replace it.  Until then the race waits for what is in flight and submits few more
 * candidates. */
static bool clock_ends(const struct gt_race *race)
{
    return time_is_up(race) && race->best_us > 0 && !race->incumbent_due;
}

/* Whether the clock forbids to submit more candidates. */
static bool is_late(const struct gt_race *race)
{
    return time_is_up(race) && (race->best_us > 0 || race->flights >= LATE_FLIGHTS ||
                                race->result->fresh + (int64_t)race->flights >= LATE_TRIALS);
}

/* Whether the budget allows no new point.  Points to be tried again are not counted, nor is an
 * incumbent whose kernel is not searched. */
static bool trials_spent(const struct gt_race *race)
{
    const struct gt_budget *budget = &race->options->budget;
    const struct gt_arm *last = &race->arm[race->arms - 1];
    int64_t tried = race->tried + (int64_t)(race->flights + race->draws - race->drawn);

    if (last->guest)
        tried -= last->tried + last->flying;
    return (budget->trials && tried >= budget->trials) ||
           (budget->patience && race->best_us > 0 &&
            race->tried - race->improved_at >= budget->patience);
}

static int submit(struct gt_race *race, struct gt_arm *arm, struct gt_retry what,
                  struct gt_err *err)
{
    struct gt_flight *flight;
    int rc;

    rc = GT_ARRAY_RESERVE(&race->flight, race->flights + 1, &race->flight_capacity, err);
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

/* Whether the incumbent is the next point of its arm, at first or after an attempt that another
 * cause ended. */
static bool incumbent_waits(const struct gt_race *race)
{
    const struct gt_arm *arm = race->incumbent_arm;

    return race->incumbent_due && has_urgent(arm) &&
           arm->retry[arm->retries - 1].point == race->incumbent_point;
}

/* The arm that may submit next, or NULL. */
static struct gt_arm *next_arm(struct gt_race *race)
{
    const struct gt_lead *lead;

    if (incumbent_waits(race))
        return race->incumbent_arm;
    if (is_late(race))
        return NULL;
    for (size_t i = 0; i < race->arms; i++)
        if (has_urgent(&race->arm[i]))
            return &race->arm[i];
    if (race->closing || trials_spent(race))
        return NULL;
    lead = gt_sweep_next_lead(race);
    return lead ? lead->arm : gt_sweep_choose_arm(race);
}

/* Takes the next point of an arm.  An urgent point comes first, then a near winner's, one that is
 * due, the strategy's, and while the strategy waits, any point to be tried again. */
static enum gt_next next_of(struct gt_race *race, struct gt_arm *arm, struct gt_retry *what)
{
    const struct gt_lead *lead = gt_sweep_next_lead(race);
    bool due = arm->retries && arm->retry[arm->retries - 1].due <= race->tried;
    enum gt_next answer;

    *what = (struct gt_retry){0};
    if (!has_urgent(arm) && lead && lead->arm == arm) {
        what->point = lead->point;
        gt_strategy_claim(arm->strategy, lead->point);
        return GT_NEXT_POINT;
    }
    if (!has_urgent(arm) && !due) {
        answer = gt_strategy_next(arm->strategy, &what->point);
        if (answer == GT_NEXT_POINT || !arm->retries)
            return answer;
    }
    *what = arm->retry[--arm->retries];
    return GT_NEXT_POINT;
}

/* Asks the arms for a point to try next.  False: none of them has one now. */
static bool choose_point(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    while ((*arm = next_arm(race)) != NULL) {
        enum gt_next answer = next_of(race, *arm, what);

        (*arm)->waiting = answer == GT_NEXT_WAIT;
        (*arm)->done = answer == GT_NEXT_DONE;
        if (answer == GT_NEXT_POINT)
            return true;
    }
    return false;
}

/* Takes the next of the points that were drawn before the race. */
static bool take_draw(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    const struct gt_draw *next = &race->draw[race->drawn];

    if (race->drawn == race->draws)
        return false;
    if ((is_late(race) || race->closing) &&
        !(race->incumbent_due && next->arm == race->incumbent_arm &&
          next->what.point == race->incumbent_point))
        return false;
    *arm = race->draw[race->drawn].arm;
    *what = race->draw[race->drawn++].what;
    (*arm)->flying--; /* submit counts it again */
    return true;
}

/* Submits candidates until the evaluator has no room for more. */
static int submit_all(struct gt_race *race, struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < race->arms; i++)
        race->arm[i].waiting = false;
    while (!rc && race->evaluator->ops->room(race->evaluator) > 0) {
        struct gt_arm *arm;
        struct gt_retry what;

        if (!take_draw(race, &arm, &what) && !choose_point(race, &arm, &what))
            break;
        rc = submit(race, arm, what, err);
    }
    return rc;
}

/* Whether a point that a strategy chose is in flight.  Backfill alone must not keep a race going,
 * because a strategy that is done would then never see its end. */
static bool strategies_wait(const struct gt_race *race)
{
    for (size_t i = 0; i < race->flights; i++)
        if (!race->flight[i].backfill)
            return true;
    return false;
}

/* Submits points that need no compiler if the device would wait for one: one to work at and one to
 * follow.  It does so only if the clock ends the race, because other budgets count trials. */
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

/* ---- the next problem ---- */

#define DRAWS_JOB  3   /* points drawn for each compile worker: what they compile during finals */
#define LEAD_MOST  0.3 /* of a race's time: how much before its end it may close */
#define DRAWS_MOST 96  /* because what the race will find is not known yet */

/* Takes points from the arms of a race that has not begun, and has them compiled when no compiler
 * has anything else to do. */
static int draw_points(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;
    size_t most = (size_t)evaluator->jobs * DRAWS_JOB;
    struct gt_draw draw;
    int rc = GT_OK;

    while (!rc && race->draws < (most < DRAWS_MOST ? most : DRAWS_MOST) &&
           choose_point(race, &draw.arm, &draw.what)) {
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

/* What all turns of a sweep have in common. */
struct gt_run {
    const struct gt_sweep_options *options;
    int64_t sweep, device, toolchain; /* ids of the store */
    uint64_t next_id;
    uint64_t races; /* made so far: part of the seed of the next one's random numbers */
    struct gt_time_slices slices;
    size_t now;           /* the problem whose turn it is */
    struct gt_race *next; /* of the problem that is probably the next one; NULL: none yet */
    struct gt_store_sweep_stats sums;
    int64_t timed;                  /* candidates that were proved and timed */
    struct gt_snapshot before;      /* what look-up answers from before the sweep */
    struct gt_incumbent *incumbent; /* of each problem */
};

static void free_race(struct gt_race *race)
{
    if (!race)
        return;
    gt_scouts_release(&race->scouts);
    gt_sweep_close_arms(race);
    gt_sweep_result_release(&race->own);
    gt_strbuf_release(&race->early);
    free(race->draw);
    free(race->flight);
    free(race->recent);
    free(race->backfill);
    free(race->history);
    free(race);
}

/* Makes the race of problem i, whose spaces are then being scouted. */
static int new_race(struct gt_run *run, size_t i, struct gt_race **made, struct gt_err *err)
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
    return gt_scouts_start(&race->scouts, run->options, race->problem, race->seed, err);
}

/* Opens the race's arms. */
static int prepare(struct gt_race *race, struct gt_err *err)
{
    struct gt_run *run = race->run;
    int rc;

    if (race->prepared)
        return GT_OK;
    race->prepared = true;
    rc = gt_store_problem(race->options->store, race->problem, &race->problem_id, err);
    if (!rc)
        rc = gt_sweep_find_incumbent(race, &run->before,
                                     &run->incumbent[race->problem - run->options->problem], err);
    return rc ? rc : gt_sweep_open_arms(race, err);
}

/* Begins to scout the spaces of the problem that is probably the next one.  The gains of further
 * turns are only known at the end of a race. */
static int scout_next(struct gt_run *run, struct gt_err *err)
{
    size_t i;

    if (run->next || !run->options->evaluator->ops->ahead ||
        !gt_time_slices_peek(&run->slices, run->now, &i))
        return GT_OK;
    return new_race(run, i, &run->next, err);
}

/* Opens the next problem's arms and hands its first points to the compilers, which have nothing
 * else to do during the finals of this one. */
static int prepare_next(struct gt_run *run, struct gt_err *err)
{
    int rc = scout_next(run, err);

    if (rc || !run->next || run->next->prepared)
        return rc;
    rc = prepare(run->next, err);
    return rc ? rc : draw_points(run->next, err);
}

/* Whether the race closes: what would be submitted now were ready too late.  The compilers then
 * work for the next problem. */
static int check_closing(struct gt_race *race, struct gt_err *err)
{
    double now, lead = fmin(race->evaluator->stats.lead_s, LEAD_MOST * race->search_s);

    if (race->closing || !race->run->next || !(race->deadline_s > 0) || !(race->best_us > 0))
        return GT_OK;
    now = gt_evaluator_now(race->evaluator);
    if (now < race->deadline_s - lead)
        return GT_OK;
    race->closing = true;
    return prepare_next(race->run, err);
}

/* Starts the clock of a turn at its first trial; the compilers start before it. */
static void start_clock(struct gt_race *race)
{
    race->first_s = gt_evaluator_now(race->evaluator);
    if (race->deadline_s > 0)
        race->deadline_s = fmin(race->deadline_s, race->first_s + race->search_s);
}

/* Records a finished trial, or puts it back if another try may change its status. */
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

/* Waits for a trial.  Meanwhile, while the GPU works, the recorded trials become durable. */
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
    size_t left = 1; /* trials still to come after the race was stopped */
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
            rc = check_closing(race, err);
        if (!rc && !stopping)
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
        gt_sweep_show(race, stopping ? "stopping" : race->tried ? NULL : "compiling", false);
    }
    if (!rc && stopping && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return rc;
}

/* ---- a problem ---- */

/* Tells what was noted before the turn. */
static void begin(struct gt_race *race)
{
    char text[GT_PROBLEM_TEXT_MAX], *rest, *sentence;

    race->begun = true;
    gt_problem_format(race->problem, text);
    gt_progress_title(race->options->progress, text);
    rest = gt_strbuf_check(&race->early, NULL) ? NULL : race->early.text;
    while (rest && (sentence = strsep(&rest, "\n")) && *sentence)
        gt_sweep_note(race, sentence);
}

static int run_problem(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    int rc;

    begin(race);
    rc = prepare(race, err);
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
    if (!rc)
        rc = scout_next(race->run, err);
    if (!rc)
        rc = run_race(race, err);
    race->end_s = gt_evaluator_now(evaluator);
    race->busy_s = evaluator->stats.busy_s;
    if (!rc)
        rc = gt_store_settle(race->options->store, err);
    if (!rc)
        rc = prepare_next(race->run, err);
    if (!rc && race->measures)
        rc = gt_sweep_finals(race, err);
    gt_sweep_show(race, NULL, true);
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
    evaluator->options.events =
        (struct gt_evaluator_events){race, on_launching, on_in_doubt, on_notice, on_waiting};
    rc = run_problem(race, err);
    *result = race->own;
    race->own = (struct gt_sweep_result){.problem = race->problem};
    race->result = result;
    if (!rc && result->rows && result->row[0].trial.stage == 3)
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

/* Makes the race of the problem whose turn it is: the one that was prepared, if it is that. */
static int take_race(struct gt_run *run, size_t i, struct gt_race **race, struct gt_err *err)
{
    *race = run->next;
    run->next = NULL;
    run->now = i;
    if (*race && (*race)->problem == &run->options->problem[i])
        return GT_OK;
    if (*race && run->options->evaluator->ops->drop_ahead)
        run->options->evaluator->ops->drop_ahead(run->options->evaluator);
    free_race(*race);
    return new_race(run, i, race, err);
}

/* Remembers what look-up answers from before the sweep adds to it.  A recording says nothing of the
 * kernels that are here. */
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
    double search_s, deadline_s;
    size_t i;
    int rc = gt_time_slices_init(&run->slices, options, err);

    if (!rc)
        rc = take_snapshot(run, err);
    if (!rc)
        rc = gt_store_device(options->store, &evaluator->device, &run->device, err);
    if (!rc)
        rc = gt_store_toolchain(options->store, evaluator->nvrtc_version, &run->toolchain, err);
    evaluator->options.signals = options->signals;
    while (!rc && gt_time_slices_next(&run->slices, &i, &search_s, &deadline_s)) {
        struct gt_race *race;

        rc = take_race(run, i, &race, err);
        if (!rc) {
            race->begin_s = gt_evaluator_now(evaluator);
            race->search_s = search_s;
            race->deadline_s = deadline_s;
            race->finals_s = deadline_s > 0 ? fmax(FINALS_LEAST_S, FINALS_PART * search_s) : 0;
            rc = run_turn(run, race, &result[i], err);
        }
        free_race(race);
    }
    evaluator->options.events = before;
    evaluator->options.signals = NULL;
    run->sums.wall_s = gt_evaluator_now(evaluator) - run->slices.begin_s;
    fill_totals(run, compile_s);
    free_race(run->next);
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
