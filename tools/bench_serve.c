/* bench_serve.c - what a product of cuBLAS costs the program that asks for it; tools/bench-serve
 * runs it without and with libgemmtune_cublas.so, on stubs that compute nothing.
 *
 * Prints nanoseconds of a call: of cublasSgemm_v2, of cublasGemmEx, and of cublasSgemm_v2 with four
 * problems in turn.  Each is the least of many short runs, as an interruption only adds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "serve/blas.h"

#define CALLS 20000
#define RUNS  60

int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                   const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                   int ldc);
int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                 const void *a, int at, int lda, const void *b, int bt, int ldb, const void *beta,
                 void *c, int ct, int ldc, int compute, int algo);
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);

static float matrix[64 * 64] __attribute__((aligned(256)));
static const float alpha = 1, beta = 0;

static void single(void *handle, int i)
{
    (void)i;
    cublasSgemm_v2(handle, 0, 0, 64, 64, 64, &alpha, matrix, 64, matrix, 64, &beta, matrix, 64);
}

static void extended(void *handle, int i)
{
    (void)i;
    cublasGemmEx(handle, 0, 0, 64, 64, 64, &alpha, matrix, GT_CUDA_R_32F, 64, matrix, GT_CUDA_R_32F,
                 64, &beta, matrix, GT_CUDA_R_32F, 64, GT_COMPUTE_32F, -1);
}

static void turns(void *handle, int i)
{
    const int k = 16 << (i & 1), n = 32 << (i >> 1 & 1);

    cublasSgemm_v2(handle, 0, 0, 64, n, k, &alpha, matrix, 64, matrix, 64, &beta, matrix, 64);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double nanoseconds(void (*call)(void *, int), void *handle)
{
    double least = 0;

    for (int i = 0; i < 2000; i++) /* decided, and past the handle's first calls */
        call(handle, i);
    for (int run = 0; run < RUNS; run++) {
        const double begin = now();
        double took;

        for (int i = 0; i < CALLS; i++)
            call(handle, i);
        took = (now() - begin) / CALLS;
        if (!run || took < least)
            least = took;
    }
    return least;
}

int main(void)
{
    void *context, *handle;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context) ||
        cublasCreate_v2(&handle)) {
        fprintf(stderr, "bench_serve: the stubs do not start\n");
        return 1;
    }
    printf("%.1f %.1f %.1f\n", nanoseconds(single, handle), nanoseconds(extended, handle),
           nanoseconds(turns, handle));
    return 0;
}
