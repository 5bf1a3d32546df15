/* hooks.c - the symbols that take the place of cuBLAS's: each asks serve.c, and calls cuBLAS's own
 * function if the product is not served.
 *
 * There is one definition for each version of cuBLAS (serve.map, .symver).  The loader binds a
 * caller to the version that it was linked with, so that a process with two versions of cuBLAS
 * keeps them apart.  Programs that ask dlsym for a function (JAX, TensorFlow) get a hook from the
 * dlsym and the dlvsym below.  dlopen is not replaced, because the caller's RUNPATH would be lost.
 */
#include <dlfcn.h>
#include <string.h>

#include "serve/real.h"
#include "serve/serve.h"

/* The loader binds a reference without a version to the oldest one (real.c finds what it means),
 * and dlsym finds the newest. */
#define SYMVER_13    "@@libcublas.so.13"
#define SYMVER_12    "@libcublas.so.12"
#define SYMVER_11    "@libcublas.so.11"
#define SYMVER_LT_13 "@@libcublasLt.so.13"
#define SYMVER_LT_12 "@libcublasLt.so.12"
#define SYMVER_LT_11 "@libcublasLt.so.11"

#define NAME_HOOK(v, symbol, version) \
    __asm__(".symver gt_hook_" #v "_" #symbol "," #symbol version);

/* Exports a symbol; all others of this library are hidden. */
#define GT_VISIBLE __attribute__((visibility("default")))

#define CALLER __builtin_return_address(0)

#define GEMM_OF_GEMM(type, sums)                                                          \
    {                                                                                     \
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .batch = 1, .ta = ta, \
        .tb = tb, .at = type, .bt = type, .ct = type, .compute = sums, .alpha = alpha,    \
        .beta = beta, .a = a, .b = b, .c = c, .d = c                                      \
    }
#define GEMM_OF_BATCHED(type, sums)                                                           \
    {                                                                                         \
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .batch = batch, .sa = sa, \
        .sb = sb, .sc = sc, .ta = ta, .tb = tb, .at = type, .bt = type, .ct = type,           \
        .compute = sums, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c, .d = c         \
    }
#define GEMM_OF_EX(type, sums)                                                                    \
    {                                                                                             \
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .batch = 1, .ta = ta,         \
        .tb = tb, .at = at, .bt = bt, .ct = ct, .compute = compute, .alpha = alpha, .beta = beta, \
        .a = a, .b = b, .c = c, .d = c                                                            \
    }
#define GEMM_OF_SUMS_32F(type, sums)                                                           \
    {                                                                                          \
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .batch = 1, .ta = ta,      \
        .tb = tb, .at = at, .bt = bt, .ct = ct, .compute = sums, .alpha = alpha, .beta = beta, \
        .a = a, .b = b, .c = c, .d = c                                                         \
    }
#define GEMM_OF_BATCHED_EX(type, sums)                                                            \
    {                                                                                             \
        .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .batch = batch, .sa = sa,     \
        .sb = sb, .sc = sc, .ta = ta, .tb = tb, .at = at, .bt = bt, .ct = ct, .compute = compute, \
        .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c, .d = c                              \
    }

/* Defines the products of one version. */
#define DEFINE_GEMM(v, symbol, kind, I, type, sums)                \
    GT_VISIBLE int gt_hook_##v##_##symbol GT_PARAMETERS_##kind(I); \
    NAME_HOOK(v, symbol, SYMVER_##v)                               \
    int gt_hook_##v##_##symbol GT_PARAMETERS_##kind(I)             \
    {                                                              \
        const struct gt_real *real = gt_real(GT_BLAS_##v, CALLER); \
        const struct gt_gemm gemm = GEMM_OF_##kind(type, sums);    \
        int rc;                                                    \
                                                                   \
        if (!real || !real->symbol)                                \
            return GT_BLAS_NOT_INITIALIZED;                        \
        if (!gt_inside && gt_serve_gemm(real, handle, &gemm))      \
            return GT_BLAS_OK;                                     \
        gt_inside++;                                               \
        rc = real->symbol GT_NAMES_##kind;                         \
        gt_inside--;                                               \
        return rc;                                                 \
    }

#define DEFINE_MATMUL(v)                                                              \
    GT_VISIBLE int gt_hook_##v##_cublasLtMatmul GT_PARAMETERS_MATMUL;                 \
    NAME_HOOK(v, cublasLtMatmul, SYMVER_LT_##v)                                       \
    int gt_hook_##v##_cublasLtMatmul GT_PARAMETERS_MATMUL                             \
    {                                                                                 \
        const struct gt_real_lt *real = gt_real_lt(GT_BLAS_##v, CALLER);              \
        const struct gt_matmul matmul = {                                             \
            handle, desc,      alpha,           a,     la, b, lb, beta, c, lc, d, ld, \
            algo,   workspace, workspace_bytes, stream};                              \
        int rc;                                                                       \
                                                                                      \
        if (!real || !real->cublasLtMatmul)                                           \
            return GT_BLAS_NOT_INITIALIZED;                                           \
        if (!gt_inside && gt_serve_matmul(real, &matmul))                             \
            return GT_BLAS_OK;                                                        \
        gt_inside++;                                                                  \
        rc = real->cublasLtMatmul GT_NAMES_MATMUL;                                    \
        gt_inside--;                                                                  \
        return rc;                                                                    \
    }

/* Defines products that are only counted. */
#define DEFINE_COUNTED(v, symbol, kind, I)                         \
    GT_VISIBLE int gt_hook_##v##_##symbol GT_PARAMETERS_##kind(I); \
    NAME_HOOK(v, symbol, SYMVER_##v)                               \
    int gt_hook_##v##_##symbol GT_PARAMETERS_##kind(I)             \
    {                                                              \
        const struct gt_real *real = gt_real(GT_BLAS_##v, CALLER); \
        int rc;                                                    \
                                                                   \
        if (!real || !real->symbol)                                \
            return GT_BLAS_NOT_INITIALIZED;                        \
        if (!gt_inside)                                            \
            gt_serve_arrays();                                     \
        gt_inside++;                                               \
        rc = real->symbol GT_NAMES_##kind;                         \
        gt_inside--;                                               \
        return rc;                                                 \
    }

/* Defines calls that are only observed. */
#define DEFINE_OBSERVED(v, symbol, parameters, names, observe)                    \
    GT_VISIBLE int gt_hook_##v##_##symbol parameters;                             \
    NAME_HOOK(v, symbol, SYMVER_##v)                                              \
    int gt_hook_##v##_##symbol parameters                                         \
    {                                                                             \
        const struct gt_real *real = gt_real(GT_BLAS_##v, CALLER);                \
        struct gt_handle *slot;                                                   \
        int rc;                                                                   \
                                                                                  \
        if (!real || !real->symbol)                                               \
            return GT_BLAS_NOT_INITIALIZED;                                       \
        rc = real->symbol names;                                                  \
        slot = rc == GT_BLAS_OK ? gt_serve_handle(handle, BEGIN_##symbol) : NULL; \
        if (slot)                                                                 \
            observe;                                                              \
        return rc;                                                                \
    }
/* Whether a session begins for it. */
#define BEGIN_cublasSetWorkspace_v2   true
#define BEGIN_cublasSetStream_v2      false
#define BEGIN_cublasSetPointerMode_v2 false
#define BEGIN_cublasSetMathMode       false
#define BEGIN_cublasSetAtomicsMode    false
#define BEGIN_cublasSetSmCountTarget  false

#define OBSERVE_cublasSetWorkspace_v2 gt_handle_set_workspace(slot, workspace, bytes)
#define OBSERVE_cublasSetStream_v2    gt_handle_set_stream(slot, stream)
#define OBSERVE_cublasSetPointerMode_v2 \
    atomic_store_explicit(&slot->pointers, value, memory_order_relaxed)
#define OBSERVE_cublasSetMathMode atomic_store_explicit(&slot->math, value, memory_order_relaxed)
#define OBSERVE_cublasSetAtomicsMode \
    atomic_store_explicit(&slot->atomics, value, memory_order_relaxed)
#define OBSERVE_cublasSetSmCountTarget \
    atomic_store_explicit(&slot->sms, value, memory_order_relaxed)

/* Defines calls that make a handle.  `what`: gt_real or gt_real_lt. */
#define DEFINE_CREATE(v, symbol, what, version)              \
    GT_VISIBLE int gt_hook_##v##_##symbol(void **handle);    \
    NAME_HOOK(v, symbol, version)                            \
    int gt_hook_##v##_##symbol(void **handle)                \
    {                                                        \
        const struct what *real = what(GT_BLAS_##v, CALLER); \
        int rc;                                              \
                                                             \
        if (!real || !real->symbol)                          \
            return GT_BLAS_NOT_INITIALIZED;                  \
        rc = real->symbol(handle);                           \
        if (rc == GT_BLAS_OK)                                \
            gt_serve_created(*handle);                       \
        return rc;                                           \
    }

/* Defines the call that destroys a handle.  It is forgotten first: afterwards another thread may
 * have got a handle at its address. */
#define DEFINE_DESTROY(v, symbol)                                  \
    GT_VISIBLE int gt_hook_##v##_##symbol(void *handle);           \
    NAME_HOOK(v, symbol, SYMVER_##v)                               \
    int gt_hook_##v##_##symbol(void *handle)                       \
    {                                                              \
        const struct gt_real *real = gt_real(GT_BLAS_##v, CALLER); \
                                                                   \
        if (!real || !real->symbol)                                \
            return GT_BLAS_NOT_INITIALIZED;                        \
        gt_serve_destroyed(handle);                                \
        return real->symbol(handle);                               \
    }

#define DEFINE_13(symbol, kind, I, type, sums) DEFINE_GEMM(13, symbol, kind, I, type, sums)
#define DEFINE_12(symbol, kind, I, type, sums) DEFINE_GEMM(12, symbol, kind, I, type, sums)
#define DEFINE_11(symbol, kind, I, type, sums) DEFINE_GEMM(11, symbol, kind, I, type, sums)
#define COUNTED_13(symbol, kind, I)            DEFINE_COUNTED(13, symbol, kind, I)
#define COUNTED_12(symbol, kind, I)            DEFINE_COUNTED(12, symbol, kind, I)
#define COUNTED_11(symbol, kind, I)            DEFINE_COUNTED(11, symbol, kind, I)
#define OBSERVED_13(symbol, parameters, names) \
    DEFINE_OBSERVED(13, symbol, parameters, names, OBSERVE_##symbol)
#define OBSERVED_12(symbol, parameters, names) \
    DEFINE_OBSERVED(12, symbol, parameters, names, OBSERVE_##symbol)
#define OBSERVED_11(symbol, parameters, names) \
    DEFINE_OBSERVED(11, symbol, parameters, names, OBSERVE_##symbol)

#define CREATE_13(symbol)    DEFINE_CREATE(13, symbol, gt_real, SYMVER_13)
#define CREATE_12(symbol)    DEFINE_CREATE(12, symbol, gt_real, SYMVER_12)
#define CREATE_11(symbol)    DEFINE_CREATE(11, symbol, gt_real, SYMVER_11)
#define CREATE_LT_13(symbol) DEFINE_CREATE(13, symbol, gt_real_lt, SYMVER_LT_13)
#define CREATE_LT_12(symbol) DEFINE_CREATE(12, symbol, gt_real_lt, SYMVER_LT_12)
#define CREATE_LT_11(symbol) DEFINE_CREATE(11, symbol, gt_real_lt, SYMVER_LT_11)

#define DESTROY_13(symbol) DEFINE_DESTROY(13, symbol)
#define DESTROY_12(symbol) DEFINE_DESTROY(12, symbol)
#define DESTROY_11(symbol) DEFINE_DESTROY(11, symbol)

#define DEFINE_VERSION(v)           \
    GT_GEMM_MAP(DEFINE_##v)         \
    GT_ARRAYS_MAP(COUNTED_##v)      \
    GT_OBSERVED_MAP(OBSERVED_##v)   \
    GT_CREATE_MAP(CREATE_##v)       \
    GT_DESTROY_MAP(DESTROY_##v)     \
    GT_LT_CREATE_MAP(CREATE_LT_##v) \
    DEFINE_MATMUL(v)
GT_BLAS_VERSIONS(DEFINE_VERSION)

/* ---- dlsym and dlvsym ---- */

/* Any function; only the program that asks for it knows its parameters. */
typedef void function(void);

struct hook {
    const char *name;
    function *hook[GT_BLAS_VERSION_COUNT];
};

#define ROW(symbol)                                                     \
    {#symbol,                                                           \
     {(function *)gt_hook_13_##symbol, (function *)gt_hook_12_##symbol, \
      (function *)gt_hook_11_##symbol}},
#define GEMM_ROW(symbol, kind, I, type, sums)   ROW(symbol)
#define ARRAYS_ROW(symbol, kind, I)             ROW(symbol)
#define OBSERVED_ROW(symbol, parameters, names) ROW(symbol)
static const struct hook hooks[] = {GT_GEMM_MAP(GEMM_ROW) GT_ARRAYS_MAP(ARRAYS_ROW) GT_OBSERVED_MAP(
    OBSERVED_ROW) GT_CREATE_MAP(ROW) GT_DESTROY_MAP(ROW) GT_LT_CREATE_MAP(ROW) ROW(cublasLtMatmul)};

static const struct hook *find_hook(const char *name)
{
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
        if (strcmp(name, hooks[i].name) == 0)
            return &hooks[i];
    return NULL;
}

static void *address_of(const struct hook *hook, int version)
{
    void *address;

    memcpy(&address, &hook->hook[version], sizeof(address));
    return address;
}

/* What the program would have found without this library: in what all of the process sees, or else
 * in what only the caller's library does. */
static void *find_without(const struct hook *hook, const char *version, const void *caller)
{
    void *found = gt_find_name(RTLD_NEXT, hook->name, version);

    return found ? found : gt_find_around(caller, hook->name, version);
}

/* The hook in place of the function that the C library finds; a function of a library that is not
 * known here is returned unchanged. */
static void *stand_before(const struct hook *hook, void *library, const char *version,
                          const void *caller)
{
    void *found = gt_find_name(library, hook->name, version);
    bool ours = library == RTLD_DEFAULT && !found;

    for (int v = 0; v < GT_BLAS_VERSION_COUNT; v++)
        ours |= found == address_of(hook, v);
    if (ours)
        found = find_without(hook, version, caller);
    for (int v = 0; found && v < GT_BLAS_VERSION_COUNT; v++)
        if (gt_real_is((enum gt_blas_version)v, hook->name, found))
            return address_of(hook, v);
    if (found)
        dlerror(); /* programs ask it whether dlsym failed: what failed here is not theirs */
    return found;
}

/* The hook for a name; NULL: there is none, or what comes behind the caller is asked for. */
static const struct hook *hook_for(void *library, const char *name)
{
    return strncmp(name, "cublas", 6) == 0 && library != RTLD_NEXT ? find_hook(name) : NULL;
}

/* Calls the C library's dlsym as a tail call, so that it sees the original caller, on which
 * RTLD_NEXT depends. */
GT_VISIBLE void *dlsym(void *restrict library, const char *restrict name)
{
    const struct hook *hook = hook_for(library, name);

    if (hook)
        return stand_before(hook, library, NULL, CALLER);
    return gt_real_dlsym()(library, name);
}

GT_VISIBLE void *dlvsym(void *restrict library, const char *restrict name,
                        const char *restrict version)
{
    const struct hook *hook = hook_for(library, name);

    if (hook)
        return stand_before(hook, library, version, CALLER);
    return gt_real_dlvsym()(library, name, version);
}
