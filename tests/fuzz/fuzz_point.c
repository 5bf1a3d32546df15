/* fuzz_point.c - fuzz target: any text as a point of the unit tests' kernel, then everything a
 * candidate goes through before it is compiled. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/render.h"
#include "tests/fuzz/fuzz_text.h"

#define DATA "tests/unit/data"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gt_kernel *tiny;
static struct gt_device device;

static void release(void)
{
    gt_kernel_free(tiny);
}

static void load(void)
{
    if (tiny)
        return;
    if (gt_kernel_load(&tiny, DATA, DATA "/configs/kernels/tiny.json", NULL) ||
        gt_device_profile(&device, ".", 86, NULL))
        abort();
    atexit(release);
}

static void use(const struct gt_point *point)
{
    struct gt_problem problem;
    struct gt_candidate candidate = {tiny, &problem, &device, *point};
    struct gt_geometry geometry;
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_point again;
    int failed;

    gt_problem_init(&problem, 4096, 100, 33);
    gt_point_format(&text, tiny, point);
    if (gt_point_parse(&again, tiny, text.text, NULL) || memcmp(point, &again, sizeof(again)))
        abort();
    gt_strbuf_reset(&text);
    if (!gt_candidate_valid(&candidate, &failed, NULL) && failed < 0)
        gt_candidate_geometry(&candidate, &geometry, NULL);
    if (gt_render(&text, &candidate, NULL))
        abort();
    gt_strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_point point;
    struct gt_err err = {0};
    char *text = fuzz_text(data, size);

    load();
    if (!text)
        return 0;
    if (!gt_point_parse(&point, tiny, text, &err))
        use(&point);
    else if (!*err.msg)
        abort();
    free(text);
    return 0;
}
