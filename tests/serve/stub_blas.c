/* stub_blas.c - builds libcublas.so.12 and .13 for the tests of src/serve: handles with their
 * settings, and every product that is hooked, computed on the host. */
#include "stub_blas.h"

#include <stdlib.h>

int stub_blas_nested;

static int products; /* of this copy of the library; its address tells copies apart */

struct handle {
    const int *owner;
    void *stream;
    int pointers, math, atomics, sms;
};

int cublasStubProducts(void)
{
    return products;
}

int cublasCreate_v2(void **handle)
{
    struct handle *made = calloc(1, sizeof(*made));

    made->owner = &products;
    *handle = made;
    return 0;
}

int cublasDestroy_v2(void *handle)
{
    free(handle);
    return 0;
}

/* The real library reads a handle as its own version has it, whoever made it. */
static int is_foreign(const void *handle)
{
    return ((const struct handle *)handle)->owner != &products ? GT_BLAS_NOT_INITIALIZED : 0;
}

#define SETTING(set, field)                       \
    int set(void *handle, int value)              \
    {                                             \
        ((struct handle *)handle)->field = value; \
        return is_foreign(handle);                \
    }
SETTING(cublasSetPointerMode_v2, pointers)
SETTING(cublasSetMathMode, math)
SETTING(cublasSetAtomicsMode, atomics)
SETTING(cublasSetSmCountTarget, sms)

#define GETTER(get, field)                         \
    int get(void *handle, int *value)              \
    {                                              \
        *value = ((struct handle *)handle)->field; \
        return is_foreign(handle);                 \
    }
GETTER(stub_GetPointerMode, pointers)
GETTER(stub_GetMathMode, math)
GETTER(stub_GetAtomicsMode, atomics)
GETTER(stub_GetSmCountTarget, sms)

int cublasSetStream_v2(void *handle, void *stream)
{
    ((struct handle *)handle)->stream = stream;
    return is_foreign(handle);
}

void cublasStubSet(void *handle, const struct stub_settings *to)
{
    struct handle *of = handle;

    of->stream = to->stream;
    of->pointers = to->pointers;
    of->math = to->math;
    of->atomics = to->atomics;
}

int stub_GetStream(void *handle, void **stream)
{
    *stream = ((struct handle *)handle)->stream;
    return is_foreign(handle);
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return is_foreign(handle);
}

#define BATCH_GEMM                   1
#define BATCH_BATCHED                batch
#define BATCH_EX                     1
#define BATCH_SUMS_32F               1
#define BATCH_BATCHED_EX             batch
#define STRIDES_GEMM                 0, 0, 0
#define STRIDES_BATCHED              sa, sb, sc
#define STRIDES_EX                   0, 0, 0
#define STRIDES_SUMS_32F             0, 0, 0
#define STRIDES_BATCHED_EX           sa, sb, sc
#define TYPES_GEMM(type, sums)       type, type, type, sums
#define TYPES_BATCHED(type, sums)    type, type, type, sums
#define TYPES_EX(type, sums)         at, bt, ct, compute
#define TYPES_SUMS_32F(type, sums)   at, bt, ct, sums
#define TYPES_BATCHED_EX(type, sums) at, bt, ct, compute
#define ALGO_GEMM
#define ALGO_BATCHED
#define ALGO_EX (void)algo;
#define ALGO_SUMS_32F
#define ALGO_BATCHED_EX (void)algo;

/* The same product through the other layer. */
static int hand_over(const struct stub_product *p)
{
    void *desc, *la, *lb, *lc, *handle;
    int rc;

    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, p->compute,
                             p->compute == GT_COMPUTE_32I ? GT_CUDA_R_32I : GT_CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, 3, &p->ta, sizeof(p->ta));
    cublasLtMatmulDescSetAttribute(desc, 4, &p->tb, sizeof(p->tb));
    cublasLtMatrixLayoutCreate(&la, p->at, (uint64_t)(p->ta ? p->k : p->m),
                               (uint64_t)(p->ta ? p->m : p->k), p->lda);
    cublasLtMatrixLayoutCreate(&lb, p->bt, (uint64_t)(p->tb ? p->n : p->k),
                               (uint64_t)(p->tb ? p->k : p->n), p->ldb);
    cublasLtMatrixLayoutCreate(&lc, p->ct, (uint64_t)p->m, (uint64_t)p->n, p->ldc);
    rc = cublasLtMatmul(handle, desc, p->alpha, p->a, la, p->b, lb, p->beta, p->c, lc, p->d, lc,
                        NULL, NULL, 0, NULL);
    free(desc);
    free(la);
    free(lb);
    free(lc);
    free(handle);
    return rc;
}

/* STUB_NO_WORK: nothing is computed, for tools/bench-serve. */
static int idle;

__attribute__((constructor)) static void read_setting(void)
{
    idle = getenv("STUB_NO_WORK") != NULL;
}

static int compute_product(const char *symbol, int ta, int tb, int64_t m, int64_t n, int64_t k,
                           const void *alpha, const void *a, const void *b, const void *beta,
                           void *c, const int64_t ld[3], const int64_t stride[3], const int type[4],
                           int64_t batch)
{
    const struct stub_product product = {.ta = ta,
                                         .tb = tb,
                                         .m = m,
                                         .n = n,
                                         .k = k,
                                         .alpha = alpha,
                                         .a = a,
                                         .b = b,
                                         .beta = beta,
                                         .c = c,
                                         .d = c,
                                         .lda = ld[0],
                                         .ldb = ld[1],
                                         .ldc = ld[2],
                                         .sa = stride[0],
                                         .sb = stride[1],
                                         .sc = stride[2],
                                         .at = type[0],
                                         .bt = type[1],
                                         .ct = type[2],
                                         .compute = type[3],
                                         .batch = batch};

    if (idle)
        return 0;
    __atomic_fetch_add(&products, 1, __ATOMIC_RELAXED);
    if (stub_blas_nested && batch == 1)
        return hand_over(&product);
    __atomic_store_n(&stub_blas_last, symbol, __ATOMIC_RELAXED);
    stub_blas_product(&product);
    return 0;
}

#define DEFINE(symbol, kind, I, type, sums)                                                       \
    int symbol GT_PARAMETERS_##kind(I)                                                            \
    {                                                                                             \
        const int64_t ld[3] = {lda, ldb, ldc}, stride[3] = {STRIDES_##kind};                      \
        const int types[4] = {TYPES_##kind(type, sums)};                                          \
                                                                                                  \
        ALGO_##kind if (is_foreign(handle)) return GT_BLAS_NOT_INITIALIZED;                       \
        return compute_product(#symbol, ta, tb, m, n, k, alpha, a, b, beta, c, ld, stride, types, \
                               BATCH_##kind);                                                     \
    }
GT_GEMM_MAP(DEFINE)

/* Batches by pointers, one product after the other. */
static int compute_arrays(const char *symbol, int ta, int tb, int64_t m, int64_t n, int64_t k,
                          const void *alpha, const void *const a[], const void *const b[],
                          const void *beta, void *const c[], const int64_t ld[3], const int type[4],
                          int64_t batch)
{
    const int64_t stride[3] = {0, 0, 0};

    for (int64_t i = 0; i < batch; i++)
        compute_product(symbol, ta, tb, m, n, k, alpha, a[i], b[i], beta, c[i], ld, stride, type,
                        1);
    return 0;
}

/* The type that a name says: cublasH... or cublasS... */
#define IS_HALF(symbol)    ((symbol)[6] == 'H')
#define NAMED_TYPE(symbol) (IS_HALF(symbol) ? GT_CUDA_R_16F : GT_CUDA_R_32F)
#define NAMED_SUMS(symbol) (IS_HALF(symbol) ? GT_COMPUTE_16F : GT_COMPUTE_32F)
#define TYPES_ARRAY(symbol) \
    NAMED_TYPE(symbol), NAMED_TYPE(symbol), NAMED_TYPE(symbol), NAMED_SUMS(symbol)
#define TYPES_ARRAY_EX(symbol)   at, bt, ct, compute
#define TYPES_GROUPED(symbol)    TYPES_ARRAY(symbol)
#define TYPES_GROUPED_EX(symbol) TYPES_ARRAY_EX(symbol)
#define ALGO_ARRAY
#define ALGO_ARRAY_EX (void)algo;
#define ALGO_GROUPED
#define ALGO_GROUPED_EX
#define BODY_ARRAY(symbol)                                                               \
    {                                                                                    \
        const int64_t ld[3] = {lda, ldb, ldc};                                           \
                                                                                         \
        compute_arrays(symbol, ta, tb, m, n, k, alpha, a, b, beta, c, ld, types, batch); \
    }
#define BODY_ARRAY_EX BODY_ARRAY
#define BODY_GROUPED(symbol)                                                                \
    for (int64_t g = 0, first = 0; g < groups; first += sizes[g++]) {                       \
        const int64_t ld[3] = {lda[g], ldb[g], ldc[g]};                                     \
                                                                                            \
        compute_arrays(symbol, ta[g], tb[g], m[g], n[g], k[g], (const float *)alpha + g,    \
                       a + first, b + first, (const float *)beta + g, c + first, ld, types, \
                       sizes[g]);                                                           \
    }
#define BODY_GROUPED_EX BODY_GROUPED
#define DEFINE_ARRAYS(symbol, kind, I)                                      \
    int symbol GT_PARAMETERS_##kind(I)                                      \
    {                                                                       \
        const int types[4] = {TYPES_##kind(#symbol)};                       \
                                                                            \
        ALGO_##kind if (is_foreign(handle)) return GT_BLAS_NOT_INITIALIZED; \
        BODY_##kind(#symbol) return 0;                                      \
    }
GT_ARRAYS_MAP(DEFINE_ARRAYS)
