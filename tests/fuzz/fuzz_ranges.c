/* fuzz_ranges.c - fuzz target: any text as a list or range of problems; what comes out of it has no
 * list or range, is never more than allowed, and an error has a sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "session/problemset.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_one(void *context, const char *text, struct gt_err *err)
{
    size_t *count = context;

    (void)err;
    if (gt_ranges_any(text) || ++*count > GT_RANGES_MOST)
        abort();
    return GT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_err err = {0};
    char *text = fuzz_text(data, size);
    size_t count = 0;

    if (!text)
        return 0;
    if (gt_ranges_expand(text, check_one, &count, &err) ? count || !*err.msg : !count)
        abort();
    free(text);
    return 0;
}
