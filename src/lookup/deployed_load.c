/* deployed_load.c - GPUs and modules of a deployed file: made once, then shared by all plans; see
 * deployed.h.
 *
 * Lists only grow, at their heads, by compare-and-swap, until the file is closed.  Threads that
 * find the same thing missing at the same moment each make it, and one is kept. */
#include "lookup/deployed_impl.h"

#include "base/err.h"

#include <stdlib.h>
#include <unistd.h>

static struct gt_gpu *find_gpu(struct gt_deployed_gpu *at, int ordinal)
{
    for (; at; at = at->next)
        if (gt_gpu_device(at->gpu)->ordinal == ordinal && gt_gpu_alive(at->gpu))
            return at->gpu;
    return NULL;
}

int gt_deployed_gpu(struct gt_deployed *deployed, int ordinal, struct gt_gpu **gpu,
                    struct gt_err *err)
{
    struct gt_deployed_gpu *first = atomic_load(&deployed->gpus), *made;
    int rc;

    *gpu = find_gpu(first, ordinal);
    if (*gpu)
        return GT_OK;
    made = calloc(1, sizeof(*made));
    if (!made)
        return gt_err_nomem(err);
    rc = gt_gpu_open(&made->gpu, ordinal, true, err);
    if (rc) {
        free(made);
        return rc;
    }
    *gpu = made->gpu;
    for (made->next = first; !atomic_compare_exchange_weak(&deployed->gpus, &made->next, made);) {
        struct gt_gpu *other = find_gpu(made->next, ordinal);

        if (other) { /* another thread has made it first */
            gt_gpu_close(made->gpu);
            free(made);
            *gpu = other;
            return GT_OK;
        }
    }
    return GT_OK;
}

/* Refuses code that is newer than the driver, which would refuse it itself, but with a number that
 * explains little. */
static int check_driver(const struct gt_deployed *deployed, const struct gt_gpu *gpu,
                        const struct gt_deployed_item *item, struct gt_err *err)
{
    const int driver = gt_gpu_device(gpu)->driver, nvrtc = deployed->image[item->image].nvrtc;

    if (gt_device_takes_code(gt_gpu_device(gpu), nvrtc))
        return GT_OK;
    return gt_err_set(err, GT_ERANGE,
                      "%s: kernel %s was compiled by CUDA %d.%d, and this driver is of CUDA %d.%d: "
                      "it needs a driver of CUDA %d, or an export made with NVRTC %d",
                      deployed->path, gt_deployed_text(deployed, item->kernel), nvrtc / 1000,
                      nvrtc % 1000 / 10, driver / 1000, driver % 1000 / 10, nvrtc / 1000,
                      driver / 1000);
}

static int load(struct gt_deployed *deployed, struct gt_gpu *gpu,
                const struct gt_deployed_item *item, struct gt_module **module, struct gt_err *err)
{
    struct gt_geometry geometry;
    void *image = NULL;
    size_t size;
    int rc = check_driver(deployed, gpu, item, err);

    GT_STEP(rc, gt_deployed_image(deployed, item, &image, &size, err));
    if (rc)
        return rc;
    gt_deployed_geometry(deployed, item, &geometry);
    rc = gt_module_load(module, gpu, image, size, &geometry, err);
    free(image);
    return rc ? gt_err_prefix(err, rc, "%s: kernel %s", deployed->path,
                              gt_deployed_text(deployed, item->kernel))
              : GT_OK;
}

static struct gt_module *find_module(struct gt_deployed_module *at, const struct gt_gpu *gpu)
{
    for (; at; at = at->next)
        if (at->gpu == gpu)
            return at->module;
    return NULL;
}

int gt_deployed_module(struct gt_deployed *deployed, struct gt_gpu *gpu,
                       const struct gt_deployed_item *item, struct gt_module **module,
                       struct gt_err *err)
{
    _Atomic(struct gt_deployed_module *) *list = &deployed->module[item - deployed->item];
    struct gt_deployed_module *first = atomic_load(list), *made;
    int rc;

    *module = find_module(first, gpu);
    if (*module)
        return GT_OK;
    made = calloc(1, sizeof(*made));
    if (!made)
        return gt_err_nomem(err);
    made->gpu = gpu;
    rc = load(deployed, gpu, item, &made->module, err);
    if (rc) {
        free(made);
        return rc;
    }
    *module = made->module;
    for (made->next = first; !atomic_compare_exchange_weak(list, &made->next, made);) {
        struct gt_module *other = find_module(made->next, gpu);

        if (other) {
            gt_module_free(made->module);
            free(made);
            *module = other;
            return GT_OK;
        }
    }
    return GT_OK;
}

static void unload(struct gt_deployed *deployed)
{
    struct gt_deployed_gpu *gpu = atomic_load(&deployed->gpus);

    for (uint32_t i = 0; deployed->module && i < deployed->head.items; i++) {
        struct gt_deployed_module *at = atomic_load(&deployed->module[i]);

        while (at) {
            struct gt_deployed_module *next = at->next;

            gt_module_free(at->module);
            free(at);
            at = next;
        }
    }
    while (gpu) {
        struct gt_deployed_gpu *next = gpu->next;

        gt_gpu_close(gpu->gpu);
        free(gpu);
        gpu = next;
    }
}

void gt_deployed_close(struct gt_deployed *deployed)
{
    if (!deployed)
        return;
    unload(deployed);
    if (deployed->fd >= 0)
        close(deployed->fd);
    free(deployed->module);
    free(deployed->slot);
    free(deployed->key);
    free(deployed->bytes);
    free(deployed->path);
    free(deployed);
}
