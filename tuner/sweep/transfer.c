/* transfer.c - reads the transfer data of a strategy: trials of the same kernel for the nearest
 * other problems, and for this problem on other devices. */
#include "base/strbuf.h"
#include "base/err.h"
#include "problem/problem.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST       24   /* trials that a strategy can learn from */
#define OTHER_ARCH  4.0  /* distance of another architecture, in units of gt_sweep_distance */
#define OTHER_TYPES 2.0  /* the same for other types */
#define FARTHEST    40.0 /* problems beyond are not used: their sizes differ by factors of dozens */

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
    struct source source = {.distance = gt_sweep_distance(race->problem, row)};
    size_t at = search->sources;

    (void)err;
    if (row->cc != race->evaluator->device.cc)
        source.distance += OTHER_ARCH;
    if (strcmp(row->dtype, gt_dtype_name(race->problem->type)) != 0)
        source.distance += OTHER_TYPES;
    for (size_t i = 0; i < search->sources; i++)
        if (strcmp(search->source[i].problem, row->problem) == 0)
            return GT_OK;
    while (at > 0 && source.distance < search->source[at - 1].distance)
        at--;
    if (at == GT_TRANSFERS_MAX || source.distance > FARTHEST)
        return GT_OK;
    snprintf(source.problem, sizeof(source.problem), "%s", row->problem);
    if (search->sources < GT_TRANSFERS_MAX)
        search->sources++;
    memmove(&search->source[at + 1], &search->source[at],
            (search->sources - at - 1) * sizeof(source));
    search->source[at] = source;
    return GT_OK;
}

/* The reading of one problem's trials, one device after the other. */
struct reading {
    const struct gt_race *race;
    const struct gt_arm *arm;
    struct gt_transfers *transfers;
    char device[96]; /* whose trials are being read */
    size_t capacity, *point;
    float *us;
    size_t count;
};

/* Ends one device's trials.  They become a set of transfer data if there are any and if fewer than
 * GT_TRANSFERS_MAX sets were read. */
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

int gt_sweep_transfer(const struct gt_race *race, const struct gt_arm *arm,
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

size_t gt_sweep_transfer_choose(const struct gt_transfers *transfers, struct gt_transfer *list)
{
    size_t count = 0;

    for (size_t i = 0; i < transfers->count && count < GT_TRANSFERS_USED; i++)
        if (transfers->transfer[i].count >= LEAST)
            list[count++] = transfers->transfer[i];
    return count;
}

void gt_sweep_transfer_release(struct gt_transfers *transfers)
{
    for (size_t i = 0; i < transfers->count; i++) {
        free((void *)transfers->transfer[i].point);
        free((void *)transfers->transfer[i].us);
    }
}
