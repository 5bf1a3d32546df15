/* machine_internal.h - test: what the files of the emulated GPU share: the running cluster, its
 * blocks and threads.  machine.c runs them; machine_calls.c has what kernels call, machine_async.c
 * mbarriers and TMA, machine_wgmma.c the products of warpgroups, machine_early.c launches that
 * begin before the one in front of them has ended. */
#ifndef GT_MACHINE_INTERNAL_H
#define GT_MACHINE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "fiber.h"
#include "machine.h"

#define WARP          32
#define WARPGROUP     128
#define MAX_THREADS   1024 /* of a block */
#define MAX_CLUSTER   16   /* blocks */
#define GATHER        128  /* bytes that a lane hands to its warp at most (mma_emulate.h) */
#define PART_BARRIERS 16   /* of a block, number 0 is __syncthreads */

struct index {
    unsigned x, y, z;
};

/* Read by the kernels: threadIdx, blockIdx, blockDim, gridDim, the block's rank in its cluster. */
extern struct gt_emu_position {
    struct index thread, block, block_size, grid_size;
    unsigned rank;
} gt_emu_now;

enum wait {
    RUNNABLE,
    AT_BLOCK_BARRIER,
    AT_WARP_BARRIER,
    AT_CLUSTER_BARRIER,
    AT_PART_BARRIER,
    AT_CONDITION,
    AT_EARLIER_LAUNCH,
    RETURNED
};

struct copy {
    void *shared;
    const void *global;
    int bytes, valid;
    unsigned long group;
};

struct async_load;
struct async_store;
struct left;
struct wgmma_product;
struct mbarrier;

/* Of a thread: its TMA stores, and what it waits for. */
struct async_thread {
    struct async_store *stores;
    size_t store_count, store_room;
    unsigned long committed; /* groups so far */
    const struct mbarrier *barrier;
    unsigned parity;
};

/* Of a block: loads under way to it, and its mbarriers. */
struct async_block {
    struct async_load *loads;
    size_t load_count, load_room;
    struct mbarrier **barriers;
    size_t barrier_count, barrier_room;
    unsigned unpublished; /* barriers made since the last gt_mbarrier_publish */
    unsigned long fences; /* calls of gt_tma_fence */
    struct left *left;    /* machine_proxies.c */
};

/* Of a thread: products it has asked for. */
struct wgmma_thread {
    unsigned long issued, committed; /* products, groups */
    bool begun;                      /* gt_wgmma_fence since the last wait */
    unsigned long wanted;            /* AT_CONDITION: all before this product */
};

/* Of a warpgroup: products that not all threads have asked for, or that are not done. */
struct wgmma_group {
    struct wgmma_product *products;
    size_t room;
    unsigned long first, end; /* numbers of those in products[] */
};

struct thread {
    struct gt_fiber fiber;
    enum wait wait;
    const char *file; /* of the barrier it waits at */
    int line;
    int part, part_threads;               /* AT_PART_BARRIER: which, of how many threads */
    bool (*ready)(struct thread *thread); /* AT_CONDITION */
    void (*explain)(char *text, size_t size, const struct thread *thread); /* what it waits for */
    unsigned exchanged;     /* its value in a shuffle */
    unsigned long gathered; /* how often it handed something to its warp */
    struct copy *copies;
    size_t copy_count, copy_room;
    unsigned long committed;   /* groups so far; later copies belong to the next */
    struct async_thread async; /* machine_async.c */
    struct wgmma_thread wgmma; /* machine_wgmma.c */
};

struct static_array {
    const void *key;
    void *memory;
    unsigned long bytes;
};

/* What the lanes of a warp hand to each other; by turns, so that a lane may fill one while others
 * still read the one before. */
struct gathering {
    unsigned char lane[2][WARP][GATHER];
};

/* A block of the cluster that runs, and its shared memory. */
struct block {
    struct index index;
    void *dynamic_shared;
    struct static_array statics[16];
    size_t static_count;
    struct async_block async;                          /* machine_async.c */
    struct wgmma_group group[MAX_THREADS / WARPGROUP]; /* machine_wgmma.c */
};

extern struct machine {
    const struct gt_emu_launch *launch;
    struct gt_err *err;
    int status;
    struct gt_fiber scheduler;
    struct thread *thread, *running; /* threads of block 0 of the cluster, of block 1, ... */
    unsigned threads;                /* of a block */
    struct gathering *warp;          /* warps of block 0, of block 1, ... */
    unsigned warps;                  /* of a block */
    struct block block[MAX_CLUSTER];
    unsigned blocks; /* of a cluster */
    bool late_goes;  /* nobody else can: the launch's late warp goes on as far as it can */
    unsigned char *stacks;
    bool hides, waited; /* machine_early.c, of the cluster: memory is hidden; a thread has waited */
} machine;

/* Ends the launch from within a thread; the first sentence is kept. */
#define ABANDON(...)                                                     \
    do {                                                                 \
        machine.status = gt_err_set(machine.err, GT_ECUDA, __VA_ARGS__); \
        gt_fiber_switch(&machine.running->fiber, &machine.scheduler);    \
    } while (0)

/* The running thread waits for others. */
void gt_machine_wait_at(enum wait wait, const char *file, int line);

/* The running thread goes on when ready() says so; explain() tells in a sentence what it waits for.
 */
void gt_machine_wait_for(bool (*ready)(struct thread *thread),
                         void (*explain)(char *text, size_t size, const struct thread *thread),
                         const char *file, int line);

/* Gives the launch up unless bytes at address, a multiple of `align`, lie in the dynamic shared
 * memory of block `rank`. */
void gt_machine_check_dynamic(unsigned rank, const void *address, size_t bytes, unsigned align,
                              const char *what, const char *file, int line);

/* Shared memory that holds NaN in every type, aligned as much as a swizzle can ask for; the caller
 * frees it. */
void *gt_machine_shared_memory(size_t bytes);

/* Begin and end of a cluster's run; end: GT_OK, or a sentence on what was left undone. */
void gt_async_begin(void);
int gt_async_end(void);
void gt_wgmma_begin(void);

/* Of machine_proxies.c: begin and end of a cluster's run. A box has come to the shared memory of
 * block `rank`; it is asked for; a product or a TMA store, `what`, reads there. The last two give
 * the launch up if threads have stored there without a fence. */
void gt_proxies_begin(void);
void gt_proxies_end(void);
void gt_proxies_arrived(unsigned rank, const void *box, size_t bytes);
void gt_proxies_check(unsigned rank, const void *box, size_t bytes, const char *file, int line);
void gt_proxies_read(unsigned rank, const void *address, size_t bytes, const char *what,
                     const char *file, int line);

/* Frees what they keep from cluster to cluster. */
void gt_async_release(void);
void gt_wgmma_release(void);

/* Does one of the loads under way, when no thread can go on: whether there was one. */
bool gt_async_progress(void);

/* The same of launches that begin early.  reveal: nothing is hidden any more; check: gives the
 * launch up if the memory is hidden. */
void gt_early_begin(void);
void gt_early_reveal(void);
bool gt_early_progress(void);
int gt_early_end(void);
void gt_early_check(const void *memory, const char *file, int line);

/* What a thread that returns must not leave behind. */
void gt_async_returns(void);

#endif
