/* strbuf.h - vocabulary: a growing string whose failure is sticky.
 *
 * Append freely and check once, with gt_strbuf_check, at the end: after a failed allocation (or
 * past `limit`, or a text that printf cannot make) appends are ignored.  `text` is always
 * NUL-terminated; it is "" before the first append. */
#ifndef GT_STRBUF_H
#define GT_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Hands the text over (free it with free) and leaves buf empty; NULL if an append was lost. */
char *gt_strbuf_detach(struct gt_strbuf *buf);

/* Appends a whole file; on failure the sentence names the path.  Files over 64 MiB are refused. */
int gt_strbuf_add_file(struct gt_strbuf *buf, const char *path, struct gt_err *err);

#endif
