/* kernel_reader.c - vocabulary: members of kernel descriptions. */
#include "kernel/kernel_reader.h"

#include "base/err.h"

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

    if (length > GT_READER_WHERE_MAX - 112) /* the end of a path says more than its beginning */
        path += length - (GT_READER_WHERE_MAX - 112);
    used = snprintf(r->where, sizeof(r->where), "%s: ", path);
    va_start(args, format);
    vsnprintf(r->where + used, sizeof(r->where) - (size_t)used, format, args);
    va_end(args);
}

static int copy(struct gt_reader *r, char **to, const char *text)
{
    *to = strdup(text);
    return *to ? GT_OK : gt_err_nomem(r->err);
}

int gt_reader_string(struct gt_reader *r, char **to, const cJSON *object, const char *key,
                     enum gt_presence presence)
{
    const char *text = NULL;
    int rc = gt_json_string(&text, object, r->where, key, presence, r->err);

    return rc || !text ? rc : copy(r, to, text);
}

/* A failure inside the description is malformed configuration, whatever its cause. */
static int as_config(struct gt_reader *r, int rc)
{
    if (rc && rc != GT_ENOMEM) {
        rc = GT_ECONFIG;
        if (r->err)
            r->err->code = rc;
    }
    return rc;
}

/* Parses a string or a number; `key` is for sentences. */
static int parse_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *item,
                      const char *key)
{
    char number[32];
    const char *text = number;
    int64_t value;
    int rc;

    if (cJSON_IsString(item) && *item->valuestring)
        text = item->valuestring;
    else if (gt_json_whole(item, -((int64_t)1 << 53), (int64_t)1 << 53, &value))
        snprintf(number, sizeof(number), "%lld", (long long)value);
    else
        return gt_err_set(r->err, GT_ECONFIG,
                          "%s: \"%s\" must be an expression (a string) or a whole number", r->where,
                          key);
    rc = gt_expr_parse(expr, text, &r->kernel->names, r->err);
    if (rc && rc != GT_ENOMEM)
        gt_err_prefix(r->err, rc, "%s: %s", r->where, key);
    return as_config(r, rc);
}

int gt_reader_expr(struct gt_reader *r, struct gt_expr **expr, const cJSON *object, const char *key,
                   const char *standard)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (item)
        return parse_expr(r, expr, item, key);
    return standard ? gt_expr_parse(expr, standard, &r->kernel->names, r->err) : GT_OK;
}

int gt_reader_exprs(struct gt_reader *r, struct gt_expr **expr, const cJSON *object,
                    const char *key, int most, enum gt_presence presence, int *count)
{
    const cJSON *list;
    int rc = gt_json_get(&list, object, r->where, key, cJSON_Array, presence, r->err);

    *count = list && !rc ? cJSON_GetArraySize(list) : 0;
    if (!rc && list && (*count < 1 || *count > most))
        rc = gt_err_set(r->err, GT_ECONFIG, "%s: \"%s\" must list 1 to %d expressions", r->where,
                        key, most);
    for (int i = 0; !rc && i < *count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s[%d]", key, i);
        rc = parse_expr(r, &expr[i], cJSON_GetArrayItem(list, i), name);
    }
    return rc;
}

int gt_reader_triple(struct gt_reader *r, struct gt_expr *expr[3], const cJSON *object,
                     const char *key, enum gt_presence presence)
{
    int count;
    int rc = gt_reader_exprs(r, expr, object, key, 3, presence, &count);

    for (int i = count; !rc && i < 3; i++)
        rc = gt_expr_parse(&expr[i], "1", &r->kernel->names, r->err);
    return rc;
}

int gt_reader_list(struct gt_reader *r, const char *key, size_t max, enum gt_presence presence,
                   int (*read)(struct gt_reader *, const cJSON *, size_t))
{
    const cJSON *list, *item;
    size_t index = 0;
    int rc;

    rc = gt_json_get(&list, r->root, r->kernel->path, key, cJSON_Array, presence, r->err);
    if (rc || !list)
        return rc;
    if ((size_t)cJSON_GetArraySize(list) > max)
        return gt_err_set(r->err, GT_ECONFIG, "%s: \"%s\" has %d entries; at most %zu are allowed",
                          r->kernel->path, key, cJSON_GetArraySize(list), max);
    cJSON_ArrayForEach(item, list)
    {
        rc = read(r, item, index++);
        if (rc)
            return rc;
    }
    return GT_OK;
}
