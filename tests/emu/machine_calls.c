/* machine_calls.c - test: the functions a kernel calls (gt_emu_...): barriers, shuffles, shared
 * memory, copies.  They find the running block through file-scope state, as a GPU's threads find it
 * in special registers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine_internal.h"
#include "statics.h"

void gt_emu_barrier(const char *file, int line);
void gt_emu_warp_barrier(unsigned mask, const char *file, int line);
unsigned gt_emu_shuffle(unsigned mask, unsigned value, int lane, const char *file, int line);
const void *gt_emu_gather(const void *mine, int bytes, const char *file, int line);
void gt_emu_check_shared(const void *address, int bytes, const char *file, int line);
void *gt_emu_dynamic_shared(void);
void *gt_emu_static_shared(const void *key, unsigned long bytes);
void gt_emu_copy(void *shared, const void *global, int bytes, int valid);
void gt_emu_copy_commit(void);
void gt_emu_copy_wait(int pending);
void gt_emu_cluster_barrier(const char *file, int line);
void *gt_emu_cluster_shared(const void *own, unsigned rank, const char *file, int line);
void gt_emu_named_barrier(int id, int threads, const char *file, int line);

void gt_machine_wait_at(enum wait wait, const char *file, int line)
{
    struct thread *self = machine.running;
    self->wait = wait;
    self->file = file;
    self->line = line;
    gt_fiber_switch(&self->fiber, &machine.scheduler);
}

void gt_emu_barrier(const char *file, int line)
{
    gt_machine_wait_at(AT_BLOCK_BARRIER, file, line);
}

void gt_emu_named_barrier(int id, int threads, const char *file, int line)
{
    if (id < 1 || id >= PART_BARRIERS || threads % WARP || threads <= 0 ||
        (unsigned)threads > machine.threads)
        ABANDON("%s:%d: barrier %d of %d threads: 1 to 15, whole warps of the block", file, line,
                id, threads);
    machine.running->part = id;
    machine.running->part_threads = threads;
    gt_machine_wait_at(AT_PART_BARRIER, file, line);
}

void gt_machine_wait_for(bool (*ready)(struct thread *thread),
                         void (*explain)(char *text, size_t size, const struct thread *thread),
                         const char *file, int line)
{
    struct thread *self = machine.running;
    if (ready(self))
        return;
    self->ready = ready;
    self->explain = explain;
    gt_machine_wait_at(AT_CONDITION, file, line);
}

void gt_emu_warp_barrier(unsigned mask, const char *file, int line)
{
    if (mask != 0xffffffffu)
        ABANDON("%s:%d: only whole warps are emulated, not mask 0x%x", file, line, mask);
    gt_machine_wait_at(AT_WARP_BARRIER, file, line);
}

unsigned gt_emu_shuffle(unsigned mask, unsigned value, int lane, const char *file, int line)
{
    struct thread *block = machine.thread + gt_emu_now.rank * machine.threads;
    size_t self = (size_t)(machine.running - block);
    size_t other = self / WARP * WARP + (size_t)lane;
    if (other >= machine.threads)
        ABANDON("%s:%d: thread %zu shuffles with lane %d, which does not exist", file, line, self,
                lane);
    block[self].exchanged = value;
    gt_emu_warp_barrier(mask, file, line);
    value = block[other].exchanged;
    gt_emu_warp_barrier(mask, file, line);
    return value;
}

const void *gt_emu_gather(const void *mine, int bytes, const char *file, int line)
{
    unsigned rank = gt_emu_now.rank;
    size_t self = (size_t)(machine.running - machine.thread) - rank * machine.threads;
    struct gathering *warp = &machine.warp[rank * machine.warps + self / WARP];
    unsigned turn = machine.running->gathered++ % 2;
    if ((self / WARP + 1) * WARP > machine.threads)
        ABANDON("%s:%d: a warp of fewer than %d threads works together", file, line, WARP);
    memcpy(warp->lane[turn][self % WARP], mine, (size_t)bytes);
    gt_machine_wait_at(AT_WARP_BARRIER, file, line);
    return warp->lane[turn];
}

static bool inside(const void *address, int bytes, const void *memory, size_t size)
{
    uintptr_t at = (uintptr_t)address, first = (uintptr_t)memory;
    return at >= first && at + (unsigned)bytes <= first + size;
}

void gt_emu_check_shared(const void *address, int bytes, const char *file, int line)
{
    const struct block *block = &machine.block[gt_emu_now.rank];
    bool found = inside(address, bytes, block->dynamic_shared, machine.launch->shared_bytes);
    for (size_t i = 0; i < block->static_count; i++)
        found |= inside(address, bytes, block->statics[i].memory, block->statics[i].bytes);
    if (!found || (uintptr_t)address % (unsigned)bytes)
        ABANDON("%s:%d: %p is no multiple of %d in shared memory", file, line, address, bytes);
}

void gt_machine_check_dynamic(unsigned rank, const void *address, size_t bytes, unsigned align,
                              const char *what, const char *file, int line)
{
    const char *first = machine.block[rank].dynamic_shared, *at = address;
    if (at < first || (size_t)(at - first) > machine.launch->shared_bytes ||
        bytes > machine.launch->shared_bytes - (size_t)(at - first))
        ABANDON("%s:%d: %s: %zu bytes at %td of %u bytes of dynamic shared memory", file, line,
                what, bytes, at - first, machine.launch->shared_bytes);
    if ((size_t)(at - first) % align)
        ABANDON("%s:%d: %s: at %td of dynamic shared memory, no multiple of %u", file, line, what,
                at - first, align);
}

void *gt_machine_shared_memory(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 1024, bytes ? bytes : 1))
        abort();
    memset(memory, 0xff, bytes); /* NaN in every type */
    return memory;
}

void *gt_emu_dynamic_shared(void)
{
    return machine.block[gt_emu_now.rank].dynamic_shared;
}

void *gt_emu_static_shared(const void *key, unsigned long bytes)
{
    struct block *block = &machine.block[gt_emu_now.rank];
    for (size_t i = 0; i < block->static_count; i++)
        if (block->statics[i].key == key)
            return block->statics[i].memory;
    if (block->static_count == sizeof block->statics / sizeof *block->statics)
        ABANDON("more than %zu static shared arrays", block->static_count);
    unsigned long all = bytes;
    for (size_t i = 0; i < block->static_count; i++)
        all += block->statics[i].bytes;
    if (all > GT_EMU_STATIC_MOST)
        ABANDON(
            "%lu bytes of GT_STATIC_SHARED arrays, and a block may have %d; what is more must be "
            "dynamic (GT_DYNAMIC_SHARED, \"shared\" of the launch)",
            all, GT_EMU_STATIC_MOST);
    void *memory = gt_machine_shared_memory(bytes);
    block->statics[block->static_count++] = (struct static_array){key, memory, bytes};
    return memory;
}

void gt_emu_cluster_barrier(const char *file, int line)
{
    gt_machine_wait_at(AT_CLUSTER_BARRIER, file, line);
}

void *gt_emu_cluster_shared(const void *own, unsigned rank, const char *file, int line)
{
    const struct block *self = &machine.block[gt_emu_now.rank];
    size_t offset = (size_t)((const char *)own - (const char *)self->dynamic_shared);
    if (rank >= machine.blocks)
        ABANDON("%s:%d: block %u of a cluster of %u", file, line, rank, machine.blocks);
    if (offset >= machine.launch->shared_bytes)
        ABANDON("%s:%d: %p is not in the block's dynamic shared memory", file, line, own);
    for (unsigned i = 0; i < machine.threads; i++)
        if (machine.thread[rank * machine.threads + i].wait == RETURNED)
            ABANDON("%s:%d: shared memory of block %u of the cluster, whose thread %u has returned",
                    file, line, rank, i);
    return (char *)machine.block[rank].dynamic_shared + offset;
}

static void perform(const struct copy *copy)
{
    memcpy(copy->shared, copy->global, (size_t)copy->valid);
    memset((char *)copy->shared + copy->valid, 0, (size_t)(copy->bytes - copy->valid));
}

void gt_emu_copy(void *shared, const void *global, int bytes, int valid)
{
    struct thread *self = machine.running;
    if ((uintptr_t)shared % (unsigned)bytes || (uintptr_t)global % (unsigned)bytes)
        ABANDON("a copy of %d bytes from %p to %p: both must be multiples of %d", bytes, global,
                shared, bytes);
    if (valid < 0 || valid > bytes)
        ABANDON("a copy of %d bytes with %d valid ones", bytes, valid);
    struct copy copy = {shared, global, bytes, valid, self->committed + 1};
    if (machine.launch->eager) {
        perform(&copy);
        return;
    }
    /* A bad address is found here, where it was made. */
    for (int i = 0; i < valid; i++)
        (void)((const volatile char *)global)[i];
    for (int i = 0; i < bytes; i++)
        (void)((volatile char *)shared)[i];
    if (self->copy_count == self->copy_room) {
        self->copy_room = self->copy_room ? 2 * self->copy_room : 16;
        self->copies = realloc(self->copies, self->copy_room * sizeof *self->copies);
        if (!self->copies)
            abort();
    }
    self->copies[self->copy_count++] = copy;
}

void gt_emu_copy_commit(void)
{
    machine.running->committed++;
}

void gt_emu_copy_wait(int pending)
{
    struct thread *self = machine.running;
    size_t kept = 0;
    for (size_t i = 0; i < self->copy_count; i++) {
        if (self->copies[i].group + (unsigned long)pending <= self->committed)
            perform(&self->copies[i]);
        else
            self->copies[kept++] = self->copies[i];
    }
    self->copy_count = kept;
}
