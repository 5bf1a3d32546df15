/* digest.h - vocabulary: 128-bit content digests (XXH3) as keys, and to detect damage.  They are no
 * protection against an attacker. */
#ifndef GT_DIGEST_H
#define GT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define GT_DIGEST_HEX 33 /* 32 hex digits and the NUL */

/* Feed any number of pieces; each is length-prefixed, so that ("ab","c") != ("a","bc"). */
struct gt_digest {
    void *state;
};
int gt_digest_init(struct gt_digest *digest); /* GT_OK or GT_ENOMEM */
void gt_digest_add(struct gt_digest *digest, const void *bytes, size_t count);
void gt_digest_final(struct gt_digest *digest, char hex[GT_DIGEST_HEX]); /* releases the state */

/* The digest of one piece. */
void gt_digest_bytes(const void *bytes, size_t count, char hex[GT_DIGEST_HEX]);

/* A kind of text file whose first line is `magic` and the digest of the rest of the file. */
struct gt_digested {
    const char *magic;
    const char *stale;  /* "is no ... of this version": for a file that begins otherwise */
    const char *remedy; /* "export it again ...": for a damaged file */
};

struct gt_err;

/* *body: the text after the first line, malloc'ed and NUL-terminated.  Errors name `path`:
 * GT_ESTALE, GT_EDB for a text that does not match its digest.  A byte-order mark of UTF-8 and the
 * line ends of Windows are accepted. */
int gt_digest_body(char **body, const struct gt_digested *kind, const char *path, const char *text,
                   size_t length, struct gt_err *err);

/* A digest of bytes as a number, which is the same on every machine and in every version. */
uint64_t gt_digest_number(const void *bytes, size_t count, uint64_t seed);

#endif
