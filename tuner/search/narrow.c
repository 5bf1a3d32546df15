/* narrow.c - narrows the spaces of kernels to some values of some parameters; see space.h. */
#include "search/space.h"

#include "base/err.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 64 /* values named for one parameter */
#define MAX_NAMES  256

/* One part of the text: NAME=value|value. */
struct part {
    const char *name;
    size_t length;
    int64_t value[MAX_VALUES];
    size_t values;
};

static int malformed(const char *text, struct gt_err *err)
{
    return gt_err_set(err, GT_ESYNTAX,
                      "\"%.200s\": expected parameters with the values to search, such as "
                      "TM=4|8,STAGES=2",
                      text);
}

/* Reads the part at *at and moves *at behind the part. */
static int read_part(struct part *part, const char **at, struct gt_err *err)
{
    const char *begin = *at, *from;

    *part = (struct part){.name = begin, .length = strcspn(begin, "=,")};
    from = begin + part->length;
    if (!part->length || *from != '=')
        return malformed(begin, err);
    do {
        char *end;

        if (part->values == MAX_VALUES)
            return malformed(begin, err);
        part->value[part->values++] = strtoll(from + 1, &end, 10);
        if (end == from + 1 || (*end && !strchr("|,", *end)))
            return malformed(begin, err);
        from = end;
    } while (*from == '|');
    *at = *from ? from + 1 : from;
    return GT_OK;
}

static bool is_among(const int64_t *list, size_t count, int64_t value)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == value)
            return true;
    return false;
}

/* Keeps the values that the part names; the parameter has at least one of them. */
static void keep_values(struct gt_param *param, const struct part *part)
{
    size_t kept = 0, standard = 0;

    for (size_t i = 0; i < param->count; i++) {
        if (!is_among(part->value, part->values, param->value[i]))
            continue;
        if (i == param->standard)
            standard = kept;
        param->value[kept++] = param->value[i];
    }
    param->count = kept;
    param->standard = standard;
}

static int unknown(struct gt_kernel *const *kernel, size_t kernels, const struct part *part,
                   struct gt_err *err)
{
    const char *known[MAX_NAMES], *near;
    size_t count = 0;

    for (size_t k = 0; k < kernels; k++)
        for (size_t p = 0; p < kernel[k]->params && count < MAX_NAMES; p++)
            known[count++] = kernel[k]->param[p].name;
    near = gt_near(part->name, part->length, known, count);
    return gt_err_set(err, GT_ENOTFOUND,
                      "no kernel has a parameter \"%.*s\"%s%s%s; tune show KERNEL lists a kernel's",
                      part->length < 64 ? (int)part->length : 64, part->name,
                      near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* The parameter of that name, or NULL. */
static struct gt_param *find_param(struct gt_kernel *kernel, const struct part *part)
{
    for (size_t p = 0; p < kernel->params; p++)
        if (strlen(kernel->param[p].name) == part->length &&
            strncmp(kernel->param[p].name, part->name, part->length) == 0)
            return &kernel->param[p];
    return NULL;
}

/* Whether one of the kernels has the value. */
static bool is_known(struct gt_kernel *const *kernel, size_t kernels, const struct part *part,
                     int64_t value)
{
    for (size_t k = 0; k < kernels; k++) {
        const struct gt_param *param = find_param(kernel[k], part);

        if (param && is_among(param->value, param->count, value))
            return true;
    }
    return false;
}

/* Sets a sentence that ends with the values of the parameter in these kernels, each once. */
static int refuse(struct gt_kernel *const *kernel, size_t kernels, const struct part *part,
                  const char *sentence, struct gt_err *err)
{
    struct gt_strbuf list = GT_STRBUF_INIT;
    int rc;

    for (size_t k = 0; k < kernels; k++) {
        const struct gt_param *param = find_param(kernel[k], part);

        for (size_t i = 0; param && i < param->count; i++)
            if (!is_known(kernel, k, part, param->value[i]))
                gt_strbuf_addf(&list, " %lld", (long long)param->value[i]);
    }
    rc = gt_err_set(err, GT_ENOTFOUND, "%s; its values are:%s", sentence, list.text);
    gt_strbuf_release(&list);
    return rc;
}

/* Each value belongs to some kernel's parameter, and each kernel with the parameter has a value. */
static int check(struct gt_kernel *const *kernel, size_t kernels, const struct part *part,
                 struct gt_err *err)
{
    bool known = false;
    char sentence[256];

    for (size_t k = 0; k < kernels; k++) {
        const struct gt_param *param = find_param(kernel[k], part);
        bool any = !param;

        known |= param != NULL;
        for (size_t i = 0; i < part->values; i++)
            any |= is_known(kernel + k, 1, part, part->value[i]);
        if (any)
            continue;
        snprintf(sentence, sizeof(sentence), "kernel %s: parameter %s has none of the values named",
                 kernel[k]->name, param->name);
        return refuse(kernel + k, 1, part, sentence, err);
    }
    if (!known)
        return unknown(kernel, kernels, part, err);
    for (size_t i = 0; i < part->values; i++) {
        if (is_known(kernel, kernels, part, part->value[i]))
            continue;
        snprintf(sentence, sizeof(sentence), "no kernel's parameter %.*s has the value %lld",
                 (int)part->length, part->name, (long long)part->value[i]);
        return refuse(kernel, kernels, part, sentence, err);
    }
    return GT_OK;
}

static int apply(struct gt_kernel *const *kernel, size_t kernels, const struct part *part,
                 struct gt_err *err)
{
    int rc = check(kernel, kernels, part, err);

    for (size_t k = 0; !rc && k < kernels; k++) {
        struct gt_param *param = find_param(kernel[k], part);

        if (param)
            keep_values(param, part);
    }
    return rc;
}

/* Refuses a part that names the same parameter as an earlier part of the text. */
static int check_first(const struct part *part, const char *text, struct gt_err *err)
{
    for (const char *at = text; at < part->name; at += strcspn(at, ",") + 1)
        if (strcspn(at, "=") == part->length && strncmp(at, part->name, part->length) == 0)
            return gt_err_set(err, GT_ESYNTAX,
                              "\"%.200s\": %.*s is given twice; its values are separated by |, as "
                              "in TM=4|8",
                              text, part->length < 64 ? (int)part->length : 64, part->name);
    return GT_OK;
}

int gt_narrow(struct gt_kernel *const *kernel, size_t kernels, const char *text, struct gt_err *err)
{
    const char *at = text;
    struct part part;
    int rc = GT_OK;

    if (!*text)
        return malformed(text, err);
    while (*at && !rc) {
        rc = read_part(&part, &at, err);
        GT_STEP(rc, check_first(&part, text, err));
        GT_STEP(rc, apply(kernel, kernels, &part, err));
    }
    return rc;
}
