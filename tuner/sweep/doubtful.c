/* doubtful.c - which stored failures to compile are not believed.  A machine that had no memory, or
 * a compiler that lacked its second library, once condemned every candidate for good; since the
 * compile pool asks a known source first (workers/compile_doubt.c), such a failure says "this
 * source". */
#include "sweep/sweep_parts.h"

#include <string.h>

bool gt_sweep_doubtful(const struct gt_trial *trial)
{
    /* Words of the compiler about itself; where a source is at fault, they name a place in it. */
    static const char *const words[] = {"nvrtc: error",          "nvrtc fatal",
                                        "libnvrtc-builtins",     "out of memory",
                                        "Memory allocation",     "NVRTC failed with result",
                                        "internal error",        "No space left",
                                        "the compiler failed: ", "Internal error",
                                        "cannot open temporary", "the compiler ran out of the "};

    if (trial->status == GT_STATUS_COMPILE_CRASH)
        return !strstr(trial->detail, "this source");
    if (trial->status != GT_STATUS_COMPILE_ERROR)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strstr(trial->detail, words[i]))
            return true;
    return false;
}
