/* cmd_recheck_report.c - the report that tune recheck, its --adopt and its --same-code share. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "recheck/cmd_recheck.h"

int gt_recheck_keep(struct gt_row *to, char **memory, const struct gt_row *from, struct gt_err *err)
{
    const char **const text[] = {&to->device, &to->uuid,      &to->problem,
                                 &to->kernel, &to->signature, &to->point};
    size_t bytes = 0;
    char *at;

    *to = (struct gt_row){
        .device = from->device,
        .uuid = from->uuid,
        .problem = from->problem,
        .kernel = from->kernel,
        .signature = from->signature,
        .point = from->point,
        .cc = from->cc,
        .driver = from->driver,
        .nvrtc = from->nvrtc,
        .timing = from->timing,
        .sms = from->sms,
        .l2_bytes = from->l2_bytes,
        .us = from->us,
    };
    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
        bytes += strlen(*text[i]) + 1;
    *memory = at = malloc(bytes);
    for (size_t i = 0; i < sizeof(text) / sizeof(*text) && at; i++) {
        const size_t size = strlen(*text[i]) + 1;

        *text[i] = memcpy(at, *text[i], size);
        at += size;
    }
    return at ? GT_OK : gt_err_nomem(err);
}

int gt_recheck_fit(struct gt_candidate *candidate, const struct gt_kernels *kernels,
                   const char *kernel, const char *point, struct gt_geometry *geometry,
                   struct gt_err *why)
{
    char reason[GT_UNSERVED_MAX];
    int failed = -1, rc;

    candidate->kernel = gt_kernels_find(kernels, kernel, why);
    rc = candidate->kernel ? gt_point_parse(&candidate->point, candidate->kernel, point, why)
                           : GT_ENOTFOUND;
    if (rc)
        return rc;
    if (gt_unserved(reason, "it", &candidate->kernel, 1, candidate->problem, candidate->device)) {
        gt_err_set(why, GT_ERANGE, "%s", reason);
        return 1;
    }
    rc = gt_candidate_possible(candidate, &failed, why);
    if (!rc && failed >= 0) {
        gt_err_set(why, GT_ERANGE, "%s", candidate->kernel->constraint[failed].why);
        return 1;
    }
    return rc ? rc : gt_candidate_geometry(candidate, geometry, why);
}

int gt_recheck_bad(size_t bad, const char *words, struct gt_err *err)
{
    return bad ? gt_err_set(err, GT_EXIT_LOST, "%zu of the winners %s %s", bad,
                            bad > 1 ? "are" : "is", words)
               : GT_OK;
}

int gt_recheck_report_open(struct gt_recheck_report *report, const struct gt_recheck_form *form,
                           const char *csv, struct gt_err *err)
{
    const struct gt_device *device = &report->session->evaluator->device;
    const struct gt_cli *cli = report->session->cli;
    const char *l2 = gt_timing_name(report->timing);
    const time_t now = (time_t)(gt_clock_date_ms() / 1000);
    struct tm utc;
    char date[32]; /* UTC; a report draws margins over dates */

    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    gt_records_document(&report->records, cli, "winners", "format=%s date=%s device=%s cc=%d l2=%s",
                        form->format, form->dated ? date : NULL, device->name, device->cc, l2);
    report->records.out = NULL; /* lines have columns */
    if (!cli->json) {
        gt_columns_put(cli->out, device->name);
        fprintf(cli->out, " (sm_%d), L2 %s: %s\n", device->cc, l2, form->title);
        gt_columns_choose(&report->columns, form->column, form->columns, 34,
                          cli->raw ? 0 : gt_terminal_width());
        gt_columns_row(&report->columns, cli->out, "problem", NULL, form->winner);
    }
    return csv ? gt_csv_new(&report->records.csv, csv, form->csv_heading, err) : GT_OK;
}

int gt_recheck_report_close(struct gt_recheck_report *report, const char *const *verdict,
                            const size_t *tally, int first, int count, int rc, struct gt_err *err)
{
    for (int i = first; i < count; i++)
        cJSON_AddNumberToObject(report->records.root, verdict[i], (double)tally[i]);
    if (report->records.root)
        return gt_records_close(&report->records, report->session->cli, rc, err);
    const int closed = gt_csv_close(report->records.csv, rc ? NULL : err);

    return rc ? rc : closed;
}
