/* fuzz_recording.c - fuzz target: any bytes as a recorded space; what is read holds together and
 * makes a space that finds every point of its own. */
#include <stdint.h>
#include <stdlib.h>

#include "exchange/recording.h"
#include "tests/fuzz/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct gt_recording *recording)
{
    const struct gt_kernel *kernel = recording->kernel;
    struct gt_space space;
    struct gt_err err = {0};

    for (size_t i = 0; i < recording->points; i++) {
        const struct gt_recorded *point = &recording->point[i];

        if (point->first + (size_t)point->samples > recording->samples)
            abort();
        if (point->status == GT_STATUS_OK && !(point->us > 0 && point->samples))
            abort();
        for (size_t p = 0; p < kernel->params; p++)
            if (recording->index[i * kernel->params + p] >= kernel->param[p].count)
                abort();
    }
    if (gt_recording_space(&space, recording, NULL, NULL, &err)) {
        if (!*err.msg)
            abort();
        return;
    }
    for (size_t i = 0; i < space.count; i++) {
        struct gt_point point;

        gt_space_point(&space, i, &point);
        if (gt_space_find(&space, &point) != i)
            abort();
    }
    gt_space_release(&space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_recording recording;
    struct gt_err err = {0};
    char *text = fuzz_text(data, size);

    if (!text)
        return 0;
    if (!gt_recording_parse(&recording, "fuzz", text, size, &err))
        use(&recording);
    else if (!*err.msg)
        abort();
    gt_recording_release(&recording);
    free(text);
    return 0;
}
