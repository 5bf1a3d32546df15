/* stub_nvml.c - builds libnvidia-ml.so.1 for tests: a device whose clocks are held down by its
 * power cap.
 *
 * Its meters read what the stub driver draws (stub_power.c), if that runs in real time
 * (STUB_PACED); else there are none.  They behave as NVML's do:
 *   STUB_RENEWED_US    (20000) both are renewed every so often and stand still in between
 *   STUB_LAG_US        (0) what they then tell is so old
 *   STUB_STEP_MJ       (1) the counter goes by so many millijoules
 *   STUB_STANDS        (0) after its first reading it stands still for so many renewals
 *   STUB_COUNT_MEAN_US (0) it counts the mean power of so long, as an H200's seems to
 *   STUB_MEAN_US       (1e6) the power is the mean of so long
 *   STUB_METER_US      (0) reading one takes so long
 *   STUB_SKEW          (0) per cent by which the counter counts too much
 *   STUB_METER         power: there is no counter; none: neither that nor the power is told */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda/cuda_api.h"

#define MOMENTS 200 /* of a mean */

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
    const char *text = getenv("STUB_LIMIT_W");

    (void)handle;
    *milliwatts = text ? (unsigned)atoi(text) * 1000 : 700000;
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

    return number("STUB_PACED", 0) == 0 || (left && strcmp(left, meter) != 0);
}

/* What the stub driver has used until then. */
static double joules(double at_us)
{
    static double (*stub_joules)(double);

    if (!stub_joules) {
        void *driver = dlopen(getenv("GEMMTUNE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);

        *(void **)&stub_joules = driver ? dlsym(driver, "stub_joules") : NULL;
    }
    return stub_joules ? stub_joules(at_us) : 0;
}

/* Waits as long as a reading takes, and gives the moment of the last renewal: up to a hundredth of
 * a period early, so that the steps of the counter are not all the same. */
static double renewed_us(void)
{
    const double every = number("STUB_RENEWED_US", 20000);
    double renewal;

    usleep((useconds_t)number("STUB_METER_US", 0));
    renewal = floor(now_us() / every);
    return (renewal - 1e-5 * fmod(renewal * 617, 1000)) * every;
}

/* What the mean power of so long adds up to: the mean of what was used until each moment of it. */
static double smoothed_joules(double at_us, double mean_us)
{
    double sum = 0;

    for (int i = 0; i < MOMENTS; i++)
        sum += joules(at_us - mean_us * (i + 0.5) / MOMENTS);
    return sum / MOMENTS;
}

int stub_DeviceGetEnergy(void *handle, unsigned long long *millijoules)
{
    static double first_us;
    const double every = number("STUB_RENEWED_US", 20000), step = number("STUB_STEP_MJ", 1);
    const double mean_us = number("STUB_COUNT_MEAN_US", 0);
    double at_us, used;

    (void)handle;
    if (lacks("counter"))
        return 3;
    at_us = renewed_us();
    first_us = first_us > 0 ? first_us : at_us;
    if (at_us <= first_us + every * number("STUB_STANDS", 0))
        at_us = first_us;
    at_us -= number("STUB_LAG_US", 0);
    used = mean_us > 0 ? smoothed_joules(at_us, mean_us) : joules(at_us);
    *millijoules =
        (unsigned long long)(step * floor(1e3 * used * (1 + 0.01 * number("STUB_SKEW", 0)) / step));
    return 0;
}

int stub_DeviceGetPower(void *handle, unsigned *milliwatts)
{
    const double mean_us = number("STUB_MEAN_US", 1e6);
    double to_us;

    (void)handle;
    if (lacks("power"))
        return 3;
    to_us = renewed_us() - number("STUB_LAG_US", 0);
    *milliwatts = (unsigned)(1e9 * (joules(to_us) - joules(to_us - mean_us)) / mean_us);
    return 0;
}
