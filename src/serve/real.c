/* real.c - finds cuBLAS's own functions in the copy of the library that the program has loaded. */
#include "serve/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* A library of one version, and its functions once they have been looked for. */
struct library {
    const char *file;
    _Atomic(void *) table; /* NULL: not found yet */
};

#define CUBLAS(v)   {"libcublas.so." #v, NULL},
#define CUBLASLT(v) {"libcublasLt.so." #v, NULL},
static struct library cublas[] = {GT_BLAS_VERSIONS(CUBLAS)};
static struct library cublaslt[] = {GT_BLAS_VERSIONS(CUBLASLT)};

static struct gt_real reals[GT_BLAS_VERSION_COUNT];
static struct gt_real_lt real_lts[GT_BLAS_VERSION_COUNT];
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;

gt_dlsym *gt_real_dlsym(void)
{
    /* Version names that dlsym has had in the C library: on x86-64, on other processors, and today.
     */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static _Atomic(gt_dlsym *) known;
    gt_dlsym *found = atomic_load_explicit(&known, memory_order_acquire);
    void *address = NULL;

    if (found)
        return found;
    for (size_t i = 0; !address && i < sizeof(versions) / sizeof(*versions); i++)
        address = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&found, &address, sizeof(found));
    atomic_store_explicit(&known, found, memory_order_release);
    return found;
}

/* Returns the address, or NULL if it is one of this library's own hooks. */
static void *foreign(void *address)
{
    Dl_info there, here;

    if (!address || !dladdr(address, &there) || !dladdr((void *)&cublas, &here) ||
        there.dli_fbase == here.dli_fbase)
        return NULL;
    return address;
}

/* Finds the library if it is loaded: by its usual name, else as a dependency of the caller. */
static void *open_loaded(const char *file, const char *symbol, const void *caller)
{
    void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    Dl_info info;

    if (handle || !caller || !dladdr(caller, &info) || !info.dli_fname)
        return handle;
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && !foreign(gt_real_dlsym()(handle, symbol))) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

static void fill(void *handle, const char *name, void *field)
{
    void *address = foreign(gt_real_dlsym()(handle, name));

    memcpy(field, &address, sizeof(address));
}

static void fill_cublas(struct gt_real *real, void *handle)
{
#define FILL_GEMM(symbol, kind, I, type, compute) fill(handle, #symbol, &real->symbol);
#define FILL_OBSERVED(symbol, parameters, names)  fill(handle, #symbol, &real->symbol);
#define FILL_CREATE(symbol)                       fill(handle, #symbol, &real->symbol);
#define FILL_GETTER(field, symbol, parameters)    fill(handle, symbol, &real->field);
    GT_GEMM_MAP(FILL_GEMM)
    GT_OBSERVED_MAP(FILL_OBSERVED)
    GT_CREATE_MAP(FILL_CREATE)
    GT_GETTER_MAP(FILL_GETTER)
}

static void fill_cublaslt(struct gt_real_lt *real, void *handle)
{
    fill(handle, "cublasLtMatmul", &real->cublasLtMatmul);
    GT_LT_CREATE_MAP(FILL_CREATE)
    GT_LT_GETTER_MAP(FILL_GETTER)
}

/* Looks for both libraries of a version. */
static void find(enum gt_blas_version version, const void *caller)
{
    void *handle;

    pthread_mutex_lock(&finding);
    if (!atomic_load(&cublas[version].table) &&
        (handle = open_loaded(cublas[version].file, "cublasCreate_v2", caller))) {
        fill_cublas(&reals[version], handle);
        atomic_store(&cublas[version].table, &reals[version]);
    }
    if (!atomic_load(&cublaslt[version].table) &&
        (handle = open_loaded(cublaslt[version].file, "cublasLtCreate", caller))) {
        fill_cublaslt(&real_lts[version], handle);
        real_lts[version].grows = version == GT_BLAS_13;
        atomic_store(&cublaslt[version].table, &real_lts[version]);
    }
    pthread_mutex_unlock(&finding);
}

void gt_real_forked(void)
{
    pthread_mutex_init(&finding, NULL);
}

static const void *table_of(struct library *library, enum gt_blas_version version,
                            const void *caller)
{
    const void *table = atomic_load_explicit(&library[version].table, memory_order_acquire);

    if (!table) {
        find(version, caller);
        table = atomic_load_explicit(&library[version].table, memory_order_acquire);
    }
    return table;
}

const struct gt_real *gt_real(enum gt_blas_version version, const void *caller)
{
    return table_of(cublas, version, caller);
}

const struct gt_real_lt *gt_real_lt(enum gt_blas_version version, const void *caller)
{
    return table_of(cublaslt, version, caller);
}

int gt_real_is(enum gt_blas_version version, const char *name, const void *address)
{
    const bool lt = strncmp(name, "cublasLt", strlen("cublasLt")) == 0;
    void *handle = dlopen((lt ? cublaslt : cublas)[version].file, RTLD_LAZY | RTLD_NOLOAD);
    int same = 0;

    if (handle) {
        same = !address || gt_real_dlsym()(handle, name) == address;
        dlclose(handle);
    }
    return same;
}
