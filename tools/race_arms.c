/* race_arms.c - the arms of a race on recorded trials.  See race_arms.h. */
#include "race_arms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Appends which value each parameter has.  False: one that is not in the description. */
static bool index_of(const struct gt_kernel *kernel, const struct gt_point *point, uint8_t *index)
{
    for (size_t p = 0; p < kernel->params; p++) {
        size_t v = 0;

        while (v < kernel->param[p].count && kernel->param[p].value[v] != point->value[p])
            v++;
        if (v == kernel->param[p].count)
            return false;
        index[p] = (uint8_t)v;
    }
    return true;
}

static void release_arm(struct arm *arm)
{
    gt_space_release(&arm->space);
    free(arm->us);
    for (int o = 0; o < ORDERS; o++)
        free(arm->expect[o]);
    *arm = (struct arm){.done = true};
}

/* Sets the times of the arm's points, and what is expected of them. */
static int fill(const struct gt_learning *learning, struct arm *arm, size_t problem,
                struct gt_err *err)
{
    arm->us = calloc(arm->space.count, sizeof(*arm->us));
    for (int o = 0; o < ORDERS; o++)
        arm->expect[o] = calloc(arm->space.count, sizeof(**arm->expect));
    if (!arm->us || !arm->expect[MODEL] || !arm->expect[TREES])
        return gt_err_nomem(err);
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        size_t at;

        if (row->problem != problem || learning->kernels->kernel[row->kernel] != arm->kernel)
            continue;
        at = gt_space_find(&arm->space, &learning->point[row->point].point);
        if (at == SIZE_MAX)
            continue;
        if (!row->avoided && (!(arm->us[at] > 0) || row->us < (double)arm->us[at]))
            arm->us[at] = (float)row->us;
        arm->expect[MODEL][at] = logf((float)row->model_us);
        arm->expect[TREES][at] = logf((float)row->expected_us);
    }
    return GT_OK;
}

/* The arm of a kernel; without points it stays empty. */
static int open_arm(const struct gt_learning *learning, struct arm *arm, size_t problem,
                    size_t kernel, struct gt_err *err)
{
    uint8_t *index;
    size_t count = 0, kept = 0;
    int rc;

    arm->kernel = learning->kernels->kernel[kernel];
    for (size_t i = 0; i < learning->rows; i++)
        count += learning->row[i].problem == problem && learning->row[i].kernel == kernel;
    index = calloc(count + 1, arm->kernel->params);
    if (!index)
        return gt_err_nomem(err);
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        uint8_t *to = index + kept * arm->kernel->params;
        size_t same = 0;

        if (row->problem != problem || row->kernel != kernel ||
            !index_of(arm->kernel, &learning->point[row->point].point, to))
            continue;
        while (same < kept && memcmp(index + same * arm->kernel->params, to, arm->kernel->params))
            same++;
        kept += same == kept;
    }
    rc = kept ? gt_space_list(&arm->space, arm->kernel, &learning->problem[problem].problem,
                              &learning->device, index, kept, err)
              : GT_OK;
    free(index);
    return rc || !kept ? rc : fill(learning, arm, problem, err);
}

int gt_race_arms_open(struct race *race, const struct gt_learning *learning, size_t problem,
                      struct gt_err *err)
{
    int rc = GT_OK;

    *race = (struct race){.best_us = INFINITY};
    for (size_t k = 0; k < learning->kernels->count && race->arms < ARMS_MAX && !rc; k++) {
        struct arm *arm = &race->arm[race->arms];

        rc = open_arm(learning, arm, problem, k, err);
        race->arms += arm->space.count > 0;
        for (size_t i = 0; !rc && i < arm->space.count; i++)
            if (arm->us[i] > 0) {
                race->points++;
                race->best_us = fmin(race->best_us, (double)arm->us[i]);
            }
    }
    return rc;
}

void gt_race_arms_close(struct race *race)
{
    for (size_t i = 0; i < race->arms; i++)
        release_arm(&race->arm[i]);
}
