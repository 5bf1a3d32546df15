/* stub_blas_lt.c - builds libcublasLt.so.12 and .13 (STUB_MAJOR) for the tests of src/serve:
 * descriptors and layouts are plain data of 256 and 64 bytes, as those of the real library, and
 * products are computed on the host. */
#include "stub_blas.h"

#include <stdlib.h>
#include <string.h>

#include "tests/faults/stub_values.h"

static int own; /* products of this copy of the library */

int cublasLtStubProducts(void)
{
    return own;
}

int stub_blas_products;
const char *stub_blas_last = "";
double stub_blas_wrong;

struct desc {
    uint64_t value[32]; /* by attribute; the last ones share */
};

struct layout {
    uint64_t value[8];
};

enum { LAST_ATTRIBUTE = STUB_MAJOR >= 13 ? 40 : 38 };

/* The place of an attribute among 32: 35 and 40 share, and 9 and 16 are those of others.  Only
 * version 12 has the numbers 27 to 30, and only 13 those from 39. */
static int place(int attribute)
{
    static const int synchronized[] = {9, 16, 31, 27};

    if (attribute >= 27 && attribute <= 30)
        return synchronized[attribute - 27];
    return attribute < 32 ? attribute : attribute < 40 ? attribute - 8 : 27;
}

int cublasLtCreate(void **handle)
{
    *handle = malloc(1);
    return 0;
}

/* What a plan needs beside these, to run a stored algorithm. */
int cublasLtGetProperty(int which, int *value)
{
    *value = which == 0 ? STUB_MAJOR : which == 1 ? 1 : 2;
    return 0;
}

int cublasLtDestroy(void *handle)
{
    free(handle);
    return 0;
}

int cublasLtMatmulDescDestroy(void *desc)
{
    free(desc);
    return 0;
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return 0;
}

/* It is asked for nothing: the tuner has a stub of its own, which answers. */
int cublasLtMatmulPreferenceCreate(void **preference)
{
    *preference = NULL;
    return 15;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    (void)preference;
    return 15;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                         size_t bytes)
{
    (void)preference, (void)attribute, (void)value, (void)bytes;
    return 15;
}

int cublasLtMatmulAlgoGetHeuristic(void)
{
    return 15;
}

int cublasLtMatmulDescCreate(void **desc, int compute, int scale)
{
    struct desc *made = calloc(1, sizeof(*made));

    made->value[0] = (uint64_t)compute;
    made->value[1] = (uint64_t)scale;
    made->value[6] = 2;           /* fill mode: full */
    made->value[7] = 1;           /* no epilogue */
    made->value[26] = UINT32_MAX; /* the bias has the type of D */
    *desc = made;
    return 0;
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    memcpy(&((struct desc *)desc)->value[place(attribute)], value, bytes);
    return 0;
}

int stub_DescGet(void *desc, int attribute, void *to, size_t bytes, size_t *written)
{
    if (attribute > LAST_ATTRIBUTE || (STUB_MAJOR >= 13 && attribute >= 27 && attribute <= 30))
        return 7;
    memcpy(to, &((struct desc *)desc)->value[place(attribute)], bytes);
    *written = bytes;
    return 0;
}

/* Batch count and batch mode share a word.  The mode came with version 13. */
enum { BATCH = 5, MODE = 8 };
static void *word_of(struct layout *layout, int attribute)
{
    return attribute == MODE ? (char *)&layout->value[BATCH] + 4
                             : (char *)&layout->value[attribute];
}

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    struct layout *made = calloc(1, sizeof(*made));

    made->value[0] = (uint64_t)type;
    made->value[2] = rows;
    made->value[3] = cols;
    made->value[4] = (uint64_t)ld;
    made->value[5] = 1;
    *layout = made;
    return 0;
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes)
{
    if (attribute > MODE || (attribute == MODE && STUB_MAJOR < 13))
        return 7;
    memcpy(word_of(layout, attribute), value, bytes);
    return 0;
}

int stub_LayoutGet(void *layout, int attribute, void *to, size_t bytes, size_t *written)
{
    if (attribute > MODE || (attribute == MODE && STUB_MAJOR < 13))
        return 7;
    memcpy(to, word_of(layout, attribute), bytes);
    *written = bytes;
    return 0;
}

/* Code of enum gt_dtype. */
static int type_of(int type)
{
    return type == GT_CUDA_R_16F       ? 2
           : type == GT_CUDA_R_16BF    ? 3
           : type == GT_CUDA_R_8F_E4M3 ? 4
           : type == GT_CUDA_R_8F_E5M2 ? 5
           : type == GT_CUDA_R_8I      ? 6
           : type == GT_CUDA_R_32I     ? 7
                                       : 0;
}

static double scalar(const void *from, int compute)
{
    return compute == GT_COMPUTE_32I   ? *(const int32_t *)from
           : compute == GT_COMPUTE_16F ? stub_load(from, 0, 2)
                                       : (double)*(const float *)from;
}

void stub_blas_product(const struct stub_product *p)
{
    const double alpha = scalar(p->alpha, p->compute), beta = scalar(p->beta, p->compute);
    const int at = type_of(p->at), bt = type_of(p->bt), ct = type_of(p->ct);

    __atomic_fetch_add(&stub_blas_products, 1, __ATOMIC_RELAXED);
    for (int64_t z = 0; z < p->batch; z++) {
        double *a = stub_vectors(p->a, z * p->sa, p->m, p->k, p->lda, p->ta, at);
        double *b = stub_vectors(p->b, z * p->sb, p->n, p->k, p->ldb, !p->tb, bt);

        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++) {
                double sum = 0, x;

                for (int64_t k = 0; k < p->k; k++)
                    sum += a[i * p->k + k] * b[j * p->k + k];
                x = alpha * sum;
                if (beta != 0)
                    x += beta * stub_load(p->c, z * p->sc + j * p->ldc + i, ct);
                if (p->bias)
                    x += stub_load(p->bias, i, ct);
                if (p->relu)
                    x = x > 0 ? x : 0;
                if (stub_blas_wrong != 0 && !i && !j && !z) /* -0 + 0 is +0 */
                    x += stub_blas_wrong;
                stub_store(p->d, z * p->sc + j * p->ldc + i, ct, x);
            }
        free(a);
        free(b);
    }
}

int cublasLtMatmul GT_PARAMETERS_MATMUL
{
    const struct desc *how = desc;
    const uint64_t *va = ((struct layout *)la)->value, *vb = ((struct layout *)lb)->value;
    const uint64_t *vd = ((struct layout *)ld)->value;
    const int epilogue = (int)how->value[7];
    const struct stub_product product = {.ta = (int)how->value[3],
                                         .tb = (int)how->value[4],
                                         .at = (int)va[0],
                                         .bt = (int)vb[0],
                                         .ct = (int)vd[0],
                                         .compute = (int)how->value[0],
                                         .m = (int64_t)vd[2],
                                         .n = (int64_t)vd[3],
                                         .k = (int64_t)(how->value[3] ? va[2] : va[3]),
                                         .lda = (int64_t)va[4],
                                         .ldb = (int64_t)vb[4],
                                         .ldc = (int64_t)vd[4],
                                         .sa = (int64_t)va[6],
                                         .sb = (int64_t)vb[6],
                                         .sc = (int64_t)vd[6],
                                         .batch = (int32_t)vd[5],
                                         .alpha = alpha,
                                         .beta = beta,
                                         .a = a,
                                         .b = b,
                                         .c = c,
                                         .d = d,
                                         .bias = epilogue & 4 ? (const void *)how->value[8] : NULL,
                                         .relu = epilogue & 2};

    (void)handle, (void)lc, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    __atomic_store_n(&stub_blas_last, "cublasLtMatmul", __ATOMIC_RELAXED);
    __atomic_fetch_add(&own, 1, __ATOMIC_RELAXED);
    stub_blas_product(&product);
    return 0;
}
