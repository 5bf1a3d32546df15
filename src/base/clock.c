/* clock.c - vocabulary: reads the monotonic clock and the date. */
#include <time.h>

#include "base/clock.h"

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double gt_clock_s(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double gt_clock_thread_s(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t milliseconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t gt_clock_ms(void)
{
    return milliseconds(CLOCK_MONOTONIC);
}

int64_t gt_clock_date_ms(void)
{
    const int64_t date = milliseconds(CLOCK_REALTIME);

    return date > 0 ? date : 0; /* no date that is stored lies before 1970 */
}
