/* compile_reason.c - the compiler's log, read for people (compile_reason.h).  The compile pool and
 * the commands that compile one candidate use it. */
#include "workers/compile_reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/compile.h"

#define STATIC_SHARED 49152 /* bytes that a block may have, on every arch */

/* The entry of the log with the most static shared memory, if that is more than there may be:
 * ptxas then fails, and NVRTC leaves its sentence out of the log. */
static int too_large(const char *log, char entry[GT_STATIC_SHARED_MAX])
{
    char all[GT_STATIC_SHARED_MAX];
    int bytes, most = STATIC_SHARED;

    gt_log_static_shared(log, all);
    for (const char *line = all; *line; line += strcspn(line, "\n") + 1) {
        const char *number = strchr(line, ' ');

        bytes = number ? (int)strtol(number, NULL, 10) : 0;
        if (bytes > most) {
            most = bytes;
            snprintf(entry, GT_STATIC_SHARED_MAX, "%.*s", (int)(number - line), line);
        }
    }
    return most > STATIC_SHARED ? most : 0;
}

void gt_compile_reason(char *text, size_t size, const char *log)
{
    char entry[GT_STATIC_SHARED_MAX];
    const char *at = strstr(log, "error"), *hint = "";
    size_t length;
    int bytes = at ? 0 : too_large(log, entry);

    if (bytes) {
        snprintf(text, size,
                 "%s has %d bytes of static shared memory, and a block may have %d; what is more "
                 "must be dynamic (GT_DYNAMIC_SHARED, \"shared\" of the launch)",
                 entry, bytes, STATIC_SHARED);
        return;
    }
    while (at && at > log && at[-1] != '\n')
        at--;
    if (!at)
        at = log;
    length = strcspn(at, "\n");
    if (memmem(at, length, "cannot open source file", strlen("cannot open source file")))
        hint = "; --include-dir (-I) names folders of headers";
    snprintf(text, size, "%.*s%s%s", (int)length, at, hint, at + length);
    length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
}
