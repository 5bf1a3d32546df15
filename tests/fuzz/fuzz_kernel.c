/* fuzz_kernel.c - fuzz target: any bytes as a kernel description; what loads is taken through
 * constraints, geometry and rendering on two devices. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/kernel_impl.h"
#include "kernel/render.h"
#include "tests/fuzz/fuzz_text.h"

#define DATA "tests/unit/data"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct gt_kernel *kernel)
{
    static const int archs[] = {86, 90};

    for (int i = 0; i < 2; i++) {
        struct gt_problem problem;
        struct gt_device device;
        struct gt_candidate candidate = {kernel, &problem, &device, {{0}}};
        struct gt_geometry geometry;
        struct gt_strbuf text = GT_STRBUF_INIT;
        struct gt_err err = {0};
        const struct gt_kernel *const list = kernel;
        char why[GT_UNSERVED_MAX];
        int failed;

        if (gt_device_profile(&device, ".", archs[i], NULL))
            abort();
        gt_problem_init(&problem, 1000, 2000, 3000);
        gt_unserved(why, NULL, &list, 1, &problem, &device);
        gt_point_default(&candidate.point, kernel);
        if (gt_candidate_valid(&candidate, &failed, &err) && !*err.msg)
            abort();
        if (gt_candidate_geometry(&candidate, &geometry, &err) && !*err.msg)
            abort();
        if (gt_render(&text, &candidate, NULL))
            abort();
        gt_strbuf_release(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gt_kernel *kernel = calloc(1, sizeof(*kernel));
    char *text = fuzz_text(data, size);
    struct gt_err err = {0};
    int rc;

    if (!kernel || !text)
        goto out;
    kernel->path = strdup(DATA "/configs/kernels/tiny.json");
    if (!kernel->path)
        goto out;
    rc = gt_kernel_read_description(kernel, DATA, text, size, &err);
    if (!rc)
        rc = gt_kernel_read_template(kernel, DATA, NULL, &err);
    if (!rc)
        use(kernel);
    else if ((rc != GT_ECONFIG && rc != GT_EIO) || strncmp(err.msg, DATA, strlen(DATA)))
        abort();
out:
    gt_kernel_free(kernel);
    free(text);
    return 0;
}
