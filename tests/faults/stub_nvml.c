/* stub_nvml.c - builds libnvidia-ml.so.1 for tests: a device whose clocks are held down by its
 * power cap.
 *
 * Its load is known: $STUB_WATTS (default 500), in a counter that is renewed every
 * $STUB_RENEWED_US (default 20000) and takes $STUB_METER_US to be read.  STUB_METER=power:
 * there is no counter; none: neither that nor the power is told. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

/* Microseconds of the real clock. */
static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static double number(const char *name, double absent)
{
    const char *text = getenv(name);

    return text ? strtod(text, NULL) : absent;
}

/* Whether the meter is one of those that the test leaves. */
static int lacks(const char *meter)
{
    const char *left = getenv("STUB_METER");

    return left && strcmp(left, meter) != 0;
}

int stub_DeviceGetEnergy(void *handle, unsigned long long *millijoules)
{
    const double renewed = number("STUB_RENEWED_US", 20000);

    (void)handle;
    if (lacks("counter"))
        return 3;
    usleep((useconds_t)number("STUB_METER_US", 0));
    *millijoules = (unsigned long long)((double)(long long)(now_us() / renewed) * renewed * 1e-3 *
                                        number("STUB_WATTS", 500));
    return 0;
}

int stub_DeviceGetPower(void *handle, unsigned *milliwatts)
{
    (void)handle;
    if (lacks("power"))
        return 3;
    *milliwatts = (unsigned)(1000 * number("STUB_WATTS", 500));
    return 0;
}
