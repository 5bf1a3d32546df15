/* digest.c - vocabulary: content digests by XXH3 with 128 bits, compiled in. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/digest.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gt_digest_init(struct gt_digest *digest)
{
    digest->state = XXH3_createState();
    if (!digest->state)
        return GT_ENOMEM;
    XXH3_128bits_reset(digest->state);
    return GT_OK;
}

/* The piece's length (8 bytes, low byte first), then the piece. */
static void add(XXH3_state_t *state, const void *bytes, size_t count)
{
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)count >> 8 * i);
    XXH3_128bits_update(state, length, sizeof(length));
    if (count)
        XXH3_128bits_update(state, bytes, count);
}

static void print(const XXH3_state_t *state, char hex[GT_DIGEST_HEX])
{
    XXH128_hash_t hash = XXH3_128bits_digest(state);

    snprintf(hex, GT_DIGEST_HEX, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

void gt_digest_add(struct gt_digest *digest, const void *bytes, size_t count)
{
    add(digest->state, bytes, count);
}

void gt_digest_final(struct gt_digest *digest, char hex[GT_DIGEST_HEX])
{
    print(digest->state, hex);
    XXH3_freeState(digest->state);
    digest->state = NULL;
}

void gt_digest_bytes(const void *bytes, size_t count, char hex[GT_DIGEST_HEX])
{
    XXH3_state_t state;

    XXH3_128bits_reset(&state);
    add(&state, bytes, count);
    print(&state, hex);
}

static int check_body(char **body, const struct gt_digested *kind, const char *path,
                      const char *text, size_t length, struct gt_err *err)
{
    const size_t magic = strlen(kind->magic), first = magic + GT_DIGEST_HEX;
    char digest[GT_DIGEST_HEX];

    if (length < magic || memcmp(text, kind->magic, magic) != 0)
        return gt_err_set(err, GT_ESTALE, "%s %s", path, kind->stale);
    if (length < first || text[first - 1] != '\n')
        return gt_err_set(err, GT_EDB, "%s:1: the digest is cut off; %s", path, kind->remedy);
    gt_digest_bytes(text + first, length - first, digest);
    if (memcmp(text + magic, digest, GT_DIGEST_HEX - 1) != 0)
        return gt_err_set(err, GT_EDB,
                          "%s does not match its digest: it was damaged, or changed by hand; %s",
                          path, kind->remedy);
    *body = strndup(text + first, length - first);
    return *body ? GT_OK : gt_err_nomem(err);
}

int gt_digest_body(char **body, const struct gt_digested *kind, const char *path, const char *text,
                   size_t length, struct gt_err *err)
{
    char *plain = NULL;
    size_t kept = 0;
    int rc;

    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) { /* byte-order mark of Windows' editors */
        text += 3;
        length -= 3;
    }
    if (memchr(text, '\r', length < 256 ? length : 256)) { /* line ends of Windows */
        plain = malloc(length + 1);
        if (!plain)
            return gt_err_nomem(err);
        for (size_t i = 0; i < length; i++)
            if (text[i] != '\r')
                plain[kept++] = text[i];
        plain[kept] = '\0';
    }
    rc = check_body(body, kind, path, plain ? plain : text, plain ? kept : length, err);
    free(plain);
    return rc;
}

uint64_t gt_digest_number(const void *bytes, size_t count, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, count, seed);
}
