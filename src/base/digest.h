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

/* One piece. */
void gt_digest_bytes(const void *bytes, size_t count, char hex[GT_DIGEST_HEX]);

/* A kind of text file whose first line is `magic` and the digest of what follows. */
struct gt_digested {
    const char *magic;
    const char *stale;  /* "is no ... of this version": said of a file that begins otherwise */
    const char *remedy; /* "export it again ...": said of a damaged one */
};

struct gt_err;

/* *body: what follows the first line, malloc'ed and NUL-terminated.  Errors name `path`: GT_ESTALE,
 * GT_EDB for a text that does not match its digest.  A mark of UTF-8 and the ends of lines of
 * Windows are passed over. */
int gt_digest_body(char **body, const struct gt_digested *kind, const char *path, const char *text,
                   size_t length, struct gt_err *err);

/* Of bytes, as a number: the same on every machine and in every version. */
uint64_t gt_digest_number(const void *bytes, size_t count, uint64_t seed);

#endif
