/* strategy_options.c - the text form of a strategy, NAME:OPTION=VALUE,... */
#include "base/err.h"
#include "base/near.h"
#include "base/strbuf.h"
#include "search/strategy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 32

/* The index of word[0..length) among the names, or SIZE_MAX with a sentence; what: "unknown
 * strategy". */
static size_t find_name(const char *what, const char *word, size_t length, const char *const *name,
                        size_t count, struct gt_err *err)
{
    struct gt_strbuf names = GT_STRBUF_INIT;
    const char *near = gt_near(word, length, name, count);

    for (size_t i = 0; i < count; i++)
        if (strlen(name[i]) == length && memcmp(name[i], word, length) == 0)
            return i;
    for (size_t i = 0; i < count; i++)
        gt_strbuf_addf(&names, "%s%s", i ? ", " : "", name[i]);
    gt_err_set(err, GT_ENOTFOUND, "%s \"%.*s\"%s%s%s; there are: %s", what, (int)length, word,
               near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "",
               count ? names.text : "none");
    gt_strbuf_release(&names);
    return SIZE_MAX;
}

static const struct gt_strategy_ops *find_ops(const char *text, size_t length, struct gt_err *err)
{
    const char *name[NAMES];
    size_t count = 0, at;

    for (; gt_strategies[count] && count < NAMES; count++)
        name[count] = gt_strategies[count]->name;
    at = find_name("unknown strategy", text, length, name, count, err);
    return at == SIZE_MAX ? NULL : gt_strategies[at];
}

/* Reads [text, end): OPTION=VALUE, each option once. */
static int parse_option(const struct gt_strategy_ops *ops, double *value, unsigned *given,
                        const char *text, const char *end, struct gt_err *err)
{
    const struct gt_strategy_option *option = ops->option;
    const char *name[GT_STRATEGY_OPTIONS];
    const char *equals = memchr(text, '=', (size_t)(end - text));
    size_t length = (size_t)((equals ? equals : end) - text), count = 0, at;
    char *after, what[64];

    snprintf(what, sizeof(what), "strategy %s: unknown option", ops->name);
    for (; option && option[count].name; count++)
        name[count] = option[count].name;
    at = find_name(what, text, length, name, count, err);
    if (at == SIZE_MAX)
        return GT_ENOTFOUND;
    if (*given >> at & 1)
        return gt_err_set(err, GT_ESYNTAX, "strategy %s: option %s is given twice", ops->name,
                          option[at].name);
    *given |= 1u << at;
    value[at] = equals ? strtod(equals + 1, &after) : NAN;
    if (!equals || after != end || after == equals + 1 || !(value[at] >= option[at].least) ||
        !(value[at] <= option[at].most))
        return gt_err_set(err, GT_ERANGE, "strategy %s: \"%.*s\": %s=NUMBER, %g to %g", ops->name,
                          (int)(end - text), text, option[at].name, option[at].least,
                          option[at].most);
    return GT_OK;
}

int gt_strategy_parse(const struct gt_strategy_ops **ops, double *option, const char *text,
                      struct gt_err *err)
{
    double value[GT_STRATEGY_OPTIONS] = {0};
    size_t length = strcspn(text, ":");
    const struct gt_strategy_ops *found = find_ops(text, length, err);
    const char *part = text + length;
    unsigned given = 0; /* bit i: option i */

    if (!found)
        return GT_ENOTFOUND;
    for (size_t i = 0; found->option && found->option[i].name; i++)
        value[i] = found->option[i].standard;
    while (*part) {
        const char *begin = part + 1, *end = begin + strcspn(begin, ",");
        int rc = parse_option(found, value, &given, begin, end, err);

        if (rc)
            return rc;
        part = end;
    }
    if (ops)
        *ops = found;
    if (option)
        memcpy(option, value, sizeof(value));
    return GT_OK;
}
