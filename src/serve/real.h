/* real.h - stage: finds cuBLAS's own functions, which the hooks replace and call.
 *
 * A process may hold several versions of cuBLAS, so everything here exists once for each version: a
 * caller's reference names the version that it was linked with, and there is one hook for each. The
 * functions are those of the library that the program has loaded.  Linking or loading a cuBLAS
 * instead would replace the copy that the program brings along. */
#ifndef GT_REAL_H
#define GT_REAL_H

#include <stdbool.h>

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

/* The functions of that version in the copy that a place in the program would call: `caller`, an
 * address in its code.  They are found on its first call, and from then on without a lock.  A
 * function for which another preloaded library stands in, behind this one, is that library's, but
 * for calls of that library itself.  NULL: there are none. */
const struct gt_real *gt_real(enum gt_blas_version version, const void *caller);
const struct gt_real_lt *gt_real_lt(enum gt_blas_version version, const void *caller);

/* In a child of fork: no thread is looking for functions any more. */
void gt_real_forked(void);

/* Whether the usual library of that version is loaded and has `name` at this address. */
int gt_real_is(enum gt_blas_version version, const char *name, const void *address);

#endif
