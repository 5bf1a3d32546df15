/* machine_async.c - test: the emulated GPU's mbarriers and tensor copies (templates/common/
 * hopper.cuh).
 *
 * Under the lazy schedule a load arrives when no thread can go on without it, the youngest first,
 * and a store reads shared memory when its thread waits for it.  A kernel that does not wait
 * therefore gets wrong results.  Under the eager schedule both happen at once. */
#define GT_EMULATE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_internal.h"
#include "numbers.h"
#include "templates/common/maps.h"

#define MADE 0x2a /* marks a barrier that gt_mbarrier_init has made */

/* As it lies in shared memory. */
struct mbarrier {
    int bytes; /* announced and not yet come; negative: the other way round */
    unsigned pending : 12, arrivals : 12, parity : 1, made : 7;
};
_Static_assert(sizeof(struct mbarrier) == 8, "a barrier is 8 bytes");

/* A box on its way to the shared memory of one block. */
struct async_load {
    struct gt_map map;
    char *to;
    struct mbarrier *barrier;
    unsigned rank; /* the block */
    int at[3];
};

struct async_store {
    struct gt_map map;
    const char *from;
    int at[3];
    unsigned long group;
};

void gt_emu_mbarrier_init(void *barrier, unsigned arrivals, const char *file, int line);
void gt_emu_mbarrier_publish(void);
void gt_emu_mbarrier_arrive(void *barrier, const char *file, int line);
void gt_emu_mbarrier_arrive_at(void *barrier, unsigned rank, const char *file, int line);
void gt_emu_mbarrier_arrive_expect_tx(void *barrier, unsigned bytes, const char *file, int line);
void gt_emu_mbarrier_wait(void *barrier, unsigned parity, const char *file, int line);
void gt_emu_tma_load(void *shared, const struct gt_map *map, void *barrier, const int *at,
                     unsigned ranks, const char *file, int line);
void gt_emu_cluster_send(void *to, void *barrier, unsigned rank, const unsigned *word, int words,
                         const char *file, int line);
void gt_emu_tma_fence(void);
void gt_emu_tma_store(const struct gt_map *map, const void *shared, const int *at, const char *file,
                      int line);
void gt_emu_tma_store_commit(void);
void gt_emu_tma_store_wait(int pending);
void *gt_emu_cluster_shared(const void *own, unsigned rank, const char *file, int line);

/* What `own` is in block `rank`, which may be this one. */
static void *at_rank(void *own, unsigned rank, const char *file, int line)
{
    return rank == gt_emu_now.rank ? own : gt_emu_cluster_shared(own, rank, file, line);
}

static struct block *own_block(void)
{
    return &machine.block[gt_emu_now.rank];
}

/* ---- mbarriers ---- */

/* A made and published barrier of block `rank`. */
static struct mbarrier *barrier_at(unsigned rank, void *address, const char *file, int line)
{
    struct mbarrier *barrier = address;
    gt_machine_check_dynamic(rank, address, sizeof *barrier, 8, "an mbarrier", file, line);
    if (barrier->made != MADE)
        ABANDON("%s:%d: an mbarrier that was not made, at %td of shared memory", file, line,
                (char *)address - (char *)machine.block[rank].dynamic_shared);
    if (machine.block[rank].async.unpublished)
        ABANDON("%s:%d: an mbarrier is used before gt_mbarrier_publish", file, line);
    return barrier;
}

static void complete(struct mbarrier *barrier)
{
    if (barrier->pending || barrier->bytes)
        return;
    barrier->parity ^= 1;
    barrier->pending = barrier->arrivals;
}

static void arrive(struct mbarrier *barrier, const char *file, int line)
{
    if (!barrier->pending)
        ABANDON("%s:%d: more than the %u arrivals that the mbarrier was made for", file, line,
                barrier->arrivals);
    barrier->pending--;
    complete(barrier);
}

void gt_emu_mbarrier_init(void *barrier, unsigned arrivals, const char *file, int line)
{
    struct async_block *async = &own_block()->async;
    gt_machine_check_dynamic(gt_emu_now.rank, barrier, 8, 8, "an mbarrier", file, line);
    if (arrivals < 1 || arrivals > 4095)
        ABANDON("%s:%d: an mbarrier of %u arrivals", file, line, arrivals);
    *(struct mbarrier *)barrier =
        (struct mbarrier){.pending = arrivals, .arrivals = arrivals, .made = MADE};
    if (async->barrier_count == async->barrier_room) {
        async->barrier_room = async->barrier_room ? 2 * async->barrier_room : 16;
        async->barriers = realloc(async->barriers, async->barrier_room * sizeof *async->barriers);
        if (!async->barriers)
            abort();
    }
    async->barriers[async->barrier_count++] = barrier;
    async->unpublished++;
}

void gt_emu_mbarrier_publish(void)
{
    own_block()->async.unpublished = 0;
}

void gt_emu_mbarrier_arrive(void *barrier, const char *file, int line)
{
    arrive(barrier_at(gt_emu_now.rank, barrier, file, line), file, line);
}

void gt_emu_mbarrier_arrive_at(void *barrier, unsigned rank, const char *file, int line)
{
    void *there = at_rank(barrier, rank, file, line);
    arrive(barrier_at(rank, there, file, line), file, line);
}

void gt_emu_mbarrier_arrive_expect_tx(void *barrier, unsigned bytes, const char *file, int line)
{
    struct mbarrier *own = barrier_at(gt_emu_now.rank, barrier, file, line);
    own->bytes += (int)bytes;
    arrive(own, file, line);
}

static bool has_completed(struct thread *thread)
{
    return thread->async.barrier->parity != thread->async.parity;
}

static void explain_barrier(char *text, size_t size, const struct thread *thread)
{
    const struct mbarrier *barrier = thread->async.barrier;
    const struct block *block = &machine.block[(size_t)(thread - machine.thread) / machine.threads];
    snprintf(text, size,
             " for parity %u of the mbarrier at %td, which lacks %u of %u arrivals and %d bytes",
             thread->async.parity, (const char *)barrier - (const char *)block->dynamic_shared,
             barrier->pending, barrier->arrivals, barrier->bytes);
}

void gt_emu_mbarrier_wait(void *barrier, unsigned parity, const char *file, int line)
{
    machine.running->async.barrier = barrier_at(gt_emu_now.rank, barrier, file, line);
    machine.running->async.parity = parity & 1;
    gt_machine_wait_for(has_completed, explain_barrier, file, line);
}

/* ---- boxes ---- */

static size_t row_bytes(const struct gt_map *map)
{
    return (size_t)map->box[0] * (size_t)map->element_bytes;
}

static size_t box_bytes(const struct gt_map *map)
{
    return row_bytes(map) * map->box[1] * map->box[2];
}

/* How many elements of a row that begins at x are moved; *skip of the box lie before.  A store
 * writes whole 16 bytes even if the row ends within (seen on an H200). */
static size_t inside(const struct gt_map *map, int x, bool load, size_t *skip)
{
    long long whole = load ? 1 : 16 / map->element_bytes;
    long long end = (map->dims[0] + whole - 1) / whole * whole;
    long long first = x < 0 ? 0 : x, last = (long long)x + map->box[0];
    if (last > end)
        last = end;
    *skip = (size_t)(first - x);
    return last > first ? (size_t)(last - first) : 0;
}

static char *swizzled(const struct gt_map *map, char *address)
{
    uintptr_t bits = (uintptr_t)address;
    return (char *)(bits ^ (bits >> 3 & (unsigned)(map->swizzle - 16) & (map->swizzle ? 0x70 : 0)));
}

/* Row y of matrix z in global memory, or NULL if it is outside. */
static char *global_row(const struct gt_map *map, long long y, long long z)
{
    if (y < 0 || y >= map->dims[1] || z < 0 || z >= map->dims[2])
        return NULL;
    return (char *)map->base + y * map->strides[1] + z * map->strides[2];
}

static void round_to_tf32(char *shared)
{
    float number;
    memcpy(&number, shared, 4);
    number = gt_emu_tf32(number);
    memcpy(shared, &number, 4);
}

/* Copies between a box in shared memory and global memory, 16 bytes of a row at a time, as far as
 * the swizzle keeps them together. */
static void move_row(const struct gt_map *map, char *shared, char *global, int x, bool load)
{
    size_t size = (size_t)map->element_bytes, skip, count = inside(map, x, load, &skip);
    if (load)
        for (size_t at = 0; at < row_bytes(map); at += 16)
            memset(swizzled(map, shared + at), 0, 16);
    for (size_t i = skip; global && i < skip + count; i++) {
        char *here = swizzled(map, shared + i * size / 16 * 16) + i * size % 16;
        char *there = global + ((long long)x + (long long)i) * (long long)size;
        memcpy(load ? here : there, load ? there : here, size);
        if (load && map->rounds)
            round_to_tf32(here);
    }
}

static void move_box(const struct gt_map *map, char *shared, const int *at, bool load)
{
    for (unsigned z = 0; z < map->box[2]; z++)
        for (unsigned y = 0; y < map->box[1]; y++) {
            char *global = global_row(map, (long long)at[1] + y, (long long)at[2] + z);
            move_row(map, shared + (z * map->box[1] + y) * row_bytes(map), global, at[0], load);
        }
}

/* Rows that begin at no multiple of 16 bytes end a kernel on an H200. Boxes begin at multiples of
 * 128 bytes whatever their swizzle, which follows addresses: on an H100 tiles whose parts of 18 or
 * 38 rows were loaded by several blocks were right. */
static void check_box(const struct gt_map *map, unsigned rank, const void *shared, int x,
                      const char *file, int line)
{
    if (map->rank != 3)
        ABANDON("%s:%d: a tensor map of rank %d (0: undefined), not 3", file, line, map->rank);
    if (map->swizzle && row_bytes(map) != (size_t)map->swizzle)
        ABANDON("%s:%d: rows of %zu bytes in a box that is swizzled by %d", file, line,
                row_bytes(map), map->swizzle);
    for (int i = 0; i < 3; i++)
        if (map->dims[i] < 1)
            ABANDON("%s:%d: a tensor map whose dimension %d is empty", file, line, i);
    if ((long long)x * map->element_bytes % 16)
        ABANDON("%s:%d: a box whose rows begin at element %d, not at a multiple of 16 bytes", file,
                line, x);
    gt_machine_check_dynamic(rank, shared, box_bytes(map), 128, "a box", file, line);
}

/* ---- loads ---- */

static void arrive_load(const struct async_load *load)
{
    move_box(&load->map, load->to, load->at, true);
    gt_proxies_arrived(load->rank, load->to, box_bytes(&load->map));
    load->barrier->bytes -= (int)box_bytes(&load->map);
    complete(load->barrier);
}

static void start_load(unsigned rank, const struct async_load *load)
{
    struct async_block *async = &machine.block[rank].async;
    if (machine.launch->eager) {
        arrive_load(load);
        return;
    }
    if (async->load_count == async->load_room) {
        async->load_room = async->load_room ? 2 * async->load_room : 16;
        async->loads = realloc(async->loads, async->load_room * sizeof *async->loads);
        if (!async->loads)
            abort();
    }
    async->loads[async->load_count++] = *load;
}

void gt_emu_tma_load(void *shared, const struct gt_map *map, void *barrier, const int *at,
                     unsigned ranks, const char *file, int line)
{
    if (!ranks || ranks >> machine.blocks)
        ABANDON("%s:%d: a load to the ranks 0x%x of a cluster of %u blocks", file, line, ranks,
                machine.blocks);
    check_box(map, gt_emu_now.rank, shared, at[0], file, line);
    gt_early_check(map->base, file, line);
    for (unsigned rank = 0; rank < machine.blocks; rank++) {
        if (!(ranks >> rank & 1))
            continue;
        void *there = at_rank(barrier, rank, file, line);
        struct async_load load = {
            .map = *map,
            .to = at_rank(shared, rank, file, line),
            .barrier = barrier_at(rank, there, file, line),
            .rank = rank,
            .at = {at[0], at[1], at[2]},
        };
        gt_proxies_check(rank, load.to, box_bytes(map), file, line);
        start_load(rank, &load);
    }
}

/* Words to block `rank`: `to` and `barrier` are what it is to find there, as addresses of this
 * block. */
void gt_emu_cluster_send(void *to, void *barrier, unsigned rank, const unsigned *word, int words,
                         const char *file, int line)
{
    void *there = at_rank(to, rank, file, line), *counter = at_rank(barrier, rank, file, line);
    size_t bytes = 4 * (size_t)words;
    struct mbarrier *of = barrier_at(rank, counter, file, line);
    gt_machine_check_dynamic(rank, there, bytes, (unsigned)bytes, "what is sent", file, line);
    memcpy(there, word, bytes);
    of->bytes -= (int)bytes;
    complete(of);
}

bool gt_async_progress(void)
{
    for (unsigned i = 0; i < machine.blocks; i++) {
        struct async_block *async = &machine.block[i].async;
        if (async->load_count) {
            arrive_load(&async->loads[--async->load_count]);
            return true;
        }
    }
    return false;
}

/* ---- stores ---- */

void gt_emu_tma_fence(void)
{
    own_block()->async.fences++;
}

void gt_emu_tma_store(const struct gt_map *map, const void *shared, const int *at, const char *file,
                      int line)
{
    struct async_thread *self = &machine.running->async;
    struct async_store store = {
        .map = *map, .from = shared, .at = {at[0], at[1], at[2]}, .group = self->committed + 1};
    check_box(map, gt_emu_now.rank, shared, at[0], file, line);
    gt_early_check(map->base, file, line);
    gt_proxies_read(gt_emu_now.rank, shared, box_bytes(map), "TMA store", file, line);
    if (machine.launch->eager)
        move_box(map, (char *)(uintptr_t)shared, at, false);
    if (self->store_count == self->store_room) {
        self->store_room = self->store_room ? 2 * self->store_room : 16;
        self->stores = realloc(self->stores, self->store_room * sizeof *self->stores);
        if (!self->stores)
            abort();
    }
    self->stores[self->store_count++] = store;
}

void gt_emu_tma_store_commit(void)
{
    machine.running->async.committed++;
}

void gt_emu_tma_store_wait(int pending)
{
    struct async_thread *self = &machine.running->async;
    size_t kept = 0;
    for (size_t i = 0; i < self->store_count; i++) {
        const struct async_store *store = &self->stores[i];
        if (store->group + (unsigned long)pending > self->committed)
            self->stores[kept++] = *store;
        else if (!machine.launch->eager)
            move_box(&store->map, (char *)(uintptr_t)store->from, store->at, false);
    }
    self->store_count = kept;
}

void gt_async_returns(void)
{
    if (machine.running->async.store_count)
        ABANDON("thread %u returns without waiting for its %zu TMA stores",
                (unsigned)(machine.running - machine.thread) % machine.threads,
                machine.running->async.store_count);
}

/* ---- clusters ---- */

void gt_async_begin(void)
{
    for (unsigned i = 0; i < machine.blocks; i++) {
        struct async_block *async = &machine.block[i].async;
        async->load_count = async->barrier_count = 0;
        async->unpublished = 0;
        async->fences = 0;
    }
}

/* Checks what is left when all threads have returned. */
int gt_async_end(void)
{
    for (unsigned i = 0; i < machine.blocks; i++) {
        const struct async_block *async = &machine.block[i].async;
        if (async->load_count)
            return gt_err_set(machine.err, GT_ECUDA,
                              "a block returns while %zu loads are on their "
                              "way to it",
                              async->load_count);
        for (size_t j = 0; j < async->barrier_count; j++)
            if (async->barriers[j]->bytes)
                return gt_err_set(machine.err, GT_ECUDA,
                                  "transaction count mismatch: %d bytes were announced to the "
                                  "mbarrier at %td and did not come",
                                  async->barriers[j]->bytes,
                                  (char *)async->barriers[j] -
                                      (char *)machine.block[i].dynamic_shared);
    }
    return GT_OK;
}

void gt_async_release(void)
{
    for (unsigned i = 0; i < machine.blocks; i++) {
        free(machine.block[i].async.loads);
        free(machine.block[i].async.barriers);
    }
    for (unsigned i = 0; i < machine.blocks * machine.threads; i++)
        free(machine.thread[i].async.stores);
}
