/* cuda_api.h - the CUDA libraries as this project uses them: driver, NVRTC, nvJitLink, cuBLASLt and
 * NVML, each a table of functions filled by dlopen.  No CUDA header is needed to build; types are
 * the plain C types of the stable binary interfaces.
 *
 * Where a library is looked for, in this order:
 *   1. the file or folder named by GEMMTUNE_LIBCUDA, GEMMTUNE_LIBNVRTC, GEMMTUNE_LIBNVJITLINK,
 *      GEMMTUNE_LIBCUBLASLT or GEMMTUNE_LIBNVML; if it is set, nothing else is tried;
 *   2. lib/gemmtune beside the program, where a bundle has what it was tuned with;
 *   3. the loader's path, $CUDA_HOME/lib64, $CUDA_PATH/lib64, /usr/local/cuda/lib64, the system's
 *      folder of libraries;
 *   4. .deps of the build tree;
 *   5. wheels of pip and packages of conda: $VIRTUAL_ENV, $CONDA_PREFIX, the python3 on the path,
 *      ~/.local.
 * The driver and NVML have places 1 and 3 only.  $CUDA_PATH and what 2, 4 and 5 find are used
 * only if nobody else may write there (libraries.h). */
#ifndef GT_CUDA_API_H
#define GT_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;

/* Handles (CUcontext, CUstream, CUmodule, CUfunction, CUevent) are pointers; CUdevice is an int,
 * CUdeviceptr a uint64_t, and every result an int with 0 for success. */
struct gt_cu_attribute { /* CUlaunchAttribute */
    int id;
    char pad[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int flag;
    } value;
};

struct gt_cu_config { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    struct gt_cu_attribute *attribute;
    unsigned attributes;
};

#define GT_CU_ATTRIBUTE_CLUSTER 4 /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
#define GT_CU_ATTRIBUTE_PDL     6 /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */

/* X(field, exported symbol, parameters): the driver. */
#define GT_DRIVER_MAP(X)                                                                         \
    X(Init, "cuInit", (unsigned))                                                                \
    X(DriverGetVersion, "cuDriverGetVersion", (int *))                                           \
    X(GetErrorName, "cuGetErrorName", (int, const char **))                                      \
    X(GetErrorString, "cuGetErrorString", (int, const char **))                                  \
    X(DeviceGetCount, "cuDeviceGetCount", (int *))                                               \
    X(DeviceGet, "cuDeviceGet", (int *, int))                                                    \
    X(DeviceGetName, "cuDeviceGetName", (char *, int, int))                                      \
    X(DeviceGetUuid, "cuDeviceGetUuid", (unsigned char[16], int))                                \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                             \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, int))                                    \
    X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **, int))                              \
    X(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))                                  \
    X(CtxGetCurrent, "cuCtxGetCurrent", (void **))                                               \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", (void *))                                           \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", (void **))                                            \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                       \
    X(MemAlloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                           \
    X(MemFree, "cuMemFree_v2", (uint64_t))                                                       \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, void *))         \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *))               \
    X(MemsetD32Async, "cuMemsetD32Async", (uint64_t, unsigned, size_t, void *))                  \
    X(StreamCreate, "cuStreamCreate", (void **, unsigned))                                       \
    X(StreamDestroy, "cuStreamDestroy_v2", (void *))                                             \
    X(StreamSynchronize, "cuStreamSynchronize", (void *))                                        \
    X(EventCreate, "cuEventCreate", (void **, unsigned))                                         \
    X(EventDestroy, "cuEventDestroy_v2", (void *))                                               \
    X(EventRecord, "cuEventRecord", (void *, void *))                                            \
    X(EventSynchronize, "cuEventSynchronize", (void *))                                          \
    X(EventElapsedTime, "cuEventElapsedTime", (float *, void *, void *))                         \
    X(ModuleLoadDataEx, "cuModuleLoadDataEx", (void **, const void *, unsigned, int *, void **)) \
    X(ModuleUnload, "cuModuleUnload", (void *))                                                  \
    X(ModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))                 \
    X(FuncGetAttribute, "cuFuncGetAttribute", (int *, int, void *))                              \
    X(FuncSetAttribute, "cuFuncSetAttribute", (void *, int, int))                                \
    X(LaunchKernel, "cuLaunchKernel",                                                            \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,     \
       void **, void **))

/* Absent from drivers before CUDA 11.8 (only needed for clusters and programmatic launches) and
 * before 12.0 (tensor maps; whether a context is still the same). */
#define GT_DRIVER_OPTIONAL_MAP(X)                                                                  \
    X(LaunchKernelEx, "cuLaunchKernelEx", (const struct gt_cu_config *, void *, void **, void **)) \
    X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                              \
      (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *,        \
       const uint32_t *, int, int, int, int))                                                      \
    X(CtxGetId, "cuCtxGetId", (void *, uint64_t *))

/* Functions for graphs, which only the tuner makes (graph.c); in drivers since CUDA 11.4. */
#define GT_GRAPH_MAP(X)                                                                       \
    X(StreamBeginCapture, "cuStreamBeginCapture_v2", (void *, int))                           \
    X(StreamEndCapture, "cuStreamEndCapture", (void *, void **))                              \
    X(GraphInstantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long)) \
    X(GraphLaunch, "cuGraphLaunch", (void *, void *))                                         \
    X(GraphExecDestroy, "cuGraphExecDestroy", (void *))                                       \
    X(GraphDestroy, "cuGraphDestroy", (void *))

#define GT_NVRTC_MAP(X)                                                                     \
    X(Version, "nvrtcVersion", (int *, int *))                                              \
    X(CreateProgram, "nvrtcCreateProgram",                                                  \
      (void **, const char *, const char *, int, const char *const *, const char *const *)) \
    X(DestroyProgram, "nvrtcDestroyProgram", (void **))                                     \
    X(CompileProgram, "nvrtcCompileProgram", (void *, int, const char *const *))            \
    X(GetProgramLogSize, "nvrtcGetProgramLogSize", (void *, size_t *))                      \
    X(GetProgramLog, "nvrtcGetProgramLog", (void *, char *))                                \
    X(GetCUBINSize, "nvrtcGetCUBINSize", (void *, size_t *))                                \
    X(GetCUBIN, "nvrtcGetCUBIN", (void *, char *))                                          \
    X(GetPTXSize, "nvrtcGetPTXSize", (void *, size_t *))                                    \
    X(GetPTX, "nvrtcGetPTX", (void *, char *))

#define GT_JITLINK_MAP(X)                                                             \
    X(Create, "nvJitLinkCreate", (void **, unsigned, const char **))                  \
    X(Destroy, "nvJitLinkDestroy", (void **))                                         \
    X(AddData, "nvJitLinkAddData", (void *, int, const void *, size_t, const char *)) \
    X(Complete, "nvJitLinkComplete", (void *))                                        \
    X(GetLinkedCubinSize, "nvJitLinkGetLinkedCubinSize", (void *, size_t *))          \
    X(GetLinkedCubin, "nvJitLinkGetLinkedCubin", (void *, void *))                    \
    X(GetInfoLogSize, "nvJitLinkGetInfoLogSize", (void *, size_t *))                  \
    X(GetInfoLog, "nvJitLinkGetInfoLog", (void *, char *))                            \
    X(GetErrorLogSize, "nvJitLinkGetErrorLogSize", (void *, size_t *))                \
    X(GetErrorLog, "nvJitLinkGetErrorLog", (void *, char *))

struct gt_lt_algo { /* cublasLtMatmulAlgo_t */
    uint64_t data[8];
};

struct gt_lt_answer { /* cublasLtMatmulHeuristicResult_t */
    struct gt_lt_algo algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

#define GT_CUBLASLT_MAP(X)                                                                         \
    X(GetProperty, "cublasLtGetProperty", (int, int *))                                            \
    X(Create, "cublasLtCreate", (void **))                                                         \
    X(Destroy, "cublasLtDestroy", (void *))                                                        \
    X(MatmulDescCreate, "cublasLtMatmulDescCreate", (void **, int, int))                           \
    X(MatmulDescDestroy, "cublasLtMatmulDescDestroy", (void *))                                    \
    X(MatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute",                                    \
      (void *, int, const void *, size_t))                                                         \
    X(MatrixLayoutCreate, "cublasLtMatrixLayoutCreate",                                            \
      (void **, int, uint64_t, uint64_t, int64_t))                                                 \
    X(MatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy", (void *))                                \
    X(MatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute",                                \
      (void *, int, const void *, size_t))                                                         \
    X(MatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate", (void **))                         \
    X(MatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (void *))                        \
    X(MatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute",                        \
      (void *, int, const void *, size_t))                                                         \
    X(MatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic",                                    \
      (void *, void *, void *, void *, void *, void *, void *, int, struct gt_lt_answer *, int *)) \
    X(Matmul, "cublasLtMatmul",                                                                    \
      (void *, void *, const void *, const void *, void *, const void *, void *, const void *,     \
       const void *, void *, void *, void *, const struct gt_lt_algo *, void *, size_t, void *))

#define GT_NVML_MAP(X)                                                                        \
    X(Init, "nvmlInit_v2", (void))                                                            \
    X(Shutdown, "nvmlShutdown", (void))                                                       \
    X(DeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID", (const char *, void **))            \
    X(DeviceGetThrottle, "nvmlDeviceGetCurrentClocksThrottleReasons",                         \
      (void *, unsigned long long *))                                                         \
    X(DeviceGetPowerLimit, "nvmlDeviceGetPowerManagementLimit", (void *, unsigned *))         \
    X(DeviceGetEnergy, "nvmlDeviceGetTotalEnergyConsumption", (void *, unsigned long long *)) \
    X(DeviceGetPower, "nvmlDeviceGetPowerUsage", (void *, unsigned *))

/* The tables of functions, each of which returns an int, 0 for success.  The last member is the
 * library. */
#define GT_API_FIELD(name, symbol, parameters) int(*name) parameters;

struct gt_driver_api {
    GT_DRIVER_MAP(GT_API_FIELD)
    GT_DRIVER_OPTIONAL_MAP(GT_API_FIELD) /* NULL where absent */
    void *library;
};

struct gt_nvrtc_api {
    GT_NVRTC_MAP(GT_API_FIELD)
    void *library;
};

struct gt_jitlink_api {
    GT_JITLINK_MAP(GT_API_FIELD)
    void *library;
};

struct gt_cublaslt_api {
    GT_CUBLASLT_MAP(GT_API_FIELD)
    void *library;
};

struct gt_nvml_api {
    GT_NVML_MAP(GT_API_FIELD)
    void *library;
};
#undef GT_API_FIELD

/* Each function fills its table, or fails with GT_ENOLIB and a sentence with the names and places
 * tried, or with the file found and the symbol that it lacks.  Libraries stay open until the
 * process ends, because the driver cannot be unloaded.  Opening twice is cheap. */
int gt_driver_api_load(struct gt_driver_api *api, struct gt_err *err);
int gt_nvrtc_api_load(struct gt_nvrtc_api *api, struct gt_err *err);
int gt_jitlink_api_load(struct gt_jitlink_api *api, struct gt_err *err);
int gt_cublaslt_api_load(struct gt_cublaslt_api *api, struct gt_err *err);
int gt_nvml_api_load(struct gt_nvml_api *api, struct gt_err *err);

#endif
