/* cuda_api.c - finds and opens the CUDA libraries at run time and fills their function tables.
 * Below compile.c (NVRTC), assemble.c (nvJitLink), gpu.c (driver), baseline.c (cuBLASLt) and
 * nvml.c. */
#include "cuda/cuda_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"

/* One entry of a table to be filled. */
struct symbol {
    const char *name;
    size_t offset; /* of its field */
    bool optional;
};

/* What there is to say about one library. */
struct library {
    const char *what;         /* for people */
    const char *environment;  /* variable that names file or folder */
    const char *const *names; /* in order of preference, NULL-terminated */
    const char *hint;         /* what to do when it is absent */
    bool in_toolkit;          /* look in the toolkit's folders, too */
};

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* dlopen, remembering what was tried. */
static void *try_open(const char *path, struct gt_strbuf *tried)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        gt_strbuf_addf(tried, "%s%s", tried->length ? ", " : "", path);
    return handle;
}

static void *try_folder(const char *folder, const char *name, struct gt_strbuf *tried)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return try_open(path, tried);
}

/* The pip wheels keep libraries in nvidia/<package>/lib below the folder they were installed to. */
static void *try_wheels(const char *deps, const char *name, struct gt_strbuf *tried)
{
    static const char *const below[] = {"", "/*", "/lib/python*/site-packages",
                                        "/*/lib/python*/site-packages"};
    char pattern[PATH_MAX];
    void *handle = NULL;

    for (size_t i = 0; i < sizeof(below) / sizeof(*below) && !handle; i++) {
        glob_t found = {0};

        snprintf(pattern, sizeof(pattern), "%s%s/nvidia/*/lib/%s", deps, below[i], name);
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t j = 0; j < found.gl_pathc && !handle; j++)
                handle = try_open(found.gl_pathv[j], tried);
        globfree(&found);
    }
    return handle;
}

/* A folder .deps beside the program or up to four levels above it. */
static void *try_deps(const char *name, struct gt_strbuf *tried)
{
    char folder[PATH_MAX], deps[PATH_MAX + 8];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

    if (length <= 0)
        return NULL;
    folder[length] = '\0';
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(folder, '/');

        if (!slash || slash == folder)
            return NULL;
        *slash = '\0';
        snprintf(deps, sizeof(deps), "%s/.deps", folder);
        if (is_folder(deps))
            return try_wheels(deps, name, tried);
    }
    return NULL;
}

static void *try_places(const char *name, bool in_toolkit, struct gt_strbuf *tried)
{
    const char *home = getenv("CUDA_HOME");
    void *handle = try_open(name, tried);
    char folder[PATH_MAX];

    if (!handle && in_toolkit && home && *home) {
        snprintf(folder, sizeof(folder), "%s/lib64", home);
        handle = try_folder(folder, name, tried);
    }
    if (!handle && in_toolkit)
        handle = try_folder("/usr/local/cuda/lib64", name, tried);
    if (!handle)
        handle = try_folder("/usr/lib/x86_64-linux-gnu", name, tried);
    if (!handle && in_toolkit)
        handle = try_deps(name, tried);
    return handle;
}

static int open_library(void **handle, const struct library *library, struct gt_err *err)
{
    struct gt_strbuf tried = GT_STRBUF_INIT;
    const char *forced = getenv(library->environment);
    int rc = GT_OK;

    *handle = NULL;
    if (forced && *forced && !is_folder(forced))
        *handle = try_open(forced, &tried);
    else
        for (const char *const *name = library->names; *name && !*handle; name++)
            *handle = forced && *forced ? try_folder(forced, *name, &tried)
                                        : try_places(*name, library->in_toolkit, &tried);
    if (!*handle)
        rc = gt_err_set(err, GT_ENOLIB, "%s not found: tried %s; %s, or set %s to its path",
                        library->what, tried.text, library->hint, library->environment);
    gt_strbuf_release(&tried);
    return rc;
}

/* Opens the library and fills the fields of `table`. */
static int load(void *table, void **handle, const struct library *library,
                const struct symbol *symbol, size_t symbols, struct gt_err *err)
{
    int rc = open_library(handle, library, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < symbols; i++) {
        void *address = dlsym(*handle, symbol[i].name);

        if (!address && !symbol[i].optional)
            return gt_err_set(err, GT_ENOLIB,
                              "the %s found lacks the function %s: it is too old, or not what its "
                              "name says",
                              library->what, symbol[i].name);
        memcpy((char *)table + symbol[i].offset, &address, sizeof(address));
    }
    return GT_OK;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

int gt_driver_api_load(struct gt_driver_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const struct library library = {"CUDA driver library", "GEMMTUNE_LIBCUDA", names,
                                           "install the NVIDIA driver", false};
    static const struct symbol symbols[] = {
#define SYMBOL(field, name, parameters)   {name, offsetof(struct gt_driver_api, field), false},
#define OPTIONAL(field, name, parameters) {name, offsetof(struct gt_driver_api, field), true},
        GT_DRIVER_MAP(SYMBOL) GT_DRIVER_OPTIONAL_MAP(OPTIONAL)
#undef OPTIONAL
#undef SYMBOL
    };

    return load(api, &api->library, &library, symbols, COUNT(symbols), err);
}

int gt_nvrtc_api_load(struct gt_nvrtc_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
    static const struct library library = {"CUDA run-time compiler library (NVRTC)",
                                           "GEMMTUNE_LIBNVRTC", names,
                                           "install the CUDA Toolkit or run tools/setup", true};
    static const struct symbol symbols[] = {
#define SYMBOL(field, name, parameters) {name, offsetof(struct gt_nvrtc_api, field), false},
        GT_NVRTC_MAP(SYMBOL)
#undef SYMBOL
    };

    return load(api, &api->library, &library, symbols, COUNT(symbols), err);
}

int gt_jitlink_api_load(struct gt_jitlink_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", NULL};
    static const struct library library = {"assembler library (nvJitLink)", "GEMMTUNE_LIBNVJITLINK",
                                           names, "install the CUDA Toolkit", true};
    static const struct symbol symbols[] = {
#define SYMBOL(field, name, parameters) {name, offsetof(struct gt_jitlink_api, field), false},
        GT_JITLINK_MAP(SYMBOL)
#undef SYMBOL
    };

    return load(api, &api->library, &library, symbols, COUNT(symbols), err);
}

int gt_cublaslt_api_load(struct gt_cublaslt_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    static const struct library library = {"cuBLASLt library", "GEMMTUNE_LIBCUBLASLT", names,
                                           "install the CUDA Toolkit", true};
    static const struct symbol symbols[] = {
#define SYMBOL(field, name, parameters) {name, offsetof(struct gt_cublaslt_api, field), false},
        GT_CUBLASLT_MAP(SYMBOL)
#undef SYMBOL
    };

    return load(api, &api->library, &library, symbols, COUNT(symbols), err);
}

int gt_nvml_api_load(struct gt_nvml_api *api, struct gt_err *err)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    static const struct library library = {"NVIDIA management library (NVML)", "GEMMTUNE_LIBNVML",
                                           names, "install the NVIDIA driver", false};
    static const struct symbol symbols[] = {
#define SYMBOL(field, name, parameters) {name, offsetof(struct gt_nvml_api, field), false},
        GT_NVML_MAP(SYMBOL)
#undef SYMBOL
    };

    return load(api, &api->library, &library, symbols, COUNT(symbols), err);
}
