/* machine_proxies.c - test: whether TMA may write where threads of the emulated block have written.
 *
 * Loads of TMA and the stores of threads reach shared memory by different ways (the async and the
 * generic proxy), which only gt_tma_fence puts in order.  What the threads store is not seen here,
 * so what each load leaves is remembered: where something else is found when the next load is asked
 * for, threads have stored since, and one of them must have called gt_tma_fence since, too.  (That
 * it was the right one, after its stores, is not checked.) */
#include <stdlib.h>
#include <string.h>

#include "machine_internal.h"

#define GRAIN 16 /* bytes; boxes are whole grains */

/* What TMA has left in the dynamic shared memory of a block. */
struct left {
    unsigned char *bytes;
    unsigned long *fences; /* of a grain: 1 + calls of gt_tma_fence when TMA wrote it; 0: never */
};

void gt_proxies_begin(void)
{
    const size_t bytes = machine.launch->shared_bytes, grains = bytes / GRAIN + 1;

    for (unsigned i = 0; i < machine.blocks; i++) {
        struct left *left = calloc(1, sizeof *left);

        if (!left || !(left->bytes = malloc(bytes + 1)) ||
            !(left->fences = calloc(grains, sizeof *left->fences)))
            abort();
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

void gt_proxies_arrived(unsigned rank, const void *box, size_t bytes)
{
    const struct block *block = &machine.block[rank];
    const size_t first = (size_t)((const char *)box - (const char *)block->dynamic_shared);

    memcpy(block->async.left->bytes + first, box, bytes);
    for (size_t grain = first / GRAIN; grain < (first + bytes) / GRAIN; grain++)
        block->async.left->fences[grain] = 1 + block->async.fences;
}

void gt_proxies_check(unsigned rank, const void *box, size_t bytes, const char *file, int line)
{
    const struct block *block = &machine.block[rank];
    const unsigned char *now = block->dynamic_shared;
    const size_t first = (size_t)((const char *)box - (const char *)block->dynamic_shared);

    for (size_t grain = first / GRAIN; grain < (first + bytes) / GRAIN; grain++)
        if (block->async.left->fences[grain] == 1 + block->async.fences &&
            memcmp(now + grain * GRAIN, block->async.left->bytes + grain * GRAIN, GRAIN) != 0)
            ABANDON("%s:%d: no thread called gt_tma_fence between its stores to byte %zu of shared "
                    "memory and this TMA load",
                    file, line, grain * GRAIN);
}
