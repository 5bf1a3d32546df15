/* calls_served.c - products that libgemmtune_cublas.so serves: every way, type and operation, math
 * modes, captured graphs, and which answers of the tables a policy lets through. */
#include <string.h>

#include "calls.h"

int random_products(void)
{
    return getenv("PRODUCTS") ? (int)strtol(getenv("PRODUCTS"), NULL, 10) : 60;
}

struct product random_product(void)
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

    if (p.way == SGEMM_EX || p.way == SGEMM_EX_64)
        type = types[draw(5)]; /* sums are in FP32 */
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

void test_random(void)
{
    void *handle = new_handle();
    const int products = random_products();
    int served = 0;

    for (int i = 0; i < products; i++) {
        const struct product p = random_product();

        served += run(handle, &p);
    }
    printf("# %d of %d served\n", served, products);
    EXPECT(2 * served > products);
}

/* Same problem, same answer: the second call needs no decision. */
void test_thin_path(void)
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

/* TF32 math mode is another problem than FP32; disallowing reduced sums changes nothing. */
void test_math(void)
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

/* The program allows TF32, and gets FP32: this A has bits that TF32 lacks. */
void test_small_tf32(void)
{
    const struct product p = plain(SGEMM, 3, 3, 3);
    struct memory memory = fill(&p);
    void *handle = new_handle();

    for (int i = 0; i < 9; i++)
        ((float *)memory.a)[i] = 1 + 0x1p-20f * (float)i;
    cublasSetMathMode(handle, GT_MATH_TF32);
    EXPECT(call(handle, &p, &memory) == 0 && right(&p, &memory));
    release(&memory);
}

void test_half(void)
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
void test_nested(void)
{
    struct product p = plain(EX, 24, 16, 8);
    void *handle = new_handle();

    stub_blas_nested = 1;
    EXPECT(!run(handle, &p));
    EXPECT(strcmp(stub_blas_last, "cublasLtMatmul") == 0);
}

/* While a graph is captured, what has a plan is served and nothing is waited for. */
void test_capture(void)
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

/* What the tables have of this very problem is served; a problem that is only near one is not,
 * whatever else is allowed. */
void test_untuned_problem(void)
{
    const struct product tuned = plain(EX, 64, 48, 32), near = plain(EX, 64, 48, 40);
    void *handle = new_handle();

    EXPECT(run(handle, &tuned));
    EXPECT(!run(handle, &near));
    EXPECT(run(handle, &tuned));
}

/* The older function for mixed types: its sums are in FP32, and so are its scalars. */
void test_sgemm_ex(void)
{
    static const int types[][2] = {{GT_CUDA_R_32F, GT_CUDA_R_32F},   {GT_CUDA_R_16F, GT_CUDA_R_16F},
                                   {GT_CUDA_R_16BF, GT_CUDA_R_16BF}, {GT_CUDA_R_16F, GT_CUDA_R_32F},
                                   {GT_CUDA_R_16BF, GT_CUDA_R_32F},  {GT_CUDA_R_8I, GT_CUDA_R_32F}};
    struct product p = plain(SGEMM_EX, 64, 48, 32);
    void *handle = new_handle();

    p.alpha = 2;
    for (int i = 0; i < 6; i++) {
        p.at = types[i][0];
        p.ct = types[i][1];
        p.way = SGEMM_EX;
        EXPECT(run(handle, &p) == (p.at != GT_CUDA_R_8I));
        p.way = SGEMM_EX_64;
        EXPECT(run(handle, &p) == (p.at != GT_CUDA_R_8I));
    }
    cublasSetMathMode(handle, GT_MATH_TF32);
    p.at = p.ct = GT_CUDA_R_32F;
    EXPECT(run(handle, &p));
}
