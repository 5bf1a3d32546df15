/* cmd_adopt_take.c - lists the winners to be adopted and fits them to today's text: those of the
 * database that belong to an older text of their kernel, and those of a table.  See cmd_adopt.h. */
#include "recheck/cmd_adopt.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "problem/problem.h"
#include "lookup/table.h"

/* ---- listing ---- */

static bool is_taken(const struct gt_adopting *adopting, const char *problem, const char *kernel,
                     const char *point)
{
    for (size_t i = 0; i < adopting->items; i++) {
        const struct gt_adoptee *item = &adopting->item[i];

        if (!strcmp(item->text, problem) && !strcmp(item->kernel_name, kernel) &&
            !strcmp(item->point, point))
            return true;
    }
    return false;
}

static int take(struct gt_adopting *adopting, const char *problem, const char *kernel,
                const char *point, double us, struct gt_err *err)
{
    struct gt_adoptee *item;

    if (is_taken(adopting, problem, kernel, point))
        return GT_OK;
    if (GT_ARRAY_RESERVE(&adopting->item, adopting->items + 1, &adopting->capacity, err))
        return GT_ENOMEM;
    item = &adopting->item[adopting->items++];
    *item = (struct gt_adoptee){.stored_us = us};
    item->text = strdup(problem);
    item->kernel_name = strdup(kernel);
    item->point = strdup(point);
    return item->text && item->kernel_name && item->point ? GT_OK : gt_err_nomem(err);
}

static int take_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_adopting *adopting = context;

    if (strcmp(row->device, adopting->session->evaluator->device.name) != 0 ||
        row->timing != adopting->options->timing)
        return GT_OK;
    return take(adopting, row->problem, row->kernel, row->point, row->us, err);
}

static int take_table(struct gt_adopting *adopting, struct gt_err *err)
{
    const struct gt_device *device = &adopting->session->evaluator->device;
    struct gt_table table = {0};
    int rc = gt_table_load(&table, adopting->options->table, err);

    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_table_row *row = &table.row[i];

        if (row->cc == device->cc && !row->predicted && row->timing == adopting->options->timing &&
            !strcmp(row->device, device->name))
            rc = take(adopting, row->text, row->kernel, row->point, row->us, err);
    }
    gt_table_release(&table);
    return rc;
}

/* ---- fitting ---- */

__attribute__((format(printf, 2, 3))) static void unfit(struct gt_adoptee *item, const char *format,
                                                        ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(item->detail, sizeof(item->detail), format, args);
    va_end(args);
    item->verdict = GT_ADOPT_UNFIT;
}

/* Makes a candidate of today's kernel from the item's texts. */
static void fit(const struct gt_adopting *adopting, struct gt_adoptee *item)
{
    struct gt_candidate *candidate = &item->candidate;
    struct gt_geometry geometry;
    struct gt_err why = {0};
    char reason[GT_UNSERVED_MAX];
    int failed, rc;

    candidate->kernel = gt_kernels_find(&adopting->session->kernels, item->kernel_name, &why);
    candidate->problem = &item->problem;
    candidate->device = &adopting->session->evaluator->device;
    rc = candidate->kernel ? gt_point_parse(&candidate->point, candidate->kernel, item->point, &why)
                           : GT_ENOTFOUND;
    if (rc) {
        unfit(item, "%s", why.msg);
        return;
    }
    if (gt_unserved(reason, "it", &candidate->kernel, 1, &item->problem, candidate->device)) {
        unfit(item, "kernel %s: %s", item->kernel_name, reason);
        return;
    }
    rc = gt_candidate_possible(candidate, &failed, &why);
    if (!rc && failed >= 0)
        unfit(item, "kernel %s: %s", item->kernel_name, candidate->kernel->constraint[failed].why);
    else if (rc || gt_candidate_geometry(candidate, &geometry, &why))
        unfit(item, "%s", why.msg);
}

struct finding {
    struct gt_adoptee *item;
    const char *point;
};

/* Takes a trial of today's text that an earlier run has stored. */
static int find_trial(void *context, const char *point, const struct gt_trial *trial, int attempts,
                      struct gt_err *err)
{
    const struct finding *finding = context;
    struct gt_adoptee *item = finding->item;

    (void)err;
    if (strcmp(point, finding->point) != 0)
        return GT_OK;
    if (trial->status == GT_STATUS_OK && trial->stage == 3 && !attempts) {
        item->verdict = GT_ADOPT_KNOWN;
        item->us = trial->us;
        item->lo_us = trial->lo_us;
        item->hi_us = trial->hi_us;
    } else if (trial->status != GT_STATUS_OK &&
               (gt_status_final(trial->status) || attempts >= GT_MAX_ATTEMPTS)) {
        item->verdict = GT_ADOPT_FAILED;
        snprintf(item->detail, sizeof(item->detail), "%s: %s",
                 trial->status ? gt_status_name(trial->status) : "fault",
                 trial->status ? trial->detail
                               : "each time the tuner itself ended before the launch did");
    }
    return GT_OK;
}

static int find_known(const struct gt_adopting *adopting, struct gt_adoptee *item,
                      struct gt_err *err)
{
    struct gt_store *store = adopting->session->store;
    struct gt_trial_key key = adopting->key;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct finding finding = {item, NULL};
    int rc;

    gt_point_format(&point, item->candidate.kernel, &item->candidate.point);
    rc = gt_strbuf_check(&point, err);
    finding.point = point.text;
    GT_STEP(rc, gt_store_kernel(store, item->candidate.kernel, &key.kernel, err));
    GT_STEP(rc, gt_store_problem(store, &item->problem, &key.problem, err));
    GT_STEP(rc, gt_store_resume(store, &key, GT_MEASURED, find_trial, &finding, err));
    gt_strbuf_release(&point);
    return rc;
}

/* ---- all of them ---- */

static int by_problem(const void *x, const void *y)
{
    const struct gt_adoptee *a = x, *b = y;
    int order = strcmp(a->text, b->text);

    return order ? order
           : a->stored_us != b->stored_us
               ? (a->stored_us > b->stored_us) - (a->stored_us < b->stored_us)
               : strcmp(a->point, b->point);
}

/* Drops the items of problems that were not asked for. */
static int keep_asked(struct gt_adopting *adopting, struct gt_err *err)
{
    const struct gt_problem_options *asked = adopting->options->problem;
    struct gt_problem *problem = NULL;
    size_t problems = 0, kept = 0;
    int rc;

    if (!asked->shape.count && !asked->shapes)
        return GT_OK;
    rc = gt_session_problems(adopting->session->cli, adopting->session, &problem, NULL, &problems,
                             asked, err);
    for (size_t i = 0; i < adopting->items && !rc; i++) {
        struct gt_adoptee item = adopting->item[i];
        bool found = false;

        for (size_t j = 0; j < problems && !found; j++) {
            char text[GT_PROBLEM_TEXT_MAX];

            gt_problem_format(&problem[j], text);
            found = !strcmp(text, item.text);
        }
        adopting->item[i] = adopting->item[kept]; /* dropped items are freed with the rest */
        adopting->item[kept] = item;
        kept += found;
    }
    for (size_t i = kept; i < adopting->items && !rc; i++) {
        free(adopting->item[i].text);
        free(adopting->item[i].kernel_name);
        free(adopting->item[i].point);
    }
    if (!rc)
        adopting->items = kept;
    free(problem);
    return rc;
}

int gt_adopt_take(struct gt_adopting *adopting, struct gt_err *err)
{
    const struct gt_session *session = adopting->session;
    const struct gt_row_filter filter = {.older = true,
                                         .kernels = &session->kernels,
                                         .provenance = 1u << GT_MEASURED,
                                         .cc = session->evaluator->device.cc,
                                         .limit = 1};
    int rc = gt_store_rows(session->store, &filter, take_row, adopting, err);

    if (!rc && adopting->options->table)
        rc = take_table(adopting, err);
    GT_STEP(rc, keep_asked(adopting, err));
    if (!rc && adopting->items)
        qsort(adopting->item, adopting->items, sizeof(*adopting->item), by_problem);
    for (size_t i = 0; i < adopting->items && !rc; i++) {
        struct gt_adoptee *item = &adopting->item[i];

        rc = gt_problem_parse(&item->problem, item->text, err);
        if (!rc)
            fit(adopting, item);
        if (!rc && item->verdict == GT_ADOPT_OPEN)
            rc = find_known(adopting, item, err);
    }
    return rc;
}

void gt_adopt_release(struct gt_adopting *adopting)
{
    for (size_t i = 0; i < adopting->items; i++) {
        free(adopting->item[i].text);
        free(adopting->item[i].kernel_name);
        free(adopting->item[i].point);
    }
    free(adopting->item);
}
