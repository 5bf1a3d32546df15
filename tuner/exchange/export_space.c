/* export_space.c - writes whole spaces for other tuners as Kernel Tuner's cache or in T4, and T4's
 * metadata file.  A space has one kernel's trials of one problem on one device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "exchange/export_format.h"
#include "problem/problem.h"

/* A parameter of the points, with the values that occur, as JSON: ascending numbers before
 * words. */
struct param {
    char *name;
    char **value;
    size_t count, capacity;
};

struct space {
    struct gt_export_out *out;
    struct gt_store *store;
    const struct format *format;
    struct param param[GT_MAX_PARAMS];
    size_t params;
    struct gt_problem problem;
    struct gt_fields head;     /* the file up to the trials */
    struct gt_strbuf identity; /* the first trial's, for comparison */
    struct gt_strbuf text;     /* the trials */
};

struct format {
    const char *version; /* of the schema */
    /* Writes the last fields before the trials, when the values of all points are known. */
    void (*before)(struct gt_fields *head, const struct space *space);
    /* Writes a trial with its point's values as JSON. */
    void (*entry)(struct gt_strbuf *text, const struct space *space,
                  const struct gt_named_trial *named, const char *const *values);
    const char *name, *open, *close; /* of the field with the trials */
};

const struct gt_export_called gt_export_called[GT_STATUS_COUNT] = {
    [GT_STATUS_OK] = {NULL, "correct"},
    [GT_STATUS_COMPILE_ERROR] = {"CompilationFailedConfig", "compile"},
    [GT_STATUS_COMPILE_TIMEOUT] = {"CompilationFailedConfig", "compile"},
    [GT_STATUS_COMPILE_CRASH] = {"CompilationFailedConfig", "compile"},
    [GT_STATUS_SPILLS] = {"InvalidConfig", "constraints"},
    [GT_STATUS_SERIALIZED] = {"InvalidConfig", "constraints"},
    [GT_STATUS_LAUNCH_INVALID] = {"InvalidConfig", "constraints"},
    [GT_STATUS_FAULT] = {"RuntimeFailedConfig", "runtime"},
    [GT_STATUS_TIMEOUT] = {"RuntimeFailedConfig", "timeout"},
    [GT_STATUS_WRONG] = {"RuntimeFailedConfig", "correctness"},
    [GT_STATUS_OOB_WRITE] = {"RuntimeFailedConfig", "correctness"},
    [GT_STATUS_NONDETERMINISTIC] = {"RuntimeFailedConfig", "correctness"},
    [GT_STATUS_SLOW] = {"RuntimeFailedConfig", "timeout"}, /* only without a time */
    [GT_STATUS_DEVICE_LOST] = {"RuntimeFailedConfig", "runtime"},
    [GT_STATUS_KILLED] = {"RuntimeFailedConfig", "runtime"},
};

/* ---- pieces of JSON ---- */

/* Whether other tuners should see a time of the trial: it is ok, or slow with a time. */
static bool has_time(const struct gt_trial *trial)
{
    return trial->us > 0 && (trial->status == GT_STATUS_OK || trial->status == GT_STATUS_SLOW);
}

/* Adds the names of the parameters with their values. */
static void put_values(struct gt_fields *fields, const struct space *space,
                       const char *const *values)
{
    for (size_t i = 0; i < space->params; i++)
        gt_strbuf_add(gt_fields_value(fields, space->param[i].name), values[i]);
}

/* Adds "[1.5,2.25]": the samples in milliseconds, or without samples the time; "[]" if there is
 * neither. */
static void add_samples(struct gt_strbuf *text, const struct gt_trial *trial)
{
    gt_strbuf_add_char(text, '[');
    for (int i = 0; i < trial->samples; i++)
        gt_strbuf_addf(text, "%s%.9g", i ? "," : "", trial->sample[i] * 1e-3);
    if (!trial->samples && has_time(trial))
        gt_strbuf_addf(text, "%.9g", trial->us * 1e-3);
    gt_strbuf_add_char(text, ']');
}

/* ---- the space ---- */

/* Appends all facts but the point: trials that differ in these belong to different spaces. */
static void add_identity(struct gt_strbuf *text, const struct gt_named_trial *named)
{
    gt_strbuf_addf(text, "kernel %s, problem %s, %s on %s (driver %d, NVRTC %d, %s L2)",
                   named->kernel, named->problem, gt_provenance_name(named->trial.provenance),
                   named->device, named->driver, named->nvrtc, gt_timing_name(named->timing));
}

/* Writes the names of the launch parameters: points that differ only in them share a cubin.  A
 * kernel without a description (a recording's) has none. */
static int put_launch_params(struct gt_fields *fields, struct space *space,
                             const struct gt_named_trial *named, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT, names = GT_STRBUF_INIT;
    const cJSON *param;
    cJSON *root = NULL;
    int code = gt_store_description(space->store, named->kernel, named->signature, &text, err);

    if (!code && gt_json_parse(&root, named->kernel, text.text, text.length, NULL) == GT_ENOMEM)
        code = gt_err_nomem(err);
    cJSON_ArrayForEach(param, cJSON_GetObjectItem(root, "params"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(param, "name"));
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(param, "kind"));

        if (!name || !kind || strcmp(kind, "launch") != 0)
            continue;
        gt_strbuf_add_char(&names, names.length ? ',' : '[');
        gt_export_quoted(&names, name);
    }
    if (names.length)
        gt_strbuf_addf(gt_fields_value(fields, "launch"), "%s]", names.text);
    GT_STEP(code, gt_strbuf_check(&names, err));
    cJSON_Delete(root);
    gt_strbuf_release(&names);
    gt_strbuf_release(&text);
    return code;
}

/* Writes the facts that all trials share; recordings.py reads "gemmtune" back. */
static int put_head(struct space *space, const struct gt_named_trial *named, struct gt_err *err)
{
    struct gt_fields *fields = &space->head, ours = {.form = GT_FIELDS_JSON};
    int code;

    gt_fields_word(fields, "schema_version", space->format->version);
    gt_fields_word(fields, "device_name", named->device);
    gt_fields_word(fields, "kernel_name", named->kernel);
    ours.text = gt_fields_value(fields, "gemmtune");
    gt_fields_put(&ours, "version", true, "1");
    gt_fields_word(&ours, "problem", named->problem);
    gt_fields_put(&ours, "cc", true, "%d", named->cc);
    gt_fields_word(&ours, "provenance", gt_provenance_name(named->trial.provenance));
    gt_fields_word(&ours, "l2", gt_timing_name(named->timing));
    gt_fields_put(&ours, "driver", true, "%d", named->driver);
    gt_fields_put(&ours, "nvrtc", true, "%d", named->nvrtc);
    gt_fields_word(&ours, "signature", named->signature);
    code = put_launch_params(&ours, space, named, err);
    gt_fields_end(&ours);
    return code;
}

/* Numbers come before words. */
static int value_order(const char *x, const char *y)
{
    const bool word_x = strchr("\"tf", *x) != NULL, word_y = strchr("\"tf", *y) != NULL;
    const double difference = word_x || word_y ? 0 : strtod(x, NULL) - strtod(y, NULL);

    if (word_x != word_y)
        return word_x ? 1 : -1;
    return difference != 0 ? (difference > 0 ? 1 : -1) : strcmp(x, y);
}

/* Finds the parameter's own text of the value, as JSON.  A new value is added in order. */
static int intern(struct param *param, const char *value, const char **interned, struct gt_err *err)
{
    size_t at = param->count;

    while (at > 0 && value_order(param->value[at - 1], value) >= 0) {
        *interned = param->value[--at];
        if (strcmp(*interned, value) == 0)
            return GT_OK;
    }
    if (GT_ARRAY_RESERVE(&param->value, param->count + 1, &param->capacity, err))
        return GT_ENOMEM;
    *interned = strdup(value);
    if (!*interned)
        return gt_err_nomem(err);
    GT_ARRAY_OPEN(param->value, at, param->count);
    param->value[at] = (char *)*interned;
    param->count++;
    return GT_OK;
}

/* Takes a value of a point, text[0..length), as JSON: numbers, true, false and quoted texts stay as
 * they are, words get quotes. */
static int take_value(struct param *param, const char *text, size_t length, const char **interned,
                      struct gt_err *err)
{
    char *word = strndup(text, length), *end = word;
    struct gt_strbuf json = GT_STRBUF_INIT;
    int code;

    if (!word)
        return gt_err_nomem(err);
    if (*word == '-' || (*word >= '0' && *word <= '9'))
        strtod(word, &end);
    if ((end > word && !*end) || *word == '"' || strcmp(word, "true") == 0 ||
        strcmp(word, "false") == 0)
        gt_strbuf_add(&json, word);
    else
        gt_export_quoted(&json, word);
    code = gt_strbuf_check(&json, err);
    GT_STEP(code, intern(param, json.text, interned, err));
    gt_strbuf_release(&json);
    free(word);
    return code;
}

/* Splits "BM=128,LAYOUT=row".  The first trial's names are kept, and later trials must have the
 * same names. */
static int take_point(struct space *space, const char *point, const char **values, bool first,
                      struct gt_err *err)
{
    size_t count = 0;

    for (const char *at = point; *at; count++) {
        const size_t name = strcspn(at, "=");
        struct param *param = &space->param[count];
        const char *value = at + name + 1;
        size_t length;
        int code;

        if (!at[name] || count == GT_MAX_PARAMS)
            break;
        if (first) {
            param->name = strndup(at, name);
            if (!param->name)
                return gt_err_nomem(err);
            space->params = count + 1;
        }
        if (count == space->params || strncmp(param->name, at, name) != 0 || param->name[name])
            break;
        length = strcspn(value, ",");
        if (!length)
            break;
        code = take_value(param, value, length, &values[count], err);
        if (code)
            return code;
        at = value + length + (value[length] == ',');
    }
    if (count == space->params && count > 0)
        return GT_OK;
    return gt_err_set(err, GT_EDB, "the point \"%s\" is not of the same parameters as the first",
                      point);
}

static int add_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct space *space = context;
    struct gt_strbuf identity = GT_STRBUF_INIT;
    const bool first = space->out->rows == 0;
    const char *values[GT_MAX_PARAMS];
    int code = GT_OK;

    if (!gt_row_asked(space->out->filter, named->device))
        return GT_OK;
    add_identity(&identity, named);
    if (first) {
        gt_strbuf_add(&space->identity, identity.text);
        code = put_head(space, named, err);
        GT_STEP(code, gt_problem_parse(&space->problem, named->problem, err));
    } else if (strcmp(identity.text, space->identity.text) != 0) {
        code = gt_err_set(err, GT_ERANGE,
                          "a file of this format holds one space, and there are more: %s; %s; "
                          "narrow them with --kernel, --problem, --arch or --measured",
                          space->identity.text, identity.text);
    }
    GT_STEP(code, take_point(space, named->point, values, first, err));
    GT_STEP(code, gt_strbuf_check(&identity, err));
    gt_strbuf_release(&identity);
    gt_strbuf_add(&space->text, first ? "" : ",\n");
    if (!code)
        space->format->entry(&space->text, space, named, values);
    space->out->rows++;
    return code;
}

/* GT_ENOTFOUND: there are no trials; GT_ERANGE: the trials are of several spaces. */
static int write_space(struct gt_export_out *out, const struct format *format,
                       struct gt_store *store, struct gt_err *err)
{
    struct space space = {.out = out,
                          .store = store,
                          .format = format,
                          .head = {.text = out->text, .form = GT_FIELDS_JSON_LINES},
                          .identity = GT_STRBUF_INIT,
                          .text = GT_STRBUF_INIT};
    int code = gt_store_trials(store, out->filter, add_trial, &space, err);

    if (!code && !out->rows)
        code = gt_err_set(err, GT_ENOTFOUND, "there is no trial to export");
    GT_STEP(code, gt_strbuf_check(&space.identity, err));
    GT_STEP(code, gt_strbuf_check(&space.text, err));
    format->before(&space.head, &space);
    gt_strbuf_addf(gt_fields_value(&space.head, format->name), "%s\n%s\n%s", format->open,
                   space.text.text, format->close);
    gt_fields_end(&space.head);
    for (size_t i = 0; i < space.params; i++) {
        for (size_t v = 0; v < space.param[i].count; v++)
            free(space.param[i].value[v]);
        free(space.param[i].name);
        free(space.param[i].value);
    }
    gt_strbuf_release(&space.identity);
    gt_strbuf_release(&space.text);
    return code;
}

/* ---- Kernel Tuner ----
 * Its cache file (schema 1.1.0), for its dashboard, for autotuning_methodology, and for replays
 * (recording.h).
 *
 * "time" is the median of the samples in milliseconds (Kernel Tuner writes their mean).  For a
 * failure "time" and "__error__" are the name of Kernel Tuner's error class, with our status beside
 * them. */

static void put_lists(struct gt_fields *head, const struct space *space)
{
    struct gt_fields lists = {.form = GT_FIELDS_JSON};

    gt_fields_put(head, "problem_size", true, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]",
                  space->problem.m, space->problem.n, space->problem.k);
    gt_fields_value(head, "tune_params_keys");
    for (size_t i = 0; i < space->params; i++) {
        gt_strbuf_add_char(head->text, i ? ',' : '[');
        gt_export_quoted(head->text, space->param[i].name);
    }
    gt_strbuf_add_char(head->text, ']');
    lists.text = gt_fields_value(head, "tune_params");
    for (size_t i = 0; i < space->params; i++) {
        gt_fields_value(&lists, space->param[i].name);
        for (size_t v = 0; v < space->param[i].count; v++)
            gt_strbuf_addf(head->text, "%c%s", v ? ',' : '[', space->param[i].value[v]);
        gt_strbuf_add_char(head->text, ']');
    }
    gt_fields_end(&lists);
    gt_fields_word(head, "objective", "time");
}

static void add_cached(struct gt_strbuf *text, const struct space *space,
                       const struct gt_named_trial *named, const char *const *values)
{
    const struct gt_trial *trial = &named->trial;
    const bool timed = has_time(trial), ok = trial->status == GT_STATUS_OK;
    const char *failure = timed ? NULL : gt_export_called[trial->status].kernel_tuner;
    struct gt_fields fields = {.text = text, .form = GT_FIELDS_JSON};

    for (size_t i = 0; i < space->params; i++) { /* the key: the values without quotes */
        const int quotes = values[i][0] == '"';

        gt_strbuf_addf(text, "%s%.*s", i ? "," : "\"", (int)strlen(values[i]) - 2 * quotes,
                       values[i] + quotes);
    }
    gt_strbuf_add(text, "\":");
    put_values(&fields, space, values);
    gt_fields_put(&fields, "time", timed, "%.9g", trial->us * 1e-3);
    gt_fields_word(&fields, "time", failure);
    gt_fields_word(&fields, "__error__", failure);
    if (timed)
        add_samples(gt_fields_value(&fields, "times"), trial);
    gt_fields_put(&fields, "GFLOP/s", timed, "%.9g",
                  gt_problem_flops(&space->problem) / trial->us * 1e-3);
    gt_fields_word(&fields, "gemmtune_status", ok ? NULL : gt_status_name(trial->status));
    gt_fields_put(&fields, "compile_time", true, "%.6g", trial->compile_ms);
    gt_fields_put(&fields, "verification_time", true, "%.6g", trial->prove_ms);
    gt_fields_put(&fields, "benchmark_time", true, "%.6g", trial->time_ms);
    gt_fields_put(&fields, "strategy_time", true, "0");
    gt_fields_put(&fields, "framework_time", true, "0");
    gt_fields_word(&fields, "timestamp", named->date);
    gt_fields_end(&fields);
}

static int cache_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    static const struct format cache = {"1.1.0", put_lists, add_cached, "cache", "{", "}"};

    return write_space(out, &cache, store, err);
}

const struct gt_export_ops gt_export_kt_cache = {.rows = cache_rows, .one_problem = true};

/* ---- T4 ----
 * The results format of the autotuning community, version 1.0.0
 * (https://github.com/odgaard/TuningSchema, branch T4).
 *
 * The schema and its tools disagree on a name ("compilation_time", "compilation"), so both names
 * are written.  Times are milliseconds.  "invalidity" has six values; "gemmtune_status" among the
 * measurements says which of our statuses it was. */

#define T4_VERSION "1.0.0"

static void put_unit(struct gt_fields *head, const struct space *space)
{
    (void)space;
    gt_strbuf_add(gt_fields_value(head, "metadata"), "{\"timeunit\":\"milliseconds\"}");
}

static void add_measurements(struct gt_strbuf *text, const struct space *space,
                             const struct gt_trial *trial)
{
    gt_strbuf_add_char(text, '[');
    if (has_time(trial))
        gt_strbuf_addf(text,
                       "{\"name\":\"time\",\"value\":%.9g,\"unit\":\"ms\"},"
                       "{\"name\":\"GFLOP/s\",\"value\":%.9g,\"unit\":\"GFLOP/s\"},",
                       trial->us * 1e-3, gt_problem_flops(&space->problem) / trial->us * 1e-3);
    gt_strbuf_addf(text, "{\"name\":\"gemmtune_status\",\"value\":\"%s\",\"unit\":\"\"}]",
                   gt_status_name(trial->status));
}

static void add_result(struct gt_strbuf *text, const struct space *space,
                       const struct gt_named_trial *named, const char *const *values)
{
    const struct gt_trial *trial = &named->trial;
    const bool timed = has_time(trial);
    struct gt_fields fields = {.text = text, .form = GT_FIELDS_JSON};
    struct gt_fields point = fields, times = fields;

    gt_fields_word(&fields, "timestamp", named->date);
    gt_fields_value(&fields, "configuration");
    put_values(&point, space, values);
    gt_fields_end(&point);
    gt_strbuf_add(gt_fields_value(&fields, "objectives"), "[\"time\"]");
    gt_fields_value(&fields, "times");
    gt_fields_put(&times, "compilation", true, "%.6g", trial->compile_ms);
    gt_fields_put(&times, "compilation_time", true, "%.6g", trial->compile_ms);
    gt_fields_put(&times, "benchmark", true, "%.6g", trial->time_ms);
    gt_fields_put(&times, "validation", true, "%.6g", trial->prove_ms);
    gt_fields_put(&times, "framework", true, "0");
    gt_fields_put(&times, "search_algorithm", true, "0");
    add_samples(gt_fields_value(&times, "runtimes"), trial);
    gt_fields_end(&times);
    gt_fields_word(&fields, "invalidity", timed ? "correct" : gt_export_called[trial->status].t4);
    gt_fields_put(&fields, "correctness", true, "%d", timed);
    add_measurements(gt_fields_value(&fields, "measurements"), space, trial);
    gt_fields_end(&fields);
}

static int t4_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    static const struct format t4 = {T4_VERSION, put_unit, add_result, "results", "[", "]"};

    return write_space(out, &t4, store, err);
}

const struct gt_export_ops gt_export_t4 = {.rows = t4_rows, .one_problem = true};

/* ---- T4's metadata file ---- */

struct devices {
    struct gt_export_out *out;
    char last[192]; /* name and uuid of the device written last */
};

/* Writes a version; "" if it is not known. */
static void put_version(struct gt_fields *fields, const char *name, int version)
{
    if (version > 0)
        gt_fields_version(fields, name, version);
    else
        gt_fields_word(fields, name, "");
}

/* Adds a trial's device.  Trials are sorted by device, so that each device is written once. */
static int add_device(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct devices *devices = context;
    struct gt_fields fields = {.text = devices->out->text, .form = GT_FIELDS_JSON};
    char name[sizeof(devices->last)];

    (void)err;
    snprintf(name, sizeof(name), "%s %s", named->device, named->uuid);
    if (strcmp(name, devices->last) == 0 || !gt_row_asked(devices->out->filter, named->device))
        return GT_OK;
    memcpy(devices->last, name, sizeof(name));
    gt_strbuf_add(fields.text, devices->out->rows++ ? ",\n" : "");
    gt_fields_word(&fields, "device_name", named->device);
    gt_fields_word(&fields, "uuid", named->uuid);
    gt_fields_put(&fields, "compute_capability", true, "\"%d.%d\"", named->cc / 10, named->cc % 10);
    put_version(&fields, "cuda_driver", named->driver);
    put_version(&fields, "nvrtc", named->nvrtc);
    gt_fields_end(&fields);
    return GT_OK;
}

/* Writes the origin of the trials, as far as the database knows it; the rest of T4's metadata is
 * optional. */
static int metadata_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct devices devices = {.out = out};
    int code;

    gt_strbuf_add(out->text, "{\"schema_version\":\"" T4_VERSION
                             "\",\n\"metadata\":{\"hardware\":{\"hardware_description\":[\n");
    code = gt_store_trials(store, out->filter, add_device, &devices, err);
    gt_strbuf_addf(out->text,
                   "\n]},\n\"environment\":{\"device_query\":{},\"requirements\":[\"gemmtune "
                   "%d.%d.%d\"]}}}\n",
                   GT_VERSION_MAJOR, GT_VERSION_MINOR, GT_VERSION_PATCH);
    return code;
}

const struct gt_export_ops gt_export_t4_metadata = {.rows = metadata_rows, .one_problem = true};
