/* compare_page.c - a comparison for programs and for a browser; see compare.h. */
#include "report/compare.h"

#include <string.h>

#include "base/err.h"
#include "problem/trial.h"
#include "report/compare_js_page.h"
#include "report/page.h"

static cJSON *side_json(const struct gt_side *side)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddNumberToObject(json, "us", side->us);
    cJSON_AddNumberToObject(json, "lo_us", side->lo_us);
    cJSON_AddNumberToObject(json, "hi_us", side->hi_us);
    cJSON_AddStringToObject(json, "kernel", side->kernel);
    cJSON_AddStringToObject(json, "signature", side->signature);
    cJSON_AddStringToObject(json, "point", side->point);
    cJSON_AddNumberToObject(json, "driver", side->driver);
    cJSON_AddNumberToObject(json, "nvrtc", side->nvrtc);
    cJSON_AddStringToObject(json, "date", side->date);
    return json;
}

static cJSON *pair_json(const struct gt_pair *pair)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddStringToObject(json, "problem", pair->problem);
    cJSON_AddStringToObject(json, "device", pair->device);
    cJSON_AddStringToObject(json, "l2", gt_timing_name(pair->timing));
    cJSON_AddStringToObject(json, "verdict", gt_verdict_name(pair->verdict));
    if (pair->ratio > 0) {
        cJSON_AddNumberToObject(json, "ratio", pair->ratio);
        cJSON_AddNumberToObject(json, "lo", pair->lo);
        cJSON_AddNumberToObject(json, "hi", pair->hi);
    }
    if (pair->side[0].us > 0)
        cJSON_AddItemToObject(json, "a", side_json(&pair->side[0]));
    if (pair->side[1].us > 0)
        cJSON_AddItemToObject(json, "b", side_json(&pair->side[1]));
    return json;
}

cJSON *gt_compare_json(const struct gt_pairs *pairs, const char *const names[2])
{
    cJSON *json = cJSON_CreateObject(), *list, *counts;

    cJSON_AddStringToObject(json, "format", "gemmtune compare 1");
    cJSON_AddStringToObject(json, "a", names[0]);
    cJSON_AddStringToObject(json, "b", names[1]);
    cJSON_AddNumberToObject(json, "noise", pairs->noise);
    if (pairs->geometric_mean > 0)
        cJSON_AddNumberToObject(json, "geometric_mean", pairs->geometric_mean);
    counts = cJSON_AddObjectToObject(json, "verdicts");
    for (int i = 0; i < GT_VERDICTS; i++)
        cJSON_AddNumberToObject(counts, gt_verdict_name((enum gt_verdict)i), (double)pairs->of[i]);
    list = cJSON_AddArrayToObject(json, "pairs");
    for (size_t i = 0; i < pairs->count; i++)
        cJSON_AddItemToArray(list, pair_json(&pairs->pair[i]));
    return json;
}

int gt_compare_write(FILE *file, const struct gt_pairs *pairs, const char *const names[2],
                     struct gt_err *err)
{
    const struct gt_page page = {.title = "gemmtune comparison", .script = {gt_compare_js}};
    cJSON *json = gt_compare_json(pairs, names);
    int rc = json ? gt_page_write(file, &page, json, err) : gt_err_nomem(err);

    cJSON_Delete(json);
    return rc;
}
