/* strbuf.c - vocabulary: growing strings with sticky failure. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"

#define GT_FILE_LIMIT (64u << 20) /* no text that this project reads comes near this size */

char gt_strbuf_empty[1];

void gt_strbuf_init(struct gt_strbuf *buf)
{
    *buf = (struct gt_strbuf)GT_STRBUF_INIT;
}

void gt_strbuf_release(struct gt_strbuf *buf)
{
    if (buf->capacity)
        free(buf->text);
    gt_strbuf_init(buf);
}

void gt_strbuf_reset(struct gt_strbuf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->capacity)
        buf->text[0] = '\0';
}

/* Makes room for `extra` bytes and the NUL; false once the buffer has failed. */
static bool reserve(struct gt_strbuf *buf, size_t extra)
{
    size_t need = buf->length + extra + 1;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    char *text;

    if (buf->failed)
        return false;
    if (extra > SIZE_MAX / 4 || (buf->limit && need > buf->limit + 1)) {
        buf->failed = true;
        return false;
    }
    if (need <= buf->capacity)
        return true;
    while (capacity < need)
        capacity *= 2;
    text = realloc(buf->capacity ? buf->text : NULL, capacity);
    if (!text) {
        buf->failed = true;
        return false;
    }
    buf->text = text;
    buf->capacity = capacity;
    return true;
}

void gt_strbuf_add_bytes(struct gt_strbuf *buf, const void *bytes, size_t count)
{
    if (!reserve(buf, count))
        return;
    if (count)
        memcpy(buf->text + buf->length, bytes, count);
    buf->length += count;
    buf->text[buf->length] = '\0';
}

void gt_strbuf_add(struct gt_strbuf *buf, const char *text)
{
    gt_strbuf_add_bytes(buf, text, strlen(text));
}

void gt_strbuf_add_char(struct gt_strbuf *buf, char c)
{
    gt_strbuf_add_bytes(buf, &c, 1);
}

void gt_strbuf_addf(struct gt_strbuf *buf, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        buf->failed = true; /* over INT_MAX bytes, or not to be written in this locale */
    if (length < 0 || !reserve(buf, (size_t)length))
        return;
    va_start(args, format);
    vsnprintf(buf->text + buf->length, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

int gt_strbuf_check(const struct gt_strbuf *buf, struct gt_err *err)
{
    return buf->failed ? gt_err_nomem(err) : GT_OK;
}

char *gt_strbuf_detach(struct gt_strbuf *buf)
{
    char *text;

    if (!buf->capacity)
        gt_strbuf_add_bytes(buf, "", 0); /* allocates an empty text, too */
    if (buf->failed) {
        gt_strbuf_release(buf);
        return NULL;
    }
    text = buf->text;
    gt_strbuf_init(buf);
    return text;
}

int gt_strbuf_add_file(struct gt_strbuf *buf, const char *path, struct gt_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    struct stat st;
    int rc = GT_OK;

    if (fd >= 0 && !file) {
        close(fd);
        return gt_err_nomem(err);
    }
    if (!file)
        return gt_err_set(err, GT_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fileno(file), &st) || !S_ISREG(st.st_mode)) {
        rc = gt_err_set(err, GT_EIO, "%s: not a regular file", path);
        goto out;
    }
    if (st.st_size > (off_t)GT_FILE_LIMIT) {
        rc = gt_err_set(err, GT_EIO, "%s: %lld bytes; at most %u are read", path,
                        (long long)st.st_size, GT_FILE_LIMIT);
        goto out;
    }
    if (!reserve(buf, (size_t)st.st_size)) {
        rc = gt_err_nomem(err);
        goto out;
    }
    if (fread(buf->text + buf->length, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
        rc = gt_err_set(err, GT_EIO, "%s: cannot read: %s", path,
                        ferror(file) ? strerror(errno) : "it shrank while being read");
    else
        buf->length += (size_t)st.st_size;
    buf->text[buf->length] = '\0';
out:
    fclose(file);
    return rc;
}

/* ---- arrays that grow ---- */

#define FIRST 8 /* elements that an array gets room for at first */

int gt_array_reserve(void *array, size_t needed, size_t *capacity, size_t size, struct gt_err *err)
{
    size_t wanted = *capacity ? *capacity : FIRST;
    void *grown;

    if (needed <= *capacity)
        return GT_OK;
    while (wanted < needed && wanted <= SIZE_MAX / 2)
        wanted *= 2;
    if (wanted < needed || wanted > SIZE_MAX / size)
        return gt_err_nomem(err);
    memcpy(&grown, array, sizeof(grown));
    grown = realloc(grown, wanted * size);
    if (!grown)
        return gt_err_nomem(err);
    memcpy(array, &grown, sizeof(grown));
    *capacity = wanted;
    return GT_OK;
}

/* ---- the locale ---- */

locale_t gt_locale_enter(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void gt_locale_leave(locale_t before)
{
    uselocale(before);
}
