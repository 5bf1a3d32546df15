/* stub_cublaslt.c - builds libcublasLt.so.13 for tests, with three answers to every problem.  The
 * first is right, the second is fast and wrong, the third is right and faster than the first. Their
 * time, or $STUB_CUBLASLT_US (of the first one $STUB_CUBLASLT_FIRST_US), is charged to the clock of
 * the stub driver named by GEMMTUNE_LIBCUDA.  With STUB_QUICK they compute nothing, none is wrong,
 * and each takes as long as the product is large. */
#include "cuda/cuda_api.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stub_values.h"

#define ltPrototype(field, symbol, parameters) int stub_##field parameters __asm__(symbol);
GT_CUBLASLT_MAP(ltPrototype)

/* cublasLtMatmulDescAttributes_t, cudaDataType_t and the like, as tuner/timing/baseline.c sets
 * them. */
enum { TRANS_A = 3, TRANS_B = 4, EPILOGUE = 7, BIAS = 8, BATCH = 5, STRIDE = 6 };

enum { REAL_64F = 1, REAL_16F = 2, REAL_32I = 10 };

struct desc {
    int scale, trans_a, trans_b, epilogue;
    const void *bias;
};

struct layout { /* columns of `rows` elements, ld apart */
    uint64_t rows, cols;
    int64_t ld, stride;
    int batch, type;
};

int stub_GetProperty(int which, int *value)
{
    const char *major = getenv("STUB_CUBLASLT_MAJOR");

    *value = which ? which : major ? atoi(major) : 13;
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
    struct desc *made = calloc(1, sizeof(*made));

    (void)compute;
    made->scale = scale;
    *desc = made;
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

    int *const number = id == TRANS_A    ? &to->trans_a
                        : id == TRANS_B  ? &to->trans_b
                        : id == EPILOGUE ? &to->epilogue
                                         : NULL;

    if (id == BIAS)
        to->bias = *(const void *const *)value;
    else if (number && size == sizeof(*number))
        *number = *(const int *)value;
    return 0;
}

int stub_MatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    struct layout *made = calloc(1, sizeof(*made));

    *made = (struct layout){rows, cols, ld, 0, 1, type};
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

/* Types for which the real library also needs the first operand transposed and the second not. */
static bool eight_bits(const struct layout *layout)
{
    return layout->type == 3 || layout->type >= 28;
}

int stub_MatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                                void *preference, int wanted, struct gt_lt_answer *answer,
                                int *answers)
{
    const struct desc *how = desc;

    (void)handle, (void)b, (void)c, (void)d, (void)preference;
    *answers = wanted < 3 ? wanted : 3;
    if (eight_bits(a) && !(how->trans_a && !how->trans_b))
        *answers = 0;
    for (int i = 0; i < *answers; i++)
        answer[i] = (struct gt_lt_answer){.algo = {{(uint64_t)i}}};
    return 0;
}

/* A function of the stub driver. */
static void *of_driver(const char *symbol)
{
    void *driver = dlopen(getenv("GEMMTUNE_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);

    return driver ? dlsym(driver, symbol) : NULL;
}

static void pass_time(double us)
{
    void *advance = of_driver("stub_advance");

    if (advance)
        ((void (*)(double))advance)(us);
}

/* Code of enum gt_dtype. */
static int type_of(int real)
{
    return real == REAL_16F   ? 2
           : real == 14       ? 3
           : real == 28       ? 4
           : real == 29       ? 5
           : real == 3        ? 6
           : real == REAL_32I ? 7
           : real == REAL_64F ? 8
                              : 0;
}

/* Element of a matrix of that layout, or of anything else of its type. */
static double load(const void *data, int64_t at, const struct layout *layout)
{
    static double (*stub_load)(const void *, long long, int);

    if (!stub_load)
        *(void **)&stub_load = of_driver("stub_load");
    return stub_load(data, at, type_of(layout->type));
}

static void store(void *data, int64_t at, const struct layout *layout, double value)
{
    static void (*stub_store)(void *, long long, int, double);

    if (!stub_store)
        *(void **)&stub_store = of_driver("stub_store");
    stub_store(data, at, type_of(layout->type), value);
}

static double factor(const struct desc *desc, const void *bits)
{
    if (desc->scale == REAL_32I)
        return *(const int32_t *)bits;
    return load(bits, 0, &(struct layout){.type = desc->scale});
}

/* op(X) of batch z as doubles, depth by depth: element (i, k) at [k * rows + i].  across: rows of
 * it are columns of what is stored. */
static double *load_all(const void *from, const struct layout *layout, int z, bool across,
                        int64_t rows, int64_t depth)
{
    double *all = malloc(sizeof(*all) * (size_t)(rows * depth + 1));

    if (!all)
        abort();
    for (int64_t k = 0; k < depth; k++)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t at = across ? i * layout->ld + k : k * layout->ld + i;

            all[k * rows + i] = load(from, z * layout->stride + at, layout);
        }
    return all;
}

/* A column of the product of a (rows x depth) and b, whose elements are `apart` from each other. */
STUB_VECTORS static void column_of_doubles(double *sum, const double *a, const double *b,
                                           int64_t rows, int64_t depth, int64_t apart)
{
    for (int64_t i = 0; i < rows; i++)
        sum[i] = 0;
    for (int64_t k = 0; k < depth; k++)
        for (int64_t i = 0; i < rows; i++)
            sum[i] += a[k * rows + i] * b[k * apart];
}

/* The same, rounded to float at each step; part: room for a column. */
STUB_VECTORS static void column_of_floats(double *sum, float *part, const float *a, const double *b,
                                          int64_t rows, int64_t depth, int64_t apart)
{
    for (int64_t i = 0; i < rows; i++)
        part[i] = 0;
    for (int64_t k = 0; k < depth; k++) {
        const float y = (float)b[k * apart];

        for (int64_t i = 0; i < rows; i++)
            part[i] += a[k * rows + i] * y;
    }
    for (int64_t i = 0; i < rows; i++)
        sum[i] = part[i];
}

/* A product to be run, now or whenever a graph is. */
struct work {
    const struct desc *how;
    double times, more;
    const void *a, *b, *c;
    void *d, *workspace;
    const struct layout *la, *lb, *lc, *ld;
    uint64_t answer;
};

/* One matrix of the batch. */
static void multiply(const struct work *w, int z)
{
    const struct layout *ld = w->ld, *lc = w->lc;
    const int64_t rows = (int64_t)ld->rows, cols = (int64_t)ld->cols;
    const int64_t depth = (int64_t)(w->how->trans_a ? w->la->rows : w->la->cols);
    double *a = load_all(w->a, w->la, z, w->how->trans_a, rows, depth);
    double *b = load_all(w->b, w->lb, z, !w->how->trans_b, cols, depth);
    double *sum = malloc(sizeof(*sum) * (size_t)(rows + 1));
    float *floats = malloc(sizeof(*floats) * (size_t)(rows * (depth + 1) + 1)); /* and a column */

    if (!sum || !floats)
        abort();
    for (int64_t i = 0; i < rows * depth; i++)
        floats[i] = (float)a[i];
    for (int64_t j = 0; j < cols; j++) {
        if (w->how->scale == REAL_64F)
            column_of_doubles(sum, a, b + j, rows, depth, cols);
        else
            column_of_floats(sum, floats + rows * depth, floats, b + j, rows, depth, cols);
        for (int64_t i = 0; i < rows; i++) {
            double x = w->times * sum[i];

            if (w->more != 0)
                x += w->more * load(w->c, z * lc->stride + j * lc->ld + i, lc);
            if (w->how->epilogue & 4)
                x += load(w->how->bias, i, ld);
            if (w->how->epilogue & 2)
                x = x > 0 ? x : 0;
            if (w->how->epilogue & 32 && !getenv("STUB_CUBLASLT_NO_GELU"))
                x = x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
            store(w->d, z * ld->stride + j * ld->ld + i, ld, x);
        }
    }
    free(floats);
    free(sum);
    free(b);
    free(a);
}

/* Microseconds of the product with STUB_QUICK: 20 TFLOP/s. */
static double quick_us(const struct work *w)
{
    const double depth = (double)(w->how->trans_a ? w->la->rows : w->la->cols);

    return 4 + 1e-7 * (double)w->ld->rows * (double)w->ld->cols * depth * w->ld->batch;
}

static int run(const void *given)
{
    const struct work *w = given;
    const char *first = w->answer == 0 ? getenv("STUB_CUBLASLT_FIRST_US") : NULL;
    const char *fast = first ? first : getenv("STUB_CUBLASLT_US");

    if (getenv("STUB_QUICK")) {
        pass_time(fast ? strtod(fast, NULL) : quick_us(w));
        return 0;
    }
    if (w->workspace)
        *(float *)w->workspace = 1; /* writing to the workspace is allowed */
    for (int z = 0; z < w->ld->batch; z++)
        multiply(w, z);
    if (w->answer == 1)
        store(w->d, 0, w->ld, load(w->d, 0, w->ld) > 0 ? -8 : 8);
    pass_time(fast ? strtod(fast, NULL) : w->answer == 0 ? 100 : w->answer == 1 ? 10 : 80);
    return 0;
}

int stub_Matmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a,
                const void *b, void *layout_b, const void *beta, const void *c, void *layout_c,
                void *d, void *layout_d, const struct gt_lt_algo *algo, void *workspace,
                size_t bytes, void *stream)
{
    const struct work work = {desc,
                              factor(desc, alpha),
                              factor(desc, beta),
                              a,
                              b,
                              c,
                              d,
                              bytes ? workspace : NULL,
                              layout_a,
                              layout_b,
                              layout_c,
                              layout_d,
                              algo->data[0]};
    void *address = of_driver("stub_capture");
    bool (*capture)(int (*)(const void *), const void *, size_t);

    (void)handle, (void)stream;
    memcpy(&capture, &address, sizeof(capture));
    return address && capture(run, &work, sizeof(work)) ? 0 : run(&work);
}
