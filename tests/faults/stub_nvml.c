/* stub_nvml.c - builds libnvidia-ml.so.1 for tests: a device whose clocks are held down by its
 * power cap. */
#include "cuda/cuda_api.h"

#define nvmlPrototype(field, symbol, parameters) int stub_##field parameters __asm__(symbol);
GT_NVML_MAP(nvmlPrototype)

int stub_Init(void)
{
    return 0;
}

int stub_Shutdown(void)
{
    return 0;
}

int stub_DeviceGetHandleByUUID(const char *uuid, void **handle)
{
    *handle = (void *)(uintptr_t)uuid;
    return 0;
}

int stub_DeviceGetPowerLimit(void *handle, unsigned *milliwatts)
{
    (void)handle;
    *milliwatts = 700000;
    return 0;
}

int stub_DeviceGetThrottle(void *handle, unsigned long long *reasons)
{
    (void)handle;
    *reasons = 0x4;
    return 0;
}
