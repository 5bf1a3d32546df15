/* early.c - a library whose constructor and destructor multiply, as static objects of C++ may:
 * before the program begins, and after it has ended. */
#include <stdint.h>
#include <stdio.h>

#include "stub_blas.h"

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);

enum { N = 16 };

static void *handle;
static float *a, *b, *c;

static float *ones(void)
{
    uint64_t address = 0;
    float *at;

    if (cuMemAlloc_v2(&address, N * N * sizeof(*at)))
        return NULL;
    at = (float *)(uintptr_t)address;
    for (int i = 0; i < N * N; i++)
        at[i] = 1;
    return at;
}

static void multiply(const char *when)
{
    const float one = 1, zero = 0;
    int wrong = 0, rc;

    rc = cublasGemmEx(handle, GT_OP_N, GT_OP_N, N, N, N, &one, a, GT_CUDA_R_32F, N, b,
                      GT_CUDA_R_32F, N, &zero, c, GT_CUDA_R_32F, N, GT_COMPUTE_32F, -1);
    for (int i = 0; i < N * N; i++)
        wrong += c[i] != N;
    printf("%s: status %d, %d wrong elements\n", when, rc, wrong);
    fflush(stdout);
}

__attribute__((constructor)) static void begin(void)
{
    void *context = NULL;

    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent_v2(context);
    a = ones();
    b = ones();
    c = ones();
    cublasCreate_v2(&handle);
    multiply("before the program");
}

__attribute__((destructor)) static void end(void)
{
    multiply("after the program");
    cublasDestroy_v2(handle);
}
