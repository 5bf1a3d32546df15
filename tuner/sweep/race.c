/* race.c - the race of a problem: points of its arms go to the evaluator, trials come back, until
 * the budget or a signal ends it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sweep/progress.h"
#include "sweep/shares.h"
#include "sweep/sweep_parts.h"

/* The arms of a race: which kernels take part, and which arm tries a point next. */

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

/* In a run of the same kernels there is none: what was slow took 1.5 times the best of then. */
static int gt_sweep_retry_slow(struct gt_race *race, struct gt_err *err)
{
    const double best = race->best_us > 0 ? race->best_us : INFINITY;
    int rc = GT_OK;

    for (size_t i = 0; i < race->slows && !rc; i++) {
        const struct gt_given_up *slow = &race->slow[i];

        if (slow->us > GT_SWEEP_TOO_SLOW * fmin(best, race->slow[0].us))
            break;
        race->tried--; /* it is no trial of this run's until it is tried again */
        slow->arm->tried--;
        race->result->resumed--;
        race->result->status[GT_STATUS_SLOW]--;
        rc = gt_sweep_retry(slow->arm, (struct gt_retry){.point = slow->point}, err);
    }
    return rc;
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

/* The arm that may try a point next, NULL if none: the one with the fewest trials in relation to
 * its weight, which falls with the ratio of its best time to the best of all arms. */
static struct gt_arm *gt_sweep_choose_arm(struct gt_race *race)
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

/* Which point a race tries next, and when its clock or its budget leaves none. */

/* Limits of a problem that has no time yet when its deadline has passed. */
#define LATE_FLIGHTS 4  /* candidates in flight, because the next problem waits */
#define LATE_TRIALS  16 /* of a turn; after so many failures the others would probably fail too */

static bool time_is_up(const struct gt_race *race)
{
    return race->deadline_s > 0 && gt_evaluator_now(race->evaluator) >= race->deadline_s;
}

/* Whether the clock ends the race.  It does so only if the problem has a time, because a slow
 * compiler must not leave a problem without a winner, and not before the incumbent has one, because
 * nothing could replace it.  Until then the race waits for what is in flight and submits few more
 * candidates. */
static bool gt_sweep_clock_ends(const struct gt_race *race)
{
    return time_is_up(race) && race->best_us > 0 && !race->incumbent_due;
}

/* Candidates whose status may change when they are tried again. */
static int64_t retries(const struct gt_race *race)
{
    int64_t sum = 0;

    for (size_t i = 0; i < race->arms; i++)
        sum += (int64_t)race->arm[i].retries;
    return sum;
}

/* Whether the clock forbids to submit more candidates. */
static bool gt_sweep_is_late(const struct gt_race *race)
{
    return time_is_up(race) &&
           (race->best_us > 0 || race->flights >= LATE_FLIGHTS ||
            race->result->fresh + (int64_t)race->flights + retries(race) >= LATE_TRIALS);
}

/* Whether the budget allows no new point.  Points to be tried again count, because a device that
 * hangs at every one would have all of the space tried otherwise; an incumbent whose kernel is not
 * searched does not. */
static bool gt_sweep_trials_spent(const struct gt_race *race)
{
    const struct gt_budget *budget = &race->options->budget;
    const struct gt_arm *last = race->arms ? &race->arm[race->arms - 1] : NULL;
    int64_t tried =
        race->tried + (int64_t)(race->flights + race->draws - race->drawn) + retries(race);

    if (last && last->guest)
        tried -= last->flying + (int64_t)last->retries;
    return (budget->trials && tried >= budget->trials) ||
           (budget->patience && race->best_us > 0 &&
            race->tried - race->improved_at >= budget->patience);
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

/* An arm with a point to be tried again, or NULL. */
static struct gt_arm *arm_to_retry(struct gt_race *race)
{
    for (size_t i = 0; i < race->arms; i++)
        if (race->arm[i].retries)
            return &race->arm[i];
    return NULL;
}

/* The arm that may submit next, or NULL. */
static struct gt_arm *next_arm(struct gt_race *race)
{
    const struct gt_lead *lead;

    if (incumbent_waits(race))
        return race->incumbent_arm;
    if (gt_sweep_is_late(race))
        return NULL;
    for (size_t i = 0; i < race->arms; i++)
        if (has_urgent(&race->arm[i]))
            return &race->arm[i];
    if (race->closing)
        return NULL;
    if (gt_sweep_trials_spent(race))
        return arm_to_retry(race);
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
    if (arm->retries && gt_sweep_trials_spent(race)) {
        *what = arm->retry[--arm->retries];
        return GT_NEXT_POINT;
    }
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

bool gt_sweep_choose_point(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
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

bool gt_sweep_is_awaited(const struct gt_race *race, const struct gt_draw *draw)
{
    return race->incumbent_due && draw->arm == race->incumbent_arm &&
           draw->what.point == race->incumbent_point;
}

/* Candidates that an earlier run gave up as slow beside kernels that are not searched now.
 * Beside those that are, they may be fast, so the fastest of them are tried once more. */

void gt_sweep_note_slow(struct gt_race *race, struct gt_arm *arm, size_t point, double us)
{
    size_t at = race->slows;

    if (arm->guest || !race->measures || !(us > 0))
        return;
    while (at > 0 && us < race->slow[at - 1].us)
        at--;
    if (at == GT_SWEEP_SLOW)
        return;
    if (race->slows == GT_SWEEP_SLOW)
        race->slows--;
    GT_ARRAY_OPEN(race->slow, at, race->slows);
    race->slow[at] = (struct gt_given_up){arm, point, us};
    race->slows++;
}

#define COLLECT_MS 200 /* between two checks of the signals and the clock */
#define LEAD_MOST  0.3 /* of a race's time: how much before its end it may close */
#define READY_MOST 0.5 /* of a race's time: how much after it what is ready may be tried */

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
    rc = gt_sweep_attempt(race, flight->arm, &flight->candidate.point, false, err);
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

struct gt_evaluator_events gt_sweep_events(struct gt_race *race)
{
    return (struct gt_evaluator_events){race, on_launching, on_in_doubt, on_notice, on_waiting};
}

/* ---- the race ---- */

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
    rc = race->evaluator->ops->submit(race->evaluator, flight->id, &flight->candidate, err);
    if (rc)
        return rc;
    race->flights++;
    arm->flying++;
    return GT_OK;
}

/* Takes the next of the points that were drawn before the race. */
static bool take_draw(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    const struct gt_draw *next = &race->draw[race->drawn];

    if (race->drawn == race->draws)
        return false;
    if ((gt_sweep_is_late(race) || race->closing) && !gt_sweep_is_awaited(race, next))
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

        if (!take_draw(race, &arm, &what) && !gt_sweep_choose_point(race, &arm, &what))
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

/* Chooses a point that needs no compiler: one drawn ahead, then of this problem and of others in
 * turn. */
static bool choose_at_hand(struct gt_race *race, struct gt_arm **arm, struct gt_retry *what)
{
    if (gt_sweep_ready(race, arm, what))
        return true;
    if (race->at_hand++ % 2)
        return gt_sweep_backfill(race, arm, what) || gt_sweep_reuse(race, arm, what);
    return gt_sweep_reuse(race, arm, what) || gt_sweep_backfill(race, arm, what);
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

    for (int i = 0; !rc && i < 2 && (race->readies || strategies_wait(race)); i++) {
        if (!evaluator->ops->starved || !evaluator->ops->starved(evaluator) ||
            gt_sweep_is_late(race) || !(budget->seconds > 0) || budget->patience ||
            gt_sweep_trials_spent(race) || !choose_at_hand(race, &arm, &what))
            break;
        rc = submit(race, arm, what, err);
        if (!rc)
            race->flight[race->flights - 1].backfill = true;
    }
    return rc;
}

/* Whether the race closes: what would be submitted now were ready too late.  The compilers then
 * work for the next problem, and the device tries what is ready. */
static int check_closing(struct gt_race *race, struct gt_err *err)
{
    double now, lead = fmin(race->evaluator->stats.lead_s, LEAD_MOST * race->search_s);
    int rc;

    if (race->closing)
        return gt_sweep_prepare_next(race->run, false, err);
    if (!race->run->next || !(race->deadline_s > 0) || !(race->best_us > 0))
        return GT_OK;
    now = gt_evaluator_now(race->evaluator);
    if (now < race->deadline_s - lead)
        return GT_OK;
    race->closing = true;
    rc = gt_sweep_find_ready(race, err);
    return rc ? rc : gt_sweep_prepare_next(race->run, false, err);
}

/* Times the baseline while the device would wait for the compilers, if the clock ends the race; the
 * finals then need not. */
static int fill_with_baseline(struct gt_race *race, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = race->evaluator;

    if (!race->measures || !(race->deadline_s > 0) || !(race->best_us > 0) ||
        !evaluator->ops->starved || !evaluator->ops->starved(evaluator) || gt_sweep_is_late(race))
        return GT_OK;
    return gt_sweep_open_baseline(race, err);
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

/* Seconds of a trial: of those since begin_s or, before there is one, of the whole race. */
static double trial_s(const struct gt_race *race, double begin_s, int64_t before)
{
    const int64_t timed = race->result->timed;

    if (timed > before)
        return (gt_evaluator_now(race->evaluator) - begin_s) / (double)(timed - before);
    return timed ? race->evaluator->stats.busy_s / (double)timed : 0;
}

/* Tries what is ready when the clock has ended the search, for a part of the search's time. */
static int try_ready(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    const double begin_s = race->searched_s, most_s = READY_MOST * race->search_s;
    const double end_s = fmin(race->latest_s, begin_s + most_s);
    const int64_t before = race->result->timed;
    int rc = gt_sweep_find_dropped(race, err);

    while (!rc) {
        struct gt_trial trial;
        struct gt_retry what;
        struct gt_arm *arm;
        uint64_t id;
        int got;

        while (!rc && !gt_sweep_signals(race) && race->flights < 2 &&
               gt_evaluator_now(evaluator) +
                       trial_s(race, begin_s, before) * (double)(race->flights + 1) <=
                   end_s &&
               gt_sweep_ready(race, &arm, &what))
            rc = submit(race, arm, what, err);
        if (rc || !race->flights || gt_sweep_signals(race) > 1)
            break;
        got = collect(race, &id, &trial, err);
        if (got < 0)
            return got;
        if (got > 0)
            rc = finish(race, id, &trial, err);
        gt_sweep_show(race, NULL, false);
    }
    return rc;
}

int gt_sweep_race(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    bool stopping = false, timed;
    size_t left = 1; /* trials still to come after the race was stopped */
    int rc = GT_OK;

    while (!rc) {
        struct gt_trial trial;
        uint64_t id;
        int got;

        if (gt_sweep_signals(race) > 1)
            return gt_err_set(err, GT_EINTERRUPTED, "stopped at once; the same command resumes");
        if (!stopping && (gt_sweep_signals(race) || gt_sweep_clock_ends(race))) {
            stopping = true;
            left = evaluator->ops->drop(evaluator);
        }
        if (!stopping)
            rc = check_closing(race, err);
        if (!rc && !stopping)
            rc = submit_all(race, err);
        if (!rc && !stopping)
            rc = fill_with_baseline(race, err);
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
        timed = race->tried || (race->incumbent_arm && !race->incumbent_due);
        gt_sweep_show(race, stopping ? "stopping" : timed ? NULL : "compiling", false);
    }
    race->searched_s = gt_evaluator_now(evaluator);
    if (!rc && stopping && !gt_sweep_signals(race))
        rc = try_ready(race, err);
    if (!rc && stopping && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return rc;
}
