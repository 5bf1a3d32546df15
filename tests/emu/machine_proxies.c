/* machine_proxies.c - test: whether TMA and wgmma see what threads of the emulated block have
 * written.
 *
 * TMA and wgmma reach shared memory by another way (the async proxy) than the loads and stores of
 * threads (the generic proxy), and only gt_tma_fence puts the two in order.  What the threads store
 * is not seen here, so what each load of TMA leaves, and each product and each store of TMA reads,
 * is remembered: where something else is found the next time, threads have stored since, and one of
 * them must have called gt_tma_fence since, too.  (That it was the right one, after its stores, is
 * not checked.) */
#include <stdlib.h>
#include <string.h>

#include "machine_internal.h"

#define GRAIN 16 /* bytes; boxes are whole grains */

/* What TMA and wgmma know of the dynamic shared memory of a block. */
struct left {
    unsigned char *bytes;
    unsigned long
        *fences; /* of a grain: calls of gt_tma_fence when it was last written or read so */
};

void gt_proxies_begin(void)
{
    const size_t bytes = machine.launch->shared_bytes, grains = bytes / GRAIN + 1;

    for (unsigned i = 0; i < machine.blocks; i++) {
        struct left *left = calloc(1, sizeof *left);

        if (!left || !(left->bytes = malloc(bytes + 1)) ||
            !(left->fences = calloc(grains, sizeof *left->fences)))
            abort();
        memcpy(left->bytes, machine.block[i].dynamic_shared, bytes);
        machine.block[i].async.left = left;
    }
}

void gt_proxies_end(void)
{
    for (unsigned i = 0; i < machine.blocks; i++) {
        struct left *left = machine.block[i].async.left;

        free(left->bytes);
        free(left->fences);
        free(left);
    }
}

/* TMA and wgmma know the grain's bytes as they are now. */
static void know(const struct block *block, size_t grain)
{
    const unsigned char *now = block->dynamic_shared;

    memcpy(block->async.left->bytes + grain * GRAIN, now + grain * GRAIN, GRAIN);
    block->async.left->fences[grain] = block->async.fences;
}

/* Gives the launch up if threads have stored to the grain without a fence. */
static void check(const struct block *block, size_t grain, const char *what, const char *file,
                  int line)
{
    const unsigned char *now = block->dynamic_shared;

    if (block->async.left->fences[grain] == block->async.fences &&
        memcmp(now + grain * GRAIN, block->async.left->bytes + grain * GRAIN, GRAIN) != 0)
        ABANDON("%s:%d: no thread called gt_tma_fence between its stores to byte %zu of shared "
                "memory and this %s",
                file, line, grain * GRAIN, what);
}

static size_t grain_of(const struct block *block, const void *address)
{
    return (size_t)((const char *)address - (const char *)block->dynamic_shared) / GRAIN;
}

void gt_proxies_arrived(unsigned rank, const void *box, size_t bytes)
{
    const struct block *block = &machine.block[rank];
    const size_t first = grain_of(block, box);

    memcpy(block->async.left->bytes + first * GRAIN, box, bytes);
    for (size_t grain = first; grain < first + bytes / GRAIN; grain++)
        block->async.left->fences[grain] = block->async.fences;
}

void gt_proxies_check(unsigned rank, const void *box, size_t bytes, const char *file, int line)
{
    const struct block *block = &machine.block[rank];
    const size_t first = grain_of(block, box);

    for (size_t grain = first; grain < first + bytes / GRAIN; grain++)
        check(block, grain, "TMA load", file, line);
}

void gt_proxies_read(unsigned rank, const void *address, size_t bytes, const char *what,
                     const char *file, int line)
{
    const struct block *block = &machine.block[rank];
    const size_t first = grain_of(block, address);

    for (size_t grain = first; grain < first + bytes / GRAIN; grain++) {
        check(block, grain, what, file, line);
        know(block, grain);
    }
}
