/* kernel_point_text.c - vocabulary: points as text. */
#include "kernel/kernel.h"

#include "base/err.h"
#include "base/near.h"

#include <stdlib.h>
#include <string.h>

void gt_param_format(struct gt_strbuf *buf, const struct gt_param *param, int64_t value)
{
    if (param->word)
        gt_strbuf_add(buf, param->word[value]);
    else
        gt_strbuf_addf(buf, "%lld", (long long)value);
}

void gt_point_format(struct gt_strbuf *buf, const struct gt_kernel *kernel,
                     const struct gt_point *point)
{
    for (size_t i = 0; i < kernel->params; i++) {
        gt_strbuf_addf(buf, "%s%s=", i ? "," : "", kernel->param[i].name);
        gt_param_format(buf, &kernel->param[i], point->value[i]);
    }
}

static int unknown_parameter(const struct gt_kernel *kernel, const char *name, size_t length,
                             struct gt_err *err)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    const char *known[GT_MAX_PARAMS], *near;
    int rc;

    for (size_t i = 0; i < kernel->params; i++) {
        known[i] = kernel->param[i].name;
        gt_strbuf_addf(&list, " %s", known[i]);
    }
    near = gt_near(name, length, known, kernel->params);
    rc = gt_err_set(err, GT_ENOTFOUND,
                    "kernel %s has no parameter \"%.*s\"%s%s%s; its parameters are:%s",
                    kernel->name, (int)(length < 64 ? length : 64), name,
                    near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", list.text);
    gt_strbuf_release(&list);
    return rc;
}

static int unknown_value(const struct gt_kernel *kernel, const struct gt_param *param,
                         const char *text, size_t length, struct gt_err *err)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    int rc;

    for (size_t i = 0; i < param->count; i++) {
        gt_strbuf_add_char(&list, ' ');
        gt_param_format(&list, param, param->value[i]);
    }
    rc = gt_err_set(err, GT_ERANGE, "kernel %s: %s cannot be \"%.*s\"; its values are:%s",
                    kernel->name, param->name, (int)(length < 64 ? length : 64), text, list.text);
    gt_strbuf_release(&list);
    return rc;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strncmp(word, text, length) == 0 && !word[length];
}

/* INT64_MAX, which no parameter has: text[0..length) is no value. */
static int64_t parse_value(const struct gt_param *param, const char *text, size_t length)
{
    int64_t value = 0;
    char *end;

    if (!param->word) {
        value = strtoll(text, &end, 10);
        return length && end == text + length ? value : INT64_MAX;
    }
    while (param->word[value] && !is_word(param->word[value], text, length))
        value++;
    return param->word[value] ? value : INT64_MAX;
}

/* Parses one "NAME=value", which is text[0..length). */
static int parse_assignment(struct gt_point *point, const struct gt_kernel *kernel,
                            const char *text, size_t length, uint64_t *given, struct gt_err *err)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length, i = 0;
    const char *number;
    int64_t value;

    if (!equals)
        return gt_err_set(err, GT_ESYNTAX, "point: \"%.*s\" is not NAME=value",
                          (int)(length < 64 ? length : 64), text);
    while (i < kernel->params && !is_word(kernel->param[i].name, text, name))
        i++;
    if (i == kernel->params)
        return unknown_parameter(kernel, text, name, err);
    if (*given & (uint64_t)1 << i)
        return gt_err_set(err, GT_ESYNTAX, "point: %s is given twice", kernel->param[i].name);
    *given |= (uint64_t)1 << i;
    number = equals + 1;
    length -= (size_t)(number - text);
    value = parse_value(&kernel->param[i], number, length);
    for (size_t j = 0; j < kernel->param[i].count; j++)
        if (kernel->param[i].value[j] == value) {
            point->value[i] = value;
            return GT_OK;
        }
    return unknown_value(kernel, &kernel->param[i], number, length, err);
}

int gt_pattern_parse(struct gt_pattern *pattern, const struct gt_kernel *kernel, const char *text,
                     struct gt_err *err)
{
    int rc = GT_OK;

    pattern->named = 0;
    gt_point_default(&pattern->point, kernel);
    while (!rc && *text) {
        size_t length = strcspn(text, ",");

        rc = parse_assignment(&pattern->point, kernel, text, length, &pattern->named, err);
        text += length;
        if (!rc && *text && !*++text)
            rc = gt_err_set(err, GT_ESYNTAX, "point: it ends with a comma");
    }
    return rc;
}

int gt_point_parse(struct gt_point *point, const struct gt_kernel *kernel, const char *text,
                   struct gt_err *err)
{
    struct gt_pattern pattern;
    int rc = gt_pattern_parse(&pattern, kernel, text, err);

    *point = pattern.point;
    return rc;
}
