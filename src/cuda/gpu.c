/* gpu.c - stage: device, context, memory, stream and events through the driver.  module.c beside it
 * loads and launches kernels. */
#include "cuda/gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"

#define STUB_LIBRARY 34 /* CUDA_ERROR_STUB_LIBRARY */

/* CUdevice_attribute */
enum {
    ATTRIBUTE_CLOCK_KHZ = 13,
    ATTRIBUTE_SMS = 16,
    ATTRIBUTE_MEMORY_KHZ = 36,
    ATTRIBUTE_BUS_BITS = 37,
    ATTRIBUTE_L2_BYTES = 38,
    ATTRIBUTE_THREADS_SM = 39,
    ATTRIBUTE_CC_MAJOR = 75,
    ATTRIBUTE_CC_MINOR = 76,
    ATTRIBUTE_SHARED_SM = 81,
    ATTRIBUTE_REGISTERS_SM = 82,
    ATTRIBUTE_SHARED_BLOCK = 97,
    ATTRIBUTE_BLOCKS_SM = 106,
    ATTRIBUTE_SHARED_RESERVED = 111,
};

/* Whether every later call of the process fails after this result, so that only a new process
 * helps. */
static bool is_sticky(int result)
{
    return result == 700 || result == 702 ||
           (result >= 710 && result <= 719 && result != 711 && result != 712 && result != 713) ||
           result == 721 || result == 709;
}

/* Whether the result is a fault of the device and not of the code that ran on it: unavailable, ECC,
 * NVLink, the driver gone. */
static bool is_lost(int result)
{
    return result == 46 || result == 214 || result == 220 || result == 4 || result == 999;
}

int gt_gpu_fail(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err)
{
    const char *name = NULL, *text = NULL;
    int code = GT_ECUDA;

    gpu->cu.GetErrorName(result, &name);
    gpu->cu.GetErrorString(result, &text);
    if (is_sticky(result) || is_lost(result))
        atomic_store_explicit(&gpu->poisoned, true, memory_order_relaxed);
    if (is_lost(result))
        code = GT_ELOST;
    else if (result == 2)
        code = GT_ETOOBIG;
    return gt_err_set(err, code, "%s: %s (%d): %s", call, name ? name : "unknown CUDA error",
                      result, text ? text : "the driver has no text for it");
}

int gt_gpu_enter(struct gt_gpu *gpu, bool *pushed, struct gt_err *err)
{
    void *current = NULL;
    int rc;

    *pushed = false;
    if (!gpu->guest || (!gpu->cu.CtxGetCurrent(&current) && current == gpu->context))
        return GT_OK;
    rc = gt_gpu_check(gpu, gpu->cu.CtxPushCurrent(gpu->context), "cuCtxPushCurrent", err);
    *pushed = !rc;
    return rc;
}

void gt_gpu_leave(struct gt_gpu *gpu, bool pushed)
{
    void *popped;

    if (pushed)
        gpu->cu.CtxPopCurrent(&popped);
}

/* Starts the driver; GT_ENOGPU if the driver cannot work. */
static int start_driver(struct gt_gpu *gpu, int *count, struct gt_err *err)
{
    const char *text = NULL;
    int rc = gt_driver_api_load(&gpu->cu, err), result;

    if (rc)
        return rc;
    result = gpu->cu.Init(0);
    GT_STEP(result, gpu->cu.DeviceGetCount(count));
    if (result) {
        gpu->cu.GetErrorString(result, &text);
        return gt_err_set(err, GT_ENOGPU, "no usable GPU: cuInit answers %d, %s", result,
                          result == STUB_LIBRARY ? "the driver library is the toolkit's stub for "
                                                   "linking; the driver has its own libcuda.so.1"
                          : text                 ? text
                                                 : "an unknown error");
    }
    if (*count == 0)
        return gt_err_set(err, GT_ENOGPU, "no usable GPU: the driver sees no device");
    return GT_OK;
}

int gt_gpu_count(int *count, struct gt_err *err)
{
    struct gt_gpu gpu = {.ordinal = 0};

    *count = 0;
    return start_driver(&gpu, count, err);
}

static int attribute(const struct gt_gpu *gpu, int id, int cu_device)
{
    int value = 0;

    return gpu->cu.DeviceGetAttribute(&value, id, cu_device) ? 0 : value;
}

/* Facts that no attribute reports, by arch: FP32 and FP64 FMA lanes of an SM, the rates of its
 * tensor cores (as in configs/devices), bytes per clock and SM that L2 delivers to reading kernels,
 * and GB/s of memory where its clock is not reported. */
static const struct throughput {
    int cc, fma_lanes, tensor_tf32, tensor_f16, tensor_f8, tensor_s8, fma_f64, tensor_f64;
    double l2_bytes, memory_gbps;
} throughputs[] = {
    {75, 64, 0, 512, 0, 2048, 2, 0, 28, 270},
    {80, 64, 1024, 2048, 0, 4096, 32, 128, 30, 1300},
    {86, 128, 256, 512, 0, 2048, 2, 0, 16, 780},
    {87, 128, 1024, 2048, 0, 4096, 2, 0, 16, 170},
    {88, 128, 256, 512, 0, 2048, 2, 0, 16, 200},
    {89, 128, 256, 512, 1024, 2048, 2, 0, 16, 860},
    {90, 128, 2048, 4096, 8192, 8192, 64, 256, 25, 3970},
    {100, 128, 4096, 8192, 16384, 16384, 64, 128, 25, 6400},
    {103, 128, 4096, 8192, 16384, 1024, 2, 4, 25, 6400},
    {110, 128, 4096, 8192, 16384, 16384, 2, 0, 16, 220},
    {120, 128, 256, 512, 1024, 2048, 2, 0, 16, 1450},
    {121, 128, 512, 1024, 2048, 2048, 2, 0, 16, 220},
};

static void fill_throughput(struct gt_device *device, double memory_peak_gbps)
{
    const struct throughput *found = &throughputs[0];

    for (size_t i = 0; i < sizeof(throughputs) / sizeof(*throughputs); i++)
        if (throughputs[i].cc <= device->cc)
            found = &throughputs[i];
    device->fma_lanes = found->fma_lanes;
    device->tensor_tf32 = found->tensor_tf32;
    device->tensor_f16 = found->tensor_f16;
    device->tensor_f8 = found->tensor_f8;
    device->tensor_s8 = found->tensor_s8;
    device->fma_f64 = found->fma_f64;
    device->tensor_f64 = found->tensor_f64;
    device->l2_gbps = found->l2_bytes * device->sms * device->clock_mhz * 1e-3;
    /* A copy reaches about 0.81 of the pins' rate, 3.97 of 4.92 TB/s on an H200; on the slower pins
     * of an H100 0.88, 2.95 of 3.35 TB/s. */
    if (memory_peak_gbps > 0)
        device->memory_gbps =
            (device->cc == 90 && memory_peak_gbps < 3600 ? 0.88 : 0.81) * memory_peak_gbps;
    else
        device->memory_gbps = found->memory_gbps;
}

static void format_uuid(char text[48], const unsigned char uuid[16])
{
    size_t length = (size_t)snprintf(text, 48, "GPU-");

    for (int i = 0; i < 16; i++)
        length += (size_t)snprintf(text + length, 48 - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static int read_device(struct gt_gpu *gpu, int cu, struct gt_err *err)
{
    struct gt_device *device = &gpu->device;
    unsigned char uuid[16];
    size_t total = 0;
    int rc = gt_gpu_check(gpu, gpu->cu.DeviceGetName(device->name, sizeof(device->name), cu),
                          "cuDeviceGetName", err);

    GT_STEP(rc, gt_gpu_check(gpu, gpu->cu.DeviceGetUuid(uuid, cu), "cuDeviceGetUuid", err));
    GT_STEP(rc, gt_gpu_check(gpu, gpu->cu.DeviceTotalMem(&total, cu), "cuDeviceTotalMem", err));
    if (rc)
        return rc;
    device->ordinal = gpu->ordinal;
    format_uuid(device->uuid, uuid);
    device->memory_bytes = (int64_t)total;
    gpu->cu.DriverGetVersion(&device->driver);
    device->cc =
        attribute(gpu, ATTRIBUTE_CC_MAJOR, cu) * 10 + attribute(gpu, ATTRIBUTE_CC_MINOR, cu);
    device->sms = attribute(gpu, ATTRIBUTE_SMS, cu);
    device->smem_block = attribute(gpu, ATTRIBUTE_SHARED_BLOCK, cu);
    device->smem_sm = attribute(gpu, ATTRIBUTE_SHARED_SM, cu);
    device->smem_reserved = attribute(gpu, ATTRIBUTE_SHARED_RESERVED, cu);
    device->regs_sm = attribute(gpu, ATTRIBUTE_REGISTERS_SM, cu);
    device->max_threads_sm = attribute(gpu, ATTRIBUTE_THREADS_SM, cu);
    device->max_blocks_sm = attribute(gpu, ATTRIBUTE_BLOCKS_SM, cu);
    device->l2_bytes = attribute(gpu, ATTRIBUTE_L2_BYTES, cu);
    device->clock_mhz = attribute(gpu, ATTRIBUTE_CLOCK_KHZ, cu) * 1e-3;
    fill_throughput(device, 2e-6 * attribute(gpu, ATTRIBUTE_MEMORY_KHZ, cu) *
                                attribute(gpu, ATTRIBUTE_BUS_BITS, cu) / 8);
    return GT_OK;
}

static int open_context(struct gt_gpu *gpu, int cu, struct gt_err *err)
{
    int rc = gt_gpu_check(gpu, gpu->cu.PrimaryCtxRetain(&gpu->context, cu),
                          "cuDevicePrimaryCtxRetain", err);

    if (rc)
        return rc;
    gpu->retained = true;
    if (gpu->cu.CtxGetId && gpu->cu.CtxGetId(gpu->context, &gpu->context_id))
        gpu->context_id = 0;
    if (gpu->guest)
        return GT_OK;
    rc = gt_gpu_check(gpu, gpu->cu.CtxPushCurrent(gpu->context), "cuCtxPushCurrent", err);
    if (rc)
        return rc;
    gpu->current = true;
    return gt_gpu_check(
        gpu,
        gpu->cu.StreamCreate(&gpu->stream,
                             1 /* 1: the stream does not wait for the default stream */),
        "cuStreamCreate", err);
}

int gt_gpu_open(struct gt_gpu **gpu, int ordinal, bool guest, struct gt_err *err)
{
    struct gt_gpu *opened = calloc(1, sizeof(*opened));
    int count = 0, rc;

    *gpu = NULL;
    if (!opened)
        return gt_err_nomem(err);
    opened->ordinal = ordinal;
    opened->guest = guest;
    rc = start_driver(opened, &count, err);
    if (!rc && (ordinal < 0 || ordinal >= count))
        rc = gt_err_set(err, GT_ENOGPU, "no GPU %d: the driver sees %d, numbered from 0", ordinal,
                        count);
    GT_STEP(rc, gt_gpu_check(opened, opened->cu.DeviceGet(&opened->cu_device, ordinal),
                             "cuDeviceGet", err));
    GT_STEP(rc, read_device(opened, opened->cu_device, err));
    GT_STEP(rc, open_context(opened, opened->cu_device, err));
    if (rc) {
        gt_gpu_close(opened);
        return rc;
    }
    *gpu = opened;
    return GT_OK;
}

void gt_gpu_close(struct gt_gpu *gpu)
{
    void *popped;

    if (!gpu)
        return;
    if (gpu->stream)
        gpu->cu.StreamDestroy(gpu->stream);
    if (gpu->current)
        gpu->cu.CtxPopCurrent(&popped);
    if (gpu->retained)
        gpu->cu.PrimaryCtxRelease(gpu->cu_device);
    free(gpu);
}

const struct gt_device *gt_gpu_device(const struct gt_gpu *gpu)
{
    return &gpu->device;
}

bool gt_gpu_poisoned(const struct gt_gpu *gpu)
{
    return atomic_load_explicit(&gpu->poisoned, memory_order_relaxed);
}

bool gt_gpu_alive(const struct gt_gpu *gpu)
{
    uint64_t id = 0;

    return !gpu->context_id || (!gpu->cu.CtxGetId(gpu->context, &id) && id == gpu->context_id);
}

void *gt_gpu_stream(const struct gt_gpu *gpu)
{
    return gpu->stream;
}

int gt_gpu_alloc(struct gt_gpu *gpu, gt_devptr *ptr, size_t bytes, struct gt_err *err)
{
    int rc;

    *ptr = 0;
    rc = gt_gpu_check(gpu, gpu->cu.MemAlloc(ptr, bytes ? bytes : 1), "cuMemAlloc", err);
    return rc ? gt_err_prefix(err, rc, "%zu bytes", bytes) : GT_OK;
}

void gt_gpu_free(struct gt_gpu *gpu, gt_devptr ptr)
{
    if (ptr)
        gpu->cu.MemFree(ptr);
}

int gt_gpu_memory(struct gt_gpu *gpu, size_t *free_bytes, size_t *total, struct gt_err *err)
{
    return gt_gpu_check(gpu, gpu->cu.MemGetInfo(free_bytes, total), "cuMemGetInfo", err);
}

int gt_gpu_sync(struct gt_gpu *gpu, struct gt_err *err)
{
    return gt_gpu_check(gpu, gpu->cu.StreamSynchronize(gpu->stream), "cuStreamSynchronize", err);
}

int gt_gpu_upload(struct gt_gpu *gpu, gt_devptr to, const void *from, size_t bytes,
                  struct gt_err *err)
{
    const int result = bytes ? gpu->cu.MemcpyHtoDAsync(to, from, bytes, gpu->stream) : 0;
    const int rc = gt_gpu_check(gpu, result, "cuMemcpyHtoDAsync", err);

    return rc ? rc : gt_gpu_sync(gpu, err); /* the caller may change `from` after the return */
}

int gt_gpu_download(struct gt_gpu *gpu, void *to, gt_devptr from, size_t bytes, struct gt_err *err)
{
    const int result = bytes ? gpu->cu.MemcpyDtoHAsync(to, from, bytes, gpu->stream) : 0;
    const int rc = gt_gpu_check(gpu, result, "cuMemcpyDtoHAsync", err);

    return rc ? rc : gt_gpu_sync(gpu, err);
}

int gt_gpu_fill32(struct gt_gpu *gpu, gt_devptr to, uint32_t word, size_t words, struct gt_err *err)
{
    return gt_gpu_check(gpu, words ? gpu->cu.MemsetD32Async(to, word, words, gpu->stream) : 0,
                        "cuMemsetD32Async", err);
}

/* Events */

struct gt_event {
    struct gt_gpu *gpu;
    void *handle;
};

int gt_event_new(struct gt_event **event, struct gt_gpu *gpu, struct gt_err *err)
{
    struct gt_event *made = calloc(1, sizeof(*made));
    int rc;

    *event = NULL;
    if (!made)
        return gt_err_nomem(err);
    made->gpu = gpu;
    rc = gt_gpu_check(gpu, gpu->cu.EventCreate(&made->handle, 0), "cuEventCreate", err);
    if (rc)
        free(made);
    else
        *event = made;
    return rc;
}

void gt_event_free(struct gt_event *event)
{
    if (!event)
        return;
    event->gpu->cu.EventDestroy(event->handle);
    free(event);
}

int gt_event_record(struct gt_event *event, struct gt_err *err)
{
    return gt_gpu_check(event->gpu, event->gpu->cu.EventRecord(event->handle, event->gpu->stream),
                        "cuEventRecord", err);
}

int gt_event_us(const struct gt_event *from, const struct gt_event *to, float *us,
                struct gt_err *err)
{
    struct gt_gpu *gpu = to->gpu;
    float ms = 0;
    int rc = gt_gpu_check(gpu, gpu->cu.EventSynchronize(to->handle), "cuEventSynchronize", err);

    GT_STEP(rc, gt_gpu_check(gpu, gpu->cu.EventElapsedTime(&ms, from->handle, to->handle),
                             "cuEventElapsedTime", err));
    if (!rc)
        *us = ms * 1e3f;
    return rc;
}
