/* export_space.c - gathers one space from the database for the exports that hold one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "exchange/export_space.h"
#include "problem/problem.h"

/* Our statuses as Kernel Tuner and T4 name them; "gemmtune_status" beside those says which of
 * several it was. */
static const struct {
    const char *kernel_tuner, *t4;
} called[GT_STATUS_COUNT] = {
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
    [GT_STATUS_SLOW] = {"RuntimeFailedConfig", "timeout"}, /* only where it has no time */
    [GT_STATUS_DEVICE_LOST] = {"RuntimeFailedConfig", "runtime"},
    [GT_STATUS_KILLED] = {"RuntimeFailedConfig", "runtime"},
};

bool gt_export_timed(const struct gt_trial *trial)
{
    return trial->us > 0 && (trial->status == GT_STATUS_OK || trial->status == GT_STATUS_SLOW);
}

const char *gt_export_kernel_tuner_error(enum gt_status status)
{
    return called[status].kernel_tuner;
}

const char *gt_export_t4_invalidity(enum gt_status status)
{
    return called[status].t4;
}

void gt_export_string(struct gt_strbuf *text, const char *value)
{
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

void gt_export_samples(struct gt_strbuf *text, const struct gt_trial *trial)
{
    gt_strbuf_add_char(text, '[');
    for (int i = 0; i < trial->samples; i++)
        gt_strbuf_addf(text, "%s%.9g", i ? "," : "", trial->sample[i] * 1e-3);
    if (!trial->samples && gt_export_timed(trial))
        gt_strbuf_addf(text, "%.9g", trial->us * 1e-3);
    gt_strbuf_add_char(text, ']');
}

/* ---- the space ---- */

/* Appends everything but the point: trials that differ here belong to different spaces. */
static void add_identity(struct gt_strbuf *text, const struct gt_named_trial *named)
{
    gt_strbuf_addf(text, "kernel %s, problem %s, %s on %s (driver %d, NVRTC %d, %s L2)",
                   named->kernel, named->problem, gt_provenance_name(named->trial.provenance),
                   named->device, named->driver, named->nvrtc, gt_timing_name(named->timing));
}

/* Writes the names of the launch parameters: points that differ only in them share a cubin.  A
 * kernel without a description (a recording's) has none. */
static int write_launch_params(struct gt_export_space *space, const struct gt_named_trial *named,
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
        gt_strbuf_add(&space->head, names++ ? "," : ",\"launch\":[");
        gt_export_string(&space->head, name);
    }
    gt_strbuf_add(&space->head, names ? "]" : "");
    cJSON_Delete(root);
    gt_strbuf_release(&text);
    return code;
}

static int write_head(struct gt_export_space *space, const struct gt_named_trial *named,
                      struct gt_err *err)
{
    struct gt_strbuf *text = &space->head;
    int code;

    gt_strbuf_add(text, "\"device_name\":");
    gt_export_string(text, named->device);
    gt_strbuf_add(text, ",\n\"kernel_name\":");
    gt_export_string(text, named->kernel);
    gt_strbuf_add(text, ",\n\"gemmtune\":{\"version\":1,\"problem\":");
    gt_export_string(text, named->problem);
    gt_strbuf_addf(text,
                   ",\"cc\":%d,\"provenance\":\"%s\",\"l2\":\"%s\",\"driver\":%d,\"nvrtc\":%d,",
                   named->cc, gt_provenance_name(named->trial.provenance),
                   gt_timing_name(named->timing), named->driver, named->nvrtc);
    gt_strbuf_add(text, "\"signature\":");
    gt_export_string(text, named->signature);
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

/* The parameter's own text of the value, as JSON; it is added where it is new, in order. */
static int intern(struct gt_export_param *param, const char *value, const char **interned,
                  struct gt_err *err)
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

/* A value of a point, text[0..length), as JSON: a number, true, false and what is quoted as they
 * are, words with quotes. */
static int take_value(struct gt_export_param *param, const char *text, size_t length,
                      const char **interned, struct gt_err *err)
{
    struct gt_strbuf plain = GT_STRBUF_INIT, json = GT_STRBUF_INIT;
    char *end;
    int code;

    gt_strbuf_add_bytes(&plain, text, length);
    code = gt_strbuf_check(&plain, err);
    if (!code) {
        const char *word = plain.text;
        const bool number =
            (*word == '-' || (*word >= '0' && *word <= '9')) && (strtod(word, &end), !*end);

        if (number || *word == '"' || strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
            gt_strbuf_add(&json, word);
        else
            gt_export_string(&json, word);
        code = gt_strbuf_check(&json, err);
    }
    GT_STEP(code, intern(param, json.text, interned, err));
    gt_strbuf_release(&plain);
    gt_strbuf_release(&json);
    return code;
}

/* Splits "BM=128,LAYOUT=row".  The first trial's names are kept, and later trials must have the
 * same. */
static int take_point(struct gt_export_space *space, const char *point, const char **values,
                      bool first, struct gt_err *err)
{
    size_t count = 0;

    for (const char *at = point; *at; count++) {
        const size_t name = strcspn(at, "=");
        struct gt_export_param *param = &space->param[count];
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

static int gather(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct gt_export_space *space = context;
    struct gt_strbuf identity = GT_STRBUF_INIT;
    bool first = space->trials == 0;
    const char *values[GT_MAX_PARAMS];
    int code = GT_OK;

    if (!gt_row_asked(space->filter, named->device))
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
    space->trials++;
    return code;
}

/* ---- the entries ---- */

struct writing {
    struct gt_export_out *out;
    struct gt_export_space *space;
    gt_export_entry *entry;
};

static int write_entry(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct writing *writing = context;
    const char *values[GT_MAX_PARAMS];
    int code;

    if (!gt_row_asked(writing->space->filter, named->device))
        return GT_OK;
    code = take_point(writing->space, named->point, values, false, err);
    if (code)
        return code;
    gt_strbuf_add(writing->out->text, writing->out->rows++ ? ",\n" : "");
    return writing->entry(writing->out->text, writing->space, named, values, err);
}

int gt_export_space(struct gt_export_out *out, struct gt_store *store,
                    void (*begin)(struct gt_strbuf *text, const struct gt_export_space *space),
                    gt_export_entry *entry, const char *end, struct gt_err *err)
{
    struct gt_export_space space = {
        .filter = out->filter, .store = store, .head = GT_STRBUF_INIT, .identity = GT_STRBUF_INIT};
    struct writing writing = {out, &space, entry};
    int code = gt_store_trials(store, out->filter, gather, &space, err);

    if (!code && !space.trials)
        code = gt_err_set(err, GT_ENOTFOUND, "there is no trial to export");
    GT_STEP(code, gt_strbuf_check(&space.head, err));
    GT_STEP(code, gt_strbuf_check(&space.identity, err));
    if (!code) {
        begin(out->text, &space);
        code = gt_store_trials(store, out->filter, write_entry, &writing, err);
        gt_strbuf_add(out->text, end);
    }
    for (size_t i = 0; i < space.params; i++) {
        for (size_t v = 0; v < space.param[i].count; v++)
            free(space.param[i].value[v]);
        free(space.param[i].name);
        free(space.param[i].value);
    }
    gt_strbuf_release(&space.head);
    gt_strbuf_release(&space.identity);
    return code;
}
