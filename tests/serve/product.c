/* product.c - a product in every way that cuBLAS takes one: its operands, its call, its result. */
#include <string.h>

#include "calls.h"
#include "tests/faults/stub_values.h"

int type_code(int type)
{
    return type == GT_CUDA_R_16F       ? 2
           : type == GT_CUDA_R_16BF    ? 3
           : type == GT_CUDA_R_8F_E4M3 ? 4
           : type == GT_CUDA_R_8F_E5M2 ? 5
           : type == GT_CUDA_R_8I      ? 6
           : type == GT_CUDA_R_32I     ? 7
                                       : 0;
}

static unsigned state = 1;

int draw(int count)
{
    state = state * 1664525 + 1013904223;
    return (int)((state >> 8) % (unsigned)count);
}

void *device_bytes(size_t bytes, int skew)
{
    uint64_t address = 0;

    EXPECT(cuMemAlloc_v2(&address, bytes + 64) == 0);
    return (void *)(uintptr_t)(address + (uint64_t)skew);
}

struct memory fill(const struct product *p)
{
    const long long na = p->sa * (p->batch - 1) + (long long)p->lda * (p->ta ? p->m : p->k);
    const long long nb = p->sb * (p->batch - 1) + (long long)p->ldb * (p->tb ? p->k : p->n);
    const long long nc = p->sc * (p->batch - 1) + (long long)p->ldc * p->n;
    struct memory memory = {.c_bytes = (size_t)(nc * stub_bytes(type_code(p->ct)))};

    memory.a = device_bytes((size_t)(na * stub_bytes(type_code(p->at))), p->skew);
    memory.b = device_bytes((size_t)(nb * stub_bytes(type_code(p->at))), p->skew);
    memory.c = memory.d = device_bytes(memory.c_bytes, p->skew);
    memory.bias = device_bytes((size_t)(p->m * stub_bytes(type_code(p->ct))), 0);
    memory.before = malloc(memory.c_bytes);
    for (long long i = 0; i < na; i++)
        stub_store(memory.a, i, type_code(p->at), draw(7) - 3);
    for (long long i = 0; i < nb; i++)
        stub_store(memory.b, i, type_code(p->at), draw(7) - 3);
    for (int i = 0; i < p->m; i++)
        stub_store(memory.bias, i, type_code(p->ct), draw(7) - 3);
    if (p->beta != 0)
        for (long long i = 0; i < nc; i++)
            stub_store(memory.c, i, type_code(p->ct), draw(7) - 3);
    else
        memset(memory.c, 0xff, memory.c_bytes); /* NaN */
    memcpy(memory.before, memory.c, memory.c_bytes);
    if (p->apart)
        memory.d = memset(device_bytes(memory.c_bytes, p->skew), 0xff, memory.c_bytes);
    return memory;
}

void release(struct memory *memory)
{
    free(memory->before);
}

bool right(const struct product *p, const struct memory *memory)
{
    void *expected = malloc(memory->c_bytes);
    const int type = type_code(p->at), out = type_code(p->ct);
    bool same;

    memcpy(expected, memory->before, memory->c_bytes);
    if (p->apart)
        memset(expected, 0xff, memory->c_bytes);
    for (int z = 0; z < p->batch; z++) {
        double *a = stub_vectors(memory->a, z * p->sa, p->m, p->k, p->lda, p->ta, type);
        double *b = stub_vectors(memory->b, z * p->sb, p->n, p->k, p->ldb, !p->tb, type);

        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const long long at = z * p->sc + (long long)j * p->ldc + i;
                double sum = 0;

                for (int k = 0; k < p->k; k++)
                    sum += a[(long long)i * p->k + k] * b[(long long)j * p->k + k];
                sum *= (double)p->alpha;
                if (p->beta != 0)
                    sum += (double)p->beta * stub_load(memory->before, at, out);
                if (p->epilogue & 4)
                    sum += stub_load(memory->bias, i, out);
                if (p->epilogue & 2)
                    sum = sum > 0 ? sum : 0;
                stub_store(expected, at, out, sum);
            }
        free(a);
        free(b);
    }
    same = memcmp(expected, memory->d, memory->c_bytes) == 0;
    free(expected);
    return same;
}

static int call_matmul(const struct product *p, const struct memory *memory, const void *alpha,
                       const void *beta, void *stream)
{
    void *desc, *la, *lb, *lc, *handle;
    const void *bias = memory->bias;
    int epilogue = p->epilogue ? p->epilogue : 1, rc;

    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, p->compute,
                             p->compute == GT_COMPUTE_32I ? GT_CUDA_R_32I : GT_CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, 3, &p->ta, sizeof(p->ta));
    cublasLtMatmulDescSetAttribute(desc, 4, &p->tb, sizeof(p->tb));
    cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, sizeof(epilogue));
    if (epilogue & 4)
        cublasLtMatmulDescSetAttribute(desc, 8, &bias, sizeof(bias));
    cublasLtMatrixLayoutCreate(&la, p->at, (uint64_t)(p->ta ? p->k : p->m),
                               (uint64_t)(p->ta ? p->m : p->k), p->lda);
    cublasLtMatrixLayoutCreate(&lb, p->at, (uint64_t)(p->tb ? p->n : p->k),
                               (uint64_t)(p->tb ? p->k : p->n), p->ldb);
    cublasLtMatrixLayoutCreate(&lc, p->ct, (uint64_t)p->m, (uint64_t)p->n, p->ldc);
    cublasLtMatrixLayoutSetAttribute(la, 5, &p->batch, sizeof(p->batch));
    cublasLtMatrixLayoutSetAttribute(lb, 5, &p->batch, sizeof(p->batch));
    cublasLtMatrixLayoutSetAttribute(lc, 5, &p->batch, sizeof(p->batch));
    cublasLtMatrixLayoutSetAttribute(la, 6, &p->sa, sizeof(p->sa));
    cublasLtMatrixLayoutSetAttribute(lb, 6, &p->sb, sizeof(p->sb));
    cublasLtMatrixLayoutSetAttribute(lc, 6, &p->sc, sizeof(p->sc));
    rc = cublasLtMatmul(handle, desc, alpha, memory->a, la, memory->b, lb, beta, memory->c, lc,
                        memory->d, lc, NULL, NULL, 0, stream);
    free(handle);
    free(desc);
    free(la);
    free(lb);
    free(lc);
    return rc;
}

int call(void *handle, const struct product *p, const struct memory *memory)
{
    const int32_t whole[2] = {(int32_t)p->alpha, (int32_t)p->beta};
    const void *alpha = p->compute == GT_COMPUTE_32I ? (const void *)&whole[0] : &p->alpha;
    const void *beta = p->compute == GT_COMPUTE_32I ? (const void *)&whole[1] : &p->beta;
    void *const a = memory->a, *const b = memory->b, *const c = memory->c;

    switch (p->way) {
    case SGEMM:
        return cublasSgemm_v2(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->lda, b, p->ldb,
                              beta, c, p->ldc);
    case SGEMM_64:
        return cublasSgemm_v2_64(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->lda, b,
                                 p->ldb, beta, c, p->ldc);
    case SGEMM_BATCHED:
        return cublasSgemmStridedBatched(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->lda,
                                         p->sa, b, p->ldb, p->sb, beta, c, p->ldc, p->sc, p->batch);
    case SGEMM_BATCHED_64:
        return cublasSgemmStridedBatched_64(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a,
                                            p->lda, p->sa, b, p->ldb, p->sb, beta, c, p->ldc, p->sc,
                                            p->batch);
    case EX:
        return cublasGemmEx(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->at, p->lda, b,
                            p->at, p->ldb, beta, c, p->ct, p->ldc, p->compute, -1);
    case EX_64:
        return cublasGemmEx_64(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->at, p->lda, b,
                               p->at, p->ldb, beta, c, p->ct, p->ldc, p->compute, -1);
    case SGEMM_EX:
        return cublasSgemmEx(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->at, p->lda, b,
                             p->at, p->ldb, beta, c, p->ct, p->ldc);
    case SGEMM_EX_64:
        return cublasSgemmEx_64(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->at, p->lda, b,
                                p->at, p->ldb, beta, c, p->ct, p->ldc);
    case BATCHED_EX:
        return cublasGemmStridedBatchedEx(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->at,
                                          p->lda, p->sa, b, p->at, p->ldb, p->sb, beta, c, p->ct,
                                          p->ldc, p->sc, p->batch, p->compute, -1);
    case BATCHED_EX_64:
        return cublasGemmStridedBatchedEx_64(handle, p->ta, p->tb, p->m, p->n, p->k, alpha, a,
                                             p->at, p->lda, p->sa, b, p->at, p->ldb, p->sb, beta, c,
                                             p->ct, p->ldc, p->sc, p->batch, p->compute, -1);
    default:
        return call_matmul(p, memory, alpha, beta, NULL);
    }
}

bool is_batched(enum way way)
{
    return way == SGEMM_BATCHED || way == SGEMM_BATCHED_64 || way == BATCHED_EX ||
           way == BATCHED_EX_64 || way == MATMUL;
}

struct product plain(enum way way, int m, int n, int k)
{
    return (struct product){.way = way,
                            .at = GT_CUDA_R_32F,
                            .ct = GT_CUDA_R_32F,
                            .compute = GT_COMPUTE_32F,
                            .m = m,
                            .n = n,
                            .k = k,
                            .lda = m,
                            .ldb = k,
                            .ldc = m,
                            .batch = 1,
                            .alpha = 1};
}

bool run(void *handle, const struct product *p)
{
    struct memory memory = fill(p);
    const int before = stub_blas_products;
    bool served;

    EXPECT(call(handle, p, &memory) == 0);
    served = stub_blas_products == before;
    if (!right(p, &memory)) {
        printf("# way %d, %d x %d x %d, ops %d %d, ld %d %d %d, types %d %d, batch %d, alpha %g, "
               "beta %g, epilogue %d, skew %d%s: wrong\n",
               p->way, p->m, p->n, p->k, p->ta, p->tb, p->lda, p->ldb, p->ldc, p->at, p->ct,
               p->batch, (double)p->alpha, (double)p->beta, p->epilogue, p->skew,
               served ? ", served" : "");
        fflush(stdout);
        _exit(1);
    }
    release(&memory);
    return served;
}

void *new_handle(void)
{
    void *handle = NULL;

    EXPECT(cublasCreate_v2(&handle) == 0);
    return handle;
}

void use_device(int ordinal)
{
    void *context = NULL;

    EXPECT(cuDevicePrimaryCtxRetain(&context, ordinal) == 0);
    EXPECT(cuCtxPushCurrent_v2(context) == 0);
}

void begin_context(void)
{
    use_device(0);
}
