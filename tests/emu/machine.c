/* machine.c - test: runs a launch (machine.h): clusters one after the other, the threads of one in
 * turns, barriers when no thread can go on.  What a kernel calls is in machine_calls.c. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine_internal.h"

#define STACK_BYTES (128 * 1024) /* of which the lowest page is not accessible */
#define GUARD_BYTES 4096
#define MAX_FIBERS  4096 /* threads of a cluster */

struct gt_emu_position gt_emu_now;
struct machine machine;

static void thread_start(void)
{
    gt_fiber_entered(&machine.scheduler);
    machine.launch->call(machine.launch);
    gt_async_returns();
    machine.running->wait = RETURNED;
    gt_fiber_leave(&machine.running->fiber, &machine.scheduler);
}

static struct index index_of(unsigned long number, const unsigned size[3])
{
    return (struct index){(unsigned)(number % size[0]), (unsigned)(number / size[0] % size[1]),
                          (unsigned)(number / size[0] / size[1])};
}

static void resume(unsigned number)
{
    machine.running = &machine.thread[number];
    gt_emu_now.rank = number / machine.threads;
    gt_emu_now.block = machine.block[gt_emu_now.rank].index;
    gt_emu_now.thread = index_of(number % machine.threads, machine.launch->block);
    gt_fiber_switch(&machine.scheduler, &machine.running->fiber);
}

static bool same_file(const struct thread *one, const struct thread *other)
{
    return one->file == other->file || strcmp(one->file, other->file) == 0;
}

/* Whether threads first..last-1 all wait for the same thing. */
static bool together(unsigned first, unsigned last, enum wait wait)
{
    const struct thread *one = &machine.thread[first];
    for (unsigned i = first; i < last; i++) {
        const struct thread *each = &machine.thread[i];
        if (each->wait != wait)
            return false;
        if (wait != RETURNED && (each->line != one->line || !same_file(each, one)))
            return false;
    }
    return true;
}

static void release(unsigned first, unsigned last)
{
    for (unsigned i = first; i < last; i++)
        machine.thread[i].wait = RUNNABLE;
}

static void describe(char *text, size_t size, unsigned number)
{
    const struct thread *thread = &machine.thread[number];
    const struct index block = machine.block[number / machine.threads].index;
    int length = snprintf(text, size, "thread %u of block (%u, %u, %u) ", number % machine.threads,
                          block.x, block.y, block.z);
    if (thread->wait == RETURNED) {
        snprintf(text + length, size - (size_t)length, "has returned");
        return;
    }
    length += snprintf(text + length, size - (size_t)length, "waits at %s:%d", thread->file,
                       thread->line);
    if (thread->wait == AT_CONDITION && (size_t)length < size)
        thread->explain(text + length, size - (size_t)length, thread);
    if (thread->wait == AT_PART_BARRIER && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, " for barrier %d of %d threads",
                 thread->part, thread->part_threads);
}

/* Whether a thread waits for something that others do. */
static bool conditional(void)
{
    for (unsigned i = 0; i < machine.blocks * machine.threads; i++)
        if (machine.thread[i].wait == AT_CONDITION || machine.thread[i].wait == AT_PART_BARRIER)
            return true;
    return false;
}

/* Whether an earlier thread than `number` waits, or has returned, at the same place. */
static bool said(unsigned number)
{
    for (unsigned i = 0; i < number; i++)
        if (machine.thread[i].wait == machine.thread[number].wait &&
            (machine.thread[i].wait == RETURNED ||
             (machine.thread[i].line == machine.thread[number].line &&
              same_file(&machine.thread[i], &machine.thread[number]))))
            return true;
    return false;
}

/* Reports that no thread can go on because some wait for others; it names one of each place. */
static int deadlock(void)
{
    char text[900], one[400];
    size_t length = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < machine.blocks * machine.threads && length < sizeof text; i++) {
        if (said(i))
            continue;
        describe(one, sizeof one, i);
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%s", length ? "; " : "", one);
    }
    return gt_err_set(machine.err, GT_ECUDA, "deadlock: %s", text);
}

/* Reports that no thread can go on because they wait at different barriers; it names two, of one
 * block if possible. */
static int diverged(void)
{
    char one[512], two[512];
    if (conditional())
        return deadlock();
    unsigned first = 0, all = machine.blocks * machine.threads, other;
    for (unsigned i = 0; i < all; i += machine.threads)
        if (!together(i, i + machine.threads, machine.thread[i].wait)) {
            first = i;
            break;
        }
    other = first + 1;
    while (other + 1 < all && together(first, other + 1, machine.thread[first].wait))
        other++;
    describe(one, sizeof one, first);
    describe(two, sizeof two, other);
    return gt_err_set(machine.err, GT_ECUDA, "divergence at a barrier: %.400s, but %.400s", one,
                      two);
}

/* Opens those of the block's barriers of a part of its threads that are complete. */
static bool open_parts(struct thread *thread)
{
    unsigned waiting[PART_BARRIERS] = {0};
    bool opened = false;
    for (unsigned i = 0; i < machine.threads; i++)
        if (thread[i].wait == AT_PART_BARRIER)
            waiting[thread[i].part]++;
    for (unsigned i = 0; i < machine.threads; i++)
        if (thread[i].wait == AT_PART_BARRIER &&
            waiting[thread[i].part] >= (unsigned)thread[i].part_threads) {
            thread[i].wait = RUNNABLE;
            opened = true;
        }
    return opened;
}

/* Whether a thread is of the launch's late warp. */
static bool is_late(unsigned number)
{
    return number / machine.threads * machine.warps + number % machine.threads / WARP + 1 ==
           machine.launch->late;
}

/* Lets the threads go on whose condition has become true: those of the late warp, or all others. */
static bool open_conditions(bool late)
{
    bool opened = false;
    for (unsigned i = 0; i < machine.blocks * machine.threads; i++)
        if (machine.thread[i].wait == AT_CONDITION && is_late(i) == late &&
            machine.thread[i].ready(&machine.thread[i])) {
            machine.thread[i].wait = RUNNABLE;
            opened = true;
        }
    return opened;
}

/* Opens the barriers within the block whose threads start at `first`: whether there was one. */
static bool open_block(unsigned first)
{
    bool opened = false;
    unsigned end = first + machine.threads;
    for (unsigned warp = first; warp < end; warp += WARP) {
        unsigned last = warp + WARP < end ? warp + WARP : end;
        if (together(warp, last, AT_WARP_BARRIER)) {
            release(warp, last);
            opened = true;
        }
    }
    opened |= open_parts(&machine.thread[first]);
    if (!opened && together(first, end, AT_BLOCK_BARRIER)) {
        release(first, end);
        opened = true;
    }
    return opened;
}

/* When no other thread can go on: whether the late warp can, which then does. */
static bool late_turn(void)
{
    bool can = open_conditions(true);
    for (unsigned i = 0; i < machine.blocks * machine.threads && !can; i++)
        can = machine.thread[i].wait == RUNNABLE;
    machine.late_goes = can;
    return can;
}

/* After every thread ran as far as it could: opens barriers.  *done: all have returned. */
static int open_barriers(bool *done)
{
    unsigned all = machine.blocks * machine.threads;
    bool opened = false;
    *done = together(0, all, RETURNED);
    if (*done)
        return GT_OK;
    for (unsigned first = 0; first < all; first += machine.threads)
        opened |= open_block(first);
    opened |= open_conditions(false);
    if (opened || gt_async_progress() || late_turn() || gt_early_progress())
        return GT_OK;
    if (!together(0, all, AT_CLUSTER_BARRIER))
        return diverged();
    release(0, all);
    return GT_OK;
}

static int run_threads(void)
{
    unsigned all = machine.blocks * machine.threads;
    bool done = false;
    while (!done) {
        for (unsigned i = 0; i < all; i++) {
            unsigned number = machine.launch->reverse ? all - 1 - i : i;
            if (machine.thread[number].wait == RUNNABLE && (machine.late_goes || !is_late(number)))
                resume(number);
            if (machine.status)
                return machine.status;
        }
        machine.late_goes = false;
        int status = open_barriers(&done);
        if (status)
            return status;
    }
    return GT_OK;
}

/* Runs the cluster whose first block is `origin`; its blocks are numbered x first. */
static int run_cluster(struct index origin)
{
    for (unsigned i = 0; i < machine.blocks; i++) {
        struct index at = index_of(i, machine.launch->cluster);
        machine.block[i].index = (struct index){origin.x + at.x, origin.y + at.y, origin.z + at.z};
        machine.block[i].dynamic_shared = gt_machine_shared_memory(machine.launch->shared_bytes);
        machine.block[i].static_count = 0;
    }
    for (unsigned i = 0; i < machine.blocks * machine.threads; i++) {
        struct thread *thread = &machine.thread[i];
        gt_fiber_init(&thread->fiber, machine.stacks + (size_t)i * STACK_BYTES + GUARD_BYTES,
                      STACK_BYTES - GUARD_BYTES, thread_start);
        thread->wait = RUNNABLE;
        thread->copy_count = 0;
        thread->committed = 0;
        thread->async.store_count = 0;
        thread->async.committed = 0;
        thread->wgmma = (struct wgmma_thread){0};
    }
    gt_async_begin();
    gt_proxies_begin();
    gt_wgmma_begin();
    gt_early_begin();
    int status = run_threads();
    gt_early_reveal();
    if (!status)
        status = gt_async_end();
    if (!status)
        status = gt_early_end();
    gt_proxies_end();
    for (unsigned i = 0; i < machine.blocks; i++) {
        free(machine.block[i].dynamic_shared);
        for (size_t j = 0; j < machine.block[i].static_count; j++)
            free(machine.block[i].statics[j].memory);
    }
    return status;
}

static int run_clusters(void)
{
    const unsigned *cluster = machine.launch->cluster, *grid = machine.launch->grid;
    unsigned count[3];
    int status = GT_OK;
    for (int i = 0; i < 3; i++) {
        if (grid[i] % cluster[i])
            return gt_err_set(machine.err, GT_ECUDA,
                              "a grid of %u blocks is no multiple of clusters of %u", grid[i],
                              cluster[i]);
        count[i] = grid[i] / cluster[i];
    }
    unsigned long clusters = (unsigned long)count[0] * count[1] * count[2];
    for (unsigned long i = 0; i < clusters && !status; i++) {
        struct index at = index_of(machine.launch->reverse ? clusters - 1 - i : i, count);
        status =
            run_cluster((struct index){at.x * cluster[0], at.y * cluster[1], at.z * cluster[2]});
    }
    return status;
}

/* The stacks of a whole cluster.  They are made once, so that their pages stay between launches. */
static unsigned char *make_stacks(void)
{
    size_t bytes = (size_t)MAX_FIBERS * STACK_BYTES;
    unsigned char *stacks = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED)
        abort();
    for (size_t i = 0; i < MAX_FIBERS; i++)
        if (mprotect(stacks + i * STACK_BYTES, GUARD_BYTES, PROT_NONE))
            abort();
    return stacks;
}

int gt_emu_run(const struct gt_emu_launch *launch, struct gt_err *err)
{
    static unsigned char *stacks;
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    unsigned blocks = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    unsigned fibers = blocks * threads;
    int status;

    if (threads == 0 || threads > MAX_THREADS)
        return gt_err_set(err, GT_ECUDA, "a block of %u threads: 1 to 1024 are allowed", threads);
    if (blocks == 0 || blocks > MAX_CLUSTER || fibers > MAX_FIBERS)
        return gt_err_set(
            err, GT_ECUDA,
            "a cluster of %u blocks of %u threads: 1 to %d blocks, %d threads are allowed", blocks,
            threads, MAX_CLUSTER, MAX_FIBERS);
    if (!stacks)
        stacks = make_stacks();
    machine = (struct machine){.launch = launch,
                               .err = err,
                               .threads = threads,
                               .warps = (threads + WARP - 1) / WARP,
                               .blocks = blocks,
                               .stacks = stacks};
    gt_emu_now.block_size = (struct index){launch->block[0], launch->block[1], launch->block[2]};
    gt_emu_now.grid_size = (struct index){launch->grid[0], launch->grid[1], launch->grid[2]};
    machine.thread = calloc(fibers, sizeof *machine.thread);
    machine.warp = calloc((size_t)blocks * machine.warps, sizeof *machine.warp);
    if (!machine.thread || !machine.warp)
        abort();
    status = run_clusters();
    for (unsigned i = 0; i < fibers && status; i++)
        gt_fiber_clean(stacks + (size_t)i * STACK_BYTES + GUARD_BYTES, STACK_BYTES - GUARD_BYTES);
    for (unsigned i = 0; i < fibers; i++)
        free(machine.thread[i].copies);
    gt_async_release();
    gt_wgmma_release();
    free(machine.warp);
    free(machine.thread);
    return status;
}
