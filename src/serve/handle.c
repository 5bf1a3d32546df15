/* handle.c - remembers the settings of handles; see handle.h.
 *
 * cuBLAS allows only one thread at a time to change or destroy a handle, so the fields of a slot
 * need no memory order among them.  A slot is empty until the first handle takes it, and free when
 * that handle is gone.  A search ends at an empty slot.  It goes on behind a free slot, because
 * other handles may have passed the slot when it was taken. */
#include <sched.h>

#include "serve/handle.h"

#define FIRST_CALLS 64 /* first calls of a handle, which ask all getters */
#define ONE_OF      64 /* one in this many later calls asks all getters again */
#define PROBES      64

#define GET(field)        atomic_load_explicit(&slot->field, memory_order_relaxed)
#define PUT(field, value) atomic_store_explicit(&slot->field, value, memory_order_relaxed)

GT_FAST_TLS int gt_inside;

static char freed;
#define FREE ((void *)&freed) /* marks a slot that is free again */

static size_t place(const void *pointer)
{
    return (size_t)(((uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15u) >> 32);
}

static struct gt_handle *probe(struct gt_handles *all, const void *handle, size_t i)
{
    return &all->slot[(place(handle) + i) & (GT_HANDLES - 1)];
}

struct gt_handle *gt_handle_find(struct gt_handles *all, void *handle)
{
    void *there, *before;
    struct gt_handle *room;

    if (!handle)
        return NULL;
    do { /* search again if another thread takes the slot */
        room = NULL;
        before = there = handle;
        for (size_t i = 0; i < PROBES && there; i++) {
            struct gt_handle *slot = probe(all, handle, i);

            there = atomic_load_explicit(&slot->handle, memory_order_acquire);
            if (there == handle)
                return slot;
            if (!room && (!there || there == FREE)) {
                room = slot;
                before = there;
            }
        }
    } while (room && !atomic_compare_exchange_strong(&room->handle, &before, handle));
    return room;
}

static bool ask_all(const struct gt_real *real, void *handle, struct gt_settings *to)
{
    *to = (struct gt_settings){.stream = NULL};
    return real->GetStream && real->GetPointerMode && real->GetMathMode && real->GetAtomicsMode &&
           !real->GetPointerMode(handle, &to->pointers) && !real->GetStream(handle, &to->stream) &&
           !real->GetMathMode(handle, &to->math) && !real->GetAtomicsMode(handle, &to->atomics) &&
           (!real->GetSmCountTarget || !real->GetSmCountTarget(handle, &to->sms));
}

/* Asks for the settings without which no product may be served, and for the settings that allow
 * more than a new handle's. */
static bool ask_some(const struct gt_real *real, void *handle, const struct gt_settings *noted,
                     struct gt_settings *to)
{
    *to = *noted;
    return !real->GetPointerMode(handle, &to->pointers) && !real->GetStream(handle, &to->stream) &&
           ((noted->math & GT_MATH_MODE) == GT_MATH_DEFAULT ||
            !real->GetMathMode(handle, &to->math)) &&
           (!noted->atomics || !real->GetAtomicsMode(handle, &to->atomics));
}

/* Bit by bit: gcc compares neighbours that are only compared at once, which waits for the stores
 * of each (10 ns). */
static bool differ(const struct gt_settings *x, const struct gt_settings *y)
{
    return x->stream != y->stream || ((x->pointers ^ y->pointers) | (x->math ^ y->math) |
                                      (x->atomics ^ y->atomics) | (x->sms ^ y->sms)) != 0;
}

bool gt_handle_settings(struct gt_handle *slot, const struct gt_real *real, void *handle,
                        struct gt_settings *settings)
{
    struct gt_settings noted;
    unsigned calls;
    bool known;

    if (!slot || GET(ask))
        return ask_all(real, handle, settings);
    known = GET(known);
    calls = GET(calls);
    PUT(calls, calls + 1);
    noted = (struct gt_settings){GET(stream), GET(pointers), GET(math), GET(atomics), GET(sms)};
    if (!(known && calls >= FIRST_CALLS && calls % ONE_OF != 0
              ? ask_some(real, handle, &noted, settings)
              : ask_all(real, handle, settings)))
        return false;
    if (known && !differ(&noted, settings))
        return true;
    if (known) {
        PUT(ask, true);
        gt_handle_set_workspace(slot, NULL, 0);
    }
    PUT(stream, settings->stream);
    PUT(pointers, settings->pointers);
    PUT(math, settings->math);
    PUT(atomics, settings->atomics);
    PUT(sms, settings->sms);
    PUT(known, true);
    return true;
}

void gt_handle_set_stream(struct gt_handle *slot, void *stream)
{
    PUT(stream, stream);
    gt_handle_set_workspace(slot, NULL, 0);
}

void gt_handle_set_workspace(struct gt_handle *slot, void *workspace, size_t bytes)
{
    if (GET(ask)) /* another workspace may have been set that no hook has seen */
        workspace = NULL;
    PUT(workspace, workspace);
    PUT(workspace_bytes, workspace ? bytes : 0);
}

void gt_handle_free(struct gt_handles *all, void *handle)
{
    void *there = handle;

    /* Two threads that used a handle for the first time may have taken a slot each. */
    for (size_t i = 0; i < PROBES && there; i++) {
        struct gt_handle *slot = probe(all, handle, i);

        there = atomic_load_explicit(&slot->handle, memory_order_acquire);
        if (there != handle || !handle)
            continue;
        gt_handle_set_workspace(slot, NULL, 0);
        PUT(known, false);
        PUT(ask, false);
        PUT(calls, 0);
        atomic_store_explicit(&slot->handle, FREE, memory_order_release);
    }
}

/* ---- workspaces ---- */

#define PER_THREAD_STREAM ((void *)(uintptr_t)2) /* a different stream in each thread */
#define LEAST             ((size_t)1 << 20)      /* bytes of a buffer that this library allocates */

/* Whether the slot belongs to the stream; a free slot is taken for the stream.  A slot that another
 * thread is taking is waited for, because it may become this stream's only slot. */
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

/* The stream's slot; NULL: such a stream gets none, or there is no room. */
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

/* A product that has a workspace holds the lock of its stream during its launches.  There is no
 * lock for the per-thread stream, which differs from thread to thread, nor for streams beyond the
 * slots, for which this library has no workspace either. */
int gt_workspace_run(struct gt_workspaces *all, const struct gt_entry *entry, void *stream,
                     const struct gt_operands *operands, struct gt_err *err)
{
    struct gt_own *slot =
        entry->workspace_bytes ? own_slot(all, (void *)entry->key.context, stream) : NULL;
    int rc;

    if (slot)
        pthread_mutex_lock(&slot->turn);
    gt_inside++; /* the plan may call cublasLtMatmul, which is one of the hooks */
    rc = gt_run(entry->plan, stream, operands, err);
    gt_inside--;
    if (slot)
        pthread_mutex_unlock(&slot->turn);
    return rc;
}

/* Makes a larger buffer.  The old one is kept, because enqueued kernels may still use it.  The
 * buffer of a destroyed stream is kept, too, because nothing tells that the program has destroyed
 * the stream. */
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
        /* A refused size is wanted no longer; a smaller size may be asked for. */
        if (wanted > atomic_load(&slot->bytes))
            atomic_compare_exchange_strong(&slot->wanted, &wanted, atomic_load(&slot->bytes));
    }
}
