/* digest.c - vocabulary: content digests by XXH3 with 128 bits, compiled in (no run-time library).
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/digest.h"

#include "gemmtune.h"

#include <stdio.h>
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

uint64_t gt_digest_number(const void *bytes, size_t count, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, count, seed);
}
