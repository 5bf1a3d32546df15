/* strbuf.h - vocabulary: a growing string whose failure is sticky.
 *
 * Append freely and check once, with gt_strbuf_check, at the end: after a failed allocation (or
 * past `limit`, or a text that printf cannot make) appends are ignored.  `text` is always
 * NUL-terminated; it is "" before the first append. */
#ifndef GT_STRBUF_H
#define GT_STRBUF_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct gt_err;

struct gt_strbuf {
    char *text;      /* never NULL */
    size_t length;   /* without the NUL */
    size_t capacity; /* 0: text is the shared empty string */
    size_t limit;    /* bytes; 0: none */
    bool failed;
};

extern char gt_strbuf_empty[];
#define GT_STRBUF_INIT                  \
    {                                   \
        gt_strbuf_empty, 0, 0, 0, false \
    }

void gt_strbuf_init(struct gt_strbuf *buf);
void gt_strbuf_release(struct gt_strbuf *buf); /* leaves it initialised */
void gt_strbuf_reset(struct gt_strbuf *buf);   /* empties it, keeps the memory, forgets failure */
void gt_strbuf_add(struct gt_strbuf *buf, const char *text);
void gt_strbuf_add_bytes(struct gt_strbuf *buf, const void *bytes, size_t count);
void gt_strbuf_add_char(struct gt_strbuf *buf, char c);
__attribute__((format(printf, 2, 3))) void gt_strbuf_addf(struct gt_strbuf *buf, const char *format,
                                                          ...);

/* GT_OK, or GT_ENOMEM with a sentence if any append was lost. */
int gt_strbuf_check(const struct gt_strbuf *buf, struct gt_err *err);

/* Returns the text, which the caller frees with free, and leaves buf empty; NULL if an append was
 * lost. */
char *gt_strbuf_detach(struct gt_strbuf *buf);

/* Appends a whole file; on failure the sentence names the path.  Files over 64 MiB are refused. */
int gt_strbuf_add_file(struct gt_strbuf *buf, const char *path, struct gt_err *err);

/* ---- arrays that grow, and elements put into their middle ----
 *
 * An array is a pointer, a count and a capacity of its owner's struct, all zero at first, and freed
 * with free:
 *     rc = GT_ARRAY_RESERVE(&list->row, list->rows + 1, &list->capacity, err);
 *     if (!rc)
 *         list->row[list->rows++] = row; */

/* Makes room for `needed` elements of `size` (at least 1) bytes in all; the capacity doubles, so
 * that appending n elements copies fewer than 2 n.  `array` is the address of the pointer.
 * GT_ENOMEM leaves array and capacity as they are. */
int gt_array_reserve(void *array, size_t needed, size_t *capacity, size_t size, struct gt_err *err);

#define GT_ARRAY_RESERVE(array, needed, capacity, err) \
    gt_array_reserve((array), (needed), (capacity), sizeof(**(array)), (err))

/* Moves the elements from `at` on one place up; there must be room for count + 1. */
#define GT_ARRAY_OPEN(array, at, count) \
    memmove(&(array)[(at) + 1], &(array)[at], ((count) - (at)) * sizeof(*(array)))

/* ---- numbers with a point, whatever locale the program has chosen with setlocale ----
 *
 * Between the two calls this thread works in the "C" locale; other threads are not affected.
 * gt_locale_leave takes the result of gt_locale_enter.  The calls may be nested and cannot fail,
 * because glibc's "C" locale is static. */
locale_t gt_locale_enter(void);
void gt_locale_leave(locale_t before);

#endif
