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

/* Sets the group and kernel of the next points, and ends the previous group or kernel if the new
 * one differs. */
static int go_to(struct predictor *predictor, const struct gt_named_trial *named,
                 struct gt_err *err)
{
    struct group *group = &predictor->group;
    bool same =
        strcmp(group->device, named->device) == 0 && strcmp(group->problem, named->problem) == 0;
    int rc = GT_OK;

    if (same && strcmp(group->kernel, named->kernel) == 0)
        return GT_OK;
    rc = same ? end_kernel(predictor, err) : end_group(predictor, err);
    if (!rc && strcmp(group->device, named->device) != 0) {
        rc = gt_learn_device(&predictor->device, predictor->cli->data_dir, named, err);
        if (predictor->store) /* measured rates instead of the profile's */
            GT_STEP(rc, gt_store_apply_calibration(predictor->store, &predictor->device, err));
    }
    snprintf(group->device, sizeof(group->device), "%s", named->device);
    snprintf(group->problem, sizeof(group->problem), "%s", named->problem);
    snprintf(group->kernel, sizeof(group->kernel), "%s", named->kernel);
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

static int take_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct predictor *predictor = context;
    const struct gt_trial *trial = &named->trial;
    struct gt_problem problem;
    struct gt_candidate candidate = {.device = &predictor->device, .problem = &problem};
    int rc;

    if (named->timing || trial->status == GT_STATUS_NONE ||
        gt_problem_parse(&problem, named->problem, NULL))
        return GT_OK;
    if (!gt_learn_candidate(&candidate, &predictor->kernels, named)) {
        predictor->unknown++;
        return GT_OK;
    }
    rc = go_to(predictor, named, err);
    return rc ? rc
              : add_point(predictor, &candidate, trial->status == GT_STATUS_OK ? trial->us : 0,
                          err);
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
        rc = gt_learn_visit(options->recording.text[i], &predictor.kernels, take_trial, &predictor,
                            err);
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
