/* ranges.c - vocabulary: expands lists and ranges of sizes; see ranges.h. */
#include "session/ranges.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"

#define QUOTED 100 /* characters of the text repeated in a sentence */

/* The values of M, N or K. */
struct sizes {
    int64_t value[GT_RANGES_MOST];
    size_t count;
};

struct reading {
    const char *text, *at;
    struct gt_err *err;
};

static int refuse(const struct reading *reading, const char *from, int length, const char *what)
{
    return gt_err_set(reading->err, GT_ESYNTAX, "problem \"%.*s\": \"%.*s\" %s", QUOTED,
                      reading->text, length < QUOTED ? length : QUOTED, from, what);
}

static bool is_number(const char *at)
{
    return isdigit((unsigned char)*at);
}

/* A whole number up to the largest size. */
static int read_number(struct reading *reading, int64_t *value)
{
    const char *from = reading->at;

    for (*value = 0; is_number(reading->at) && *value <= GT_MAX_EXTENT; reading->at++)
        *value = *value * 10 + (*reading->at - '0');
    if (reading->at == from)
        return refuse(reading, from, (int)strcspn(from, ",:x"), "is not a size");
    return *value <= GT_MAX_EXTENT ? GT_OK
                                   : refuse(reading, from, (int)strspn(from, "0123456789"),
                                            "is outside the allowed sizes 0 to 2147483647");
}

static int append(const struct reading *reading, struct sizes *sizes, int64_t value)
{
    if (sizes->count == GT_RANGES_MOST)
        return gt_err_set(reading->err, GT_ERANGE,
                          "problem \"%.*s\": one size has more than %d values", QUOTED,
                          reading->text, GT_RANGES_MOST);
    sizes->value[sizes->count++] = value;
    return GT_OK;
}

/* START, START:STOP:STEP or START:STOP:xFACTOR. */
static int read_member(struct reading *reading, struct sizes *sizes)
{
    const char *from = reading->at;
    int64_t start, stop, step = 0;
    bool times = false;
    int rc = read_number(reading, &start);

    if (rc || reading->at[0] != ':' || !is_number(reading->at + 1))
        return rc ? rc : append(reading, sizes, start);
    reading->at++;
    rc = read_number(reading, &stop);
    if (!rc && reading->at[0] == ':') {
        times = reading->at[1] == 'x';
        if (is_number(reading->at + 1 + times)) {
            reading->at += 1 + times;
            rc = read_number(reading, &step);
        }
    }
    if (!rc && (step < 1 + times || start < times || start > stop))
        rc = refuse(reading, from, (int)(reading->at - from),
                    "is no range of sizes: write START:STOP:STEP, or START:STOP:xFACTOR with a "
                    "factor of 2 or more, from a smaller size to a larger one");
    while (!rc && start <= stop) {
        rc = append(reading, sizes, start);
        start = times ? start * step : start + step;
    }
    return rc;
}

/* One size: members and commas. */
static int read_sizes(struct reading *reading, struct sizes *sizes)
{
    int rc = read_member(reading, sizes);

    while (!rc && *reading->at == ',') {
        reading->at++;
        rc = read_member(reading, sizes);
    }
    return rc;
}

/* Where the sizes end: a type, a layout or a key begins with a letter. */
static const char *end_of_sizes(const char *text)
{
    while (*text && !(text[0] == ':' && !is_number(text + 1) && text[1] != 'x'))
        text++;
    return text;
}

bool gt_ranges_any(const char *text)
{
    const char *end = end_of_sizes(text);
    int separators = 0;

    for (const char *at = text; at < end; at++)
        separators += at[0] == 'x' && (at == text || at[-1] != ':');
    return separators == 2 && strcspn(text, ",:") < (size_t)(end - text);
}

/* The three sizes; then reading->at is what stands behind them. */
static int read_all(struct reading *reading, struct sizes *sizes)
{
    int rc = GT_OK;

    for (int i = 0; i < 3 && !rc; i++) {
        rc = read_sizes(reading, &sizes[i]);
        if (!rc && i < 2 && *reading->at++ != 'x')
            rc = refuse(reading, reading->text, (int)strcspn(reading->text, ""),
                        "is not a size; write MxNxK, e.g. 1,2,4x4096x4096");
    }
    if (!rc && *reading->at && reading->at != end_of_sizes(reading->text))
        rc = refuse(reading, reading->at, (int)strlen(reading->at), "follows the sizes");
    if (!rc &&
        (double)sizes[0].count * (double)sizes[1].count * (double)sizes[2].count > GT_RANGES_MOST)
        rc = gt_err_set(reading->err, GT_ERANGE,
                        "problem \"%.*s\" stands for %.0f problems; at most %d are allowed", QUOTED,
                        reading->text,
                        (double)sizes[0].count * (double)sizes[1].count * (double)sizes[2].count,
                        GT_RANGES_MOST);
    return rc;
}

static int visit_all(const struct sizes *sizes, const char *rest, gt_ranges_visit *visit,
                     void *context, struct gt_err *err)
{
    const size_t inner = sizes[1].count * sizes[2].count, all = sizes[0].count * inner;
    int rc = GT_OK;

    for (size_t i = 0; i < all && !rc; i++) {
        struct gt_strbuf text = GT_STRBUF_INIT;

        gt_strbuf_addf(&text, "%lldx%lldx%lld%s", (long long)sizes[0].value[i / inner],
                       (long long)sizes[1].value[i % inner / sizes[2].count],
                       (long long)sizes[2].value[i % sizes[2].count], rest);
        rc = gt_strbuf_check(&text, err);
        GT_STEP(rc, visit(context, text.text, err));
        gt_strbuf_release(&text);
    }
    return rc;
}

int gt_ranges_expand(const char *text, gt_ranges_visit *visit, void *context, struct gt_err *err)
{
    struct reading reading = {text, text, err};
    struct sizes *sizes;
    int rc;

    if (!gt_ranges_any(text))
        return visit(context, text, err);
    sizes = calloc(3, sizeof(*sizes));
    if (!sizes)
        return gt_err_nomem(err);
    rc = read_all(&reading, sizes);
    GT_STEP(rc, visit_all(sizes, reading.at, visit, context, err));
    free(sizes);
    return rc;
}
