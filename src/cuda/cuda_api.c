/* cuda_api.c - fills the function tables of the CUDA libraries, which libraries.c opens: NVRTC and
 * nvJitLink for compile.c, the driver for gpu.c, cuBLASLt for cublaslt.c and the tuner's baseline.
 */
#include "cuda/cuda_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/libraries.h"

/* Opens the library and fills the table: a pointer for each symbol, then the library's handle.  The
 * first `needed` symbols must be there. */
static int load(void *table, const struct gt_library *library, const char *const *symbol,
                size_t symbols, size_t needed, struct gt_err *err)
{
    void *handle;
    int rc = gt_library_open(&handle, library, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < symbols; i++) {
        void *address = dlsym(handle, symbol[i]);

        if (!address && i < needed)
            return gt_err_set(err, GT_ENOLIB,
                              "the %s found lacks the function %s: it is too old, or not what its "
                              "name says",
                              library->what, symbol[i]);
        memcpy((char *)table + i * sizeof(address), &address, sizeof(address));
    }
    memcpy((char *)table + symbols * sizeof(handle), &handle, sizeof(handle));
    return GT_OK;
}

#define COUNT(array)                    (sizeof(array) / sizeof(*(array)))
#define SYMBOL(field, name, parameters) name,

int gt_driver_api_load(struct gt_driver_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const struct gt_library library = {"CUDA driver library",
                                              "GEMMTUNE_LIBCUDA",
                                              names,
                                              "install the NVIDIA driver",
                                              false,
                                              false};
    static const char *const needed[] = {GT_DRIVER_MAP(SYMBOL)};
    static const char *const symbols[] = {GT_DRIVER_MAP(SYMBOL) GT_DRIVER_OPTIONAL_MAP(SYMBOL)};

    return load(api, &library, symbols, COUNT(symbols), COUNT(needed), err);
}

/* Opens NVRTC's second library, which NVRTC itself opens by name only.  If the loader does not know
 * the folder, as in a bundle, NVRTC's own opening succeeds only if the file is already open.  The
 * second library stays open, as NVRTC does. */
static void open_builtins(const struct gt_nvrtc_api *api)
{
    const char *file = gt_library_file(api->library), *slash = file ? strrchr(file, '/') : NULL;
    char path[PATH_MAX];
    int major, minor;

    if (!slash || api->Version(&major, &minor))
        return;
    snprintf(path, sizeof(path), "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - file), file,
             major, minor);
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Whether the driver cannot run code of NVRTC 13.  Compile workers, which use no driver, are told
 * by the tuner. */
static bool is_driver_12(void)
{
    const char *told = secure_getenv("GEMMTUNE_DRIVER");
    struct gt_driver_api driver;
    int version = told ? (int)strtol(told, NULL, 10) : 0;

    if (!told && !gt_driver_api_load(&driver, NULL))
        driver.DriverGetVersion(&version);
    return version > 0 && version < 13000;
}

int gt_nvrtc_api_load(struct gt_nvrtc_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    static const char *const names_12[] = {"libnvrtc.so.12", "libnvrtc.so.13", NULL};
    const struct gt_library library = {"CUDA run-time compiler library (NVRTC)",
                                       "GEMMTUNE_LIBNVRTC",
                                       is_driver_12() ? names_12 : names,
                                       "install the CUDA Toolkit or run tools/setup",
                                       false,
                                       true};
    static const char *const symbols[] = {GT_NVRTC_MAP(SYMBOL)};
    const int rc = load(api, &library, symbols, COUNT(symbols), COUNT(symbols), err);

    if (!rc)
        open_builtins(api);
    return rc;
}

/* Defines the function that fills struct gt_NAME_api, all of whose functions must be there. */
#define LOADER(name, map, what, environment, hint, as_loaded, in_toolkit, ...)    \
    int gt_##name##_api_load(struct gt_##name##_api *api, struct gt_err *err)     \
    {                                                                             \
        static const char *const names[] = {__VA_ARGS__, NULL};                   \
        static const struct gt_library library = {what, environment, names,       \
                                                  hint, as_loaded,   in_toolkit}; \
        static const char *const symbols[] = {map(SYMBOL)};                       \
                                                                                  \
        return load(api, &library, symbols, COUNT(symbols), COUNT(symbols), err); \
    }

LOADER(jitlink, GT_JITLINK_MAP, "assembler library (nvJitLink)", "GEMMTUNE_LIBNVJITLINK",
       "install the CUDA Toolkit", false, true, "libnvJitLink.so.13", "libnvJitLink.so.12")
LOADER(cublaslt, GT_CUBLASLT_MAP, "cuBLASLt library", "GEMMTUNE_LIBCUBLASLT",
       "install the CUDA Toolkit", true, true, "libcublasLt.so.13", "libcublasLt.so.12")
LOADER(nvml, GT_NVML_MAP, "NVIDIA management library (NVML)", "GEMMTUNE_LIBNVML",
       "install the NVIDIA driver", false, false, "libnvidia-ml.so.1")
