/* recording_entry.c - reads one recorded point: an entry of a Kernel Tuner cache or of T4's
 * results. */
#include "exchange/recording_impl.h"

#include "base/array.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILED_MS 1e20 /* early versions of Kernel Tuner wrote this as the time of a failure */

/* Other tools' names for kinds of failure; NULL ends a list.  A kind that is not listed ran and
 * failed. */
static const struct failure {
    const char *name;
    enum gt_status status;
} kernel_tuner[] = {{"InvalidConfig", GT_STATUS_LAUNCH_INVALID},
                    {"CompilationFailedConfig", GT_STATUS_COMPILE_ERROR},
                    {"RuntimeFailedConfig", GT_STATUS_FAULT},
                    {NULL, GT_STATUS_FAULT}},
  t4[] = {{"correct", GT_STATUS_OK},
          {"timeout", GT_STATUS_TIMEOUT},
          {"compile", GT_STATUS_COMPILE_ERROR},
          {"runtime", GT_STATUS_FAULT},
          {"correctness", GT_STATUS_WRONG},
          {"constraints", GT_STATUS_LAUNCH_INVALID},
          {NULL, GT_STATUS_FAULT}};

static enum gt_status status_of(const struct failure *list, const char *name)
{
    while (list->name && strcmp(list->name, name) != 0)
        list++;
    return list->status;
}

/* A time or cost in milliseconds; 0 if it is missing. */
static float number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble > 0 && item->valuedouble < FAILED_MS))
        return 0;
    return (float)item->valuedouble;
}

/* Makes room for one more point and its index. */
static int reserve_point(struct gt_recording_reader *reader)
{
    struct gt_recording *recording = reader->recording;
    size_t capacity = reader->points_capacity;
    int rc = GT_ARRAY_RESERVE(&recording->point, recording->points + 1, &reader->points_capacity,
                              reader->err);
    uint8_t *grown;

    if (rc || capacity == reader->points_capacity)
        return rc;
    grown = realloc(recording->index, reader->points_capacity * (reader->params + 1));
    if (!grown)
        return gt_err_nomem(reader->err);
    recording->index = grown;
    return GT_OK;
}

/* Appends the samples of a list, and their sum to *sum. */
static int add_samples(struct gt_recording_reader *reader, const char *key, const cJSON *list,
                       struct gt_recorded *point, double *sum)
{
    struct gt_recording *recording = reader->recording;
    size_t count = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    const cJSON *item;
    int rc = GT_ARRAY_RESERVE(&recording->sample, recording->samples + count + 1,
                              &reader->samples_capacity, reader->err);

    if (rc)
        return rc;
    if (recording->samples + count > UINT32_MAX)
        return gt_err_set(reader->err, GT_ERANGE, "%s: too many samples", reader->path);
    point->first = (uint32_t)recording->samples;
    for (item = count ? list->child : NULL; item; item = item->next) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0 && item->valuedouble < FAILED_MS))
            return gt_err_set(reader->err, GT_ECONFIG, "%s: entry \"%.128s\": a sample is no time",
                              reader->path, key);
        recording->sample[recording->samples++] = (float)item->valuedouble;
        *sum += item->valuedouble;
    }
    point->samples = (uint32_t)count;
    return GT_OK;
}

/* Adds the values of the point; each is found in `object` under its parameter's name. */
static int add_values(struct gt_recording_reader *reader, const char *key, const cJSON *object)
{
    struct gt_recording *recording = reader->recording;
    uint8_t *index = recording->index + recording->points * reader->params;
    int rc = GT_OK;

    for (size_t p = 0; p < reader->params && !rc; p++) {
        struct gt_recorded_param *param = &reader->param[p];
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, param->name);

        if (!item)
            return gt_err_set(reader->err, GT_ECONFIG,
                              "%s: entry \"%.128s\" has no value for parameter %s", reader->path,
                              key, param->name);
        rc = gt_recording_value(reader, param, item, &index[p]);
    }
    return rc;
}

/* Our own status, which is more specific than theirs; GT_STATUS_NONE if the entry has none. */
static enum gt_status own_status(const cJSON *item)
{
    return cJSON_IsString(item) ? gt_status_parse(item->valuestring) : GT_STATUS_NONE;
}

/* A point that was given up as slow has the time of its first run.  Here that counts like any other
 * time: whoever searches the recording decides what to give up. */
static enum gt_status timed(enum gt_status status, float us)
{
    return status == GT_STATUS_SLOW && us > 0 ? GT_STATUS_OK : status;
}

/* Completes a point: derives what was recorded only in part, and refuses what contradicts itself.
 */
static int add_point(struct gt_recording_reader *reader, const char *key, struct gt_recorded *point,
                     double sum)
{
    struct gt_recording *recording = reader->recording;

    if (point->status != GT_STATUS_OK) {
        point->us = 0;
    } else if (!(point->us > 0)) {
        if (!point->samples)
            return gt_err_set(reader->err, GT_ECONFIG, "%s: entry \"%.128s\" has no time",
                              reader->path, key);
        point->us = (float)(sum / point->samples);
    } else if (!point->samples) {
        recording->sample[recording->samples++] = point->us; /* add_samples has left room for it */
        point->samples = 1;
        sum = point->us;
    }
    recording->costs |= point->compile_ms > 0 || point->prove_ms > 0 || point->time_ms > 0;
    if (!(point->time_ms > 0))
        point->time_ms = (float)sum;
    recording->point[recording->points++] = *point;
    return GT_OK;
}

int gt_recording_add_cached(struct gt_recording_reader *reader, const char *key, const cJSON *entry)
{
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(entry, "time");
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(entry, "__error__");
    enum gt_status own = own_status(cJSON_GetObjectItemCaseSensitive(entry, "gemmtune_status"));
    struct gt_recorded point = {
        .status = GT_STATUS_OK,
        .us = number(entry, "time"),
        .compile_ms = number(entry, "compile_time"),
        .prove_ms = number(entry, "verification_time"),
        .time_ms = number(entry, "benchmark_time"),
        .other_ms = number(entry, "framework_time") + number(entry, "strategy_time"),
    };
    double sum = 0;
    int rc = reserve_point(reader);

    if (own)
        point.status = timed(own, point.us);
    else if (cJSON_IsString(why) || cJSON_IsString(time))
        point.status =
            status_of(kernel_tuner, cJSON_IsString(why) ? why->valuestring : time->valuestring);
    else if (cJSON_IsNumber(time) && time->valuedouble >= FAILED_MS)
        point.status = GT_STATUS_LAUNCH_INVALID;
    GT_STEP(rc, add_values(reader, key, entry));
    GT_STEP(rc, add_samples(reader, key, cJSON_GetObjectItemCaseSensitive(entry, "times"), &point,
                            &sum));
    return rc ? rc : add_point(reader, key, &point, sum);
}

/* ---- T4 ---- */

/* Takes the list of parameters from the first entry. */
static int list_params(struct gt_recording_reader *reader, const cJSON *configuration)
{
    const cJSON *item;
    int rc = GT_OK;

    for (item = configuration->child; item && !rc; item = item->next)
        rc = gt_recording_add_param(reader, item->string);
    return rc;
}

/* The value of the measurement of that name, or NULL. */
static const cJSON *measurement(const cJSON *entry, const char *name)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(entry, "measurements"), *item;

    cJSON_ArrayForEach(item, list)
    {
        const cJSON *found = cJSON_GetObjectItemCaseSensitive(item, "name");

        if (cJSON_IsString(found) && strcmp(found->valuestring, name) == 0)
            return cJSON_GetObjectItemCaseSensitive(item, "value");
    }
    return NULL;
}

/* Remembers the first objective that is not time. */
static int take_objectives(struct gt_recording_reader *reader, const cJSON *list)
{
    const cJSON *item;
    int rc = GT_OK;

    cJSON_ArrayForEach(item, list)
    {
        if (!rc && cJSON_IsString(item))
            rc = gt_recording_objective(reader, item->valuestring);
    }
    return rc;
}

/* The compile time; the schema and the tools disagree on its name. */
static float compile_time(const cJSON *times)
{
    float ms = number(times, "compilation");

    return ms > 0 ? ms : number(times, "compilation_time");
}

int gt_recording_add_result(struct gt_recording_reader *reader, const cJSON *entry)
{
    const cJSON *configuration = cJSON_GetObjectItemCaseSensitive(entry, "configuration");
    const cJSON *times = cJSON_GetObjectItemCaseSensitive(entry, "times");
    const cJSON *invalidity = cJSON_GetObjectItemCaseSensitive(entry, "invalidity");
    const cJSON *time = measurement(entry, "time");
    enum gt_status own = own_status(measurement(entry, "gemmtune_status"));
    char key[32];
    struct gt_recorded point = {
        .compile_ms = compile_time(times),
        .prove_ms = number(times, "validation"),
        .time_ms = number(times, "benchmark"),
        .other_ms = number(times, "framework") + number(times, "search_algorithm"),
    };
    double sum = 0;
    int rc = GT_OK;

    snprintf(key, sizeof(key), "results[%zu]", reader->recording->points);
    if (!cJSON_IsObject(configuration) || !cJSON_IsString(invalidity))
        return gt_err_set(reader->err, GT_ECONFIG,
                          "%s: %s lacks \"configuration\" or \"invalidity\"", reader->path, key);
    if (cJSON_IsNumber(time) && time->valuedouble > 0 && time->valuedouble < FAILED_MS)
        point.us = (float)time->valuedouble;
    point.status = own ? timed(own, point.us) : status_of(t4, invalidity->valuestring);
    if (!reader->params)
        rc = list_params(reader, configuration);
    GT_STEP(rc, take_objectives(reader, cJSON_GetObjectItemCaseSensitive(entry, "objectives")));
    GT_STEP(rc, reserve_point(reader));
    GT_STEP(rc, add_values(reader, key, configuration));
    GT_STEP(rc, add_samples(reader, key, cJSON_GetObjectItemCaseSensitive(times, "runtimes"),
                            &point, &sum));
    return rc ? rc : add_point(reader, key, &point, sum);
}
