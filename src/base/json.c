/* json.c - vocabulary: cJSON with sentences. */
#include "base/json.h"

#include "base/err.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool gt_json_escapes_nul(const char *text)
{
    for (; *text; text++)
        if (*text == '\\' && (!*++text || strncmp(text, "u0000", 5) == 0))
            return *text != '\0';
    return false;
}

int gt_json_parse(cJSON **root, const char *path, const char *text, size_t length,
                  struct gt_err *err)
{
    const char *end = NULL;
    locale_t before;
    int line = 1;

    *root = NULL;
    if (memchr(text, '\0', length) || gt_json_escapes_nul(text))
        return gt_err_set(err, GT_ECONFIG, "%s: contains a NUL byte; it is no JSON text", path);
    errno = 0;                  /* cJSON does not say why it failed, but its allocator sets errno */
    before = gt_locale_enter(); /* cJSON would take only the first byte of a longer decimal point */
    *root = cJSON_ParseWithLengthOpts(text, length + 1, &end, 1);
    gt_locale_leave(before);
    if (!*root && errno == ENOMEM)
        return gt_err_nomem(err);
    if (!*root) {
        for (const char *at = text; at < end && at < text + length; at++)
            line += *at == '\n';
        if (!end || !*end)
            return gt_err_set(err, GT_ECONFIG, "%s: line %d: the JSON text ends too early", path,
                              line);
        return gt_err_set(err, GT_ECONFIG, "%s: line %d: malformed JSON near \"%.*s\"", path, line,
                          (int)strcspn(end, "\n") < 24 ? (int)strcspn(end, "\n") : 24, end);
    }
    if (!cJSON_IsObject(*root)) {
        cJSON_Delete(*root);
        *root = NULL;
        return gt_err_set(err, GT_ECONFIG, "%s: the file must hold one JSON object", path);
    }
    return GT_OK;
}

int gt_json_load(cJSON **root, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    *root = NULL;
    rc = gt_strbuf_add_file(&text, path, err);
    GT_STEP(rc, gt_json_parse(root, path, text.text, text.length, err));
    gt_strbuf_release(&text);
    return rc;
}

static bool is_allowed(const char *key, const char *allowed)
{
    const size_t length = strlen(key);

    for (const char *at = allowed; *at; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");

        if (word == length && memcmp(at, key, length) == 0)
            return true;
        at += word;
    }
    return false;
}

static int unknown_key(const char *where, const char *key, const char *allowed, struct gt_err *err)
{
    char text[512], *rest = text;
    const char *known[64], *near;
    size_t count = 0;

    snprintf(text, sizeof(text), "%s", allowed);
    while (rest && count < sizeof(known) / sizeof(known[0]))
        known[count++] = strsep(&rest, " ");
    near = gt_near(key, strlen(key), known, count);
    return gt_err_set(err, GT_ECONFIG, "%s: unknown key \"%.64s\"%s%s%s; allowed: %s", where, key,
                      near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "",
                      allowed);
}

int gt_json_keys(const cJSON *object, const char *where, const char *allowed, struct gt_err *err)
{
    const cJSON *member, *other;

    cJSON_ArrayForEach(member, object)
    {
        if (!is_allowed(member->string, allowed))
            return unknown_key(where, member->string, allowed, err);
        cJSON_ArrayForEach(other, object)
        {
            if (other == member)
                break;
            if (!strcmp(other->string, member->string))
                return gt_err_set(err, GT_ECONFIG, "%s: key \"%s\" is given twice", where,
                                  member->string);
        }
    }
    return GT_OK;
}

static const char *type_name(int type)
{
    return type == cJSON_String   ? "a string"
           : type == cJSON_Number ? "a number"
           : type == cJSON_Array  ? "a list"
           : type == cJSON_Object ? "an object"
                                  : "true or false";
}

int gt_json_get(const cJSON **member, const cJSON *object, const char *where, const char *key,
                int type, enum gt_presence presence, struct gt_err *err)
{
    *member = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!*member)
        return presence == GT_OPTIONAL
                   ? GT_OK
                   : gt_err_set(err, GT_ECONFIG, "%s: key \"%s\" is missing", where, key);
    if (((*member)->type & 0xff) != type)
        return gt_err_set(err, GT_ECONFIG, "%s: \"%s\" must be %s", where, key, type_name(type));
    return GT_OK;
}

int gt_json_string(const char **text, const cJSON *object, const char *where, const char *key,
                   enum gt_presence presence, struct gt_err *err)
{
    const cJSON *member;
    int rc = gt_json_get(&member, object, where, key, cJSON_String, presence, err);

    if (rc || !member)
        return rc;
    if (!*member->valuestring)
        return gt_err_set(err, GT_ECONFIG, "%s: \"%s\" is empty", where, key);
    *text = member->valuestring;
    return GT_OK;
}

bool gt_json_whole(const cJSON *item, int64_t least, int64_t most, int64_t *value)
{
    const double limit = 9007199254740992.0; /* 2^53: beyond it doubles skip integers */

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= -limit && item->valuedouble <= limit))
        return false;
    *value = (int64_t)item->valuedouble;
    return (double)*value == item->valuedouble && *value >= least && *value <= most;
}

int gt_json_integer(int64_t *value, const cJSON *object, const char *where, const char *key,
                    int64_t least, int64_t most, enum gt_presence presence, struct gt_err *err)
{
    const cJSON *member;
    int rc = gt_json_get(&member, object, where, key, cJSON_Number, presence, err);

    if (rc || !member)
        return rc;
    if (!gt_json_whole(member, least, most, value))
        return gt_err_set(err, GT_ECONFIG,
                          "%s: \"%s\" is %.17g; it must be a whole number from %lld to %lld", where,
                          key, member->valuedouble, (long long)least, (long long)most);
    return GT_OK;
}

int gt_json_real(double *value, const cJSON *object, const char *where, const char *key,
                 double least, double most, enum gt_presence presence, struct gt_err *err)
{
    const cJSON *member;
    int rc = gt_json_get(&member, object, where, key, cJSON_Number, presence, err);

    if (rc || !member)
        return rc;
    if (!(member->valuedouble >= least && member->valuedouble <= most))
        return gt_err_set(err, GT_ECONFIG, "%s: \"%s\" is %.17g; it must lie between %g and %g",
                          where, key, member->valuedouble, least, most);
    *value = member->valuedouble;
    return GT_OK;
}

int gt_json_bool(bool *value, const cJSON *object, const char *where, const char *key,
                 enum gt_presence presence, struct gt_err *err)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!member && presence == GT_OPTIONAL)
        return GT_OK;
    if (!member)
        return gt_err_set(err, GT_ECONFIG, "%s: key \"%s\" is missing", where, key);
    if (!cJSON_IsBool(member))
        return gt_err_set(err, GT_ECONFIG, "%s: \"%s\" must be true or false", where, key);
    *value = cJSON_IsTrue(member);
    return GT_OK;
}
