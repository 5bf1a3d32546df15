/* trace.h - vocabulary: GT_TRACE=bench on stderr, for people working on gemmtune itself.
 *
 *     gt_trace("bench", "candidate %d: %.2f us", id, us); */
#ifndef GT_TRACE_H
#define GT_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the word `topic` stands in the environment variable GT_TRACE ("all" names every topic).
 */
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
