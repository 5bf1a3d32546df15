/* learn_take.c - stage: where trials come from, and which candidates they are of.  See learn.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "exchange/recording.h"
#include "exchange/trials.h"
#include "learn/learn.h"
#include "lookup/table.h"

/* ---- a trial with names ---- */

static bool has_param(const struct gt_kernel *kernel, const char *name, size_t length)
{
    for (size_t i = 0; i < kernel->params; i++)
        if (strlen(kernel->param[i].name) == length &&
            strncmp(kernel->param[i].name, name, length) == 0)
            return true;
    return false;
}

/* Reads a point of this or an earlier text of the kernel: parameters that the kernel does not have
 * any more are left out. */
static bool read_point(struct gt_point *point, const struct gt_kernel *kernel, const char *text)
{
    struct gt_strbuf known = GT_STRBUF_INIT;
    bool read;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");

        if (has_param(kernel, at, strcspn(at, "=")))
            gt_strbuf_addf(&known, "%s%.*s", known.length ? "," : "", (int)length, at);
        at += length + (at[length] == ',');
    }
    read = !gt_strbuf_check(&known, NULL) && !gt_point_parse(point, kernel, known.text, NULL);
    gt_strbuf_release(&known);
    return read;
}

bool gt_learn_candidate(struct gt_candidate *candidate, const struct gt_kernels *kernels,
                        const struct gt_named_trial *named)
{
    candidate->kernel = gt_kernels_find(kernels, named->kernel, NULL);
    return candidate->kernel && read_point(&candidate->point, candidate->kernel, named->point);
}

int gt_learn_device(struct gt_device *device, const char *data_dir,
                    const struct gt_named_trial *named, struct gt_err *err)
{
    int rc = gt_device_profile_of(device, data_dir, named->cc, named->device, err);

    snprintf(device->name, sizeof(device->name), "%s", named->device);
    device->profile = false;
    return rc;
}

/* Sets the device of the next trials.  The first device of the arch becomes the learning's. */
static int find_device(struct gt_learn_source *source, const struct gt_named_trial *named,
                       struct gt_err *err)
{
    struct gt_device *on = &source->on;
    int rc;

    if (on->cc == named->cc && strcmp(on->name, named->device) == 0)
        return GT_OK;
    rc = gt_learn_device(on, source->data_dir, named, err);
    if (!rc && !source->learning->device.cc)
        source->learning->device = *on;
    return rc;
}

int gt_learn_take(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    const bool estimated = named->trial.provenance == GT_PREDICTED;
    struct gt_learn_source *source = context;
    struct gt_learning *learning = source->learning;
    const int base = learning->base ? learning->base->cc : 0;
    const int arch = learning->device.cc ? learning->device.cc : base;
    const double us = named->trial.status == GT_STATUS_SPILLS ? 0 : named->trial.us;
    const double clock_mhz = named->trial.clock_mhz;
    struct gt_problem problem;
    struct gt_candidate candidate = {.problem = &problem,
                                     .device = estimated ? &learning->device : &source->on};
    int failed, rc;

    if (!gt_trials_hold(named) || gt_problem_parse(&problem, named->problem, NULL))
        return GT_OK;
    if (arch && named->cc != arch) {
        source->other++;
        return GT_OK;
    }
    rc = find_device(source, named, err);
    if (rc)
        return rc;
    if (!gt_learn_candidate(&candidate, learning->kernels, named) ||
        !candidate.kernel->production || gt_candidate_possible(&candidate, &failed, NULL) ||
        failed >= 0) {
        source->gone++;
        return GT_OK;
    }
    if (estimated)
        return gt_learn_add_estimate(learning, &candidate, us, err);
    return gt_learn_add(learning, &candidate, us,
                        clock_mhz > 0 ? fmin(clock_mhz / source->on.clock_mhz, 1) : 1, err);
}

/* ---- files ---- */

/* Who visits, with the kernels that a recording may be of. */
struct reader {
    const char *path;
    const struct gt_kernels *kernels;
    gt_named_trial_visit *visit;
    void *context;
};

static int read_table(const struct reader *reader, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, reader->path, err);

    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_table_row *row = &table.row[i];
        const struct gt_named_trial named = {
            .device = row->device,
            .problem = row->text,
            .kernel = row->kernel,
            .point = row->point,
            .cc = row->cc,
            .timing = row->timing,
            .trial = {.status = GT_STATUS_OK,
                      .provenance = row->predicted ? GT_PREDICTED : GT_MEASURED,
                      .us = row->us}};

        rc = reader->visit(reader->context, &named, err);
    }
    gt_table_release(&table);
    return rc;
}

static int visit_point(const struct reader *reader, const struct gt_recording *recording, size_t i,
                       struct gt_err *err)
{
    const struct gt_kernel *kernel = recording->kernel;
    struct gt_named_trial named = {
        .device = recording->device,
        .problem = recording->problem,
        .kernel = kernel->name,
        .cc = recording->cc,
        .trial = {.status = recording->point[i].status, .us = (double)recording->point[i].us}};
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    for (size_t p = 0; p < kernel->params; p++) {
        const struct gt_param *param = &kernel->param[p];

        gt_strbuf_addf(&text, "%s%s=", p ? "," : "", param->name);
        gt_param_format(&text, param, param->value[recording->index[i * kernel->params + p]]);
    }
    rc = gt_strbuf_check(&text, err);
    named.point = text.text ? text.text : "";
    GT_STEP(rc, reader->visit(reader->context, &named, err));
    gt_strbuf_release(&text);
    return rc;
}

static int visit_points(const struct reader *reader, const struct gt_recording *recording,
                        struct gt_err *err)
{
    struct gt_problem problem;
    int rc;

    if (!gt_kernels_find(reader->kernels, recording->kernel->name, err))
        return gt_err_prefix(err, GT_ENOTFOUND, "%s", reader->path);
    if (recording->predicted || !recording->cc)
        return gt_err_set(
            err, GT_ERANGE,
            "%s: only recordings that were measured and name their arch count, and this one %s",
            reader->path, recording->predicted ? "was predicted" : "names none");
    rc = gt_problem_parse(&problem, recording->problem, err);
    for (size_t i = 0; i < recording->points && !rc; i++)
        rc = visit_point(reader, recording, i, err);
    return rc;
}

static int read_recording(const struct reader *reader, struct gt_err *err)
{
    struct gt_recording recording = {0};
    int rc = gt_recording_load(&recording, reader->path, err);

    GT_STEP(rc, visit_points(reader, &recording, err));
    gt_recording_release(&recording);
    return rc;
}

static bool ends(const char *path, const char *ending)
{
    const size_t length = strlen(path), size = strlen(ending);

    return length >= size && strcmp(path + length - size, ending) == 0;
}

int gt_learn_visit(const char *path, const struct gt_kernels *kernels, gt_named_trial_visit *visit,
                   void *context, struct gt_err *err)
{
    const struct gt_row_filter filter = {.provenance = 1u << GT_MEASURED};
    const struct reader reader = {path, kernels, visit, context};
    struct gt_store *store = NULL;
    int rc;

    if (gt_trials_found(path))
        return gt_trials_read(path, visit, context, err);
    if (ends(path, ".csv"))
        return read_table(&reader, err);
    if (ends(path, ".json") || ends(path, ".json.gz"))
        return read_recording(&reader, err);
    rc = gt_store_open(&store, path, GT_STORE_READ, err);
    if (rc == GT_EBUSY && err)
        err->code = rc = GT_EDB; /* "busy" is the exit code of a GPU in use */
    GT_STEP(rc, gt_store_trials(store, &filter, visit, context, err));
    gt_store_close(store);
    return rc;
}
