/* budget.c - the budget of a sweep: its text form and its default. */
#include "base/err.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE        "patience="
#define EACH            "/problem"
#define PREDICT_TRIALS  120   /* they take about a minute of compiling on two cores */
#define MEASURE_SECONDS 120.0 /* per run */

static const struct {
    const char *name;
    double seconds;
} unit[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

/* Reads one part of the list, [text, end). */
static int parse_part(struct gt_budget *budget, const char *text, const char *end,
                      struct gt_err *err)
{
    const char *number = text;
    bool patience = strncmp(text, PATIENCE, strlen(PATIENCE)) == 0;
    const bool each =
        (size_t)(end - text) > strlen(EACH) && strncmp(end - strlen(EACH), EACH, strlen(EACH)) == 0;
    const char *stop = each ? end - strlen(EACH) : end;
    char *after;
    double value;

    if (patience)
        number += strlen(PATIENCE);
    errno = 0;
    value = strtod(number, &after);
    if (after == number || after > end || errno || !(value > 0) || value > 1e9)
        goto malformed;
    if (after == end) {
        int64_t *count = patience ? &budget->patience : &budget->trials;

        if (*count)
            goto twice;
        *count = (int64_t)value;
        if ((double)*count != value)
            goto malformed;
        return GT_OK;
    }
    for (size_t i = 0; !patience && i < sizeof(unit) / sizeof(unit[0]); i++) {
        if (after <= stop && strlen(unit[i].name) == (size_t)(stop - after) &&
            strncmp(unit[i].name, after, (size_t)(stop - after)) == 0) {
            if (budget->seconds > 0)
                goto twice;
            budget->seconds = value * unit[i].seconds;
            budget->each = each;
            return GT_OK;
        }
    }
    goto malformed;
twice:
    return gt_err_set(err, GT_ESYNTAX, "budget \"%.*s\": a limit of this kind was given before",
                      (int)(end - text), text);
malformed:
    return gt_err_set(
        err, GT_ESYNTAX,
        "budget \"%.*s\": expected a time such as 90s, 30m, 8h or 10s/problem, a number "
        "of trials such as 500, or patience=200",
        (int)(end - text), text);
}

int gt_budget_parse(struct gt_budget *budget, const char *text, struct gt_err *err)
{
    int rc = GT_OK;

    *budget = (struct gt_budget){0};
    for (;;) {
        const char *end = text + strcspn(text, ",");

        rc = parse_part(budget, text, end, err);
        if (rc || !*end)
            return rc;
        text = end + 1;
    }
}

struct gt_budget gt_budget_default(bool measures)
{
    if (measures)
        return (struct gt_budget){.seconds = MEASURE_SECONDS};
    return (struct gt_budget){.trials = PREDICT_TRIALS};
}
