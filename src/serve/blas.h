/* blas.h - vocabulary: the part of cuBLAS's interface that src/serve needs, declared here because
 * the library builds without CUDA's headers (cublas_api.h and cublasLt.h of CUDA 13.1 have all of
 * it).
 *
 * Each function of cuBLAS whose products may be served is one row of GT_GEMM_MAP: its symbol, the
 * kind of its parameter list, the integer type of its sizes and, where the symbol alone says so,
 * the type of its elements and of its sums. */
#ifndef GT_BLAS_H
#define GT_BLAS_H

#include <stddef.h>
#include <stdint.h>

/* cudaDataType */
enum {
    GT_CUDA_R_32F = 0,
    GT_CUDA_R_16F = 2,
    GT_CUDA_R_8I = 3,
    GT_CUDA_R_32I = 10,
    GT_CUDA_R_16BF = 14,
    GT_CUDA_R_8F_E4M3 = 28,
    GT_CUDA_R_8F_E5M2 = 29,
};

/* cublasComputeType_t */
enum {
    GT_COMPUTE_16F = 64,
    GT_COMPUTE_32F = 68,
    GT_COMPUTE_32I = 72,
    GT_COMPUTE_32F_FAST_16F = 74,
    GT_COMPUTE_32F_FAST_16BF = 75,
    GT_COMPUTE_32F_FAST_TF32 = 77,
    GT_COMPUTE_32F_EMULATED_16BFX9 = 78,
};

/* cublasMath_t: a mode, and flags from 16 on */
enum {
    GT_MATH_DEFAULT = 0,
    GT_MATH_TENSOR_OP = 1,
    GT_MATH_TF32 = 3,
    GT_MATH_BF16X9 = 4,
    GT_MATH_FP64_EMULATED = 8,
    GT_MATH_MODE = 15, /* the bits of the mode */
};

/* cublasOperation_t (C is T for real numbers), cublasStatus_t */
enum { GT_OP_N = 0, GT_OP_T = 1, GT_OP_C = 2 };
enum { GT_BLAS_OK = 0, GT_BLAS_NOT_INITIALIZED = 1 };

/* Bytes that cuBLAS wants workspaces aligned to, and that its heuristic assumes of operands unless
 * told otherwise (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES). */
#define GT_BLAS_ALIGNMENT 256

#define GT_PARAMETERS_GEMM(I)                                                              \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, I lda, \
     const void *b, I ldb, const void *beta, void *c, I ldc)
#define GT_NAMES_GEMM (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

#define GT_PARAMETERS_BATCHED(I)                                                           \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, I lda, \
     long long sa, const void *b, I ldb, long long sb, const void *beta, void *c, I ldc,   \
     long long sc, I batch)
#define GT_NAMES_BATCHED \
    (handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch)

#define GT_PARAMETERS_EX(I)                                                                        \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int at, I lda, \
     const void *b, int bt, I ldb, const void *beta, void *c, int ct, I ldc, int compute,          \
     int algo)
#define GT_NAMES_EX \
    (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, compute, algo)

/* The call names the operands' types; scalars and sums are in FP32. */
#define GT_PARAMETERS_SUMS_32F(I)                                                                  \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int at, I lda, \
     const void *b, int bt, I ldb, const void *beta, void *c, int ct, I ldc)
#define GT_NAMES_SUMS_32F (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc)

#define GT_PARAMETERS_BATCHED_EX(I)                                                                \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int at, I lda, \
     long long sa, const void *b, int bt, I ldb, long long sb, const void *beta, void *c, int ct,  \
     I ldc, long long sc, I batch, int compute, int algo)
#define GT_NAMES_BATCHED_EX                                                                       \
    (handle, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc, batch, \
     compute, algo)

/* X(symbol, kind, integer, type, compute) */
#define GT_GEMM_MAP(X)                                                               \
    X(cublasSgemm_v2, GEMM, int, GT_CUDA_R_32F, GT_COMPUTE_32F)                      \
    X(cublasSgemm_v2_64, GEMM, int64_t, GT_CUDA_R_32F, GT_COMPUTE_32F)               \
    X(cublasHgemm, GEMM, int, GT_CUDA_R_16F, GT_COMPUTE_16F)                         \
    X(cublasHgemm_64, GEMM, int64_t, GT_CUDA_R_16F, GT_COMPUTE_16F)                  \
    X(cublasSgemmStridedBatched, BATCHED, int, GT_CUDA_R_32F, GT_COMPUTE_32F)        \
    X(cublasSgemmStridedBatched_64, BATCHED, int64_t, GT_CUDA_R_32F, GT_COMPUTE_32F) \
    X(cublasHgemmStridedBatched, BATCHED, int, GT_CUDA_R_16F, GT_COMPUTE_16F)        \
    X(cublasHgemmStridedBatched_64, BATCHED, int64_t, GT_CUDA_R_16F, GT_COMPUTE_16F) \
    X(cublasGemmEx, EX, int, 0, 0)                                                   \
    X(cublasGemmEx_64, EX, int64_t, 0, 0)                                            \
    X(cublasSgemmEx, SUMS_32F, int, 0, GT_COMPUTE_32F)                               \
    X(cublasSgemmEx_64, SUMS_32F, int64_t, 0, GT_COMPUTE_32F)                        \
    X(cublasGemmStridedBatchedEx, BATCHED_EX, int, 0, 0)                             \
    X(cublasGemmStridedBatchedEx_64, BATCHED_EX, int64_t, 0, 0)

/* Batches as arrays of pointers, and groups of batches, each group with sizes of its own. */
#define GT_PARAMETERS_ARRAY(I)                                                                     \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *const a[], I lda, \
     const void *const b[], I ldb, const void *beta, void *const c[], I ldc, I batch)
#define GT_NAMES_ARRAY (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch)

#define GT_PARAMETERS_ARRAY_EX(I)                                                            \
    (void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *const a[],  \
     int at, I lda, const void *const b[], int bt, I ldb, const void *beta, void *const c[], \
     int ct, I ldc, I batch, int compute, int algo)
#define GT_NAMES_ARRAY_EX \
    (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, batch, compute, algo)

#define GT_PARAMETERS_GROUPED(I)                                                          \
    (void *handle, const int ta[], const int tb[], const I m[], const I n[], const I k[], \
     const void *alpha, const void *const a[], const I lda[], const void *const b[],      \
     const I ldb[], const void *beta, void *const c[], const I ldc[], I groups, const I sizes[])
#define GT_NAMES_GROUPED \
    (handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, sizes)

#define GT_PARAMETERS_GROUPED_EX(I)                                                             \
    (void *handle, const int ta[], const int tb[], const I m[], const I n[], const I k[],       \
     const void *alpha, const void *const a[], int at, const I lda[], const void *const b[],    \
     int bt, const I ldb[], const void *beta, void *const c[], int ct, const I ldc[], I groups, \
     const I sizes[], int compute)
#define GT_NAMES_GROUPED_EX                                                                   \
    (handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, groups, sizes, \
     compute)

/* X(symbol, kind, integer): functions whose products are only counted.  Older versions of cuBLAS
 * lack some of these functions. */
#define GT_ARRAYS_MAP(X)                              \
    X(cublasSgemmBatched, ARRAY, int)                 \
    X(cublasSgemmBatched_64, ARRAY, int64_t)          \
    X(cublasHgemmBatched, ARRAY, int)                 \
    X(cublasHgemmBatched_64, ARRAY, int64_t)          \
    X(cublasGemmBatchedEx, ARRAY_EX, int)             \
    X(cublasGemmBatchedEx_64, ARRAY_EX, int64_t)      \
    X(cublasSgemmGroupedBatched, GROUPED, int)        \
    X(cublasSgemmGroupedBatched_64, GROUPED, int64_t) \
    X(cublasGemmGroupedBatchedEx, GROUPED_EX, int)    \
    X(cublasGemmGroupedBatchedEx_64, GROUPED_EX, int64_t)

#define GT_PARAMETERS_MATMUL                                                              \
    (void *handle, void *desc, const void *alpha, const void *a, void *la, const void *b, \
     void *lb, const void *beta, const void *c, void *lc, void *d, void *ld, void *algo,  \
     void *workspace, size_t workspace_bytes, void *stream)
#define GT_NAMES_MATMUL                                                                       \
    (handle, desc, alpha, a, la, b, lb, beta, c, lc, d, ld, algo, workspace, workspace_bytes, \
     stream)

/* X(symbol, parameters, names): functions of libcublas that are only observed, because they change
 * the settings of a handle. */
#define GT_OBSERVED_MAP(X)                                                  \
    X(cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes), \
      (handle, workspace, bytes))                                           \
    X(cublasSetStream_v2, (void *handle, void *stream), (handle, stream))   \
    X(cublasSetPointerMode_v2, (void *handle, int value), (handle, value))  \
    X(cublasSetMathMode, (void *handle, int value), (handle, value))        \
    X(cublasSetAtomicsMode, (void *handle, int value), (handle, value))     \
    X(cublasSetSmCountTarget, (void *handle, int value), (handle, value))

/* X(symbol): functions that make a handle, with the parameter (void **handle).  They are only
 * observed, because a device that was reset needs new handles. */
#define GT_CREATE_MAP(X)    X(cublasCreate_v2)
#define GT_LT_CREATE_MAP(X) X(cublasLtCreate)

/* X(symbol): the function that destroys a handle, with the parameter (void *handle). */
#define GT_DESTROY_MAP(X) X(cublasDestroy_v2)

/* X(field, symbol, parameters): functions of libcublas that tell the settings of a handle.  Older
 * versions of cuBLAS lack GetSmCountTarget. */
#define GT_GETTER_MAP(X)                                                    \
    X(GetStream, "cublasGetStream_v2", (void *handle, void **stream))       \
    X(GetPointerMode, "cublasGetPointerMode_v2", (void *handle, int *mode)) \
    X(GetMathMode, "cublasGetMathMode", (void *handle, int *mode))          \
    X(GetAtomicsMode, "cublasGetAtomicsMode", (void *handle, int *mode))    \
    X(GetSmCountTarget, "cublasGetSmCountTarget", (void *handle, int *count))

/* The getters of libcublasLt, for descriptors and layouts. */
#define GT_LT_GETTER_MAP(X)                                                 \
    X(DescGet, "cublasLtMatmulDescGetAttribute",                            \
      (void *desc, int attribute, void *to, size_t bytes, size_t *written)) \
    X(LayoutGet, "cublasLtMatrixLayoutGetAttribute",                        \
      (void *layout, int attribute, void *to, size_t bytes, size_t *written))

#endif
