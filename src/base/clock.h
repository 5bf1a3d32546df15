/* clock.h - vocabulary: the time.  Every reading of a clock in the product goes through here. */
#ifndef GT_CLOCK_H
#define GT_CLOCK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time since an arbitrary start that no change of the date affects (CLOCK_MONOTONIC), in seconds
 * and in whole milliseconds: for durations and deadlines. */
double gt_clock_s(void);
int64_t gt_clock_ms(void);

/* Processor time of this thread in seconds: for limits that hold on a busy machine, too. */
double gt_clock_thread_s(void);

/* Milliseconds since 1970, UTC (CLOCK_REALTIME), 0 where the clock is before that: for dates of
 * stored rows, never for durations. */
int64_t gt_clock_date_ms(void);

/* ---- GT_TRACE=bench on stderr, for people working on gemmtune itself ----
 *
 *     gt_trace("bench", "candidate %d: %.2f us", id, us); */

/* Whether the environment variable GT_TRACE has the word `topic`, or "all". */
static inline int gt_trace_on(const char *topic)
{
    const char *wanted = secure_getenv("GT_TRACE");

    return wanted && (strstr(wanted, topic) || strstr(wanted, "all"));
}

#define gt_trace(topic, ...)                 \
    do {                                     \
        if (gt_trace_on(topic)) {            \
            fprintf(stderr, "[%s] ", topic); \
            fprintf(stderr, __VA_ARGS__);    \
            fputc('\n', stderr);             \
        }                                    \
    } while (0)

#endif
