/* calls_left.c - what libgemmtune_cublas.so leaves to cuBLAS: each thing that only cuBLAS has, one
 * at a time, in calls that would be served otherwise. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "calls.h"

/* Everything that cuBLAS has to do itself. */
void test_left(void)
{
    const struct product good = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    struct product p = good;

    EXPECT(run(handle, &good));
    p.alpha = 0;
    EXPECT(!run(handle, &p));
    p = good;
    p.k = 0;
    p.beta = 1;
    EXPECT(!run(handle, &p));
    p = good;
    p.m = 0;
    EXPECT(!run(handle, &p));
    p = good;
    p.alpha = INFINITY; /* NaN is what cuBLAS has for it */
    {
        struct memory memory = fill(&p);
        int before = stub_blas_products;

        EXPECT(call(handle, &p, &memory) == 0 && stub_blas_products == before + 1);
        release(&memory);
    }
    cublasSetPointerMode_v2(handle, 1);
    EXPECT(!run(handle, &good));
    cublasSetPointerMode_v2(handle, 0);
    cublasSetMathMode(handle, 2 /* pedantic */);
    EXPECT(!run(handle, &good));
    cublasSetMathMode(handle, GT_MATH_DEFAULT);
    cublasSetSmCountTarget(handle, 8);
    EXPECT(!run(handle, &good));
    cublasSetSmCountTarget(handle, 0);
    p = good;
    p.compute = 69; /* FP32, pedantic */
    EXPECT(!run(handle, &p));
    p.compute = GT_COMPUTE_32F_FAST_16F;
    EXPECT(!run(handle, &p));
    p = good;
    p.skew = 2; /* not even an element */
    p.at = p.ct = GT_CUDA_R_32F;
    EXPECT(!run(handle, &p));
    EXPECT(run(handle, &good));
}

/* Types, and strides, that only cuBLAS has. */
void test_foreign(void)
{
    static const int types[][3] = {{1, 1, 70 /* FP64 */},
                                   {0, 0, 70},
                                   {4, 4, GT_COMPUTE_32F /* complex */},
                                   {GT_CUDA_R_16F, GT_CUDA_R_16F, GT_COMPUTE_16F},
                                   {GT_CUDA_R_8I, GT_CUDA_R_32F, GT_COMPUTE_32F},
                                   {GT_CUDA_R_16F, GT_CUDA_R_16BF, GT_COMPUTE_32F}};
    void *handle = new_handle();
    struct product p = plain(BATCHED_EX, 8, 8, 8);
    struct memory memory = fill(&p);
    int before = stub_blas_products;

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        p.at = types[i][0];
        p.ct = types[i][1];
        p.compute = types[i][2];
        EXPECT(call(handle, &p, &memory) == 0 && stub_blas_products == ++before);
    }
    p = plain(BATCHED_EX, 8, 8, 8);
    p.batch = 2;
    p.sa = p.sb = p.sc = 64;
    memory = fill(&p);
    memory.a = (float *)memory.a + p.sa;
    p.sa = -p.sa;
    EXPECT(call(handle, &p, &memory) == 0 && right(&p, &memory));
    EXPECT(stub_blas_products == ++before);
}

/* ---- cublasLtMatmul ---- */

struct matmul {
    void *desc, *la, *lb, *lc;
};

/* A product of 24 x 16 x 8 in FP32 that would be served. */
static struct matmul new_matmul(void)
{
    struct matmul m;

    cublasLtMatmulDescCreate(&m.desc, GT_COMPUTE_32F, GT_CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&m.la, GT_CUDA_R_32F, 24, 8, 24);
    cublasLtMatrixLayoutCreate(&m.lb, GT_CUDA_R_32F, 8, 16, 8);
    cublasLtMatrixLayoutCreate(&m.lc, GT_CUDA_R_32F, 24, 16, 24);
    return m;
}

static bool run_matmul(const struct matmul *m, const struct memory *memory)
{
    const float alpha = 1, beta = 0;
    const int before = stub_blas_products;

    EXPECT(cublasLtMatmul(NULL, m->desc, &alpha, memory->a, m->la, memory->b, m->lb, &beta,
                          memory->c, m->lc, memory->c, m->lc, NULL, NULL, 0, NULL) == 0);
    return stub_blas_products == before;
}

/* Each thing that is cuBLAS's alone, one at a time. */
void test_matmul_left(void)
{
    static const struct {
        int attribute; /* of the descriptor; 100 and more: of the layout of A */
        uint64_t value;
    } others[] = {{2, 1 /* scalars on the device */},
                  {2, 4 /* alpha on the device, beta on the host */},
                  {5, 1 /* C transposed */},
                  {6, 0 /* a triangle */},
                  {7, 32 /* GELU */},
                  {7, 2 | 128 /* RELU with its mask */},
                  {7, 4 /* BIAS without any */},
                  {15, 8 /* few multiprocessors */},
                  {17, 4096 /* scale of A */},
                  {20, 4096 /* scale of D */},
                  {21, 4096 /* maximum of D */},
                  {27, STUB_MAJOR < 13 ? 2 : 0 /* parts of D, which others wait for */},
                  {29, STUB_MAJOR < 13 ? 4096 : 0 /* counters that it waits for */},
                  {30, STUB_MAJOR < 13 ? 4096 : 0 /* counters that it sets */},
                  {39, STUB_MAJOR >= 13 ? 8 : 0 /* a stride of alpha, as 13.4 has it */},
                  {40, STUB_MAJOR >= 13 ? 8 : 0 /* of beta */},
                  {1, 1 /* FP64 scalars */},
                  {101, 1 /* row order */},
                  {107, 4096 /* planes */},
                  {105, 2 /* batch of A alone */},
                  {108, STUB_MAJOR >= 13 /* arrays of pointers */},
                  {102, 23 /* rows that do not fit */}};
    const struct product p = plain(MATMUL, 24, 16, 8);
    struct memory memory = fill(&p);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const int attribute = others[i].attribute;
        const size_t bytes = attribute == 102 || attribute == 107 ||
                                     (attribute >= 17 && attribute < 22) || attribute == 29 ||
                                     attribute == 30 || attribute == 39 || attribute == 40
                                 ? 8
                                 : 4;
        struct matmul m = new_matmul();

        EXPECT(run_matmul(&m, &memory));
        EXPECT(run_matmul(&m, &memory)); /* remembered */
        if (attribute < 100)
            cublasLtMatmulDescSetAttribute(m.desc, attribute, &others[i].value, bytes);
        else
            cublasLtMatrixLayoutSetAttribute(m.la, attribute - 100, &others[i].value, bytes);
        if (others[i].value && run_matmul(&m, &memory)) {
            printf("# attribute %d, value %llu: served\n", attribute,
                   (unsigned long long)others[i].value);
            fflush(stdout);
            _exit(1);
        }
    }
}

/* FP8: where D has 16 bits, a bias whose type is not set has D's, as it has for other operands.
 * Where D has 32 or 8, its type is another one (cublasLt.h at CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE).
 */
void test_matmul_fp8(void)
{
    static const struct {
        int out, bias; /* bias: -1: not set */
        bool served;
    } of[] = {{GT_CUDA_R_16BF, -1, true},
              {GT_CUDA_R_16BF, GT_CUDA_R_16BF, true},
              {GT_CUDA_R_32F, -1, false},
              {GT_CUDA_R_32F, GT_CUDA_R_16BF, false},
              {GT_CUDA_R_8F_E4M3, -1, false}};
    const int transposed = 1, epilogue = 4;
    const struct product p = plain(MATMUL, 64, 32, 48);
    const struct memory memory = fill(&p);

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct matmul m;

        cublasLtMatmulDescCreate(&m.desc, GT_COMPUTE_32F, GT_CUDA_R_32F);
        cublasLtMatmulDescSetAttribute(m.desc, 3, &transposed, sizeof(transposed));
        cublasLtMatrixLayoutCreate(&m.la, GT_CUDA_R_8F_E4M3, 48, 64, 48);
        cublasLtMatrixLayoutCreate(&m.lb, GT_CUDA_R_8F_E4M3, 48, 32, 48);
        cublasLtMatrixLayoutCreate(&m.lc, of[i].out, 64, 32, 64);
        EXPECT(run_matmul(&m, &memory)); /* without a bias */
        cublasLtMatmulDescSetAttribute(m.desc, 7, &epilogue, sizeof(epilogue));
        cublasLtMatmulDescSetAttribute(m.desc, 8, &memory.bias, sizeof(memory.bias));
        if (of[i].bias >= 0)
            cublasLtMatmulDescSetAttribute(m.desc, 26, &of[i].bias, sizeof(of[i].bias));
        EXPECT(run_matmul(&m, &memory) == of[i].served);
    }
}

/* Arrays of pointers to matrices, and groups of them, reach cuBLAS with all that they were called
 * with. */
void test_arrays(void)
{
    enum { M = 16, N = 24, K = 8 };
    const struct product p = plain(EX, M, N, K);
    struct product half = p;
    const struct memory memory = fill(&p);
    void *const other = device_bytes(M * N * sizeof(float), 0);
    const void *const a[] = {memory.a, memory.a}, *const b[] = {memory.b, memory.b};
    void *const c[] = {memory.c, other}, *handle = new_handle();
    const float one[] = {1, 1}, zero[] = {0, 0};
    const int op[] = {0, 0}, m[] = {M, M}, n[] = {N, N}, k[] = {K, K}, sizes[] = {1, 1};
    const int64_t m64[] = {M, M}, n64[] = {N, N}, k64[] = {K, K}, sizes64[] = {1, 1};
    const uint16_t half_one = 0x3c00, half_zero = 0;
    const int before = stub_blas_products;

#define ARRIVED(call)                             \
    memset(memory.c, 0xff, M *N * sizeof(float)); \
    memset(other, 0xff, M *N * sizeof(float));    \
    EXPECT((call) == 0 && right(&p, &memory));    \
    EXPECT(memcmp(memory.c, other, M *N * sizeof(float)) == 0)
    ARRIVED(cublasSgemmBatched(handle, 0, 0, M, N, K, one, a, M, b, K, zero, c, M, 2));
    ARRIVED(cublasSgemmBatched_64(handle, 0, 0, M, N, K, one, a, M, b, K, zero, c, M, 2));
    ARRIVED(cublasGemmBatchedEx(handle, 0, 0, M, N, K, one, a, 0, M, b, 0, K, zero, c, 0, M, 2,
                                GT_COMPUTE_32F, -1));
    ARRIVED(cublasGemmBatchedEx_64(handle, 0, 0, M, N, K, one, a, 0, M, b, 0, K, zero, c, 0, M, 2,
                                   GT_COMPUTE_32F, -1));
    ARRIVED(
        cublasSgemmGroupedBatched(handle, op, op, m, n, k, one, a, m, b, k, zero, c, m, 2, sizes));
    ARRIVED(cublasSgemmGroupedBatched_64(handle, op, op, m64, n64, k64, one, a, m64, b, k64, zero,
                                         c, m64, 2, sizes64));
    ARRIVED(cublasGemmGroupedBatchedEx(handle, op, op, m, n, k, one, a, 0, m, b, 0, k, zero, c, 0,
                                       m, 2, sizes, GT_COMPUTE_32F));
    ARRIVED(cublasGemmGroupedBatchedEx_64(handle, op, op, m64, n64, k64, one, a, 0, m64, b, 0, k64,
                                          zero, c, 0, m64, 2, sizes64, GT_COMPUTE_32F));
    EXPECT(stub_blas_products == before + 16);
    half.at = half.ct = GT_CUDA_R_16F;
    {
        struct memory halves = fill(&half);
        const void *const ha[] = {halves.a}, *const hb[] = {halves.b};
        void *const hc[] = {halves.c};

        EXPECT(!cublasHgemmBatched(handle, 0, 0, M, N, K, &half_one, ha, M, hb, K, &half_zero, hc,
                                   M, 1) &&
               right(&half, &halves));
        EXPECT(!cublasHgemmBatched_64(handle, 0, 0, M, N, K, &half_one, ha, M, hb, K, &half_zero,
                                      hc, M, 1) &&
               right(&half, &halves));
    }
    EXPECT(dlsym(RTLD_DEFAULT, "cublasGemmBatchedEx") == (void *)cublasGemmBatchedEx);
}
