/* learn_trials.c - learning from trials that are told by name.  See learn_trials.h. */
#include "learn/learn_trials.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"

static bool has_param(const struct gt_kernel *kernel, const char *name, size_t length)
{
    for (size_t i = 0; i < kernel->params; i++)
        if (strlen(kernel->param[i].name) == length &&
            strncmp(kernel->param[i].name, name, length) == 0)
            return true;
    return false;
}

int gt_learn_known_point(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                         struct gt_err *err)
{
    struct gt_strbuf known = GT_STRBUF_INIT;
    int rc;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");

        if (has_param(kernel, at, strcspn(at, "=")))
            gt_strbuf_addf(&known, "%s%.*s", known.length ? "," : "", (int)length, at);
        at += length + (at[length] == ',');
    }
    rc = gt_strbuf_check(&known, err);
    GT_STEP(rc, gt_point_parse(point, kernel, known.text, err));
    gt_strbuf_release(&known);
    return rc;
}

/* Sets the device of the next trials.  The first one of the arch is learned for. */
static int find_device(struct gt_learn_source *source, int cc, const char *name, struct gt_err *err)
{
    struct gt_device *on = &source->on;
    int rc;

    if (on->cc == cc && strcmp(on->name, name) == 0)
        return GT_OK;
    rc = gt_device_profile_of(on, source->data_dir, cc, name, err);
    snprintf(on->name, sizeof(on->name), "%s", name);
    on->profile = false;
    if (!rc && !source->learning->device.cc)
        source->learning->device = *on;
    return rc;
}

/* estimated: the time is what an earlier ranking expected, of the arch. */
static int take(struct gt_learn_source *source, const struct gt_named_trial *named, bool estimated,
                struct gt_err *err)
{
    struct gt_learning *learning = source->learning;
    const int base = learning->base ? learning->base->cc : 0;
    const int arch = learning->device.cc ? learning->device.cc : base;
    const double us = named->trial.status == GT_STATUS_SPILLS ? 0 : named->trial.us;
    const double clock_mhz = named->trial.clock_mhz;
    struct gt_problem problem;
    struct gt_candidate candidate = {.problem = &problem,
                                     .device = estimated ? &learning->device : &source->on};
    int failed, rc;

    if (gt_problem_parse(&problem, named->problem, NULL))
        return GT_OK;
    if (arch && named->cc != arch) {
        source->other++;
        return GT_OK;
    }
    rc = find_device(source, named->cc, named->device, err);
    if (rc)
        return rc;
    candidate.kernel = gt_kernels_find(learning->kernels, named->kernel, NULL);
    if (!candidate.kernel || !candidate.kernel->production ||
        gt_learn_known_point(&candidate.point, candidate.kernel, named->point, NULL) ||
        gt_candidate_possible(&candidate, &failed, NULL) || failed >= 0) {
        source->gone++;
        return GT_OK;
    }
    if (estimated)
        return gt_learn_add_estimate(learning, &candidate, us, err);
    return gt_learn_add(learning, &candidate, us,
                        clock_mhz > 0 ? fmin(clock_mhz / source->on.clock_mhz, 1) : 1, err);
}

int gt_learn_take(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    return take(context, named, false, err);
}

int gt_learn_take_estimate(struct gt_learn_source *source, const struct gt_named_trial *named,
                           struct gt_err *err)
{
    return take(source, named, true, err);
}
