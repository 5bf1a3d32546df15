/* cmd_report_json.c - a sweep's result as one JSON document; a writer of JSON exports. */
#include <cjson/cJSON.h>

#include "problem/problem.h"
#include "base/strbuf.h"
#include "console/cmd_json.h"
#include "session/cmd_report.h"

static void add_bound(cJSON *json, const char *key, const struct gt_trial *trial, double us)
{
    cJSON_AddItemToObject(json, key,
                          gt_interval_known(trial->provenance, trial->lo_us, trial->hi_us)
                              ? cJSON_CreateNumber(us)
                              : cJSON_CreateNull());
}

static cJSON *row_json(const struct gt_sweep_row *row, const struct gt_sweep_result *result)
{
    const struct gt_trial *trial = &row->trial;
    struct gt_strbuf point = GT_STRBUF_INIT;
    cJSON *json = cJSON_CreateObject();

    gt_point_format(&point, row->kernel, &row->point);
    cJSON_AddStringToObject(json, "kernel", row->kernel->name);
    cJSON_AddStringToObject(json, "point", point.text);
    cJSON_AddBoolToObject(json, "predicted", trial->provenance == GT_PREDICTED);
    cJSON_AddStringToObject(json, "result", gt_provenance_name(trial->provenance));
    cJSON_AddNumberToObject(json, "us", trial->us);
    cJSON_AddBoolToObject(json, "tie", row->tie);
    if (trial->provenance != GT_PREDICTED) {
        add_bound(json, "lo_us", trial, trial->lo_us);
        add_bound(json, "hi_us", trial, trial->hi_us);
        cJSON_AddNumberToObject(json, "err_u", trial->err_u);
        cJSON_AddNumberToObject(json, "clock_mhz", trial->clock_mhz);
        cJSON_AddBoolToObject(json, "comparable", !row->apart);
        if (result->have_baseline)
            cJSON_AddNumberToObject(json, "ratio", result->baseline.us / trial->us);
    }
    cJSON_AddNumberToObject(json, "tflops", gt_problem_flops(result->problem) / trial->us * 1e-6);
    cJSON_AddNumberToObject(json, "registers", trial->registers);
    cJSON_AddNumberToObject(json, "shared_bytes", (double)trial->shared_bytes);
    cJSON_AddNumberToObject(json, "workspace_bytes", (double)trial->workspace_bytes);
    gt_strbuf_release(&point);
    return json;
}

static cJSON *result_json(const struct gt_sweep_result *result)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *statuses = cJSON_AddObjectToObject(json, "trials");
    cJSON *rows = cJSON_AddArrayToObject(json, "candidates");
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(result->problem, text);
    cJSON_AddStringToObject(json, "problem", text);
    for (int status = GT_STATUS_NONE + 1; status < GT_STATUS_COUNT; status++)
        if (result->status[status])
            cJSON_AddNumberToObject(statuses, gt_status_name((enum gt_status)status),
                                    (double)result->status[status]);
    cJSON_AddNumberToObject(json, "new", (double)result->fresh);
    cJSON_AddNumberToObject(json, "resumed", (double)result->resumed);
    cJSON_AddNumberToObject(json, "valid_points", result->points);
    cJSON_AddNumberToObject(json, "wall_s", result->wall_s);
    cJSON_AddBoolToObject(json, "interrupted", result->interrupted);
    if (result->have_baseline) {
        cJSON_AddStringToObject(json, "baseline", result->baseline.name);
        cJSON_AddNumberToObject(json, "baseline_us", result->baseline.us);
    }
    if (result->nothing.code) {
        cJSON_AddStringToObject(json, "nothing", result->nothing.msg);
        cJSON_AddStringToObject(json, "why", result->nothing.msg);
    }
    if (result->incumbent.kernel) {
        cJSON *incumbent = row_json(&result->incumbent, result);

        cJSON_AddBoolToObject(incumbent, "stays", result->stays);
        cJSON_AddItemToObject(json, "incumbent", incumbent);
    }
    for (size_t i = 0; i < result->rows; i++)
        cJSON_AddItemToArray(rows, row_json(&result->row[i], result));
    return json;
}

cJSON *gt_report_document(const struct gt_session *session, const struct gt_sweep_result *result,
                          size_t count)
{
    const struct gt_device *device = &session->evaluator->device;
    cJSON *root = cJSON_CreateObject();
    cJSON *list;

    cJSON_AddStringToObject(root, "format", "gemmtune sweep 1");
    cJSON_AddStringToObject(root, "device", device->name);
    cJSON_AddNumberToObject(root, "cc", device->cc);
    cJSON_AddBoolToObject(root, "predicted", !session->measures);
    list = cJSON_AddArrayToObject(root, "problems");
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, result_json(&result[i]));
    return root;
}
