/* recording_params.c - collects the parameters of a recorded space from its file and makes a kernel
 * of them. */
#include "exchange/recording_impl.h"

#include "base/array.h"
#include "base/err.h"
#include "problem/problem.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
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
    param->truths |= cJSON_IsBool(item);
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

/* Whether the values are true and false, which equal 1 and 0. */
static bool all_truths(const struct gt_recorded_param *param)
{
    bool all = param->truths;

    for (size_t i = 0; i < param->count; i++)
        all = all && !param->value[i].text &&
              (param->value[i].number == 0 || param->value[i].number == 1);
    return all;
}

/* Whether a text stands in a point as it is: a name that is no number and no word of JSON. */
static bool is_plain(const char *text)
{
    static const char letters[] =
        "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:/+-";

    return *text && !strchr("0123456789.:/+-", *text) && !text[strspn(text, letters)] &&
           strcmp(text, "true") != 0 && strcmp(text, "false") != 0 && strcmp(text, "null") != 0;
}

/* Adds a text as JSON has it, in ASCII without commas, which part the values of a point. */
static void add_quoted(struct gt_strbuf *to, const char *text)
{
    gt_strbuf_add_char(to, '"');
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            gt_strbuf_addf(to, "\\%c", *at);
        else if (*at == ',' || gt_is_control(text, (size_t)(at - text)))
            gt_strbuf_addf(to, "\\u%04x", (unsigned char)*at);
        else if ((unsigned char)*at != 0xc2 || !gt_is_control(text, (size_t)(at - text) + 1))
            gt_strbuf_add_char(to, *at);
    }
    gt_strbuf_add_char(to, '"');
}

/* The fewest digits that are this number. */
static void add_number(struct gt_strbuf *to, double number)
{
    char text[40];
    int digits = 15;

    do
        snprintf(text, sizeof(text), "%.*g", digits, number);
    while (strtod(text, NULL) != number && digits++ < 17);
    gt_strbuf_add(to, text);
}

/* Names the values as the recording has them, in one block of pointers and texts. */
static char **name_values(const struct gt_recorded_param *param, bool truths, struct gt_err *err)
{
    const size_t count = truths ? 2 : param->count, bytes = (count + 1) * sizeof(char *);
    struct gt_strbuf text = GT_STRBUF_INIT;
    char **word = NULL, *at;

    for (size_t i = 0; i < count; i++) {
        const struct gt_recorded_value *value = &param->value[i];

        if (truths)
            gt_strbuf_add(&text, i ? "true" : "false");
        else if (!value->text)
            add_number(&text, value->number);
        else if (is_plain(value->text))
            gt_strbuf_add(&text, value->text);
        else
            add_quoted(&text, value->text);
        gt_strbuf_add_bytes(&text, "", 1);
    }
    if (!gt_strbuf_check(&text, err))
        word = malloc(bytes + text.length);
    if (!word) {
        gt_strbuf_release(&text);
        gt_err_nomem(err);
        return NULL;
    }
    at = memcpy((char *)word + bytes, text.text, text.length);
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        word[i] = at;
    word[count] = NULL;
    gt_strbuf_release(&text);
    return word;
}

static int make_param(struct gt_recording_reader *reader, size_t p)
{
    struct gt_recorded_param *from = &reader->param[p];
    struct gt_kernel *kernel = reader->recording->kernel;
    struct gt_param *param = &kernel->param[p];
    const bool whole = all_whole(from), truths = all_truths(from);
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
    param->doc = strdup("recorded");
    param->value = calloc(from->count, sizeof(*param->value));
    if (!param->name || !param->doc || !param->value)
        return gt_err_nomem(reader->err);
    if (!whole || truths)
        param->word = name_values(from, truths, reader->err);
    if ((!whole || truths) && !param->word)
        return GT_ENOMEM;
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
