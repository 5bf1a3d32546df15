/* machine.h - test: a GPU's execution model on the CPU: clusters one after the other (most
 * are of a single block), the threads of a cluster as fibers, barriers, shared memory and
 * asynchronous copies, mbarriers and TMA (machine_async.c), products of warpgroups
 * (machine_wgmma.c).
 *
 * Between two barriers each thread runs alone, as far ahead of the others as it can, so that a
 * missing barrier gives wrong results in every launch and not in one of a thousand.  A launch may
 * have one warp that runs only when nobody else can go on: it finds what a warp may miss that is
 * late, such as a phase of an mbarrier that comes round again without it.  Shared memory starts as
 * NaN and has exactly the size that the launch gives.  If this and a kernel are built with
 * AddressSanitizer, every access of the kernel is checked. */
#ifndef GT_MACHINE_H
#define GT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

struct gt_err;

/* A block of the heap. */
struct gt_emu_block {
    void *at;
    size_t bytes;
};

struct gt_emu_launch {
    void (*call)(
        const struct gt_emu_launch *launch); /* calls entry with its argument, once a thread */
    void *entry;
    const void *args;
    unsigned grid[3], block[3], cluster[3], shared_bytes;
    bool reverse;  /* run the threads, and the blocks, last to first */
    unsigned late; /* 1 + the warp that runs last, counted over the blocks of a cluster; 0: none */
    bool eager;    /* asynchronous copies happen when issued, not when waited for */
    /* For a launch that begins early (machine_early.c): what it must not touch before gt_pdl_wait,
     * and whether each of its blocks must call that. */
    const struct gt_emu_block *hidden;
    size_t hidden_count;
    bool must_wait;
};

/* GT_OK, or GT_ECUDA with a sentence: divergence at a barrier, a misaligned copy... */
int gt_emu_run(const struct gt_emu_launch *launch, struct gt_err *err);

#endif
