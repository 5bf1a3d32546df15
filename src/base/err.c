/* err.c - vocabulary: error sentences and the fixed texts of the codes. */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

unsigned gt_version(void)
{
    return GT_VERSION_MAJOR << 16 | GT_VERSION_MINOR << 8 | GT_VERSION_PATCH;
}

const char *gt_strerror(int code)
{
    switch (code) {
    case GT_OK:
        return "no error";
#define GT_ERROR_CASE(name, value, text) \
    case value:                          \
        return text;
        GT_ERROR_MAP(GT_ERROR_CASE)
#undef GT_ERROR_CASE
    default:
        return "unknown error";
    }
}

int gt_err_set(struct gt_err *err, int code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->msg, sizeof(err->msg), format, args);
    va_end(args);
    return code;
}

int gt_err_prefix(struct gt_err *err, int code, const char *format, ...)
{
    char old[sizeof(err->msg)];
    va_list args;
    int length;

    if (!err)
        return code;
    snprintf(old, sizeof(old), "%s", err->msg);
    va_start(args, format);
    length = vsnprintf(err->msg, sizeof(err->msg), format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof(err->msg))
        snprintf(err->msg + length, sizeof(err->msg) - (size_t)length, ": %s", old);
    return err->code;
}

int gt_err_pass(struct gt_err *err, const struct gt_err *inner, int code)
{
    if (code && err)
        *err = *inner;
    return code;
}

int gt_err_nomem(struct gt_err *err)
{
    return gt_err_set(err, GT_ENOMEM, "out of memory");
}

bool gt_is_control(const char *text, size_t i)
{
    const unsigned char c = (unsigned char)text[i];

    if (c >= 0x80 && c < 0xa0)
        return i > 0 && (unsigned char)text[i - 1] == 0xc2;
    return c < ' ' || c == 127;
}

void gt_copy_clean(char *to, size_t size, const char *text)
{
    size_t i;

    for (i = 0; text[i] && i + 1 < size; i++)
        to[i] = text[i] == '\n' ? ' ' : gt_is_control(text, i) ? '?' : text[i];
    if (size)
        to[i] = '\0';
}

/* ---- edit distance (optimal string alignment, two rows kept) over short words ---- */

#define NEAR_MAX 63

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t gt_near_distance(const char *word, size_t length, const char *known)
{
    const size_t width = strnlen(known, NEAR_MAX);
    size_t row[NEAR_MAX + 1], above[NEAR_MAX + 1] = {0}; /* above: the row before row[] */

    if (length > NEAR_MAX)
        length = NEAR_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0], before = 0; /* before: above[j - 2] */

        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = diagonal + !same(word[i - 1], known[j - 1]);

            best = least(best, least(row[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(word[i - 1], known[j - 2]) &&
                same(word[i - 2], known[j - 1]))
                best = least(best, before + 1);
            before = above[j - 1];
            above[j - 1] = diagonal;
            diagonal = row[j];
            row[j] = best;
        }
        above[width] = diagonal;
    }
    return row[width];
}

const char *gt_near(const char *word, size_t length, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t limit = length / 3 ? length / 3 : 1;
    size_t best_distance = limit + 1;

    for (size_t i = 0; i < count; i++) {
        size_t distance = gt_near_distance(word, length, known[i]);

        /* A word with every character replaced is not similar: "K" is not near "M". */
        if (distance < best_distance && distance < strlen(known[i])) {
            best = known[i];
            best_distance = distance;
        }
    }
    return best;
}
