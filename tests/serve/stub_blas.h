/* stub_blas.h - what the stubs of libcublas and libcublasLt share with each other and with the test
 * that calls them: settings, counts, and the plain product. */
#ifndef STUB_BLAS_H
#define STUB_BLAS_H

#include <stddef.h>
#include <stdint.h>

#include "serve/blas.h"

/* A column-major product on the host, batch and all. */
struct stub_product {
    int ta, tb, at, bt, ct, compute;
    int64_t m, n, k, lda, ldb, ldc, sa, sb, sc, batch;
    const void *alpha, *beta, *a, *b, *c, *bias;
    void *d;
    int relu;
};
void stub_blas_product(const struct stub_product *product);

/* Products that the library has computed itself so far, of both layers; and the last one's symbol.
 */
extern int stub_blas_products;
extern const char *stub_blas_last;

/* 1: cublasGemmEx hands its product to cublasLtMatmul, as the real one does. */
extern int stub_blas_nested;

/* Added to the first element of every product: a test of the comparison. */
extern double stub_blas_wrong;

/* The same of one copy of a layer, of which a process may hold several. */
int cublasStubProducts(void);
int cublasLtStubProducts(void);

/* Sets a handle as calls do that no hook sees. */
struct stub_settings {
    void *stream;
    int pointers, math, atomics;
};
void cublasStubSet(void *handle, const struct stub_settings *to);

/* The settings that tests change, and the rest of what they call. */
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetPointerMode_v2(void *handle, int mode);
int cublasSetMathMode(void *handle, int mode);
int cublasSetAtomicsMode(void *handle, int mode);
int cublasSetSmCountTarget(void *handle, int count);
int cublasLtCreate(void **handle);
int cublasLtGetProperty(int which, int *value);
int cublasLtDestroy(void *handle);
int cublasLtMatmulDescDestroy(void *desc);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmulPreferenceCreate(void **preference);
int cublasLtMatmulPreferenceDestroy(void *preference);
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                         size_t bytes);
int cublasLtMatmulAlgoGetHeuristic(void);
int cublasLtMatmulDescCreate(void **desc, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);

#define STUB_DECLARE_GEMM(symbol, kind, I, type, compute) int symbol GT_PARAMETERS_##kind(I);
#define STUB_DECLARE_ARRAYS(symbol, kind, I)              int symbol GT_PARAMETERS_##kind(I);
#define STUB_DECLARE(symbol, parameters, names)           int symbol parameters;
#define STUB_DECLARE_GETTER(field, symbol, parameters)    int stub_##field parameters __asm__(symbol);
GT_GEMM_MAP(STUB_DECLARE_GEMM)
GT_ARRAYS_MAP(STUB_DECLARE_ARRAYS)
GT_OBSERVED_MAP(STUB_DECLARE)
GT_GETTER_MAP(STUB_DECLARE_GETTER)
GT_LT_GETTER_MAP(STUB_DECLARE_GETTER)
int cublasLtMatmul GT_PARAMETERS_MATMUL;

#endif
