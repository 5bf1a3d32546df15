/* err.c - vocabulary: error sentences and the fixed texts of the codes. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

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
