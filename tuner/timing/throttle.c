/* throttle.c - stage: reads throttle reasons, power and energy from the NVIDIA management library.
 */
#include "timing/throttle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cuda/cuda_api.h"

struct gt_throttle {
    struct gt_nvml_api api;
    void *device;
};

int gt_throttle_open(struct gt_throttle **throttle, const char *uuid, struct gt_err *err)
{
    struct gt_throttle *opened = calloc(1, sizeof(*opened));
    int rc, result;

    *throttle = NULL;
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
        gt_throttle_close(opened);
        return gt_err_set(err, GT_ENOTFOUND, "NVML knows no device %s (result %d)", uuid, result);
    }
    *throttle = opened;
    return GT_OK;
}

void gt_throttle_close(struct gt_throttle *throttle)
{
    if (!throttle)
        return;
    throttle->api.Shutdown();
    free(throttle);
}

void gt_throttle_reasons(const struct gt_throttle *throttle, char *text, size_t size)
{
    /* nvmlClocksThrottleReason...; idling and clocks set by a user are left out. */
    static const struct {
        unsigned long long bit;
        const char *name;
    } reasons[] = {{0x4, "power cap"},       {0x8, "hardware slowdown"}, {0x20, "hot"},
                   {0x40, "hot (hardware)"}, {0x80, "power brake"},      {0x10, "sync boost"}};
    unsigned long long bits = 0;
    size_t length = 0;

    text[0] = '\0';
    if (!throttle || throttle->api.DeviceGetThrottle(throttle->device, &bits))
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons) && length < size; i++)
        if (bits & reasons[i].bit)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
                                       reasons[i].name);
}

double gt_throttle_power_limit(const struct gt_throttle *throttle)
{
    unsigned milliwatts = 0;

    if (!throttle || throttle->api.DeviceGetPowerLimit(throttle->device, &milliwatts))
        return 0;
    return milliwatts / 1000.0;
}

bool gt_throttle_energy(const struct gt_throttle *throttle, double *joules)
{
    unsigned long long millijoules = 0;

    if (!throttle || throttle->api.DeviceGetEnergy(throttle->device, &millijoules))
        return false;
    *joules = (double)millijoules / 1000.0;
    return true;
}

bool gt_throttle_power(const struct gt_throttle *throttle, double *watts)
{
    unsigned milliwatts = 0;

    if (!throttle || throttle->api.DeviceGetPower(throttle->device, &milliwatts))
        return false;
    *watts = milliwatts / 1000.0;
    return true;
}
