/* cmd_predictor.c - tune doctor --predictor: compares the model's times of all tried points with
 * their measured times.  See cmd_predictor.h. */
#include "doctor/cmd_predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "db/store.h"
#include "base/strbuf.h"
#include "base/err.h"
#include "lookup/predict.h"
#include "console/cmd_record.h"
#include "session/cmd_session.h"
#include "doctor/quality.h"
#include "exchange/recording.h"
#include "exchange/trials.h"
#include "learn/learn.h"

static const char csv_heading[] = "device,problem,kernel,tried,measured,correlation,first10,"
                                  "first50,first100,ratio,spread";

#define ALL "(all kernels)"

/* The points of one problem on one device; the current kernel's points begin at `first`. */
struct group {
    char device[96], problem[GT_PROBLEM_TEXT_MAX], kernel[64];
    struct gt_quality_point *point;
    size_t count, first, capacity;
    int kernels;
};

/* The state of the report. */
struct predictor {
    struct gt_cli *cli;
    struct gt_kernels kernels;
    struct gt_store *store; /* NULL: no database */
    struct gt_records rows;
    struct group group;
    struct gt_device device; /* device on which the group was measured */
    size_t printed, unknown; /* rows printed; points left out because no kernel here has them */
    double correlation;      /* sum over the rows of single kernels */
    double near[GT_QUALITY_FIRSTS];
    size_t correlations, nears[GT_QUALITY_FIRSTS]; /* and the numbers of those rows */
};

/* ---- rows ---- */

static double mean_of(double sum, size_t count)
{
    return count ? sum / (double)count : NAN;
}

/* Adds the row of a single kernel to the means. */
static void count_row(struct predictor *predictor, const struct gt_quality *quality)
{
    if (!isnan(quality->correlation)) {
        predictor->correlation += quality->correlation;
        predictor->correlations++;
    }
    for (int i = 0; i < GT_QUALITY_FIRSTS; i++) {
        if (isnan(quality->near[i]))
            continue;
        predictor->near[i] += quality->near[i];
        predictor->nears[i]++;
    }
}

static void report(struct predictor *predictor, const char *kernel, struct gt_quality_point *point,
                   size_t count)
{
    const struct group *group = &predictor->group;
    struct gt_quality q;

    gt_quality_of(&q, point, count);
    if (!q.measured)
        return;
    if (!predictor->printed++ && predictor->rows.out)
        fputs("problem                            kernel          tried  timed   rank     10     50"
              "    100  ratio spread\n",
              predictor->rows.out);
    gt_records_add(&predictor->rows,
                   ".device=%s problem=%-34s kernel=%-14s tried=%6zu measured=%6zu "
                   "correlation=%6.3f first10=%6.3f first50=%6.3f first100=%6.3f ratio=%6.3f "
                   "spread=%6.3f",
                   group->device, group->problem, kernel, q.tried, q.measured, q.correlation,
                   q.near[0], q.near[1], q.near[2], q.ratio, q.spread);
    if (strcmp(kernel, ALL) != 0)
        count_row(predictor, &q);
}

/* ---- groups ---- */

/* Reports the current kernel.  The report sorts its points in place, so it gets a copy. */
static int end_kernel(struct predictor *predictor, struct gt_err *err)
{
    struct group *group = &predictor->group;
    size_t count = group->count - group->first;
    struct gt_quality_point *copy;

    if (!count)
        return GT_OK;
    copy = malloc(count * sizeof(*copy));
    if (!copy)
        return gt_err_nomem(err);
    memcpy(copy, group->point + group->first, count * sizeof(*copy));
    report(predictor, group->kernel, copy, count);
    free(copy);
    group->first = group->count;
    group->kernels++;
    return GT_OK;
}

static int end_group(struct predictor *predictor, struct gt_err *err)
{
    struct group *group = &predictor->group;
    int rc = end_kernel(predictor, err);

    if (!rc && group->kernels > 1)
        report(predictor, ALL, group->point, group->count);
    group->count = group->first = 0;
    group->kernels = 0;
    return rc;
}

/* Sets the facts of a device that the model uses: its profile's facts, and its measured rates. */
static int find_device(struct predictor *predictor, const char *name, int cc, struct gt_err *err)
{
    struct gt_device *device = &predictor->device;
    int rc = gt_device_profile_of(device, predictor->cli->data_dir, cc, name, err);

    device->profile = false;
    snprintf(device->name, sizeof(device->name), "%s", name);
    return rc || !predictor->store ? rc : gt_store_apply_calibration(predictor->store, device, err);
}

/* Sets the group and kernel of the next points, and ends the previous group or kernel if the new
 * one differs. */
static int go_to(struct predictor *predictor, const char *device, int cc, const char *problem,
                 const char *kernel, struct gt_err *err)
{
    struct group *group = &predictor->group;
    bool same = strcmp(group->device, device) == 0 && strcmp(group->problem, problem) == 0;
    int rc = GT_OK;

    if (same && strcmp(group->kernel, kernel) == 0)
        return GT_OK;
    rc = same ? end_kernel(predictor, err) : end_group(predictor, err);
    if (!rc && strcmp(group->device, device) != 0)
        rc = find_device(predictor, device, cc, err);
    snprintf(group->device, sizeof(group->device), "%s", device);
    snprintf(group->problem, sizeof(group->problem), "%s", problem);
    snprintf(group->kernel, sizeof(group->kernel), "%s", kernel);
    return rc;
}

/* Adds a tried point; measured is 0 if the point has no time. */
static int add_point(struct predictor *predictor, const struct gt_candidate *candidate,
                     double measured, struct gt_err *err)
{
    struct group *group = &predictor->group;
    struct gt_geometry geometry;
    double predicted;

    if (gt_candidate_geometry(candidate, &geometry, NULL) ||
        gt_predict(candidate, &geometry, 0, 0, &predicted, NULL)) {
        predictor->unknown++;
        return GT_OK;
    }
    if (GT_ARRAY_RESERVE(&group->point, group->count + 1, &group->capacity, err))
        return GT_ENOMEM;
    group->point[group->count++] = (struct gt_quality_point){predicted, measured};
    return GT_OK;
}

/* ---- trials of a database, or kept as a text ---- */

static int take_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct predictor *predictor = context;
    const struct gt_trial *trial = &named->trial;
    struct gt_candidate candidate = {.device = &predictor->device};
    struct gt_problem problem;
    int rc;

    candidate.kernel = gt_kernels_find(&predictor->kernels, named->kernel, NULL);
    if (named->timing || trial->status == GT_STATUS_NONE ||
        gt_problem_parse(&problem, named->problem, NULL))
        return GT_OK;
    if (!candidate.kernel ||
        gt_learn_known_point(&candidate.point, candidate.kernel, named->point, NULL)) {
        predictor->unknown++;
        return GT_OK;
    }
    candidate.problem = &problem;
    rc = go_to(predictor, named->device, named->cc, named->problem, named->kernel, err);
    return rc ? rc
              : add_point(predictor, &candidate, trial->status == GT_STATUS_OK ? trial->us : 0,
                          err);
}

/* ---- a recording ---- */

/* Takes a point of the recording as a trial. */
static int take_point(struct predictor *predictor, const struct gt_recording *recording, size_t i,
                      struct gt_err *err)
{
    const struct gt_kernel *kernel = recording->kernel;
    struct gt_named_trial named = {
        .device = recording->device,
        .problem = recording->problem,
        .kernel = kernel->name,
        .cc = recording->cc,
        .trial = {.status = GT_STATUS_OK, .us = (double)recording->point[i].us}};
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    for (size_t p = 0; p < kernel->params; p++) {
        const struct gt_param *param = &kernel->param[p];

        gt_strbuf_addf(&text, "%s%s=", p ? "," : "", param->name);
        gt_param_format(&text, param, param->value[recording->index[i * kernel->params + p]]);
    }
    rc = gt_strbuf_check(&text, err);
    named.point = text.text ? text.text : "";
    GT_STEP(rc, take_trial(predictor, &named, err));
    gt_strbuf_release(&text);
    return rc;
}

static int take_recording(struct predictor *predictor, const struct gt_recording *recording,
                          const char *path, struct gt_err *err)
{
    struct gt_problem problem;
    int rc;

    if (!gt_kernels_find(&predictor->kernels, recording->kernel->name, err))
        return gt_err_prefix(err, GT_ENOTFOUND, "%s", path);
    if (recording->predicted || !recording->cc)
        return gt_err_set(
            err, GT_ERANGE,
            "%s: the predictor is judged by recordings that were measured and name their "
            "arch, and this one %s",
            path, recording->predicted ? "was predicted" : "names none");
    rc = gt_problem_parse(&problem, recording->problem, err);
    for (size_t i = 0; i < recording->points && !rc; i++)
        rc = take_point(predictor, recording, i, err);
    return rc;
}

static int read_recording(struct predictor *predictor, const char *path, struct gt_err *err)
{
    struct gt_recording recording = {0};
    int rc = gt_recording_load(&recording, path, err);

    GT_STEP(rc, take_recording(predictor, &recording, path, err));
    gt_recording_release(&recording);
    return rc;
}

/* ---- the report ---- */

static void print_means(const struct predictor *predictor)
{
    const size_t *count = predictor->nears;
    FILE *out = predictor->cli->out;
    const struct gt_records line = {.out = out};

    gt_records_add(&line, "=%-34s =%-14s =%6s =%6s =%6.3f =%6.3f =%6.3f =%6.3f",
                   "mean of the kernels", "", "", "",
                   mean_of(predictor->correlation, predictor->correlations),
                   mean_of(predictor->near[0], count[0]), mean_of(predictor->near[1], count[1]),
                   mean_of(predictor->near[2], count[2]));
    fprintf(out, "rank: correlation of the ranks of predicted and measured times\n"
                 "10, 50, 100: the best time / the best of the first so many by prediction; -: no "
                 "more were tried\n"
                 "ratio: predicted / measured, geometric mean; spread: its factor up and down\n");
    if (predictor->unknown && !predictor->cli->quiet)
        fprintf(predictor->cli->log,
                "%zu points left out: no kernel here has them, or the model no answer\n",
                predictor->unknown);
}

static int open_predictor(struct predictor *predictor, const struct gt_predictor_options *options,
                          struct gt_err *err)
{
    int rc = gt_kernels_load(&predictor->kernels, predictor->cli->data_dir, NULL, NULL, err);

    if (!rc && options->db)
        rc = gt_session_store(&predictor->store, options->db, GT_STORE_READ, err);
    if (!rc && options->csv)
        rc = gt_csv_new(&predictor->rows.csv, options->csv, csv_heading, err);
    gt_records_open(&predictor->rows, predictor->cli, NULL);
    return rc;
}

int gt_cmd_predictor(struct gt_cli *cli, const struct gt_predictor_options *options,
                     struct gt_err *err)
{
    const struct gt_row_filter filter = {.provenance = 1u << GT_MEASURED};
    struct predictor predictor = {.cli = cli};
    int rc = open_predictor(&predictor, options, err);

    if (!rc && predictor.store)
        rc = gt_store_trials(predictor.store, &filter, take_trial, &predictor, err);
    GT_STEP(rc, end_group(&predictor, err));
    for (size_t i = 0; i < options->recording.count && !rc; i++) {
        const char *path = options->recording.text[i];

        rc = gt_trials_found(path) ? gt_trials_read(path, take_trial, &predictor, err)
                                   : read_recording(&predictor, path, err);
        GT_STEP(rc, end_group(&predictor, err));
    }
    if (!rc && !predictor.printed)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "there are no measured trials to compare with");
    if (!rc && !cli->json)
        print_means(&predictor);
    rc = gt_records_close(&predictor.rows, cli, rc, err);
    gt_store_close(predictor.store);
    gt_kernels_release(&predictor.kernels);
    free(predictor.group.point);
    return rc;
}
