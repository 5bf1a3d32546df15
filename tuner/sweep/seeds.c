/* seeds.c - what a strategy starts from: seeds, which are points to try first, and transfer data.
 * Seeds come from earlier runs, from the learned ranking, from winners of near problems, from the
 * kernel's description and from the predictor.  Far points are mixed in, because the predictor's
 * errors would otherwise keep the search away from good points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"
#include "sweep/sweep_parts.h"

#define STORED_MAX  12 /* seeds that are points of the problem itself */
#define NEAR_MAX    8  /* seeds that are winners of neighbouring problems, */
#define NEAR_LOOKED 24 /* chosen from so many winners, because not all can be adapted */
#define LEARNED_MAX 6  /* seeds that the learned ranking expects to be fastest; */
#define APART       3  /* such a seed differs from seeds before it in at least so many parameters */
#define OTHER_TYPES 2.0 /* distance of a problem of other types */
#define FAR_EVERY   4   /* every n-th seed is a far point */
#define FAR_DRAWS   48  /* random points from which a far point is chosen */
#define FAR_WITHIN  3.0 /* a far point's predicted time is at most this times the best */

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

/* ---- points from the store ---- */

/* A stored winner, not yet adapted, and the distance of its problem from this problem. */
struct near {
    double distance;
    struct gt_point point;
};

struct stored {
    struct gt_race *race;
    struct picks *picks;
    struct near near[NEAR_LOOKED];
    size_t nears;
    char text[GT_PROBLEM_TEXT_MAX];
};

/* How different two problems are as work for a GPU.  Ratios of the sizes count, not differences. */
static double distance(const struct gt_problem *problem, const struct gt_row *row)
{
    double dm = log2(((double)problem->m + 1) / ((double)row->m + 1));
    double dn = log2(((double)problem->n + 1) / ((double)row->n + 1));
    double dk = log2(((double)problem->k + 1) / ((double)row->k + 1));
    double db = log2((double)problem->batch / (double)row->batch);

    return dm * dm + dn * dn + 0.5 * dk * dk + 0.5 * db * db +
           (strcmp(row->layout, gt_layout_name(gt_problem_layout(problem))) != 0);
}

/* The distance that different types add; a winner of other types may use the same kernel. */
static double type_distance(const struct gt_problem *problem, const struct gt_row *row)
{
    return OTHER_TYPES * (strcmp(row->dtype, gt_dtype_name(problem->type)) != 0) +
           (strcmp(row->accuracy, gt_accuracy_name(problem->accuracy)) != 0);
}

/* The index of the point in the arm's space or, if the point is older than some bets, of the point
 * renewed by these bets (gt_candidate_renew); SIZE_MAX: there is none. */
static size_t find_renewed(const struct gt_race *race, const struct gt_arm *arm,
                           const struct gt_point *point)
{
    struct gt_candidate candidate = gt_sweep_candidate(race, arm->kernel, point);
    const size_t found = gt_space_find(&arm->space, point);

    return found == SIZE_MAX && gt_candidate_renew(&candidate)
               ? gt_space_find(&arm->space, &candidate.point)
               : found;
}

/* The index of the point in the arm's space, or of the point adapted to the problem, for example
 * with narrower loads where rows are not aligned; SIZE_MAX: there is none.  (Of the four winners
 * nearest to each of 128 drawn problems, 44 % of `hopper`'s were valid without a change, and 6 % of
 * `mma`'s; all but one in a hundred of the other winners can be adapted.) */
static size_t adapt(const struct gt_race *race, const struct gt_arm *arm,
                    const struct gt_point *point)
{
    struct gt_candidate candidate = gt_sweep_candidate(race, arm->kernel, point);
    struct gt_geometry geometry;
    size_t found = gt_space_find(&arm->space, point);

    if (found == SIZE_MAX && arm->kernel->launches && gt_lookup_repair(&candidate, &geometry))
        found = gt_space_find(&arm->space, &candidate.point);
    return found;
}

/* distance: of the point's problem from this one. */
static void add_lead(const struct stored *stored, size_t point, double distance)
{
    struct gt_race *race = stored->race;

    GT_SWEEP_INSERT(race->lead, &race->leads, GT_SWEEP_LEADS,
                    &(struct gt_hint){distance, stored->picks->arm, point});
}

/* Picks the winners of the nearest problems, and makes them leads. */
static void pick_near(const struct stored *stored)
{
    struct picks *picks = stored->picks;
    size_t taken = 0;

    for (size_t i = 0; i < stored->nears && taken < NEAR_MAX; i++) {
        const struct near *near = &stored->near[i];
        size_t found = adapt(stored->race, picks->arm, &near->point);

        if (found == SIZE_MAX || picked(picks, found))
            continue;
        pick(picks, found);
        add_lead(stored, found, near->distance);
        taken++;
    }
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
    if (strcmp(row->problem, stored->text) == 0) {
        found = find_renewed(stored->race, arm, &point);
        if (found == SIZE_MAX)
            return GT_OK;
        if (!stored->picks->count) /* the best point */
            add_lead(stored, found, 0);
        pick(stored->picks, found);
    } else {
        GT_SWEEP_INSERT(stored->near, &stored->nears, NEAR_LOOKED,
                        &(struct near){distance(stored->race->problem, row) +
                                           type_distance(stored->race->problem, row),
                                       point});
    }
    return GT_OK;
}

/* Treats the winners that this project ships for the arch as rows of the store.  The template may
 * have changed since a winner was measured, but a point that is still valid is worth a trial. */
static void offer_shipped(struct stored *stored)
{
    const struct gt_race *race = stored->race;
    const struct gt_table *table = race->options->shipped;

    if (!table || race->evaluator->ops->provenance == GT_REPLAYED)
        return;
    for (size_t i = 0; i < table->rows; i++) {
        const struct gt_table_row *from = &table->row[i];
        const struct gt_row row = gt_table_line(from);

        if (from->cc == race->evaluator->device.cc &&
            strcmp(from->kernel, stored->picks->arm->kernel->name) == 0)
            on_row(stored, &row, NULL);
    }
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

/* Picks the points that the corrected model expects to be fastest.  These points come before near
 * winners: for untuned problems, the model's first choice is on average 9 % behind the best
 * (db/measured/h200-left-out.csv), near winners are 10 to 21 % behind. */
static void pick_learned(struct picks *picks)
{
    const struct gt_arm *arm = picks->arm;
    size_t taken = 0;

    if (!arm->learned)
        return;
    for (size_t i = 0; i < arm->listed && taken < LEARNED_MAX; i++) {
        const size_t point = arm->list[i].point;

        if (picks->count && remoteness(picks, point) < APART)
            continue;
        pick(picks, point);
        taken++;
    }
}

/* Picks the best known points of this problem on any device of the arch, predicted points included;
 * then the points of the learned ranking; then the winners of the nearest problems, stored or
 * shipped, adapted to this problem. */
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
        .limit = STORED_MAX,
    };
    int rc;

    gt_problem_format(race->problem, stored.text);
    rc = gt_store_rows(race->options->store, &filter, on_row, &stored, err);
    filter.problem = NULL;
    filter.limit = 0;
    filter.winners_only = true;
    GT_STEP(rc, gt_store_rows(race->options->store, &filter, on_row, &stored, err));
    offer_shipped(&stored);
    if (!rc) {
        pick_learned(picks);
        pick_near(&stored);
    }
    return rc;
}

/* ---- points from the description and the predictor ---- */

static bool cubin_picked(const struct picks *picks, size_t point)
{
    const struct gt_space *space = &picks->arm->space;

    for (size_t i = 0; i < picks->count; i++)
        if (gt_space_same_cubin(space->kernel, space->index, picks->point[i], point))
            return true;
    return false;
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

static void pick_described(struct picks *picks)
{
    const struct gt_arm *arm = picks->arm;

    for (size_t i = 0; arm->described && i < arm->kernel->seeds; i++)
        if (arm->described[i] != SIZE_MAX)
            pick(picks, arm->described[i]);
}

/* Picks points in the order of the ranking.  Many points have the same predicted time; each pass
 * takes one point of each time, beginning with the point with most defaults. */
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

/* ---- transfer data: trials of the same kernel for the nearest other problems, and for this
 * problem on other devices ---- */

#define TRANSFERS_USED 6   /* sets that a strategy uses; with the predictor, GT_GP_PRIORS at most */
#define LEAST          24  /* trials in a set from which a strategy can learn */
#define OTHER_ARCH     4.0 /* distance of another architecture, in units of distance() */
#define FARTHEST       40.0 /* farther problems are not used: sizes differ by factors of dozens */

/* A problem that has trials. */
struct source {
    double distance;
    char problem[GT_PROBLEM_TEXT_MAX];
};

/* The nearest problems that have trials, nearest first. */
struct search {
    const struct gt_race *race;
    struct source source[GT_TRANSFERS_MAX];
    size_t sources;
};

static int on_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct search *search = context;
    const struct gt_race *race = search->race;
    struct source source = {.distance = distance(race->problem, row)};

    (void)err;
    if (row->cc != race->evaluator->device.cc)
        source.distance += OTHER_ARCH;
    if (strcmp(row->dtype, gt_dtype_name(race->problem->type)) != 0)
        source.distance += OTHER_TYPES;
    for (size_t i = 0; i < search->sources; i++)
        if (strcmp(search->source[i].problem, row->problem) == 0)
            return GT_OK;
    if (source.distance > FARTHEST)
        return GT_OK;
    snprintf(source.problem, sizeof(source.problem), "%s", row->problem);
    GT_SWEEP_INSERT(search->source, &search->sources, GT_TRANSFERS_MAX, &source);
    return GT_OK;
}

/* The reading of one problem's trials, one device after the other. */
struct reading {
    const struct gt_race *race;
    const struct gt_arm *arm;
    struct gt_transfers *transfers;
    char device[96]; /* the device whose trials are being read */
    size_t capacity, *point;
    float *us;
    size_t count;
};

/* Ends one device's trials.  The trials become a set of transfer data if there are any and if fewer
 * than GT_TRANSFERS_MAX sets were read. */
static void end(struct reading *reading)
{
    struct gt_transfers *transfers = reading->transfers;

    if (reading->count && transfers->count < GT_TRANSFERS_MAX) {
        transfers->transfer[transfers->count++] =
            (struct gt_transfer){reading->point, reading->us, reading->count};
    } else {
        free(reading->point);
        free(reading->us);
    }
    reading->point = NULL;
    reading->us = NULL;
    reading->capacity = reading->count = 0;
}

/* Whether a trial has the device, versions and problem of this sweep.  The strategy is told such a
 * trial as its own. */
static bool is_own(const struct reading *reading, const struct gt_named_trial *named)
{
    const struct gt_evaluator *evaluator = reading->race->evaluator;
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(reading->race->problem, text);
    return strcmp(named->uuid, evaluator->device.uuid) == 0 &&
           named->driver == evaluator->device.driver && named->nvrtc == evaluator->nvrtc_version &&
           strcmp(named->problem, text) == 0 &&
           named->timing == (int)evaluator->options.bench.timing;
}

static int on_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct reading *reading = context;
    const struct gt_arm *arm = reading->arm;
    struct gt_point point;
    char device[sizeof(reading->device)];
    size_t found;
    int rc;

    if (named->trial.status != GT_STATUS_OK || is_own(reading, named) ||
        gt_point_parse(&point, arm->kernel, named->point, NULL))
        return GT_OK;
    found = gt_space_find(&arm->space, &point);
    if (found == SIZE_MAX)
        return GT_OK;
    snprintf(device, sizeof(device), "%s %d %d %d", named->uuid, named->driver, named->nvrtc,
             named->timing);
    if (strcmp(device, reading->device) != 0)
        end(reading);
    memcpy(reading->device, device, sizeof(device));
    if (reading->count == reading->capacity) {
        size_t capacity = reading->capacity;

        rc = GT_ARRAY_RESERVE(&reading->us, reading->count + 1, &capacity, err);
        GT_STEP(rc, GT_ARRAY_RESERVE(&reading->point, reading->count + 1, &reading->capacity, err));
        if (rc)
            return rc;
    }
    reading->point[reading->count] = found;
    reading->us[reading->count++] = (float)named->trial.us;
    return GT_OK;
}

/* Reads the transfer data of an arm; *transfers is to be released also after a failure. */
static int read_transfers(const struct gt_race *race, const struct gt_arm *arm,
                          struct gt_transfers *transfers, struct gt_err *err)
{
    struct search search = {.race = race};
    struct gt_row_filter filter = {
        .kernel = arm->kernel->name,
        .winners_only = true,
        .provenance =
            1u << (race->evaluator->ops->provenance == GT_REPLAYED ? GT_REPLAYED : GT_MEASURED),
    };
    int rc = gt_store_rows(race->options->store, &filter, on_winner, &search, err);

    *transfers = (struct gt_transfers){.count = 0};
    filter.winners_only = false;
    for (size_t i = 0; i < search.sources && !rc; i++) {
        struct reading reading = {.race = race, .arm = arm, .transfers = transfers};

        filter.problem = search.source[i].problem;
        rc = gt_store_trials(race->options->store, &filter, on_trial, &reading, err);
        end(&reading);
    }
    return rc;
}

/* Copies the sets that are large enough for a strategy; returns the number of these sets. */
static size_t choose_transfers(const struct gt_transfers *transfers, struct gt_transfer *list)
{
    size_t count = 0;

    for (size_t i = 0; i < transfers->count && count < TRANSFERS_USED; i++)
        if (transfers->transfer[i].count >= LEAST)
            list[count++] = transfers->transfer[i];
    return count;
}

/* ---- the strategy ---- */

int gt_sweep_seed(struct gt_race *race, struct gt_arm *arm, size_t count, struct gt_err *err)
{
    const char *name = race->options->strategy ? race->options->strategy : GT_STRATEGY_DEFAULT;
    struct picks picks = {.arm = arm, .max = count};
    struct gt_transfers transfers = {.count = 0};
    struct gt_transfer chosen[TRANSFERS_USED];
    int rc;

    picks.point = calloc(count + 1, sizeof(*picks.point));
    rc = picks.point ? pick_stored(race, &picks, err) : gt_err_nomem(err);
    if (!rc) {
        pick_described(&picks);
        pick_ranked(&picks, arm->list, arm->listed, &arm->random);
    }
    GT_STEP(rc, read_transfers(race, arm, &transfers, err));
    if (!rc) {
        const struct gt_seeds seeds = {
            .point = picks.point,
            .count = picks.count,
            .transfer = chosen,
            .transfers = choose_transfers(&transfers, chosen),
            .expect = arm->listed ? gt_sweep_expect : NULL,
            .context = arm,
        };

        rc = gt_strategy_new(&arm->strategy, name, &arm->space, race->seed, &seeds, err);
        GT_STEP(rc, gt_sweep_reuse_note(arm, &transfers, err));
    }
    for (size_t i = 0; i < transfers.count; i++) {
        free((void *)transfers.transfer[i].point);
        free((void *)transfers.transfer[i].us);
    }
    free(picks.point);
    free(arm->list);
    free(arm->described);
    arm->list = NULL;
    arm->described = NULL;
    return rc;
}
