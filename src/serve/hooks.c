/* hooks.c - the symbols that take the place of cuBLAS's: each hook asks serve.c, and calls cuBLAS's
 * own function if the product is not served.
 *
 * There is one definition for each version of cuBLAS (serve.map, .symver).  The loader binds a
 * caller to the version that it was linked with, so that a process with two versions of cuBLAS
 * keeps them apart.  Programs that ask dlsym for a function (JAX, TensorFlow) get a hook from the
 * dlsym and the dlvsym below.  dlopen is not replaced, because the caller's RUNPATH would be
 * lost. */
#include <dlfcn.h>
#include <string.h>

#include "serve/real.h"
#include "serve/serve.h"

/* Exports a symbol; all others of this library are hidden. */
#define GT_VISIBLE __attribute__((visibility("default")))

#define CALLER __builtin_return_address(0)

/* The loader binds a reference without a version to the oldest version (real.c finds the function
 * that it means), and dlsym finds the newest. */
#define AT_13 "@@"
#define AT_12 "@"
#define AT_11 "@"

/* Defines the hook for a symbol of cuBLAS's version VERSION: it finds cuBLAS's own function
 * (`what`: gt_real or gt_real_lt) and runs the last argument, which sets rc. */
#define HOOK_OF(v, symbol, library, what, parameters, ...)                                  \
    GT_VISIBLE int gt_hook_##v##_##symbol parameters;                                       \
    __asm__(".symver gt_hook_" #v "_" #symbol "," #symbol AT_##v "lib" #library ".so." #v); \
    int gt_hook_##v##_##symbol parameters                                                   \
    {                                                                                       \
        const struct what *real = what(GT_BLAS_##v, CALLER);                                \
        int rc;                                                                             \
                                                                                            \
        if (!real || !real->symbol)                                                         \
            return GT_BLAS_NOT_INITIALIZED;                                                 \
        __VA_ARGS__                                                                         \
        return rc;                                                                          \
    }
#define HOOK_EXPANDED(v, symbol, ...) HOOK_OF(v, symbol, __VA_ARGS__)
#define HOOK(symbol, ...)             HOOK_EXPANDED(VERSION, symbol, __VA_ARGS__)

/* Calls cuBLAS's own function.  Calls from inside that function do not count as the program's. */
#define CALL(function) \
    gt_inside++;       \
    rc = function;     \
    gt_inside--;

/* The product of each kind of parameter list.  All fields are named: gcc sets the whole structure
 * to 0 before the rest where one is left out, which takes longer than the rest. */
#define OPERANDS                                                                    \
    .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .ta = ta, .tb = tb, \
    .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c, .d = c, .epilogue = 0, .bias = NULL
#define PLAIN   .batch = 1, .sa = 0, .sb = 0, .sc = 0
#define STRIDES .batch = batch, .sa = sa, .sb = sb, .sc = sc
#define TYPES   .at = at, .bt = bt, .ct = ct
#define GEMM_OF_GEMM(type, sums) \
    OPERANDS, PLAIN, .at = type, .bt = type, .ct = type, .compute = sums
#define GEMM_OF_BATCHED(type, sums) \
    OPERANDS, STRIDES, .at = type, .bt = type, .ct = type, .compute = sums
#define GEMM_OF_EX(type, sums)         OPERANDS, PLAIN, TYPES, .compute = compute
#define GEMM_OF_SUMS_32F(type, sums)   OPERANDS, PLAIN, TYPES, .compute = sums
#define GEMM_OF_BATCHED_EX(type, sums) OPERANDS, STRIDES, TYPES, .compute = compute

/* Products. */
#define GEMM_HOOK(symbol, kind, I, type, sums)                                    \
    HOOK(symbol, cublas, gt_real, GT_PARAMETERS_##kind(I),                        \
         const struct gt_gemm gemm = {GEMM_OF_##kind(type, sums)};                \
         if (!gt_inside && gt_serve_gemm(real, handle, &gemm)) return GT_BLAS_OK; \
         CALL(real->symbol GT_NAMES_##kind))
#define MATMUL_HOOK                                                                              \
    HOOK(cublasLtMatmul, cublasLt, gt_real_lt, GT_PARAMETERS_MATMUL,                             \
         const struct gt_matmul matmul = {handle, desc, alpha, a, la, b, lb, beta, c, lc, d, ld, \
                                          algo, workspace, workspace_bytes, stream};             \
         if (!gt_inside && gt_serve_matmul(real, &matmul)) return GT_BLAS_OK;                    \
         CALL(real->cublasLtMatmul GT_NAMES_MATMUL))

/* Products that are only counted. */
#define ARRAYS_HOOK(symbol, kind, I)                                                          \
    HOOK(symbol, cublas, gt_real, GT_PARAMETERS_##kind(I), if (!gt_inside) gt_serve_arrays(); \
         CALL(real->symbol GT_NAMES_##kind))

/* Calls that are only observed; BEGIN: whether a session begins for the call. */
#define OBSERVED_HOOK(symbol, parameters, names)                                               \
    HOOK(symbol, cublas, gt_real, parameters, struct gt_handle *slot; rc = real->symbol names; \
         slot = rc == GT_BLAS_OK ? gt_serve_handle(handle, BEGIN_##symbol) : NULL;             \
         if (slot) OBSERVE_##symbol;)
#define NOTE(field) atomic_store_explicit(&slot->field, value, memory_order_relaxed)

#define BEGIN_cublasSetWorkspace_v2   true
#define BEGIN_cublasSetStream_v2      false
#define BEGIN_cublasSetPointerMode_v2 false
#define BEGIN_cublasSetMathMode       false
#define BEGIN_cublasSetAtomicsMode    false
#define BEGIN_cublasSetSmCountTarget  false

#define OBSERVE_cublasSetWorkspace_v2   gt_handle_set_workspace(slot, workspace, bytes)
#define OBSERVE_cublasSetStream_v2      gt_handle_set_stream(slot, stream)
#define OBSERVE_cublasSetPointerMode_v2 NOTE(pointers)
#define OBSERVE_cublasSetMathMode       NOTE(math)
#define OBSERVE_cublasSetAtomicsMode    NOTE(atomics)
#define OBSERVE_cublasSetSmCountTarget  NOTE(sms)

/* Calls that make a handle, and the call that destroys a handle.  A handle is forgotten before it
 * is destroyed, because afterwards another thread may get a handle at the same address. */
#define CREATE_HOOK_OF(symbol, library, what)                               \
    HOOK(symbol, library, what, (void **handle), rc = real->symbol(handle); \
         if (rc == GT_BLAS_OK) gt_serve_created(*handle);)
#define CREATE_HOOK(symbol)    CREATE_HOOK_OF(symbol, cublas, gt_real)
#define LT_CREATE_HOOK(symbol) CREATE_HOOK_OF(symbol, cublasLt, gt_real_lt)
#define DESTROY_HOOK(symbol)                                                  \
    HOOK(symbol, cublas, gt_real, (void *handle), gt_serve_destroyed(handle); \
         rc = real->symbol(handle);)

#define HOOKS                        \
    GT_GEMM_MAP(GEMM_HOOK)           \
    GT_ARRAYS_MAP(ARRAYS_HOOK)       \
    GT_OBSERVED_MAP(OBSERVED_HOOK)   \
    GT_CREATE_MAP(CREATE_HOOK)       \
    GT_DESTROY_MAP(DESTROY_HOOK)     \
    GT_LT_CREATE_MAP(LT_CREATE_HOOK) \
    MATMUL_HOOK
#define VERSION 13
HOOKS
#undef VERSION
#define VERSION 12
HOOKS
#undef VERSION
#define VERSION 11
HOOKS

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

/* The function that the program would have found without this library: among the symbols that the
 * whole process sees, or else among those that only the caller's library sees. */
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
        dlerror(); /* clears this library's failures: programs ask dlerror about their own dlsym */
    return found;
}

/* The hook for a name; NULL: there is none, or the call asks for the libraries behind the
 * caller. */
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
