/* recording_params.c - collects the parameters of a recorded space from its file and makes a kernel
 * of them. */
#include "exchange/recording_impl.h"

#include "base/array.h"
#include "base/err.h"
#include "problem/problem.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int gt_recording_add_param(struct gt_recording_reader *reader, const char *name)
{
    struct gt_recorded_param *param;

    if (reader->params == GT_MAX_PARAMS)
        return gt_err_set(reader->err, GT_ERANGE, "%s: more than %d parameters", reader->path,
                          GT_MAX_PARAMS);
    for (size_t i = 0; i < reader->params; i++)
        if (strcmp(reader->param[i].name, name) == 0)
            return gt_err_set(reader->err, GT_ECONFIG, "%s: parameter \"%.64s\" is listed twice",
                              reader->path, name);
    param = &reader->param[reader->params];
    *param = (struct gt_recorded_param){.name = strdup(name)};
    if (!param->name)
        return gt_err_nomem(reader->err);
    reader->params++;
    return GT_OK;
}

/* Converts a value; false if a parameter cannot have a value of this kind. */
static bool value_of(const cJSON *item, struct gt_recorded_value *value)
{
    *value = (struct gt_recorded_value){0};
    if (cJSON_IsBool(item))
        value->number = cJSON_IsTrue(item) ? 1 : 0;
    else if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
        value->number = item->valuedouble;
    else if (cJSON_IsString(item))
        value->text = item->valuestring;
    else
        return false;
    return true;
}

static bool same_value(const struct gt_recorded_value *x, const struct gt_recorded_value *y)
{
    if (!x->text || !y->text)
        return !x->text && !y->text && x->number == y->number;
    return strcmp(x->text, y->text) == 0;
}

int gt_recording_add_value(struct gt_recording_reader *reader, struct gt_recorded_param *param,
                           struct gt_recorded_value value)
{
    if (param->count == UINT8_MAX + 1)
        return gt_err_set(reader->err, GT_ERANGE, "%s: parameter %s has more than 256 values",
                          reader->path, param->name);
    if (GT_ARRAY_RESERVE(&param->value, param->count + 1, &param->capacity, reader->err))
        return GT_ENOMEM;
    if (value.text) {
        value.text = strdup(value.text);
        if (!value.text)
            return gt_err_nomem(reader->err);
    }
    param->value[param->count++] = value;
    return GT_OK;
}

int gt_recording_value(struct gt_recording_reader *reader, struct gt_recorded_param *param,
                       const cJSON *item, uint8_t *index)
{
    struct gt_recorded_value value;
    size_t i = 0;

    if (!value_of(item, &value))
        return gt_err_set(reader->err, GT_ECONFIG,
                          "%s: a value of parameter %s is neither a number nor a text",
                          reader->path, param->name);
    while (i < param->count && !same_value(&param->value[i], &value))
        i++;
    *index = (uint8_t)i;
    return i < param->count ? GT_OK : gt_recording_add_value(reader, param, value);
}

/* ---- order ---- */

static bool comes_before(const struct gt_recorded_value *x, const struct gt_recorded_value *y)
{
    if (!x->text || !y->text)
        return !x->text && (y->text || x->number < y->number);
    return strcmp(x->text, y->text) < 0;
}

/* Sorts the values of a parameter, which the entries name in any order: values that are close
 * should be neighbours in the list. */
static void sort_values(struct gt_recording_reader *reader, size_t p)
{
    struct gt_recorded_param *param = &reader->param[p];
    struct gt_recording *recording = reader->recording;
    uint8_t place[UINT8_MAX + 1];
    struct gt_recorded_value sorted[UINT8_MAX + 1];

    for (size_t i = 0; i < param->count; i++) {
        size_t before = 0;

        for (size_t j = 0; j < param->count; j++)
            before += comes_before(&param->value[j], &param->value[i]);
        place[i] = (uint8_t)before;
        sorted[before] = param->value[i];
    }
    if (param->count)
        memcpy(param->value, sorted, param->count * sizeof(sorted[0]));
    for (size_t i = 0; i < recording->points; i++) {
        uint8_t *index = &recording->index[i * reader->params + p];

        *index = place[*index];
    }
}

/* ---- the kernel ---- */

static bool all_whole(const struct gt_recorded_param *param)
{
    for (size_t i = 0; i < param->count; i++) {
        const struct gt_recorded_value *value = &param->value[i];

        if (value->text || value->number != floor(value->number) || fabs(value->number) > 1e15)
            return false;
    }
    return true;
}

/* Returns "recorded", or a list of what the numbers stand for. */
static char *describe(const struct gt_recorded_param *param, bool whole)
{
    struct gt_strbuf doc = GT_STRBUF_INIT;

    gt_strbuf_add(&doc, "recorded");
    for (size_t i = 0; i < param->count && !whole; i++) {
        gt_strbuf_addf(&doc, "%s %zu is ", i ? "," : ":", i);
        if (param->value[i].text)
            gt_strbuf_addf(&doc, "%.32s", param->value[i].text);
        else
            gt_strbuf_addf(&doc, "%.17g", param->value[i].number);
    }
    return gt_strbuf_detach(&doc);
}

static int make_param(struct gt_recording_reader *reader, size_t p)
{
    struct gt_recorded_param *from = &reader->param[p];
    struct gt_kernel *kernel = reader->recording->kernel;
    struct gt_param *param = &kernel->param[p];
    bool whole = all_whole(from);
    const cJSON *name;

    if (!from->count)
        return gt_err_set(reader->err, GT_ECONFIG, "%s: parameter \"%.64s\" has no value",
                          reader->path, from->name);
    *param = (struct gt_param){.count = from->count};
    cJSON_ArrayForEach(name, reader->launch)
    {
        if (cJSON_IsString(name) && strcmp(name->valuestring, from->name) == 0)
            param->launch = true;
    }
    kernel->params = p + 1;
    param->name = strdup(from->name);
    param->doc = describe(from, whole);
    param->value = calloc(from->count, sizeof(*param->value));
    if (!param->name || !param->doc || !param->value)
        return gt_err_nomem(reader->err);
    for (size_t i = 0; i < from->count; i++)
        param->value[i] = whole ? (int64_t)from->value[i].number : (int64_t)i;
    return GT_OK;
}

/* Lets the kernel serve any problem that the recording claims to be of, because nobody can check
 * the claim. */
static void serve_everything(struct gt_kernel *kernel)
{
    kernel->production = true;
    kernel->entries = 1;
    kernel->entry[0] = (struct gt_serves){.types = UINT_MAX,
                                          .outs = UINT_MAX,
                                          .layouts = UINT_MAX,
                                          .epilogues = UINT_MAX,
                                          .max_cc = INT_MAX,
                                          .max_m = GT_MAX_EXTENT,
                                          .accuracy = GT_ACCURACY_STRICT,
                                          .batched = true};
}

int gt_recording_finish_params(struct gt_recording_reader *reader)
{
    struct gt_kernel *kernel = reader->recording->kernel;
    int rc = GT_OK;

    if (!reader->params)
        return gt_err_set(reader->err, GT_ECONFIG, "%s: the points have no parameters",
                          reader->path);
    for (size_t p = 0; p < reader->params && !reader->listed; p++)
        sort_values(reader, p);
    for (size_t p = 0; p < reader->params && !rc; p++)
        rc = make_param(reader, p);
    serve_everything(kernel);
    if (!kernel->name)
        kernel->name = strdup("recorded");
    kernel->doc = strdup("a recorded space");
    kernel->text = strdup("");
    if (!rc && (!kernel->name || !kernel->doc || !kernel->text))
        rc = gt_err_nomem(reader->err);
    return rc;
}

void gt_recording_release_params(struct gt_recording_reader *reader)
{
    cJSON_Delete(reader->launch);
    for (size_t p = 0; p < reader->params; p++) {
        for (size_t i = 0; i < reader->param[p].count; i++)
            free(reader->param[p].value[i].text);
        free(reader->param[p].value);
        free(reader->param[p].name);
    }
}
