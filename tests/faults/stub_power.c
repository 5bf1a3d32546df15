/* stub_power.c - part of the stub driver (stub_cuda.c): its clock, and the power that it draws.
 *
 * Without STUB_PACED the clock is virtual: work advances it at once and nobody waits.  With it the
 * device is as a real one: launches are queued (1024 of them or STUB_QUEUED, then the host waits),
 * each begins when the one before has ended but not before it was launched, and whoever waits for
 * an event waits. What the host is late with is a gap, in which the device draws STUB_IDLE_WATTS
 * (75); while it works it draws STUB_WATTS (500), a product of a candidate less by up to
 * STUB_WATTS_SPREAD per cent, as the hash of its source has it.  STUB_PRODUCT_US is what a
 * candidate's product takes at the whole peak.  stub_nvml.c asks for the joules. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stub_device.h"

#define QUEUED 1024 /* at most */

double stub_joules(double at_us);

/* Work without a gap and of one power. */
struct busy {
    double from_us, to_us, watts;
    double before; /* joules above the idle power of all earlier ones */
};

static struct busy *spans;
static size_t count, room;
static double ends[QUEUED];
static unsigned long launched;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double real_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static double idle_watts(void)
{
    return (double)stub_setting("STUB_IDLE_WATTS", 75);
}

static double above_idle(const struct busy *span, double until_us)
{
    return 1e-6 * (until_us - span->from_us) * (span->watts - idle_watts());
}

static void add_span(double from_us, double to_us, double watts)
{
    struct busy *last = count ? &spans[count - 1] : NULL;

    if (last && last->to_us >= from_us && last->watts == watts) {
        last->to_us = to_us;
        return;
    }
    if (count == room) {
        struct busy *more = realloc(spans, (2 * room + 64) * sizeof(*spans));

        if (!more)
            abort();
        spans = more;
        room = 2 * room + 64;
        last = count ? &spans[count - 1] : NULL;
    }
    spans[count++] = (struct busy){from_us, to_us, watts,
                                   last ? last->before + above_idle(last, last->to_us) : 0};
}

void stub_wait(double until_us)
{
    double left;

    if (!stub_setting("STUB_PACED", 0))
        return;
    while ((left = until_us - real_us()) > 0)
        usleep((useconds_t)left + 1);
}

void stub_pass(double us, double share)
{
    const unsigned long queued = (unsigned long)stub_setting("STUB_QUEUED", QUEUED);
    double from_us, full = 0;

    if (!stub_setting("STUB_PACED", 0)) {
        stub_device.now_us += us;
        return;
    }
    pthread_mutex_lock(&lock);
    from_us = real_us();
    if (from_us < stub_device.now_us)
        from_us = stub_device.now_us;
    stub_device.now_us = from_us + us;
    if (us > 0) {
        add_span(from_us, stub_device.now_us, share * (double)stub_setting("STUB_WATTS", 500));
        full = launched < queued ? 0 : ends[(launched - queued) % QUEUED];
        ends[launched++ % QUEUED] = stub_device.now_us;
    }
    pthread_mutex_unlock(&lock);
    stub_wait(full);
}

/* What the device has used until then; its idle power counts from the clock's beginning. */
double stub_joules(double at_us)
{
    size_t low = 0, high;
    double joules = 1e-6 * at_us * idle_watts();

    pthread_mutex_lock(&lock);
    for (high = count; low < high;) { /* the first span that begins later */
        const size_t middle = (low + high) / 2;

        if (spans[middle].from_us <= at_us)
            low = middle + 1;
        else
            high = middle;
    }
    if (low) {
        const struct busy *span = &spans[low - 1];

        joules += span->before + above_idle(span, at_us < span->to_us ? at_us : span->to_us);
    }
    pthread_mutex_unlock(&lock);
    return joules;
}
