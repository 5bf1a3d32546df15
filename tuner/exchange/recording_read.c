/* recording_read.c - reads the frame of a recorded space: walks the text and passes each entry on.
 *
 * As one cJSON tree the text would take ten times its size.  So the reader here knows only objects
 * and lists, and calls cJSON for one member at a time.  It also lets the text end between two
 * members, because Kernel Tuner leaves such a file when it is stopped. */
#include "exchange/recording_impl.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Handles one member: of an object (key is its name, reader->at stands before the value) or of a
 * list (key is NULL). */
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

/* Parses the value that comes next; the caller frees it with cJSON_Delete. */
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

/* ---- Kernel Tuner ---- */

static int on_cached(struct gt_recording_reader *reader, const char *key)
{
    cJSON *entry;
    int rc = take_value(reader, &entry);

    GT_STEP(rc, gt_recording_add_cached(reader, key, entry));
    cJSON_Delete(entry);
    return rc;
}

/* Reads "tune_params_keys", the parameters in their order. */
static int read_keys(struct gt_recording_reader *reader, const cJSON *list)
{
    const cJSON *item;
    int rc = GT_OK;

    reader->listed = true;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return gt_err_set(reader->err, GT_ECONFIG, "%s: tune_params_keys must list names",
                              reader->path);
        rc = gt_recording_add_param(reader, item->valuestring);
        if (rc)
            break;
    }
    return rc;
}

/* Reads "tune_params", the values of each parameter in their order. */
static int read_values(struct gt_recording_reader *reader, const cJSON *object)
{
    int rc = GT_OK;

    for (size_t i = 0; i < reader->params && !rc; i++) {
        struct gt_recorded_param *param = &reader->param[i];
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, param->name), *item;
        uint8_t index;

        cJSON_ArrayForEach(item, list)
        {
            rc = gt_recording_value(reader, param, item, &index);
            if (rc)
                break;
        }
    }
    return rc;
}

/* Checks "tune_params" where the parameters are preset: every parameter that varies must be one of
 * them. */
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

/* ---- what else the top may hold ---- */

static int copy_text(struct gt_recording_reader *reader, char **text, const cJSON *item)
{
    if (!cJSON_IsString(item))
        return GT_OK;
    free(*text);
    *text = strdup(item->valuestring);
    return *text ? GT_OK : gt_err_nomem(reader->err);
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
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(metadata, "timeunit");

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
    const cJSON *provenance = cJSON_GetObjectItemCaseSensitive(object, "provenance");
    int64_t cc = 0;
    int rc =
        copy_text(reader, &recording->problem, cJSON_GetObjectItemCaseSensitive(object, "problem"));

    if (!rc && !reader->launch)
        reader->launch = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(object, "launch"), 1);
    if (gt_json_whole(cJSON_GetObjectItemCaseSensitive(object, "cc"), 0, 9999, &cc))
        recording->cc = (int)cc;
    recording->predicted =
        cJSON_IsString(provenance) && strcmp(provenance->valuestring, "predicted") == 0;
    return rc;
}

/* ---- the top ---- */

static int on_result(struct gt_recording_reader *reader, const char *key)
{
    cJSON *entry;
    int rc = take_value(reader, &entry);

    (void)key;
    GT_STEP(rc, gt_recording_add_result(reader, entry));
    cJSON_Delete(entry);
    return rc;
}

int gt_recording_objective(struct gt_recording_reader *reader, const char *name)
{
    char **objective = &reader->recording->objective;

    if (**objective || strncasecmp(name, "time", 4) == 0 || strcasecmp(name, "runtime") == 0)
        return GT_OK;
    free(*objective);
    *objective = strdup(name);
    return *objective ? GT_OK : gt_err_nomem(reader->err);
}

static int read_top(struct gt_recording_reader *reader, const char *key, cJSON **value)
{
    struct gt_recording *recording = reader->recording;

    if (strcmp(key, "device_name") == 0)
        return copy_text(reader, &recording->device, *value);
    if (strcmp(key, "kernel_name") == 0)
        return copy_text(reader, &recording->kernel->name, *value);
    if (strcmp(key, "objective") == 0 && cJSON_IsString(*value))
        return gt_recording_objective(reader, (*value)->valuestring);
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

/* Passes over an object or a list, whose text may end inside it. */
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

/* The entries are remembered, because what they need may stand behind them: JSON's members have no
 * order. */
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

/* What stands at the top beside the entries: parameters and their values. */
static int read_lists(struct gt_recording_reader *reader)
{
    if (reader->preset)
        return check_values(reader, reader->values);
    if (reader->keys) {
        int rc = read_keys(reader, reader->keys);

        return rc ? rc : read_values(reader, reader->values);
    }
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
        rc = reader->cached ? walk(reader, "{}", on_cached) : walk(reader, "[]", on_result);
    cJSON_Delete(reader->keys);
    cJSON_Delete(reader->values);
    if (!rc && !reader->recording->points)
        rc = gt_err_set(reader->err, GT_ECONFIG,
                        "%s: no recorded point: neither a Kernel Tuner cache (\"cache\") nor T4 "
                        "(\"results\")",
                        reader->path);
    return rc;
}
