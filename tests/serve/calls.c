/* calls.c - calls of cuBLAS under libgemmtune_cublas.so, which tests/serve/preloaded puts before
 * the stubs: what is served is right and what is not is left to cuBLAS.
 *
 * Each test runs in a child of its own, with a policy of its own, because a policy is read once in
 * a process.  The parent then looks for words in the report that the child left. */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stub_blas.h"
#include "tests/faults/stub_values.h"

/* The stub driver. */
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int stub_capturing;

#define EXPECT(condition)                                              \
    do                                                                 \
        if (!(condition)) {                                            \
            printf("# line %d: %s is not so\n", __LINE__, #condition); \
            fflush(stdout);                                            \
            _exit(1);                                                  \
        }                                                              \
    while (0)

/* ---- a product, every way cuBLAS takes it ---- */

enum way {
    SGEMM,
    SGEMM_64,
    SGEMM_BATCHED,
    SGEMM_BATCHED_64,
    EX,
    EX_64,
    BATCHED_EX,
    BATCHED_EX_64,
    MATMUL,
    WAYS
};

struct product {
    enum way way;
    int ta, tb, at, ct, compute, epilogue;
    int m, n, k, lda, ldb, ldc, batch;
    long long sa, sb, sc;
    float alpha, beta;
    int skew; /* bytes that the operands are off their alignment */
};

struct memory {
    void *a, *b, *c, *bias, *before;
    size_t c_bytes;
};

static int code(int type)
{
    return type == GT_CUDA_R_16F    ? 2
           : type == GT_CUDA_R_16BF ? 3
           : type == GT_CUDA_R_8I   ? 6
           : type == GT_CUDA_R_32I  ? 7
                                    : 0;
}

static unsigned state = 1;

static int draw(int count)
{
    state = state * 1664525 + 1013904223;
    return (int)((state >> 8) % (unsigned)count);
}

static void *device_bytes(size_t bytes, int skew)
{
    uint64_t address = 0;

    EXPECT(cuMemAlloc_v2(&address, bytes + 64) == 0);
    return (void *)(uintptr_t)(address + (uint64_t)skew);
}

/* Operands of small whole numbers, so that every sum is exact; C holds NaN where nobody may read.
 */
static struct memory fill(const struct product *p)
{
    const long long na = p->sa * (p->batch - 1) + (long long)p->lda * (p->ta ? p->m : p->k);
    const long long nb = p->sb * (p->batch - 1) + (long long)p->ldb * (p->tb ? p->k : p->n);
    const long long nc = p->sc * (p->batch - 1) + (long long)p->ldc * p->n;
    struct memory memory = {.c_bytes = (size_t)(nc * stub_bytes(code(p->ct)))};

    memory.a = device_bytes((size_t)(na * stub_bytes(code(p->at))), p->skew);
    memory.b = device_bytes((size_t)(nb * stub_bytes(code(p->at))), p->skew);
    memory.c = device_bytes(memory.c_bytes, p->skew);
    memory.bias = device_bytes((size_t)(p->m * stub_bytes(code(p->ct))), 0);
    memory.before = malloc(memory.c_bytes);
    for (long long i = 0; i < na; i++)
        stub_store(memory.a, i, code(p->at), draw(7) - 3);
    for (long long i = 0; i < nb; i++)
        stub_store(memory.b, i, code(p->at), draw(7) - 3);
    for (int i = 0; i < p->m; i++)
        stub_store(memory.bias, i, code(p->ct), draw(7) - 3);
    if (p->beta != 0)
        for (long long i = 0; i < nc; i++)
            stub_store(memory.c, i, code(p->ct), draw(7) - 3);
    else
        memset(memory.c, 0xff, memory.c_bytes); /* NaN */
    memcpy(memory.before, memory.c, memory.c_bytes);
    return memory;
}

static void release(struct memory *memory)
{
    free(memory->before);
}

/* The product by the definition; false: some element is another. */
static bool right(const struct product *p, const struct memory *memory)
{
    void *expected = malloc(memory->c_bytes);
    const int type = code(p->at), out = code(p->ct);
    bool same;

    memcpy(expected, memory->before, memory->c_bytes);
    for (int z = 0; z < p->batch; z++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->m; i++) {
                const long long at = z * p->sc + (long long)j * p->ldc + i;
                double sum = 0;

                for (int k = 0; k < p->k; k++)
                    sum += stub_load(memory->a,
                                     z * p->sa + (p->ta ? (long long)i * p->lda + k
                                                        : (long long)k * p->lda + i),
                                     type) *
                           stub_load(memory->b,
                                     z * p->sb + (p->tb ? (long long)k * p->ldb + j
                                                        : (long long)j * p->ldb + k),
                                     type);
                sum *= (double)p->alpha;
                if (p->beta != 0)
                    sum += (double)p->beta * stub_load(memory->before, at, out);
                if (p->epilogue & 4)
                    sum += stub_load(memory->bias, i, out);
                if (p->epilogue & 2)
                    sum = sum > 0 ? sum : 0;
                stub_store(expected, at, out, sum);
            }
    same = memcmp(expected, memory->c, memory->c_bytes) == 0;
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
                        memory->c, lc, NULL, NULL, 0, stream);
    free(handle);
    free(desc);
    free(la);
    free(lb);
    free(lc);
    return rc;
}

static int call(void *handle, const struct product *p, const struct memory *memory)
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

static bool is_batched(enum way way)
{
    return way == SGEMM_BATCHED || way == SGEMM_BATCHED_64 || way == BATCHED_EX ||
           way == BATCHED_EX_64 || way == MATMUL;
}

static struct product plain(enum way way, int m, int n, int k)
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

/* Calls it, checks the result and says whether it was served. */
static bool run(void *handle, const struct product *p)
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

static void *new_handle(void)
{
    void *handle = NULL;

    EXPECT(cublasCreate_v2(&handle) == 0);
    return handle;
}

static void begin_context(void)
{
    void *context = NULL;

    EXPECT(cuDevicePrimaryCtxRetain(&context, 0) == 0);
    EXPECT(cuCtxPushCurrent_v2(context) == 0);
}

/* ---- the tests ---- */

/* Every way, type, operation, leading dimension and scalar. */
static struct product random_product(void)
{
    static const int types[][3] = {{GT_CUDA_R_32F, GT_CUDA_R_32F, GT_COMPUTE_32F},
                                   {GT_CUDA_R_16F, GT_CUDA_R_16F, GT_COMPUTE_32F},
                                   {GT_CUDA_R_16BF, GT_CUDA_R_16BF, GT_COMPUTE_32F},
                                   {GT_CUDA_R_16F, GT_CUDA_R_32F, GT_COMPUTE_32F},
                                   {GT_CUDA_R_16BF, GT_CUDA_R_32F, GT_COMPUTE_32F},
                                   {GT_CUDA_R_8I, GT_CUDA_R_32I, GT_COMPUTE_32I}};
    static const int epilogues[] = {0, 4, 2, 6};
    const int *type = types[draw(6)];
    struct product p = plain((enum way)draw(WAYS), 1 + draw(40), 1 + draw(40), 1 + draw(40));

    if (p.way >= EX) {
        p.at = type[0];
        p.ct = type[1];
        p.compute = type[2];
    }
    p.ta = draw(3);
    p.tb = draw(3);
    p.lda = (p.ta ? p.k : p.m) + draw(2) * draw(9);
    p.ldb = (p.tb ? p.n : p.k) + draw(2) * draw(9);
    p.ldc = p.m + draw(2) * draw(9);
    if (is_batched(p.way))
        p.batch = 1 + draw(3);
    p.sa = draw(4) == 0 ? 0 : (long long)p.lda * (p.ta ? p.m : p.k) + draw(5);
    p.sb = (long long)p.ldb * (p.tb ? p.k : p.n);
    p.sc = (long long)p.ldc * p.n + draw(3);
    p.alpha = (float)(draw(4) - 1);
    p.beta = (float)(draw(3) - 1);
    p.skew = draw(3) == 0 ? 4 << draw(2) : 0;
    if (p.way == MATMUL && p.batch == 1 && p.compute != GT_COMPUTE_32I)
        p.epilogue = epilogues[draw(4)];
    return p;
}

static void test_random(void)
{
    void *handle = new_handle();
    const int products = getenv("PRODUCTS") ? (int)strtol(getenv("PRODUCTS"), NULL, 10) : 60;
    int served = 0;

    for (int i = 0; i < products; i++) {
        const struct product p = random_product();

        served += run(handle, &p);
    }
    printf("# %d of %d served\n", served, products);
    EXPECT(2 * served > products);
}

/* Same problem, same answer: the second call needs no decision. */
static void test_thin_path(void)
{
    static const int types[][2] = {{GT_CUDA_R_32F, GT_CUDA_R_32F},
                                   {GT_CUDA_R_16F, GT_CUDA_R_16F},
                                   {GT_CUDA_R_16BF, GT_CUDA_R_16BF}};
    void *handle = new_handle();

    for (int i = 0; i < 3; i++) {
        struct product p = plain(EX, 64, 48, 32);

        p.at = types[i][0];
        p.ct = types[i][1];
        EXPECT(run(handle, &p));
        EXPECT(run(handle, &p));
    }
    cublasDestroy_v2(handle);
}

/* Everything that cuBLAS has to do itself. */
static void test_left(void)
{
    const struct product good = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    struct product p = good;
    float zero = 0;

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
    (void)zero;
}

/* TF32 math mode is another problem than FP32; disallowing reduced sums changes nothing. */
static void test_math(void)
{
    struct product p = plain(SGEMM, 64, 48, 32);
    void *handle = new_handle();

    EXPECT(run(handle, &p));
    cublasSetMathMode(handle, GT_MATH_TF32);
    EXPECT(run(handle, &p));
    p = plain(EX, 64, 48, 32);
    p.at = p.ct = GT_CUDA_R_16BF;
    cublasSetMathMode(handle, 16 /* no reduced sums */);
    EXPECT(run(handle, &p));
}

static void test_half(void)
{
    void *handle = new_handle();
    struct product p = plain(EX, 16, 16, 16);
    struct memory memory;
    uint16_t one = 0x3c00, zero = 0;
    int before;

    p.at = p.ct = GT_CUDA_R_16F;
    memory = fill(&p);
    before = stub_blas_products;
    EXPECT(cublasHgemm(handle, 0, 0, 16, 16, 16, &one, memory.a, 16, memory.b, 16, &zero, memory.c,
                       16) == 0);
    EXPECT(cublasHgemm_64(handle, 0, 0, 16, 16, 16, &one, memory.a, 16, memory.b, 16, &zero,
                          memory.c, 16) == 0);
    EXPECT(cublasHgemmStridedBatched(handle, 0, 0, 16, 16, 16, &one, memory.a, 16, 0, memory.b, 16,
                                     0, &zero, memory.c, 16, 256, 1) == 0);
    EXPECT(cublasHgemmStridedBatched_64(handle, 0, 0, 16, 16, 16, &one, memory.a, 16, 0, memory.b,
                                        16, 0, &zero, memory.c, 16, 256, 1) == 0);
    EXPECT(stub_blas_products == before + 4 && right(&p, &memory));
    release(&memory);
}

/* The real libcublas hands products to cublasLtMatmul: one product, counted and handled once. */
static void test_nested(void)
{
    struct product p = plain(EX, 24, 16, 8);
    void *handle = new_handle();

    stub_blas_nested = 1;
    EXPECT(!run(handle, &p));
    EXPECT(strcmp(stub_blas_last, "cublasLtMatmul") == 0);
}

/* While a graph is captured, what has a plan is served and nothing is waited for. */
static void test_capture(void)
{
    const struct product known = plain(EX, 64, 48, 32), fresh = plain(EX, 20, 12, 36);
    void *handle = new_handle();

    EXPECT(run(handle, &known));
    stub_capturing = 1;
    EXPECT(run(handle, &known));
    EXPECT(!run(handle, &fresh));
    stub_capturing = 0;
    EXPECT(run(handle, &fresh));
}

/* Without GEMMTUNE_WAIT the first call is cuBLAS's, and later ones are served. */
static void test_background(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    bool served = run(handle, &p);

    EXPECT(!served);
    for (int i = 0; i < 20000 && !served; i++) {
        served = run(handle, &p);
        usleep(500);
    }
    EXPECT(served);
}

static void *many_calls(void *argument)
{
    void *handle = new_handle();

    begin_context();
    for (int i = 0; i < 200; i++) {
        const struct product p = plain((enum way)(i % 4 < 2 ? EX : MATMUL), 8 + 4 * (i % 5), 16, 8);
        const float alpha = 1, beta = 0;
        struct memory memory = *(struct memory *)argument;

        memory.c = (char *)memory.c + 0;
        EXPECT(p.way == EX
                   ? cublasGemmEx(handle, 0, 0, p.m, p.n, p.k, &alpha, memory.a, 0, p.lda, memory.b,
                                  0, p.ldb, &beta, memory.bias, 0, p.ldc, GT_COMPUTE_32F, -1) == 0
                   : true);
        cublasSetWorkspace_v2(handle, memory.c, 64);
        cublasSetStream_v2(handle, NULL);
    }
    cublasDestroy_v2(handle);
    return NULL;
}

static void test_threads(void)
{
    const struct product p = plain(EX, 32, 32, 32);
    struct memory memory[4];
    pthread_t thread[4];

    for (int i = 0; i < 4; i++) {
        memory[i] = fill(&p);
        memory[i].bias = device_bytes(32 * 32 * 4, 0);
        EXPECT(pthread_create(&thread[i], NULL, many_calls, &memory[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_join(thread[i], NULL) == 0);
        release(&memory[i]);
    }
}

/* A child has a session of its own, and the parent goes on. */
static void test_fork(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    int status = 0;
    pid_t child;

    EXPECT(run(handle, &p));
    child = fork();
    if (child == 0) {
        setenv("GEMMTUNE_SERVE", "0", 1);
        EXPECT(!run(handle, &p));
        exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(run(handle, &p));
}

/* A winner that differs from cuBLAS is found out, and the program has cuBLAS's result. */
static void test_check(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    struct memory memory = fill(&p);

    /* Compared and found equal: served, and computed by cuBLAS once more. */
    EXPECT(!run(handle, &p));
    release(&memory);
}

static void by_signal(int number)
{
    (void)number;
}

static void test_own_signal(void)
{
    const struct product p = plain(EX, 8, 8, 8);
    struct sigaction now;

    signal(SIGUSR2, by_signal);
    run(new_handle(), &p);
    EXPECT(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == by_signal);
    raise(SIGUSR2);
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
static void test_matmul_left(void)
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
                  {1, 1 /* FP64 scalars */},
                  {101, 1 /* row order */},
                  {107, 4096 /* planes */},
                  {105, 2 /* batch of A alone */},
                  {102, 23 /* rows that do not fit */}};
    const struct product p = plain(MATMUL, 24, 16, 8);
    struct memory memory = fill(&p);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const int attribute = others[i].attribute;
        const size_t bytes =
            attribute == 102 || attribute == 107 || (attribute >= 17 && attribute < 22) ? 8 : 4;
        struct matmul m = new_matmul();

        EXPECT(run_matmul(&m, &memory));
        EXPECT(run_matmul(&m, &memory)); /* remembered */
        if (attribute < 100)
            cublasLtMatmulDescSetAttribute(m.desc, attribute, &others[i].value, bytes);
        else
            cublasLtMatrixLayoutSetAttribute(m.la, attribute - 100, &others[i].value, bytes);
        if (run_matmul(&m, &memory)) {
            printf("# attribute %d, value %llu: served\n", attribute,
                   (unsigned long long)others[i].value);
            fflush(stdout);
            _exit(1);
        }
    }
}

/* ---- a program's own libraries ---- */

/* As Python loads extensions: a library with RTLD_LOCAL that is linked to cuBLAS. */
static void test_local(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    void *extension = dlopen(getenv("EXTENSION"), RTLD_NOW | RTLD_LOCAL);
    int (*multiply)(void *, const void *, const void *, void *);
    void *address = extension ? dlsym(extension, "extension_multiply") : NULL;
    int before = stub_blas_products;

    EXPECT(address);
    memcpy(&multiply, &address, sizeof(multiply));
    EXPECT(multiply(new_handle(), memory.a, memory.b, memory.c) == 0);
    EXPECT(stub_blas_products == before && right(&p, &memory));
}

/* A workspace of the program's is used, and is not after cuBLAS has forgotten it. */
static void test_handles(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle(), *workspace = device_bytes(1 << 20, 0);

    for (int i = 0; i < 200; i++) {
        cublasSetStream_v2(handle, NULL);
        cublasSetWorkspace_v2(handle, workspace, 1 << 20);
        cublasSetPointerMode_v2(handle, i % 3 == 2);
        EXPECT(run(handle, &p) == (i % 3 != 2));
    }
    cublasDestroy_v2(handle);
    handle = new_handle();
    EXPECT(run(handle, &p));
}

static void test_signal(void)
{
    const struct product p = plain(EX, 64, 48, 32);

    EXPECT(run(new_handle(), &p));
    raise(SIGUSR2);
    for (int i = 0; i < 5000 && access(getenv("GEMMTUNE_REPORT"), F_OK) != 0; i++)
        usleep(1000);
    EXPECT(access(getenv("GEMMTUNE_REPORT"), F_OK) == 0);
    _exit(0); /* nothing else writes it */
}

/* A program that asks dlsym for cuBLAS's functions is served, and RTLD_NEXT means the caller's. */
static void test_dlsym(void)
{
    void *library = dlopen("libcublas.so.13", RTLD_LAZY | RTLD_LOCAL);
    int(*gemm) GT_PARAMETERS_EX(int);
    struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    void *handle = new_handle(), *address;
    const float one = 1, zero = 0;
    int before = stub_blas_products;

    EXPECT(library);
    address = dlsym(library, "cublasGemmEx");
    memcpy(&gemm, &address, sizeof(gemm));
    EXPECT(address && gemm == cublasGemmEx); /* what the linker bound is the hook, too */
    EXPECT(gemm(handle, 0, 0, 64, 48, 32, &one, memory.a, 0, 64, memory.b, 0, 32, &zero, memory.c,
                0, 64, GT_COMPUTE_32F, -1) == 0);
    EXPECT(stub_blas_products == before && right(&p, &memory));
    EXPECT(dlsym(library, "cublasCreate_v2") == (void *)cublasCreate_v2);
    EXPECT(!dlsym(library, "cublasNoSuchFunction"));
    EXPECT(dlsym(RTLD_DEFAULT, "cublasGemmEx") == address);
    EXPECT(dlsym(RTLD_NEXT, "cuMemAlloc_v2") == (void *)cuMemAlloc_v2);
    EXPECT(dlsym(RTLD_DEFAULT, "printf") == (void *)printf);
}

static const struct test {
    const char *name;
    void (*run)(void);
    const char *settings[6]; /* beside GEMMTUNE_REPORT */
    const char *words[4];    /* of the report; NULL: there is none */
} tests[] = {
    {"FP32, FP16 and BF16 through cublasGemmEx",
     test_thin_path,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"6 products, 6 served", "48x64x32:bf16:nn"}},
    {"random products, every entry",
     test_random,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"served"}},
    {"what is left to cuBLAS",
     test_left,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"scalars or pointers", "m, n or k is 0", "limits the multiprocessors", "alpha is 0"}},
    {"math modes",
     test_math,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"48x64x32:tf32:nn", "48x64x32:f32:nn"}},
    {"accuracy=f32 widens FP32",
     test_math,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_ACCURACY=f32"},
     {"48x64x32:tf32:nn", "48x64x32:f32:nn:accuracy=f32"}},
    {"half-precision sums",
     test_half,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"4 left to cuBLAS", "types that gemmtune does not"}},
    {"cuBLAS's own calls",
     test_nested,
     {"GEMMTUNE_SERVE=0", "GEMMTUNE_WAIT=1"},
     {"1 products, 0 served"}},
    {"graph capture",
     test_capture,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"4 products, 3 served", "not decided yet"}},
    {"decided in the background", test_background, {"GEMMTUNE_SERVE=any"}, {"not decided yet"}},
    {"four threads", test_threads, {"GEMMTUNE_SERVE=any"}, {"products"}},
    {"fork", test_fork, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"2 products, 2 served"}},
    {"GEMMTUNE_CHECK, equal results",
     test_check,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1", "GEMMTUNE_CHECK=1"},
     {"1 products, 1 served"}},
    {"a report by signal", test_signal, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"1 products"}},
    {"cublasLtMatmul: what is left",
     test_matmul_left,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"32 served", "epilogue", "orders or batch modes"}},
    {"a library loaded as Python loads them",
     test_local,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"1 products, 1 served"}},
    {"settings of handles",
     test_handles,
     {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"},
     {"201 products, 135 served"}},
    {"a handler of the program's own", test_own_signal, {"GEMMTUNE_SERVE=any"}, {"1 products"}},
    {"dlsym", test_dlsym, {"GEMMTUNE_SERVE=any", "GEMMTUNE_WAIT=1"}, {"1 products, 1 served"}},
    {"only recorded",
     test_nested,
     {"GEMMTUNE_CAPTURE=captured", "GEMMTUNE_WAIT=1"},
     {"calls are only recorded"}},
};

static bool holds(const char *path, const char *const words[4])
{
    char text[65536];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[length] = '\0';
    if (file)
        fclose(file);
    for (int i = 0; i < 4 && words[i]; i++)
        if (!strstr(text, words[i])) {
            printf("# the report lacks '%s':\n%s", words[i], text);
            return false;
        }
    return true;
}

/* `calls --client`: a program with a few products, for tests of commands; it ends with 3. */
static int client(void)
{
    const struct product often = plain(EX, 64, 48, 32);
    struct product seldom = plain(SGEMM, 16, 24, 8);
    void *handle = new_handle();
    int served = 0;

    seldom.ta = GT_OP_T;
    seldom.lda = 8;
    begin_context();
    for (int i = 0; i < 5; i++)
        served += run(handle, &often);
    for (int i = 0; i < 2; i++)
        served += run(handle, &seldom);
    cublasDestroy_v2(handle);
    printf("%d of 7 products served\n", served);
    return 3;
}

/* `calls --cost`: nanoseconds of a call of one multiplication.  Run with and without the library,
 * the difference is what the library costs. */
static int cost(void)
{
    enum { CALLS = 1000000 };
    const struct product p = plain(EX, 1, 1, 1);
    void *handle = new_handle();
    struct memory memory = fill(&p);
    const float alpha = 1, beta = 0;

    begin_context();
    for (int turn = 0; turn < 5; turn++) {
        struct timespec begin, end;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < CALLS; i++)
            cublasGemmEx(handle, 0, 0, 1, 1, 1, &alpha, memory.a, 0, 1, memory.b, 0, 1, &beta,
                         memory.c, 0, 1, GT_COMPUTE_32F, -1);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%.1f ns\n",
               ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
                   CALLS);
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool failed = false;

    if (argc > 1 && strcmp(argv[1], "--cost") == 0)
        return cost();

    if (argc > 1 && strcmp(argv[1], "--client") == 0)
        return client();

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        const struct test *test = &tests[i];
        int status = 0;
        pid_t child;
        bool good;

        if (argc > 1 && !strstr(test->name, argv[1]))
            continue;
        unlink("report");
        fflush(stdout);
        child = fork();
        if (child == 0) {
            putenv((char *)"GEMMTUNE_REPORT=report");
            for (int j = 0; j < 6 && test->settings[j]; j++)
                putenv((char *)test->settings[j]);
            begin_context();
            test->run();
            exit(0);
        }
        waitpid(child, &status, 0);
        good = status == 0 && holds("report", test->words);
        if (status)
            printf("# status %d\n", status);
        printf("%s %zu - %s\n", good ? "ok" : "not ok", i + 1, test->name);
        failed |= !good;
    }
    return failed;
}
