/* nvml.c - stage: throttle reasons from the NVIDIA management library.  Used by bench.c. */
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda_api.h"
#include "err.h"

struct gt_nvml {
    struct gt_nvml_api api;
    void *device;
};

int gt_nvml_open(struct gt_nvml **nvml, const char *uuid, struct gt_err *err)
{
    struct gt_nvml *opened = calloc(1, sizeof(*opened));
    int rc, result;

    *nvml = NULL;
    if (!opened)
        return gt_err_nomem(err);
    rc = gt_nvml_api_load(&opened->api, err);
    if (!rc && (result = opened->api.Init()))
        rc = gt_err_set(err, GT_ENOLIB, "nvmlInit failed with result %d", result);
    if (rc) {
        free(opened);
        return rc;
    }
    result = opened->api.DeviceGetHandleByUUID(uuid, &opened->device);
    if (result) {
        gt_nvml_close(opened);
        return gt_err_set(err, GT_ENOTFOUND, "NVML knows no device %s (result %d)", uuid, result);
    }
    *nvml = opened;
    return GT_OK;
}

void gt_nvml_close(struct gt_nvml *nvml)
{
    if (!nvml)
        return;
    nvml->api.Shutdown();
    free(nvml);
}

void gt_nvml_throttle(const struct gt_nvml *nvml, char *text, size_t size)
{
    /* nvmlClocksThrottleReason...: idling and clocks that were asked for are none. */
    static const struct {
        unsigned long long bit;
        const char *name;
    } reasons[] = {{0x4, "power cap"},       {0x8, "hardware slowdown"}, {0x20, "hot"},
                   {0x40, "hot (hardware)"}, {0x80, "power brake"},      {0x10, "sync boost"}};
    unsigned long long bits = 0;
    size_t length = 0;

    text[0] = '\0';
    if (!nvml || nvml->api.DeviceGetThrottle(nvml->device, &bits))
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons) && length < size; i++)
        if (bits & reasons[i].bit)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                                       reasons[i].name);
}
