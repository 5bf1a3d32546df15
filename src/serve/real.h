/* real.h - stage: finds cuBLAS's own functions, which the hooks replace and call.
 *
 * A process may hold several versions of cuBLAS, so everything here exists once for each version: a
 * caller's reference names the version that it was linked with, and there is one hook for each
 * version.  The functions are those of the library that the program has loaded.  Linking or loading
 * a cuBLAS instead would replace the copy that the program brings along. */
#ifndef GT_REAL_H
#define GT_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/blas.h"

/* Major versions whose symbols are hooked, the newest first: X(version). */
#define GT_BLAS_VERSIONS(X) X(13) X(12) X(11)

enum gt_blas_version {
#define GT_BLAS_VERSION_ENUM(v) GT_BLAS_##v,
    GT_BLAS_VERSIONS(GT_BLAS_VERSION_ENUM)
#undef GT_BLAS_VERSION_ENUM
        GT_BLAS_VERSION_COUNT
};

/* A pointer is NULL where the library lacks the function. */
struct gt_real {
#define GT_REAL_GEMM(symbol, kind, I, type, compute) int(*symbol) GT_PARAMETERS_##kind(I);
#define GT_REAL_ARRAYS(symbol, kind, I)              int(*symbol) GT_PARAMETERS_##kind(I);
#define GT_REAL_OBSERVED(symbol, parameters, names)  int(*symbol) parameters;
#define GT_REAL_CREATE(symbol)                       int (*symbol)(void **handle);
#define GT_REAL_DESTROY(symbol)                      int (*symbol)(void *handle);
#define GT_REAL_GETTER(field, symbol, parameters)    int(*field) parameters;
    GT_GEMM_MAP(GT_REAL_GEMM)
    GT_ARRAYS_MAP(GT_REAL_ARRAYS)
    GT_OBSERVED_MAP(GT_REAL_OBSERVED)
    GT_CREATE_MAP(GT_REAL_CREATE)
    GT_DESTROY_MAP(GT_REAL_DESTROY)
    GT_GETTER_MAP(GT_REAL_GETTER)
#undef GT_REAL_GEMM
#undef GT_REAL_ARRAYS
#undef GT_REAL_OBSERVED
#undef GT_REAL_DESTROY
};

struct gt_real_lt {
    enum gt_blas_version version;
    int(*cublasLtMatmul) GT_PARAMETERS_MATMUL;
    GT_LT_CREATE_MAP(GT_REAL_CREATE)
    GT_LT_GETTER_MAP(GT_REAL_GETTER)
#undef GT_REAL_CREATE
#undef GT_REAL_GETTER
};

/* The functions of that version in the copy of cuBLAS that a place in the program would call;
 * caller: an address in the place's code.  The first call of a place finds the functions; later
 * calls get them without a lock.  If another preloaded library, behind this one, stands in for a
 * function, the function is that library's, except for calls of that library itself.  NULL: there
 * are none. */
const struct gt_real *gt_real(enum gt_blas_version version, const void *caller);
const struct gt_real_lt *gt_real_lt(enum gt_blas_version version, const void *caller);

/* For a child of fork, in which no other thread is looking for functions any more. */
void gt_real_forked(void);

/* Whether the usual library of that version is loaded and has `name` at this address. */
int gt_real_is(enum gt_blas_version version, const char *name, const void *address);

/* ---- the C library's dlsym and dlvsym, for which hooks.c stands in ----
 *
 * Code of this library calls these, and never dlsym or dlvsym. */

typedef void *gt_dlsym(void *library, const char *name);
typedef void *gt_dlvsym(void *library, const char *name, const char *version);

/* The C library's functions behind this library.  They examine who calls them, for RTLD_NEXT and
 * RTLD_DEFAULT. */
gt_dlsym *gt_real_dlsym(void);
gt_dlvsym *gt_real_dlvsym(void);

/* The symbol in a library, or in the libraries behind this one (RTLD_NEXT), of that version;
 * version NULL: of any. */
void *gt_find_name(void *library, const char *name, const char *version);

/* The symbol that the library of `caller` finds in itself and in its dependencies, which other
 * libraries may not see.  NULL: it finds none, and dlerror says what the library would have been
 * told. */
void *gt_find_around(const void *caller, const char *name, const char *version);

/* ---- the few functions of the CUDA driver that serving calls itself ----
 *
 * They are taken from the driver that the program has loaded.  gt_plan and gt_run call further
 * functions.  If the program has loaded no driver, there is nothing to serve. */

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

/* CU_STREAM_CAPTURE_MODE_RELAXED: calls of this thread, such as allocating, do not disturb graphs
 * that other threads capture. */
#define GT_CAPTURE_RELAXED 2

struct gt_serve_driver {
#define GT_SERVE_DRIVER_FIELD(field, symbol, parameters) int(*field) parameters;
    GT_SERVE_DRIVER_MAP(GT_SERVE_DRIVER_FIELD)
#undef GT_SERVE_DRIVER_FIELD
    int (*CtxGetId)(void *context, uint64_t *id); /* since CUDA 12; NULL: older */
};

/* false: the driver is not loaded, or lacks one of the functions. */
bool gt_serve_driver_load(struct gt_serve_driver *driver);

/* A number that no other context of the process has or had; 0: the driver is too old to tell. */
uint64_t gt_serve_context_id(const struct gt_serve_driver *driver, void *context);

/* Whether a graph is being captured on the stream; true also where the driver does not tell. */
bool gt_serve_capturing(const struct gt_serve_driver *driver, void *stream);

#endif
