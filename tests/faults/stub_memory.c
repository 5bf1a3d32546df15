/* stub_memory.c - part of the stub driver: its memory, which is the host's, its one stream and its
 * events, which read the device's virtual clock. */
#include <unistd.h>

#include "stub_device.h"

struct allocation {
    struct allocation *next;
    void *base;
    size_t bytes;
};

struct event {
    double us;
    void *stream;
};

size_t stub_memory_total(void)
{
    return (size_t)stub_setting("STUB_MEMORY", 4l << 30);
}

/* ---- memory ---- */

int stub_MemGetInfo(size_t *present, size_t *total)
{
    *total = stub_memory_total();
    *present = *total - stub_device.used;
    return stub_device.sticky;
}

int stub_MemAlloc(uint64_t *address, size_t bytes)
{
    struct allocation *made;

    if (stub_device.sticky || stub_spoils())
        return stub_device.sticky ? stub_device.sticky : stub_spoils();
    if (!bytes || bytes > stub_memory_total() - stub_device.used)
        return bytes ? 2 : 1;
    made = calloc(1, sizeof(*made));
    if (!made || posix_memalign(&made->base, 256, bytes)) {
        free(made);
        return 2;
    }
    made->bytes = bytes;
    made->next = stub_device.allocations;
    stub_device.allocations = made;
    stub_device.used += bytes;
    *address = (uint64_t)(uintptr_t)made->base;
    return 0;
}

int stub_MemFree(uint64_t address)
{
    for (struct allocation **at = &stub_device.allocations; *at; at = &(*at)->next)
        if ((uint64_t)(uintptr_t)(*at)->base == address) {
            struct allocation *found = *at;

            *at = found->next;
            stub_device.used -= found->bytes;
            free(found->base);
            free(found);
            return stub_device.sticky;
        }
    return 1;
}

bool stub_inside(uint64_t address, size_t bytes)
{
    for (const struct allocation *at = stub_device.allocations; at; at = at->next) {
        uint64_t base = (uint64_t)(uintptr_t)at->base;

        if (address >= base && address + bytes <= base + at->bytes)
            return true;
    }
    return false;
}

/* Waiting for the device, which an endless kernel never lets happen. */
static int wait_for_device(double until_us)
{
    while (stub_device.hung)
        pause();
    stub_wait(until_us);
    return stub_device.sticky;
}

int stub_MemcpyHtoDAsync(uint64_t to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    if (stub_device.sticky || !stub_inside(to, bytes))
        return stub_device.sticky ? stub_device.sticky : 1;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int stub_MemcpyDtoHAsync(void *to, uint64_t from, size_t bytes, void *stream)
{
    int result = wait_for_device(stub_device.now_us);

    (void)stream;
    if (result || !stub_inside(from, bytes))
        return result ? result : 1;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

int stub_MemsetD32Async(uint64_t to, unsigned word, size_t words, void *stream)
{
    unsigned *at = (unsigned *)(uintptr_t)to;

    (void)stream;
    if (stub_device.sticky || !stub_inside(to, 4 * words))
        return stub_device.sticky ? stub_device.sticky : 1;
    for (size_t i = 0; i < words && (!stub_quick || words < 4096); i++)
        at[i] = word;
    stub_pass(1 + (double)words * 4e-5, 1);
    return 0;
}

/* ---- streams and events ---- */

int stub_StreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    *stream = &stub_device;
    return stub_device.sticky;
}

int stub_StreamDestroy(void *stream)
{
    (void)stream;
    return stub_device.sticky;
}

int stub_StreamSynchronize(void *stream)
{
    (void)stream;
    return wait_for_device(stub_device.now_us);
}

int stub_EventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    return *event ? stub_device.sticky : 2;
}

int stub_EventDestroy(void *event)
{
    free(event);
    return stub_device.sticky;
}

int stub_EventRecord(void *event, void *stream)
{
    stub_pass(0, 1);
    ((struct event *)event)->us = stub_device.now_us;
    ((struct event *)event)->stream = stream;
    return stub_device.sticky;
}

/* Which streams have waited for which ones; the tests of the Python package read it. */
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
void *stub_waits[16][2];
int stub_waits_count;

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    void **entry = stub_waits[stub_waits_count++ % 16];

    entry[0] = stream;
    entry[1] = ((struct event *)event)->stream;
    return flags ? 1 : stub_device.sticky;
}

int stub_EventSynchronize(void *event)
{
    return wait_for_device(((struct event *)event)->us);
}

int stub_EventElapsedTime(float *ms, void *from, void *to)
{
    *ms = (float)((((struct event *)to)->us - ((struct event *)from)->us) * 1e-3);
    return stub_device.sticky;
}
