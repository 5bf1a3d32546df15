/* driver.h - stage: the few functions of the CUDA driver that serving calls itself, beside those
 * that gt_plan and gt_run call.  They are those of the driver that the program has loaded; where it
 * has loaded none, there is nothing to serve. */
#ifndef GT_SERVE_DRIVER_H
#define GT_SERVE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(field, symbol, parameters); all of them are in every driver since CUDA 11. */
#define GT_SERVE_DRIVER_MAP(X)                                                                   \
    X(CtxGetCurrent, "cuCtxGetCurrent", (void **))                                               \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", (void *))                                           \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", (void **))                                            \
    X(CtxGetDevice, "cuCtxGetDevice", (int *))                                                   \
    X(DeviceGetName, "cuDeviceGetName", (char *, int, int))                                      \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                             \
    X(PrimaryCtxGetState, "cuDevicePrimaryCtxGetState", (int, unsigned *, int *))                \
    X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **, int))                              \
    X(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))                                  \
    X(StreamIsCapturing, "cuStreamIsCapturing", (void *, int *))                                 \
    X(StreamSynchronize, "cuStreamSynchronize", (void *))                                        \
    X(ExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *))                         \
    X(MemAlloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                           \
    X(MemsetD32Async, "cuMemsetD32Async", (uint64_t, unsigned, size_t, void *))                  \
    X(MemFree, "cuMemFree_v2", (uint64_t))                                                       \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *))               \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (uint64_t, uint64_t, size_t, void *))             \
    X(ModuleLoadDataEx, "cuModuleLoadDataEx", (void **, const void *, unsigned, int *, void **)) \
    X(ModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))                 \
    X(LaunchKernel, "cuLaunchKernel",                                                            \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,     \
       void **, void **))

/* CU_STREAM_CAPTURE_MODE_RELAXED: what this thread does, such as allocating, leaves the graphs
 * alone that other threads capture. */
#define GT_CAPTURE_RELAXED 2

struct gt_serve_driver {
#define GT_SERVE_DRIVER_FIELD(field, symbol, parameters) int(*field) parameters;
    GT_SERVE_DRIVER_MAP(GT_SERVE_DRIVER_FIELD)
#undef GT_SERVE_DRIVER_FIELD
    int (*CtxGetId)(void *context, uint64_t *id); /* since CUDA 12; NULL: older */
};

/* false: the driver is not loaded, or lacks one of them. */
bool gt_serve_driver_load(struct gt_serve_driver *driver);

/* A number that no other context of the process has or had; 0: the driver is too old to tell. */
uint64_t gt_serve_context_id(const struct gt_serve_driver *driver, void *context);

/* Whether a graph is being captured on the stream; what cannot be asked counts as captured. */
bool gt_serve_capturing(const struct gt_serve_driver *driver, void *stream);

#endif
