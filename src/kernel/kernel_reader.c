/* kernel_reader.c - vocabulary: members of kernel descriptions. */
#include "kernel/kernel_reader.h"

#include "base/err.h"
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gt_reader_at(struct gt_reader *r, const char *format, ...)
{
    const char *path = r->kernel->path;
    size_t length = strlen(path);
    va_list args;
    int used;

    if (r->rc)
        return;
    if (length > GT_READER_WHERE_MAX - 112) /* the end of a path tells more than its beginning */
        path += length - (GT_READER_WHERE_MAX - 112);
    used = snprintf(r->where, sizeof(r->where), "%s: ", path);
    va_start(args, format);
    vsnprintf(r->where + used, sizeof(r->where) - (size_t)used, format, args);
    va_end(args);
}

void gt_reader_fail(struct gt_reader *r, const char *format, ...)
{
    char text[sizeof(r->err->msg)];
    va_list args;

    if (r->rc)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r->rc = gt_err_set(r->err, GT_ECONFIG, "%s: %s", r->where, text);
}

bool gt_reader_object(struct gt_reader *r, const cJSON *item, const char *allowed)
{
    if (!r->rc && !cJSON_IsObject(item))
        r->rc = gt_err_set(r->err, GT_ECONFIG, "%s must be an object", r->where);
    if (!r->rc)
        r->rc = gt_json_keys(item, r->where, allowed, r->err);
    return !r->rc;
}

const cJSON *gt_reader_get(struct gt_reader *r, const cJSON *object, const char *key, int type,
                           enum gt_presence presence)
{
    const cJSON *member = NULL;

    if (!r->rc)
        r->rc = gt_json_get(&member, object, r->where, key, type, presence, r->err);
    return r->rc ? NULL : member;
}

void *gt_reader_allocate(struct gt_reader *r, size_t count, size_t size)
{
    void *memory = r->rc ? NULL : calloc(count ? count : 1, size);

    if (!r->rc && !memory)
        r->rc = gt_err_nomem(r->err);
    return memory;
}

void gt_reader_string(struct gt_reader *r, char **to, const cJSON *object, const char *key,
                      enum gt_presence presence)
{
    const cJSON *member = gt_reader_get(r, object, key, cJSON_String, presence);
    char *copy = member ? strdup(member->valuestring) : NULL;

    if (copy && !*copy)
        gt_reader_fail(r, "\"%s\" is empty", key);
    if (member && !copy)
        r->rc = gt_err_nomem(r->err);
    if (copy) /* also after a failure, because the kernel owns it */
        *to = copy;
}

int64_t gt_reader_integer(struct gt_reader *r, const cJSON *object, const char *key, int64_t least,
                          int64_t most, int64_t standard)
{
    if (!r->rc)
        r->rc = gt_json_integer(&standard, object, r->where, key, least, most, GT_OPTIONAL, r->err);
    return standard;
}

int64_t gt_reader_needed(struct gt_reader *r, const cJSON *object, const char *key, int64_t least,
                         int64_t most)
{
    int64_t value = least;

    if (!r->rc)
        r->rc = gt_json_integer(&value, object, r->where, key, least, most, GT_REQUIRED, r->err);
    return value;
}

double gt_reader_real(struct gt_reader *r, const cJSON *object, const char *key, double most)
{
    double value = 0;

    if (!r->rc)
        r->rc = gt_json_real(&value, object, r->where, key, 0, most, GT_OPTIONAL, r->err);
    return value;
}

bool gt_reader_bool(struct gt_reader *r, const cJSON *object, const char *key, bool standard)
{
    if (!r->rc)
        r->rc = gt_json_bool(&standard, object, r->where, key, GT_OPTIONAL, r->err);
    return standard;
}

int gt_reader_choice(struct gt_reader *r, const cJSON *object, const char *key,
                     const char *const *names, int count, int standard)
{
    const cJSON *member =
        gt_reader_get(r, object, key, cJSON_String, standard < 0 ? GT_REQUIRED : GT_OPTIONAL);
    struct gt_strbuf list = GT_STRBUF_INIT;

    for (int i = 0; member && i < count; i++)
        if (!strcmp(names[i], member->valuestring))
            return i;
    for (int i = 0; member && i < count; i++)
        gt_strbuf_addf(&list, "%s%s", !i ? "" : i + 1 < count ? ", " : " or ", names[i]);
    /* A list that is incomplete because memory ran out is still passed on. */
    if (member)
        gt_reader_fail(r, "\"%s\" is \"%.32s\"; it must be %s", key, member->valuestring,
                       list.text);
    gt_strbuf_release(&list);
    return standard < 0 ? 0 : standard;
}

/* Parses an expression; `key` is for sentences.  A failure inside the description is malformed
 * configuration, whatever its cause. */
static void parse_text(struct gt_reader *r, struct gt_expr **expr, const char *text,
                       const char *key)
{
    if (r->rc)
        return;
    r->rc = gt_expr_parse(expr, text, &r->kernel->names, r->err);
    if (!r->rc || r->rc == GT_ENOMEM)
        return;
    gt_err_prefix(r->err, r->rc, "%s: %s", r->where, key);
    r->rc = GT_ECONFIG;
    if (r->err)
        r->err->code = r->rc;
}

/* Parses an expression that is a string or a number. */
static void parse_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *item,
                       const char *key)
{
    char number[32];
    int64_t value;

    if (cJSON_IsString(item) && *item->valuestring) {
        parse_text(r, expr, item->valuestring, key);
    } else if (gt_json_whole(item, -((int64_t)1 << 53), (int64_t)1 << 53, &value)) {
        snprintf(number, sizeof(number), "%lld", (long long)value);
        parse_text(r, expr, number, key);
    } else {
        gt_reader_fail(r, "\"%s\" must be an expression (a string) or a whole number", key);
    }
}

void gt_reader_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                    const char *key, const char *standard)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (item)
        parse_expr(r, expr, item, key);
    else if (standard)
        parse_text(r, expr, standard, key);
}

void gt_reader_needed_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                           const char *key)
{
    if (!cJSON_GetObjectItemCaseSensitive(object, key))
        gt_reader_fail(r, "key \"%s\" is missing", key);
    gt_reader_expr(r, expr, object, key, NULL);
}

int gt_reader_exprs(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                    const char *key, int most, enum gt_presence presence)
{
    const cJSON *list = gt_reader_get(r, object, key, cJSON_Array, presence);
    int count = list ? cJSON_GetArraySize(list) : 0;

    if (list && (count < 1 || count > most))
        gt_reader_fail(r, "\"%s\" must list 1 to %d expressions", key, most);
    for (int i = 0; !r->rc && i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s[%d]", key, i);
        parse_expr(r, &expr[i], cJSON_GetArrayItem(list, i), name);
    }
    return r->rc ? 0 : count;
}

void gt_reader_triple(struct gt_reader *r, struct gt_expr *expr[3], const cJSON *object,
                      const char *key, enum gt_presence presence)
{
    for (int i = gt_reader_exprs(r, expr, object, key, 3, presence); i < 3; i++)
        parse_text(r, &expr[i], "1", key);
}

void gt_reader_list(struct gt_reader *r, const char *key, size_t max, enum gt_presence presence,
                    void (*read)(struct gt_reader *, const cJSON *, size_t))
{
    const cJSON *list = gt_reader_get(r, r->root, key, cJSON_Array, presence), *item;
    size_t index = 0;

    if (list && (size_t)cJSON_GetArraySize(list) > max)
        gt_reader_fail(r, "\"%s\" has %d entries; at most %zu are allowed", key,
                       cJSON_GetArraySize(list), max);
    cJSON_ArrayForEach(item, list)
    {
        gt_reader_at(r, "%s[%zu]", key, index);
        if (!r->rc)
            read(r, item, index++);
    }
    if (!r->rc)
        snprintf(r->where, sizeof(r->where), "%s", r->kernel->path);
}
