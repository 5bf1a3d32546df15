/* workspace.c - see workspace.h. */
#include "serve/workspace.h"

#include <sched.h>

#define PER_THREAD_STREAM ((void *)(uintptr_t)2) /* a different stream in each thread */
#define LEAST             ((size_t)1 << 20)      /* bytes of a buffer that this library allocates */

static size_t place(const void *pointer)
{
    return (size_t)(((uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15u) >> 32);
}

/* Whether the slot is that stream's, which takes it if it is free.  A slot that is being taken may
 * become this stream's: each stream has one. */
static bool is_own(struct gt_own *slot, void *context, void *stream)
{
    int state = atomic_load_explicit(&slot->state, memory_order_acquire);

    if (state == 0 && atomic_compare_exchange_strong(&slot->state, &state, 1)) {
        slot->context = context;
        slot->stream = stream;
        pthread_mutex_init(&slot->turn, NULL);
        atomic_store_explicit(&slot->state, 2, memory_order_release);
        return true;
    }
    while (state == 1) {
        sched_yield();
        state = atomic_load_explicit(&slot->state, memory_order_acquire);
    }
    return slot->context == context && slot->stream == stream;
}

/* NULL: there is none for such a stream, or no room. */
static struct gt_own *own_slot(struct gt_workspaces *all, void *context, void *stream)
{
    if (stream == PER_THREAD_STREAM)
        return NULL;
    for (size_t i = 0; i < 64; i++) {
        struct gt_own *slot = &all->own[(place(stream) + place(context) + i) & (GT_OWN_SLOTS - 1)];

        if (is_own(slot, context, stream))
            return slot;
    }
    return NULL;
}

void *gt_workspace_own(struct gt_workspaces *all, void *context, void *stream, size_t bytes,
                       bool *ask)
{
    struct gt_own *slot = own_slot(all, context, stream);
    size_t refused, wanted;

    *ask = false;
    if (!slot)
        return NULL;
    if (atomic_load_explicit(&slot->bytes, memory_order_acquire) >= bytes)
        return (void *)(uintptr_t)atomic_load_explicit(&slot->buffer, memory_order_relaxed);
    refused = atomic_load_explicit(&slot->refused, memory_order_relaxed);
    if (refused && bytes >= refused)
        return NULL;
    wanted = atomic_load_explicit(&slot->wanted, memory_order_relaxed);
    while (wanted < bytes && !*ask)
        *ask = atomic_compare_exchange_weak(&slot->wanted, &wanted, bytes);
    return NULL;
}

pthread_mutex_t *gt_workspace_turn(struct gt_workspaces *all, void *context, void *stream)
{
    struct gt_own *slot = own_slot(all, context, stream);

    return slot ? &slot->turn : NULL;
}

/* Makes a larger buffer.  The old one is kept, because enqueued kernels may still use it.  A
 * stream's is kept, too: nothing tells that the program has destroyed the stream. */
static void make_one(struct gt_workspaces *all, struct gt_own *slot,
                     const struct gt_serve_driver *driver, size_t wanted)
{
    size_t bytes = LEAST;
    uint64_t buffer = 0;
    void *popped;
    int result;

    while (bytes < wanted && bytes <= GT_OWN_BYTES)
        bytes *= 2;
    if (bytes > GT_OWN_BYTES - all->held) {
        atomic_store(&slot->refused, wanted);
        return;
    }
    if (driver->CtxPushCurrent(slot->context))
        return;
    result = driver->MemAlloc(&buffer, bytes);
    driver->CtxPopCurrent(&popped);
    if (result) {
        atomic_store(&slot->refused, wanted);
        return;
    }
    all->held += bytes;
    atomic_store_explicit(&slot->buffer, buffer, memory_order_relaxed);
    atomic_store_explicit(&slot->bytes, bytes, memory_order_release);
}

void gt_workspace_make(struct gt_workspaces *all, const struct gt_serve_driver *driver)
{
    for (size_t i = 0; i < GT_OWN_SLOTS; i++) {
        struct gt_own *slot = &all->own[i];
        size_t wanted, refused = atomic_load(&slot->refused);

        if (atomic_load_explicit(&slot->state, memory_order_acquire) != 2)
            continue;
        wanted = atomic_load(&slot->wanted);
        if (wanted > atomic_load(&slot->bytes) && !(refused && wanted >= refused))
            make_one(all, slot, driver, wanted);
        /* What is refused is wanted no longer; something smaller may be asked for. */
        if (wanted > atomic_load(&slot->bytes))
            atomic_compare_exchange_strong(&slot->wanted, &wanted, atomic_load(&slot->bytes));
    }
}
