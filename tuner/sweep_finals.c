/* sweep_finals.c - the end of a race on a device that measures: the best candidates are sampled
 * until their intervals are narrow (stage 2), the few best then run against each other and the
 * vendor library in random order (stage 3).  Candidates that cannot be told from the fastest are a
 * tie, and a stable rule names the winner, so that the same device gives the same answer tomorrow.
 */
#include "../src/err.h"
#include "../src/stats.h"
#include "sweep_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAMPLED      32   /* candidates of stage 2 */
#define HOPELESS     1.15 /* a race time beyond this times the best is not sampled */
#define FINALISTS    8    /* of stage 3 */
#define ROUNDS_LEAST 21   /* of stage 3: fewer tell nothing */
#define ROUNDS_MOST  101
#define FINAL_US     2e6   /* stage 3 should take about this long */
#define OVERHEAD_US  300.0 /* of a launch there: operands change, events are read */

static struct gt_lane *lane_of(struct gt_race *race, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < race->lanes; i++)
        if (race->lane[i].kernel == kernel)
            return &race->lane[i];
    return NULL;
}

static struct gt_candidate candidate_of(const struct gt_race *race, const struct gt_sweep_row *row)
{
    return (struct gt_candidate){row->kernel, race->problem, &race->evaluator->device, row->point};
}

/* ---- stage 2 ---- */

/* The best row that is not sampled yet and may still be the winner; before it, those that an
 * earlier run did not survive. */
static struct gt_sweep_row *next_to_sample(struct gt_sweep_result *result)
{
    for (size_t i = 0; i < result->rows; i++)
        if (result->row[i].blamed)
            return &result->row[i];
    for (size_t i = 0; i < result->rows && i < SAMPLED; i++) {
        if (result->row[i].trial.us > HOPELESS * result->row[0].trial.us)
            return NULL;
        if (result->row[i].trial.stage < 2)
            return &result->row[i];
    }
    return NULL;
}

static int sample_best(struct gt_race *race, struct gt_err *err)
{
    struct gt_sweep_row *row;
    int sampled = 0, rc = GT_OK;

    while (!rc && (row = next_to_sample(race->result)) != NULL && sampled < SAMPLED) {
        struct gt_candidate candidate = candidate_of(race, row);
        struct gt_trial trial = row->trial;
        bool resumed = row->resumed;
        char phase[32];

        if (gt_sweep_signals(race))
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        snprintf(phase, sizeof(phase), "sampling %d of %d", ++sampled, SAMPLED);
        gt_sweep_show(race, phase, false);
        rc = gt_sweep_attempt(race, lane_of(race, candidate.kernel), &candidate.point, err);
        if (!rc)
            rc = race->evaluator->ops->sample(race->evaluator, &candidate, &trial, err);
        if (!rc)
            rc = gt_sweep_store(race, lane_of(race, candidate.kernel), &candidate.point, &trial,
                                false, err);
        if (!rc)
            rc = gt_sweep_rank(race, candidate.kernel, &candidate.point, &trial, resumed, err);
    }
    return rc;
}

/* ---- stage 3 ---- */

static int rounds_for(const struct gt_sweep_result *result, size_t entries)
{
    double round = 0;

    for (size_t i = 0; i < entries; i++)
        round += result->row[i].trial.us + OVERHEAD_US;
    return (int)fmax(ROUNDS_LEAST, fmin(ROUNDS_MOST, FINAL_US / round));
}

/* The stable rule among candidates that tie: less shared memory, then the order in which kernels
 * and values are listed. */
static bool preferred(const struct gt_race *race, const struct gt_sweep_row *x,
                      const struct gt_sweep_row *y)
{
    struct gt_lane *lane_x = lane_of((struct gt_race *)race, x->kernel);
    struct gt_lane *lane_y = lane_of((struct gt_race *)race, y->kernel);

    if (x->trial.shared_bytes != y->trial.shared_bytes)
        return x->trial.shared_bytes < y->trial.shared_bytes;
    if (lane_x != lane_y)
        return lane_x < lane_y;
    return memcmp(x->point.value, y->point.value, x->kernel->params * sizeof(x->point.value[0])) <
           0;
}

/* Orders the finalists: the winner, those that tie with it, the others by time. */
static void order_rows(const struct gt_race *race, size_t finalists)
{
    struct gt_sweep_row *row = race->result->row;
    size_t ties = 1;

    for (size_t i = 1; i < finalists; i++) {
        const struct gt_trial *best = &row[0].trial, *trial = &row[i].trial;
        int samples = best->samples < trial->samples ? best->samples : trial->samples;

        row[i].tie = gt_paired_compare(best->sample, trial->sample, samples) == 0;
    }
    row[0].tie = false;
    for (size_t i = 1; i < finalists; i++) {
        struct gt_sweep_row moved = row[i];

        if (!moved.tie)
            continue;
        memmove(&row[ties + 1], &row[ties], (i - ties) * sizeof(*row));
        row[ties++] = moved;
    }
    for (size_t i = 1; i < ties; i++) {
        if (preferred(race, &row[i], &row[0])) {
            struct gt_sweep_row first = row[0];

            row[0] = row[i];
            row[i] = first;
        }
        row[0].tie = false;
        row[i].tie = true;
    }
}

static int store_ties(struct gt_race *race, size_t finalists, struct gt_err *err)
{
    const struct gt_sweep_row *row = race->result->row;
    const char *kernel[FINALISTS], *point[FINALISTS];
    struct gt_strbuf text[FINALISTS];
    struct gt_trial_key key;
    size_t count = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < finalists && (i == 0 || row[i].tie); i++) {
        gt_strbuf_init(&text[i]);
        gt_point_format(&text[i], row[i].kernel, &row[i].point);
        if (!rc)
            rc = gt_strbuf_check(&text[i], err);
        kernel[i] = row[i].kernel->name;
        point[i] = text[i].text;
        count++;
    }
    key = lane_of(race, row[0].kernel)->key;
    key.point = point[0];
    if (!rc)
        rc = gt_store_tie(race->options->store, &key, kernel + 1, point + 1, count - 1, err);
    for (size_t i = 0; i < count; i++)
        gt_strbuf_release(&text[i]);
    return rc;
}

/* The vendor library's best answer, if there is one. */
static int open_baseline(struct gt_race *race, struct gt_err *err)
{
    struct gt_evaluator *evaluator = race->evaluator;
    struct gt_err why = {0};
    int rc;

    if (!evaluator->options.baseline || !evaluator->ops->baseline)
        return GT_OK;
    gt_sweep_show(race, "timing the baseline", true);
    rc = evaluator->ops->baseline(evaluator, &race->result->baseline, &why);
    race->result->have_baseline = rc == GT_OK;
    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND) {
        gt_sweep_note(race, why.msg);
        return GT_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

static int store_baseline(struct gt_race *race, const struct gt_trial *trial, struct gt_err *err)
{
    struct gt_baseline *baseline = &race->result->baseline;

    if (trial->samples > 0) {
        baseline->us = trial->us;
        baseline->lo_us = trial->lo_us;
        baseline->hi_us = trial->hi_us;
        baseline->samples = trial->samples;
        memcpy(baseline->sample, trial->sample, sizeof(baseline->sample));
    }
    return gt_store_baseline(race->options->store, &race->lane[0].key, baseline, err);
}

/* Gives the first rows their final trials, fastest first; those that failed at last leave.  Returns
 * how many are left. */
static size_t place_finalists(struct gt_sweep_result *result, const struct gt_trial *trial,
                              size_t finalists)
{
    struct gt_sweep_row *row = result->row;
    size_t left = 0;

    for (size_t i = 0; i < finalists; i++) {
        struct gt_sweep_row moved = row[i];
        size_t at = left;

        if (trial[i].status != GT_STATUS_OK)
            continue;
        moved.trial = trial[i];
        for (; at > 0 && moved.trial.us < row[at - 1].trial.us; at--)
            row[at] = row[at - 1];
        row[at] = moved;
        left++;
    }
    memmove(&row[left], &row[finalists], (result->rows - finalists) * sizeof(*row));
    result->rows -= finalists - left;
    return left;
}

static int run_final(struct gt_race *race, struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    size_t finalists = result->rows < FINALISTS ? result->rows : FINALISTS;
    struct gt_candidate candidate[FINALISTS];
    struct gt_trial trial[FINALISTS], baseline = {0};
    int rc = GT_OK;

    for (size_t i = 0; i < finalists; i++) {
        candidate[i] = candidate_of(race, &result->row[i]);
        trial[i] = result->row[i].trial;
    }
    gt_sweep_show(race, "final", true);
    for (size_t i = 0; i < finalists && !rc; i++)
        rc = gt_sweep_attempt(race, lane_of(race, candidate[i].kernel), &candidate[i].point, err);
    if (!rc)
        rc = race->evaluator->ops->final(race->evaluator, candidate, finalists,
                                         rounds_for(result, finalists), trial,
                                         result->have_baseline ? &baseline : NULL, err);
    for (size_t i = 0; i < finalists && !rc; i++)
        rc = gt_sweep_store(race, lane_of(race, candidate[i].kernel), &candidate[i].point,
                            &trial[i], false, err);
    if (!rc && result->have_baseline)
        rc = store_baseline(race, &baseline, err);
    if (rc)
        return rc;
    finalists = place_finalists(result, trial, finalists);
    if (!finalists)
        return GT_OK;
    order_rows(race, finalists);
    return store_ties(race, finalists, err);
}

/* ---- a run that added nothing ---- */

/* Takes winner and baseline as stored. */
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

/* Whether an earlier run has held the final, and nothing was found since. */
static bool is_settled(struct gt_sweep_result *result)
{
    if (result->fresh || next_to_sample(result))
        return false;
    for (size_t i = 0; i < result->rows; i++)
        if (result->row[i].trial.stage == 3)
            return true;
    return false;
}

int gt_sweep_finals(struct gt_race *race, struct gt_err *err)
{
    int rc;

    if (!race->result->rows)
        return GT_OK;
    if (is_settled(race->result))
        return read_winner(race, err);
    rc = sample_best(race, err);
    if (!rc && race->result->rows)
        rc = open_baseline(race, err);
    if (!rc && gt_sweep_signals(race))
        rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    if (!rc && race->result->rows)
        rc = run_final(race, err);
    return rc;
}
