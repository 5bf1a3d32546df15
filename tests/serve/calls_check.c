/* calls_check.c - GEMMTUNE_CHECK: both results are compared, on the device or on the host, planted
 * errors are found, and the program has the right product whatever happens. */
#include <math.h>
#include <string.h>

#include "calls.h"
#include "tests/faults/stub_values.h"

/* What is done to the result of each product of this library's: element `at` is changed by
 * `amount`, or becomes NaN. */
static struct {
    void *d;
    long long at;
    int type;
    double amount;
} planted;

static void plant(void)
{
    const double was = stub_load(planted.d, planted.at, planted.type);

    stub_store(planted.d, planted.at, planted.type, was + planted.amount);
}

static void damage(const struct product *p, const struct memory *memory, long long at,
                   double amount)
{
    planted.d = memory->d;
    planted.at = at;
    planted.type = type_code(p->ct);
    planted.amount = amount;
    stub_damage = plant;
}

/* Compared and found equal: served, and computed by cuBLAS once more. */
void test_check(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();

    EXPECT(!run(handle, &p));
}

/* Right products of every kind are left alone. */
void test_check_random(void)
{
    void *handle = new_handle();

    for (int i = 0; i < random_products(); i++) {
        const struct product p = random_product();

        run(handle, &p);
    }
}

/* FP8 operands; results in FP8; C beside D. */
static struct product odd_product(int i)
{
    static const int outs[] = {GT_CUDA_R_16BF, GT_CUDA_R_8F_E4M3, GT_CUDA_R_16F, GT_CUDA_R_32F,
                               GT_CUDA_R_8F_E5M2};
    struct product p = random_product();

    p.way = MATMUL;
    p.at = p.ct = GT_CUDA_R_32F;
    p.compute = GT_COMPUTE_32F;
    p.epilogue = p.skew = 0;
    p.apart = i % 2;
    p.alpha = 1;
    if (i % 3) {
        p.at = i % 3 == 1 ? GT_CUDA_R_8F_E4M3 : GT_CUDA_R_8F_E5M2;
        p.ct = outs[i % 5];
        p.lda = (p.lda + 15) / 16 * 16;
        p.ldb = (p.ldb + 15) / 16 * 16;
    }
    return p;
}

/* A wrong element of the product, by a little more than its type rounds, or NaN; where it lies
 * after the product does not matter.  Whether the product was served. */
static bool plant_in(void *handle, const struct product *p)
{
    struct memory memory = fill(p);
    const long long at = draw(p->batch) * p->sc + (long long)draw(p->n) * p->ldc + draw(p->m);
    const bool eighth = p->ct == GT_CUDA_R_8F_E4M3 || p->ct == GT_CUDA_R_8F_E5M2;
    const int before = stub_blas_products;
    int calls;

    damage(p, &memory, at, draw(2) && p->ct != GT_CUDA_R_32I ? (double)NAN : eighth ? 300 : 60);
    EXPECT(call(handle, p, &memory) == 0);
    stub_damage = NULL;
    calls = stub_blas_products - before;
    if (!right(p, &memory)) {
        printf("# way %d, %d x %d x %d, types %d %d, batch %d, beta %g, epilogue %d, at %lld: "
               "not found\n",
               p->way, p->m, p->n, p->k, p->at, p->ct, p->batch, (double)p->beta, p->epilogue, at);
        fflush(stdout);
        _exit(1);
    }
    memcpy(memory.c, memory.before, memory.c_bytes);
    EXPECT(call(handle, p, &memory) == 0 && right(p, &memory));
    EXPECT(stub_blas_products == before + calls + 1); /* cuBLAS's from now on */
    release(&memory);
    return calls == 1;
}

void test_check_planted(void)
{
    void *handle = new_handle();

    for (int i = 0; i < random_products(); i++) {
        const struct product p = i % 2 ? random_product() : odd_product(i / 2);

        plant_in(handle, &p);
    }
}

void test_check_one_of_a_million(void)
{
    static const int types[] = {GT_CUDA_R_32F, GT_CUDA_R_16BF, GT_CUDA_R_16F};
    void *handle = new_handle();

    for (int i = 0; i < 3; i++) {
        struct product p = plain(EX, 1024, 1000, 8);

        p.at = p.ct = types[i];
        plant_in(handle, &p);
    }
}

void test_check_every_third(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    int checked = 0;

    for (int i = 0; i < 7; i++)
        checked += !run(handle, &p);
    EXPECT(checked == 3);
}

/* Where nothing is left for cuBLAS's result, the product is served as it is. */
void test_check_without_memory(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    struct memory memory = fill(&p);
    const int before = stub_blas_products;
    uint64_t address;

    for (size_t bytes = (size_t)1 << 30; bytes; bytes /= 2)
        while (cuMemAlloc_v2(&address, bytes) == 0)
            ;
    EXPECT(call(handle, &p, &memory) == 0 && right(&p, &memory));
    EXPECT(stub_blas_products == before);
    release(&memory);
}

/* A winner that differs is found out, and the program has cuBLAS's result. */
void test_differs(void)
{
    const struct product p = plain(EX, 64, 48, 32), other = plain(EX, 32, 48, 32);
    void *handle = new_handle();
    struct memory memory = fill(&p);
    const int before = stub_blas_products;

    damage(&p, &memory, 0, 1000);
    EXPECT(call(handle, &p, &memory) == 0 && right(&p, &memory));
    stub_damage = NULL;
    EXPECT(!run(handle, &p)); /* never again */
    release(&memory);
    memory = fill(&other);
    stub_blas_wrong = 500; /* it is cuBLAS that is off: D is the winner's */
    EXPECT(call(handle, &other, &memory) == 0 && right(&other, &memory));
    EXPECT(stub_blas_products == before + 3);
}

/* A check allocates memory, which spoils captures of other threads unless it says that it may. */
void test_check_beside_capture(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    void *handle = new_handle();
    const int before = stub_blas_products;

    stub_other_capture = 1;
    EXPECT(call(handle, &p, &memory) == 0 && right(&p, &memory));
    EXPECT(stub_blas_products == before + 1 && !stub_spoilt);
}
