/* clock.h - vocabulary: the time.  Every reading of a clock in the product goes through here. */
#ifndef GT_CLOCK_H
#define GT_CLOCK_H

#include <stdint.h>

/* Time since an arbitrary start that no change of the date affects (CLOCK_MONOTONIC), in seconds
 * and in whole milliseconds: for durations and deadlines. */
double gt_clock_s(void);
int64_t gt_clock_ms(void);

/* Seconds of a processor that this thread has taken: for limits that hold on a busy machine, too.
 */
double gt_clock_thread_s(void);

/* Milliseconds since 1970, UTC (CLOCK_REALTIME), 0 where the clock is before that: for dates of
 * stored rows, never for durations. */
int64_t gt_clock_date_ms(void);

#endif
