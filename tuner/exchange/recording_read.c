/* recording_read.c - reads a recorded space: walks the text and takes each entry.
 *
 * As one cJSON tree the text would take ten times its size.  So the reader itself knows only
 * objects and lists, and calls cJSON for one member at a time.  The text may also end between two
 * members, because Kernel Tuner leaves such a file when it is stopped. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "exchange/recording_impl.h"
#include "problem/problem.h"

/* ---- parameters ---- */

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

int gt_recording_add_param(struct gt_recording_reader *reader, const char *name)
{
    if (reader->params == GT_MAX_PARAMS)
        return gt_err_set(reader->err, GT_ERANGE, "%s: more than %d parameters", reader->path,
                          GT_MAX_PARAMS);
    for (size_t i = 0; i < reader->params; i++)
        if (strcmp(reader->param[i].name, name) == 0)
            return gt_err_set(reader->err, GT_ECONFIG, "%s: parameter \"%.64s\" is listed twice",
                              reader->path, name);
    reader->param[reader->params].name = strdup(name);
    return reader->param[reader->params++].name ? GT_OK : gt_err_nomem(reader->err);
}

/* The index of the item among the parameter's values; a new value is added. */
static int value_index(struct gt_recording_reader *reader, struct gt_t1_param *param,
                       const cJSON *item, uint8_t *index)
{
    struct gt_python_value value = {0};
    int rc;

    if (cJSON_IsBool(item))
        value.number = cJSON_IsTrue(item) ? 1 : 0;
    else if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
        value.number = item->valuedouble;
    else if (cJSON_IsString(item))
        value.text = item->valuestring;
    else
        return gt_err_set(reader->err, GT_ECONFIG,
                          "%s: a value of parameter %s is neither a number nor a text",
                          reader->path, param->name);
    param->truths |= cJSON_IsBool(item);
    rc = gt_t1_value(param, &value, index, reader->err);
    return rc == GT_ERANGE ? gt_err_prefix(reader->err, rc, "%s", reader->path) : rc;
}

/* ---- order ---- */

static bool comes_before(const struct gt_python_value *x, const struct gt_python_value *y)
{
    if (!x->text || !y->text)
        return !x->text && (y->text || x->number < y->number);
    return strcmp(x->text, y->text) < 0;
}

/* Sorts the values of a parameter, which the entries name in any order, because close values should
 * be neighbours in the list. */
static void sort_values(struct gt_recording_reader *reader, size_t p)
{
    struct gt_t1_param *param = &reader->param[p];
    struct gt_recording *recording = reader->recording;
    uint8_t place[UINT8_MAX + 1];
    struct gt_python_value sorted[UINT8_MAX + 1];

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

static bool all_whole(const struct gt_t1_param *param)
{
    for (size_t i = 0; i < param->count; i++) {
        const struct gt_python_value *value = &param->value[i];

        if (value->text || value->number != floor(value->number) || fabs(value->number) > 1e15)
            return false;
    }
    return true;
}

/* Whether the values are only true and false, which equal 1 and 0. */
static bool all_truths(const struct gt_t1_param *param)
{
    bool all = param->truths;

    for (size_t i = 0; i < param->count; i++)
        all = all && !param->value[i].text &&
              (param->value[i].number == 0 || param->value[i].number == 1);
    return all;
}

/* Whether a text stands in a point unquoted: a name that is no number and no word of JSON. */
static bool is_plain(const char *text)
{
    static const char letters[] =
        "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:/+-";

    return *text && !strchr("0123456789.:/+-", *text) && !text[strspn(text, letters)] &&
           strcmp(text, "true") != 0 && strcmp(text, "false") != 0 && strcmp(text, "null") != 0;
}

/* Adds a text as JSON, in ASCII and without commas, because commas separate the values of a
 * point. */
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

#define FAILED_MS 1e20 /* early versions of Kernel Tuner wrote this as the time of a failure */

/* A time or cost in milliseconds; 0 if it is missing. */
static float number(const cJSON *object, const char *key)
{
    const cJSON *item = get(object, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble > 0 && item->valuedouble < FAILED_MS))
        return 0;
    return (float)item->valuedouble;
}

/* Adds the number with the fewest digits that are exact. */
static void add_number(struct gt_strbuf *to, double number)
{
    char text[40];
    int digits = 15;

    do
        snprintf(text, sizeof(text), "%.*g", digits, number);
    while (strtod(text, NULL) != number && digits++ < 17);
    gt_strbuf_add(to, text);
}

/* Makes the values' names, as the recording has them, in one block of pointers and texts. */
static char **name_values(const struct gt_t1_param *param, bool truths, struct gt_err *err)
{
    const size_t count = truths ? 2 : param->count, bytes = (count + 1) * sizeof(char *);
    struct gt_strbuf text = GT_STRBUF_INIT;
    char **word = NULL, *at;

    for (size_t i = 0; i < count; i++) {
        const struct gt_python_value *value = &param->value[i];

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
    struct gt_t1_param *from = &reader->param[p];
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

/* Lets the kernel serve every problem, because nobody can check which problem the recording is
 * of. */
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
    for (size_t p = 0; p < reader->params; p++)
        gt_t1_release_param(&reader->param[p]);
}

/* ---- points ---- */

/* Other tools' names for kinds of failure; NULL ends a list.  A point with an unlisted kind ran and
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

/* Appends the samples of a list, and adds them to *sum. */
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

/* Adds the values of the point; `object` has each value under its parameter's name. */
static int add_values(struct gt_recording_reader *reader, const char *key, const cJSON *object)
{
    struct gt_recording *recording = reader->recording;
    uint8_t *index = recording->index + recording->points * reader->params;
    int rc = GT_OK;

    for (size_t p = 0; p < reader->params && !rc; p++) {
        struct gt_t1_param *param = &reader->param[p];
        const cJSON *item = get(object, param->name);

        if (!item)
            return gt_err_set(reader->err, GT_ECONFIG,
                              "%s: entry \"%.128s\" has no value for parameter %s", reader->path,
                              key, param->name);
        rc = value_index(reader, param, item, &index[p]);
    }
    return rc;
}

/* Our own status, which is more specific, or else the other tool's.  A point that was given up as
 * slow has the time of its first run.  Here this time counts like any other: whoever searches the
 * recording decides which points to give up. */
static enum gt_status best_status(const cJSON *item, float us, enum gt_status theirs)
{
    const enum gt_status own =
        cJSON_IsString(item) ? gt_status_parse(item->valuestring) : GT_STATUS_NONE;

    return own == GT_STATUS_SLOW && us > 0 ? GT_STATUS_OK : own ? own : theirs;
}

/* Completes a point: derives the values that were not recorded, and refuses contradictions. */
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

/* Adds a point from an entry of a Kernel Tuner cache; key: the entry's name. */
static int add_cached(struct gt_recording_reader *reader, const char *key, const cJSON *entry)
{
    const cJSON *time = get(entry, "time"), *why = get(entry, "__error__");
    enum gt_status theirs = GT_STATUS_OK;
    struct gt_recorded point = {
        .us = number(entry, "time"),
        .compile_ms = number(entry, "compile_time"),
        .prove_ms = number(entry, "verification_time"),
        .time_ms = number(entry, "benchmark_time"),
        .other_ms = number(entry, "framework_time") + number(entry, "strategy_time"),
    };
    double sum = 0;
    int rc = reserve_point(reader);

    if (cJSON_IsString(why) || cJSON_IsString(time))
        theirs = status_of(kernel_tuner, cJSON_GetStringValue(cJSON_IsString(why) ? why : time));
    else if (cJSON_IsNumber(time) && time->valuedouble >= FAILED_MS)
        theirs = GT_STATUS_LAUNCH_INVALID;
    point.status = best_status(get(entry, "gemmtune_status"), point.us, theirs);
    GT_STEP(rc, add_values(reader, key, entry));
    GT_STEP(rc, add_samples(reader, key, get(entry, "times"), &point, &sum));
    return rc ? rc : add_point(reader, key, &point, sum);
}

/* ---- T4 ---- */

/* The value of the measurement of that name, or NULL. */
static const cJSON *measurement(const cJSON *entry, const char *name)
{
    const cJSON *list = get(entry, "measurements"), *item;

    cJSON_ArrayForEach(item, list)
    {
        const cJSON *found = get(item, "name");

        if (cJSON_IsString(found) && strcmp(found->valuestring, name) == 0)
            return get(item, "value");
    }
    return NULL;
}

/* Replaces the text by a copy of the item's; if the item has no text, the old text stays. */
static int copy_text(struct gt_recording_reader *reader, char **text, const cJSON *item)
{
    if (!cJSON_IsString(item))
        return GT_OK;
    free(*text);
    *text = strdup(item->valuestring);
    return *text ? GT_OK : gt_err_nomem(reader->err);
}

/* Remembers the first objective of the recording's tuner, unless it is time. */
static int take_objective(struct gt_recording_reader *reader, const cJSON *item)
{
    const char *name = cJSON_GetStringValue(item);

    return !name || *reader->recording->objective || strncasecmp(name, "time", 4) == 0 ||
                   strcasecmp(name, "runtime") == 0
               ? GT_OK
               : copy_text(reader, &reader->recording->objective, item);
}

/* The compile time; the schema and the tools disagree on its name. */
static float compile_time(const cJSON *times)
{
    float ms = number(times, "compilation");

    return ms > 0 ? ms : number(times, "compilation_time");
}

/* Adds a point from an entry of T4's results. */
static int add_result(struct gt_recording_reader *reader, const cJSON *entry)
{
    const cJSON *configuration = get(entry, "configuration"), *times = get(entry, "times");
    const cJSON *invalidity = get(entry, "invalidity"), *time = measurement(entry, "time");
    char key[32];
    struct gt_recorded point = {
        .compile_ms = compile_time(times),
        .prove_ms = number(times, "validation"),
        .time_ms = number(times, "benchmark"),
        .other_ms = number(times, "framework") + number(times, "search_algorithm"),
    };
    const cJSON *item;
    double sum = 0;
    int rc = GT_OK;

    snprintf(key, sizeof(key), "results[%zu]", reader->recording->points);
    if (!cJSON_IsObject(configuration) || !cJSON_IsString(invalidity))
        return gt_err_set(reader->err, GT_ECONFIG,
                          "%s: %s lacks \"configuration\" or \"invalidity\"", reader->path, key);
    if (cJSON_IsNumber(time) && time->valuedouble > 0 && time->valuedouble < FAILED_MS)
        point.us = (float)time->valuedouble;
    point.status = best_status(measurement(entry, "gemmtune_status"), point.us,
                               status_of(t4, invalidity->valuestring));
    for (item = reader->params ? NULL : configuration->child; item && !rc; item = item->next)
        rc = gt_recording_add_param(reader, item->string); /* the first entry lists all */
    cJSON_ArrayForEach(item, get(entry, "objectives")) GT_STEP(rc, take_objective(reader, item));
    GT_STEP(rc, reserve_point(reader));
    GT_STEP(rc, add_values(reader, key, configuration));
    GT_STEP(rc, add_samples(reader, key, get(times, "runtimes"), &point, &sum));
    return rc ? rc : add_point(reader, key, &point, sum);
}

/* ---- the frame ---- */

/* Handles one member, of an object (key is the member's name) or of a list (key is NULL);
 * reader->at stands before the value. */
typedef int on_member(struct gt_recording_reader *reader, const char *key);

static void skip_space(struct gt_recording_reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\r\n", *reader->at, 4))
        reader->at++;
}

static int malformed(const struct gt_recording_reader *reader, const char *what)
{
    size_t length = strcspn(reader->at, "\n");

    if (reader->at == reader->end)
        return gt_err_set(reader->err, GT_ECONFIG, "%s: the text ends in the middle of an entry",
                          reader->path);
    return gt_err_set(reader->err, GT_ECONFIG, "%s: %s near \"%.*s\"", reader->path, what,
                      length < 40 ? (int)length : 40, reader->at);
}

/* Parses the next value; the caller frees it with cJSON_Delete. */
static int take_value(struct gt_recording_reader *reader, cJSON **value)
{
    const char *after = NULL;

    skip_space(reader);
    errno = 0; /* cJSON does not say why it failed, but its allocator sets errno */
    *value =
        cJSON_ParseWithLengthOpts(reader->at, (size_t)(reader->end - reader->at) + 1, &after, 0);
    if (!*value && errno == ENOMEM)
        return gt_err_nomem(reader->err);
    if (!*value) {
        if (after >= reader->at && after <= reader->end)
            reader->at = after;
        return malformed(reader, "malformed JSON");
    }
    reader->at = after;
    return GT_OK;
}

static int take_key(struct gt_recording_reader *reader, cJSON **key)
{
    int rc = take_value(reader, key);

    if (!rc && !cJSON_IsString(*key))
        rc = malformed(reader, "a name is expected before what stands");
    skip_space(reader);
    if (!rc && (reader->at == reader->end || *reader->at != ':'))
        rc = malformed(reader, "a colon is missing");
    if (!rc)
        reader->at++;
    return rc;
}

/* Walks an object ('{', '}') or a list ('[', ']'); the text may end inside it. */
static int walk(struct gt_recording_reader *reader, const char *braces, on_member *member)
{
    int rc = GT_OK;

    skip_space(reader);
    if (reader->at == reader->end || *reader->at != braces[0])
        return malformed(reader, *braces == '{' ? "an object is expected" : "a list is expected");
    reader->at++;
    for (skip_space(reader); reader->at < reader->end && *reader->at != braces[1];) {
        cJSON *key = NULL;

        if (*braces == '{')
            rc = take_key(reader, &key);
        GT_STEP(rc, member(reader, key ? key->valuestring : NULL));
        cJSON_Delete(key);
        if (rc)
            return rc;
        skip_space(reader);
        if (reader->at == reader->end || *reader->at == braces[1])
            break;
        if (*reader->at != ',')
            return malformed(reader, "a comma is missing");
        reader->at++;
        skip_space(reader);
    }
    if (reader->at < reader->end)
        reader->at++;
    return GT_OK;
}

/* ---- the top ---- */

static int on_entry(struct gt_recording_reader *reader, const char *key)
{
    cJSON *entry;
    int rc = take_value(reader, &entry);

    GT_STEP(rc, reader->cached ? add_cached(reader, key, entry) : add_result(reader, entry));
    cJSON_Delete(entry);
    return rc;
}

/* Reads the parameters, in the order of "tune_params_keys", and each parameter's values, in the
 * order of "tune_params". */
static int read_params(struct gt_recording_reader *reader)
{
    const cJSON *name, *item;
    uint8_t index;
    int rc = GT_OK;

    reader->listed = true;
    cJSON_ArrayForEach(name, reader->keys)
    {
        if (!cJSON_IsString(name))
            return gt_err_set(reader->err, GT_ECONFIG, "%s: tune_params_keys must list names",
                              reader->path);
        GT_STEP(rc, gt_recording_add_param(reader, name->valuestring));
        cJSON_ArrayForEach(item, get(reader->values, name->valuestring))
            GT_STEP(rc, value_index(reader, &reader->param[reader->params - 1], item, &index));
        if (rc)
            return rc;
    }
    return rc;
}

/* Checks "tune_params" if the parameters are preset: every parameter that varies must be preset. */
static int check_values(struct gt_recording_reader *reader, const cJSON *object)
{
    const cJSON *list;

    cJSON_ArrayForEach(list, object)
    {
        size_t i = 0;

        while (i < reader->params && strcmp(reader->param[i].name, list->string) != 0)
            i++;
        if (i == reader->params && cJSON_GetArraySize(list) > 1)
            return gt_err_set(reader->err, GT_ECONFIG,
                              "%s: parameter \"%.64s\" varies in the recording and is not in the "
                              "space",
                              reader->path, list->string);
    }
    return GT_OK;
}

/* Reads T4's "metadata", which names the unit of times. */
static int read_metadata(struct gt_recording_reader *reader, const cJSON *metadata)
{
    static const struct {
        const char *name;
        double ms;
    } unit[] = {{"seconds", 1e3},
                {"milliseconds", 1},
                {"miliseconds", 1},
                {"microseconds", 1e-3},
                {"nanoseconds", 1e-6}};
    const cJSON *item = get(metadata, "timeunit");

    if (!cJSON_IsString(item))
        return GT_OK;
    for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
        if (strcmp(unit[i].name, item->valuestring) == 0) {
            reader->ms = unit[i].ms;
            return GT_OK;
        }
    }
    return gt_err_set(reader->err, GT_ECONFIG,
                      "%s: \"timeunit\" is \"%.32s\"; it must be seconds, milliseconds, "
                      "microseconds or nanoseconds",
                      reader->path, item->valuestring);
}

/* Reads "gemmtune", our additions to other people's formats. */
static int read_ours(struct gt_recording_reader *reader, const cJSON *object)
{
    struct gt_recording *recording = reader->recording;
    const char *provenance = cJSON_GetStringValue(get(object, "provenance"));
    int64_t cc = 0;
    int rc = copy_text(reader, &recording->problem, get(object, "problem"));

    if (!rc && !reader->launch)
        reader->launch = cJSON_Duplicate(get(object, "launch"), 1);
    if (gt_json_whole(get(object, "cc"), 0, 9999, &cc))
        recording->cc = (int)cc;
    recording->predicted = provenance && strcmp(provenance, "predicted") == 0;
    return rc;
}

static int read_top(struct gt_recording_reader *reader, const char *key, cJSON **value)
{
    struct gt_recording *recording = reader->recording;

    if (strcmp(key, "device_name") == 0)
        return copy_text(reader, &recording->device, *value);
    if (strcmp(key, "kernel_name") == 0)
        return copy_text(reader, &recording->kernel->name, *value);
    if (strcmp(key, "objective") == 0)
        return take_objective(reader, *value);
    if (strcmp(key, "metadata") == 0)
        return read_metadata(reader, *value);
    if (strcmp(key, "gemmtune") == 0)
        return read_ours(reader, *value);
    if (strcmp(key, "tune_params_keys") == 0 && !reader->keys) {
        reader->keys = *value;
        *value = NULL;
    } else if (strcmp(key, "tune_params") == 0 && !reader->values) {
        reader->values = *value;
        *value = NULL;
    }
    return GT_OK; /* problem_size and notes do not describe the space */
}

/* Skips an object or a list, inside which the text may end. */
static void skip_entries(struct gt_recording_reader *reader)
{
    bool quoted = false;
    int depth = 0;

    for (; reader->at < reader->end; reader->at++) {
        const char c = *reader->at;

        if (quoted) {
            reader->at += c == '\\' && reader->at + 1 < reader->end;
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (depth <= 0 && memchr("}],", c, 3)) {
            reader->at += depth == 0 && c != ',';
            return;
        }
    }
}

/* Handles a member at the top.  Only the place of the entries is remembered, because members that
 * the entries need may follow: JSON's members have no order. */
static int on_top(struct gt_recording_reader *reader, const char *key)
{
    const bool cached = strcmp(key, "cache") == 0;
    cJSON *value;
    int rc;

    if (cached || strcmp(key, "results") == 0) {
        reader->entries = reader->at;
        reader->cached = cached;
        skip_entries(reader);
        return GT_OK;
    }
    rc = take_value(reader, &value);
    GT_STEP(rc, read_top(reader, key, &value));
    cJSON_Delete(value);
    return rc;
}

/* Reads the members at the top other than the entries: parameters and their values. */
static int read_lists(struct gt_recording_reader *reader)
{
    if (reader->preset)
        return check_values(reader, reader->values);
    if (reader->keys)
        return read_params(reader);
    return !reader->cached
               ? GT_OK
               : gt_err_set(reader->err, GT_ECONFIG,
                            "%s: \"tune_params_keys\" is missing beside \"cache\"", reader->path);
}

int gt_recording_read(struct gt_recording_reader *reader)
{
    int rc;

    if (reader->end - reader->at >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0)
        reader->at += 3; /* the mark of UTF-8 that Windows' editors write */
    rc = walk(reader, "{}", on_top);
    skip_space(reader);
    if (!rc && reader->at < reader->end)
        rc = malformed(reader, "more text after the end");
    GT_STEP(rc, read_lists(reader));
    reader->at = reader->entries;
    if (!rc && reader->entries)
        rc = walk(reader, reader->cached ? "{}" : "[]", on_entry);
    cJSON_Delete(reader->keys);
    cJSON_Delete(reader->values);
    if (!rc && !reader->recording->points)
        rc = gt_err_set(reader->err, GT_ECONFIG,
                        "%s: no recorded point: neither a Kernel Tuner cache (\"cache\") nor T4 "
                        "(\"results\")",
                        reader->path);
    return rc;
}
