/* finals.c - the end of a race on a device that measures.  The best candidates are sampled one by
 * one until their intervals are narrow (stage 2), if there is no limit of time.  contests.c then
 * compares them and chooses the winner. */
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART    0.33 /* of the time of the race that the finals may take, a quarter of both ... */
#define LEAST_S 0.4  /* ... and what they may always take: most of it is the pre-heat */

struct gt_candidate gt_sweep_candidate(const struct gt_race *race, const struct gt_sweep_row *row)
{
    return (struct gt_candidate){row->kernel, race->problem, &race->evaluator->device, row->point};
}

/* ---- stage 2 ---- */

static int count_faster(const struct gt_sweep_result *result, double us)
{
    int count = 0;

    for (size_t i = 0; i < result->rows; i++)
        count += result->row[i].trial.us < us;
    return count;
}

/* The next row to sample: first those during which an earlier run ended, then the best one that is
 * not sampled yet and may still win.  Where the time of the finals is limited, it goes into
 * contests, whose times are better: they are taken in turns. */
static struct gt_sweep_row *next_to_sample(const struct gt_race *race)
{
    struct gt_sweep_result *result = race->result;
    const bool only_blamed = race->finals_s > 0;

    for (size_t i = 0; i < result->rows; i++)
        if (result->row[i].blamed)
            return &result->row[i];
    for (size_t i = 0; i < result->rows && !only_blamed; i++) {
        struct gt_sweep_row *row = &result->row[i];

        if (row->trial.stage >= 2)
            continue;
        if (row->trial.us > GT_SWEEP_TOO_SLOW * gt_sweep_best_us(race) ||
            count_faster(result, row->trial.us) >= GT_SWEEP_SAMPLED)
            return NULL;
        return row;
    }
    return NULL;
}

static int sample_best(struct gt_race *race, struct gt_err *err)
{
    struct gt_sweep_row *row;
    int sampled = 0, rc = GT_OK;

    while (!rc && (row = next_to_sample(race)) != NULL && sampled < GT_SWEEP_SAMPLED) {
        struct gt_candidate candidate = gt_sweep_candidate(race, row);
        struct gt_trial trial = row->trial;
        bool resumed = row->resumed;
        char phase[32];

        if (gt_sweep_signals(race))
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        snprintf(phase, sizeof(phase), "sampling %d of %d", ++sampled, GT_SWEEP_SAMPLED);
        gt_sweep_show(race, phase, false);
        rc = gt_sweep_attempt(race, gt_sweep_arm_of(race, candidate.kernel), &candidate.point,
                              false, err);
        GT_STEP(rc, race->evaluator->ops->sample(race->evaluator, &candidate, &trial, err));
        GT_STEP(rc, gt_sweep_store(race, gt_sweep_arm_of(race, candidate.kernel), &candidate.point,
                                   &trial, false, err));
        GT_STEP(rc, gt_sweep_rank(race, candidate.kernel, &candidate.point, &trial, resumed, err));
    }
    return rc;
}

/* ---- baseline ---- */

int gt_sweep_open_baseline(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_err why = {0};
    int rc;

    if (race->baseline_asked || !evaluator->options.baseline || !evaluator->ops->baseline)
        return GT_OK;
    race->baseline_asked = true;
    gt_sweep_show(race, "timing the baseline", true);
    rc = evaluator->ops->baseline(evaluator, &race->result->baseline, &why);
    race->result->have_baseline = rc == GT_OK;
    if (!race->options->vendor)
        race->result->baseline.algo[0] = '\0';
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND) {
        gt_sweep_note(race, why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* ---- a run that added nothing ---- */

/* Takes the winner and the baseline from the store. */
static int on_winner(void *context, const struct gt_row *stored, struct gt_err *err)
{
    struct gt_race *race = context;
    struct gt_sweep_result *result = race->result;
    struct gt_point point;

    (void)err;
    if (strcmp(stored->uuid, race->evaluator->device.uuid) != 0)
        return GT_OK;
    for (size_t i = 0; i < result->rows; i++) {
        struct gt_sweep_row row = result->row[i];

        if (strcmp(stored->kernel, row.kernel->name) != 0 ||
            gt_point_parse(&point, row.kernel, stored->point, NULL) ||
            memcmp(point.value, row.point.value, row.kernel->params * sizeof(point.value[0])) != 0)
            continue;
        memmove(&result->row[1], &result->row[0], i * sizeof(row));
        result->row[0] = row;
        break;
    }
    for (size_t i = 0; i < result->rows; i++)
        result->row[i].apart = result->row[i].trial.stage < 2;
    result->have_baseline = stored->baseline_us > 0;
    result->baseline.us = stored->baseline_us;
    snprintf(result->baseline.name, sizeof(result->baseline.name), "%s", stored->baseline);
    return GT_OK;
}

static int read_winner(struct gt_race *race, struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_row_filter filter = {.winners_only = true, .problem = text};

    filter.cc = race->evaluator->device.cc;
    filter.provenance = 1u << race->evaluator->ops->provenance;
    gt_problem_format(race->problem, text);
    return gt_store_rows(race->options->store, &filter, on_winner, race, err);
}

/* Whether an earlier run has held the final, and no trial came since. */
static int find_settled(const struct gt_race *race, bool *settled, struct gt_err *err)
{
    const struct gt_sweep_result *result = race->result;
    bool final = false;

    *settled = false;
    for (size_t i = 0; i < result->rows; i++) {
        if (result->row[i].blamed)
            return GT_OK;
        final |= result->row[i].trial.stage == 3;
    }
    if (result->fresh || !final)
        return GT_OK;
    return gt_store_final_is_last(race->options->store, &race->arm[0].key, settled, err);
}

/* Sets how long the finals may take, if the budget is one of time: in proportion to the race. */
static void limit_time(struct gt_race *race)
{
    if (!(race->deadline_s > 0))
        return;
    race->finals_s = fmax(LEAST_S, PART * (race->end_s - race->begin_s));
    race->finals_end_s = gt_evaluator_now(race->evaluator) + race->finals_s;
}

int gt_sweep_finals(struct gt_race *race, struct gt_err *err)
{
    bool settled;
    int rc;

    if (!race->result->rows)
        return GT_OK;
    limit_time(race);
    rc = find_settled(race, &settled, err);
    if (!rc && settled)
        return read_winner(race, err);
    if (!rc && race->incumbent_due) {
        gt_sweep_note(race, "what look-up hands out could not be timed: no final is held, and "
                            "nothing takes its place");
        return GT_OK;
    }
    GT_STEP(rc, sample_best(race, err));
    if (!rc && race->result->rows)
        rc = gt_sweep_open_baseline(race, err);
    if (!rc && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    if (!rc && race->result->rows)
        rc = gt_sweep_contests(race, err);
    return rc;
}
