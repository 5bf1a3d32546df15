/* stub_cublaslt.c - builds libcublasLt.so.13 for tests: three answers to every problem.  The first
 * is right, the second is fast and wrong, the third is right and faster than the first.  Time
 * passes on the stub driver named by GEMMTUNE_LIBCUDA. */
#include "../../src/cuda_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#define ltPrototype(field, symbol, parameters) int stub_##field parameters __asm__(symbol);
GT_CUBLASLT_MAP(ltPrototype)

/* cublasLtMatmulDescAttributes_t and the like, as src/baseline.c sets them. */
enum { TRANS_A = 3, TRANS_B = 4, EPILOGUE = 7, BIAS = 8, BATCH = 5, STRIDE = 6 };

struct desc {
    int trans_a, trans_b, epilogue;
    const float *bias;
};

struct layout { /* columns of `rows` elements, ld apart */
    uint64_t rows, cols;
    int64_t ld, stride;
    int batch;
};

int stub_GetProperty(int which, int *value)
{
    *value = which == 0 ? 13 : which;
    return 0;
}

int stub_Create(void **handle)
{
    *handle = malloc(1);
    return 0;
}

int stub_Destroy(void *handle)
{
    free(handle);
    return 0;
}

int stub_MatmulDescCreate(void **desc, int compute, int scale)
{
    (void)compute, (void)scale;
    *desc = calloc(1, sizeof(struct desc));
    return 0;
}

int stub_MatmulDescDestroy(void *desc)
{
    free(desc);
    return 0;
}

int stub_MatmulDescSetAttribute(void *desc, int id, const void *value, size_t size)
{
    struct desc *to = desc;

    (void)size;
    if (id == BIAS)
        to->bias = *(const float *const *)value;
    else
        *(id == TRANS_A   ? &to->trans_a
          : id == TRANS_B ? &to->trans_b
                          : &to->epilogue) = *(const int *)value;
    return 0;
}

int stub_MatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    struct layout *made = calloc(1, sizeof(*made));

    (void)type;
    *made = (struct layout){rows, cols, ld, 0, 1};
    *layout = made;
    return 0;
}

int stub_MatrixLayoutDestroy(void *layout)
{
    free(layout);
    return 0;
}

int stub_MatrixLayoutSetAttribute(void *layout, int id, const void *value, size_t size)
{
    struct layout *to = layout;

    (void)size;
    if (id == BATCH)
        to->batch = *(const int *)value;
    else
        to->stride = *(const int64_t *)value;
    return 0;
}

int stub_MatmulPreferenceCreate(void **preference)
{
    *preference = malloc(1);
    return 0;
}

int stub_MatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return 0;
}

int stub_MatmulPreferenceSetAttribute(void *preference, int id, const void *value, size_t size)
{
    (void)preference, (void)id, (void)value, (void)size;
    return 0;
}

int stub_MatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                void *preference, int wanted, struct gt_lt_answer *answer,
                                int *answers)
{
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *answers = wanted < 3 ? wanted : 3;
    for (int i = 0; i < *answers; i++)
        answer[i] = (struct gt_lt_answer){.algo = {{(uint64_t)i}}};
    return 0;
}

static void pass_time(double us)
{
    void *driver = dlopen(getenv("GEMMTUNE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
    void *advance = driver ? dlsym(driver, "stub_advance") : NULL;

    if (advance)
        ((void (*)(double))advance)(us);
}

/* Element (i, j) of batch z of the product, in columns. */
static float element(const struct desc *desc, const float *a, const struct layout *la,
                     const float *b, const struct layout *lb, int64_t i, int64_t j)
{
    int64_t depth = (int64_t)(desc->trans_a ? la->rows : la->cols);
    float sum = 0;

    for (int64_t k = 0; k < depth; k++)
        sum += (desc->trans_a ? a[i * la->ld + k] : a[k * la->ld + i]) *
               (desc->trans_b ? b[k * lb->ld + j] : b[j * lb->ld + k]);
    return sum;
}

int stub_Matmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a,
                const void *b, void *layout_b, const void *beta, const void *c, void *layout_c,
                void *d, void *layout_d, const struct gt_lt_algo *algo, void *workspace,
                size_t bytes, void *stream)
{
    const struct desc *how = desc;
    const struct layout *la = layout_a, *lb = layout_b, *lc = layout_c, *ld = layout_d;

    (void)handle, (void)stream;
    if (bytes)
        *(float *)workspace = 1; /* which it may */
    for (int z = 0; z < ld->batch; z++)
        for (int64_t j = 0; j < (int64_t)ld->cols; j++)
            for (int64_t i = 0; i < (int64_t)ld->rows; i++) {
                float x =
                    *(const float *)alpha * element(how, (const float *)a + z * la->stride, la,
                                                    (const float *)b + z * lb->stride, lb, i, j);

                if (*(const float *)beta != 0)
                    x += *(const float *)beta * ((const float *)c)[z * lc->stride + j * lc->ld + i];
                if (how->epilogue & 4)
                    x += how->bias[i];
                if (how->epilogue & 2)
                    x = x > 0 ? x : 0;
                ((float *)d)[z * ld->stride + j * ld->ld + i] = x;
            }
    if (algo->data[0] == 1)
        *(float *)d += 1;
    pass_time(algo->data[0] == 0 ? 100 : algo->data[0] == 1 ? 10 : 80);
    return 0;
}
