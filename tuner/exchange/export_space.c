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
    /* The facts that all trials share, as JSON: "device_name", "kernel_name", and "gemmtune", which
     * recordings.py reads back. */
    struct gt_strbuf head;
    struct gt_strbuf identity; /* the first trial's, for comparison */
    struct gt_strbuf text;     /* the trials */
};

/* Functions that write the text before the trials, a trial with its point's values as JSON, and the
 * text after the trials. */
struct format {
    void (*begin)(struct gt_strbuf *text, const struct space *space);
    void (*entry)(struct gt_strbuf *text, const struct space *space,
                  const struct gt_named_trial *named, const char *const *values);
    const char *end;
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

/* Adds `before`, and the text as JSON. */
static void add_string(struct gt_strbuf *text, const char *before, const char *value)
{
    gt_strbuf_add(text, before);
    gt_strbuf_add_char(text, '"');
    for (; *value; value++)
        if (*value == '"' || *value == '\\')
            gt_strbuf_addf(text, "\\%c", *value);
        else if ((unsigned char)*value < ' ' || (unsigned char)*value >= 127)
            gt_strbuf_add_char(text, '?');
        else
            gt_strbuf_add_char(text, *value);
    gt_strbuf_add_char(text, '"');
}

/* Adds the names of the parameters with their values, without a comma behind the last. */
static void add_values(struct gt_strbuf *text, const struct space *space, const char *const *values)
{
    for (size_t i = 0; i < space->params; i++) {
        add_string(text, i ? "," : "", space->param[i].name);
        gt_strbuf_addf(text, ":%s", values[i]);
    }
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
static int write_launch_params(struct space *space, const struct gt_named_trial *named,
                               struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    const cJSON *param;
    cJSON *root = NULL;
    size_t names = 0;
    int code = gt_store_description(space->store, named->kernel, named->signature, &text, err);

    if (!code && gt_json_parse(&root, named->kernel, text.text, text.length, NULL) == GT_ENOMEM)
        code = gt_err_nomem(err);
    cJSON_ArrayForEach(param, cJSON_GetObjectItem(root, "params"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(param, "name"));
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(param, "kind"));

        if (!name || !kind || strcmp(kind, "launch") != 0)
            continue;
        add_string(&space->head, names++ ? "," : ",\"launch\":[", name);
    }
    gt_strbuf_add(&space->head, names ? "]" : "");
    cJSON_Delete(root);
    gt_strbuf_release(&text);
    return code;
}

static int write_head(struct space *space, const struct gt_named_trial *named, struct gt_err *err)
{
    struct gt_strbuf *text = &space->head;
    int code;

    add_string(text, "\"device_name\":", named->device);
    add_string(text, ",\n\"kernel_name\":", named->kernel);
    add_string(text, ",\n\"gemmtune\":{\"version\":1,\"problem\":", named->problem);
    gt_strbuf_addf(text,
                   ",\"cc\":%d,\"provenance\":\"%s\",\"l2\":\"%s\",\"driver\":%d,\"nvrtc\":%d",
                   named->cc, gt_provenance_name(named->trial.provenance),
                   gt_timing_name(named->timing), named->driver, named->nvrtc);
    add_string(text, ",\"signature\":", named->signature);
    code = write_launch_params(space, named, err);
    gt_strbuf_add(text, "}");
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
        add_string(&json, "", word);
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
        code = write_head(space, named, err);
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
                          .head = GT_STRBUF_INIT,
                          .identity = GT_STRBUF_INIT,
                          .text = GT_STRBUF_INIT};
    int code = gt_store_trials(store, out->filter, add_trial, &space, err);

    if (!code && !out->rows)
        code = gt_err_set(err, GT_ENOTFOUND, "there is no trial to export");
    GT_STEP(code, gt_strbuf_check(&space.head, err));
    GT_STEP(code, gt_strbuf_check(&space.identity, err));
    GT_STEP(code, gt_strbuf_check(&space.text, err));
    format->begin(out->text, &space); /* only now are the values of all points known */
    gt_strbuf_add(out->text, space.text.text);
    gt_strbuf_add(out->text, format->end);
    for (size_t i = 0; i < space.params; i++) {
        for (size_t v = 0; v < space.param[i].count; v++)
            free(space.param[i].value[v]);
        free(space.param[i].name);
        free(space.param[i].value);
    }
    gt_strbuf_release(&space.head);
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

static void begin_cache(struct gt_strbuf *text, const struct space *space)
{
    gt_strbuf_addf(text,
                   "{\n\"schema_version\":\"1.1.0\",\n%s,\n\"problem_size\":[%" PRId64 ",%" PRId64
                   ",%" PRId64 "],\n\"tune_params_keys\":[",
                   space->head.text, space->problem.m, space->problem.n, space->problem.k);
    for (size_t i = 0; i < space->params; i++)
        add_string(text, i ? "," : "", space->param[i].name);
    gt_strbuf_add(text, "],\n\"tune_params\":{");
    for (size_t i = 0; i < space->params; i++) {
        const struct param *param = &space->param[i];

        add_string(text, i ? "," : "", param->name);
        for (size_t v = 0; v < param->count; v++)
            gt_strbuf_addf(text, "%s%s", v ? "," : ":[", param->value[v]);
        gt_strbuf_add(text, "]");
    }
    gt_strbuf_add(text, "},\n\"objective\":\"time\",\n\"cache\":{\n");
}

static void add_cached(struct gt_strbuf *text, const struct space *space,
                       const struct gt_named_trial *named, const char *const *values)
{
    const struct gt_trial *trial = &named->trial;
    const char *failure = gt_export_called[trial->status].kernel_tuner;

    for (size_t i = 0; i < space->params; i++) { /* the key: the values without quotes */
        const int quotes = values[i][0] == '"';

        gt_strbuf_addf(text, "%s%.*s", i ? "," : "\"", (int)strlen(values[i]) - 2 * quotes,
                       values[i] + quotes);
    }
    gt_strbuf_add(text, "\":{");
    add_values(text, space, values);
    if (has_time(trial)) {
        gt_strbuf_addf(text, ",\"time\":%.9g,\"times\":", trial->us * 1e-3);
        add_samples(text, trial);
        gt_strbuf_addf(text, ",\"GFLOP/s\":%.9g,",
                       gt_problem_flops(&space->problem) / trial->us * 1e-3);
    } else {
        gt_strbuf_addf(text, ",\"time\":\"%s\",\"__error__\":\"%s\",", failure, failure);
    }
    if (trial->status != GT_STATUS_OK)
        gt_strbuf_addf(text, "\"gemmtune_status\":\"%s\",", gt_status_name(trial->status));
    gt_strbuf_addf(text,
                   "\"compile_time\":%.6g,\"verification_time\":%.6g,\"benchmark_time\":%.6g,"
                   "\"strategy_time\":0,\"framework_time\":0,\"timestamp\":\"%s\"}",
                   trial->compile_ms, trial->prove_ms, trial->time_ms, named->date);
}

static int cache_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    static const struct format cache = {begin_cache, add_cached, "\n}\n}\n"};

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

#define T4_VERSION "\"schema_version\":\"1.0.0\""

static void begin_t4(struct gt_strbuf *text, const struct space *space)
{
    gt_strbuf_addf(text,
                   "{" T4_VERSION ",\n\"metadata\":{\"timeunit\":\"milliseconds\"},\n%s,\n"
                   "\"results\":[\n",
                   space->head.text);
}

static void add_result(struct gt_strbuf *text, const struct space *space,
                       const struct gt_named_trial *named, const char *const *values)
{
    const struct gt_trial *trial = &named->trial;
    const bool timed = has_time(trial);

    gt_strbuf_addf(text, "{\"timestamp\":\"%s\",\"configuration\":{", named->date);
    add_values(text, space, values);
    gt_strbuf_addf(text,
                   "},\"objectives\":[\"time\"],"
                   "\"times\":{\"compilation\":%.6g,\"compilation_time\":%.6g,\"benchmark\":%.6g,"
                   "\"validation\":%.6g,\"framework\":0,\"search_algorithm\":0,\"runtimes\":",
                   trial->compile_ms, trial->compile_ms, trial->time_ms, trial->prove_ms);
    add_samples(text, trial);
    gt_strbuf_addf(text, "},\"invalidity\":\"%s\",\"correctness\":%d,\"measurements\":[",
                   timed ? "correct" : gt_export_called[trial->status].t4, timed);
    if (timed)
        gt_strbuf_addf(text,
                       "{\"name\":\"time\",\"value\":%.9g,\"unit\":\"ms\"},"
                       "{\"name\":\"GFLOP/s\",\"value\":%.9g,\"unit\":\"GFLOP/s\"},",
                       trial->us * 1e-3, gt_problem_flops(&space->problem) / trial->us * 1e-3);
    gt_strbuf_addf(text, "{\"name\":\"gemmtune_status\",\"value\":\"%s\",\"unit\":\"\"}]}",
                   gt_status_name(trial->status));
}

static int t4_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    static const struct format t4 = {begin_t4, add_result, "\n]}\n"};

    return write_space(out, &t4, store, err);
}

const struct gt_export_ops gt_export_t4 = {.rows = t4_rows, .one_problem = true};

/* ---- T4's metadata file ---- */

struct devices {
    struct gt_export_out *out;
    char last[192]; /* name and uuid of the device written last */
};

/* Adds a trial's device.  Trials are sorted by device, so that each device is written once. */
static int add_device(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct devices *devices = context;
    struct gt_strbuf *text = devices->out->text;
    char name[sizeof(devices->last)];

    (void)err;
    snprintf(name, sizeof(name), "%s %s", named->device, named->uuid);
    if (strcmp(name, devices->last) == 0 || !gt_row_asked(devices->out->filter, named->device))
        return GT_OK;
    memcpy(devices->last, name, sizeof(name));
    add_string(text,
               devices->out->rows++ ? ",\n{\"device_name\":" : "{\"device_name\":", named->device);
    add_string(text, ",\"uuid\":", named->uuid);
    gt_strbuf_addf(text, ",\"compute_capability\":\"%d.%d\",\"cuda_driver\":\"", named->cc / 10,
                   named->cc % 10);
    gt_export_version(text, named->driver);
    gt_strbuf_add(text, "\",\"nvrtc\":\"");
    gt_export_version(text, named->nvrtc);
    gt_strbuf_add(text, "\"}");
    return GT_OK;
}

/* Writes the origin of the trials, as far as the database knows it; the rest of T4's metadata is
 * optional. */
static int metadata_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct devices devices = {.out = out};
    int code;

    gt_strbuf_add(out->text,
                  "{" T4_VERSION ",\n\"metadata\":{\"hardware\":{\"hardware_description\":[\n");
    code = gt_store_trials(store, out->filter, add_device, &devices, err);
    gt_strbuf_addf(out->text,
                   "\n]},\n\"environment\":{\"device_query\":{},\"requirements\":[\"gemmtune "
                   "%d.%d.%d\"]}}}\n",
                   GT_VERSION_MAJOR, GT_VERSION_MINOR, GT_VERSION_PATCH);
    return code;
}

const struct gt_export_ops gt_export_t4_metadata = {.rows = metadata_rows, .one_problem = true};
