/* call.h - vocabulary: a product as a program asks cuBLAS for it, the gemmtune problem of the same
 * product, and the reasons why a call is left to cuBLAS.
 *
 * Capturing and look-ups make the problem with the same function (gt_call_problem), so that the
 * captured and tuned problem is the one that is looked up. */
#ifndef GT_CALL_H
#define GT_CALL_H

#include <stdbool.h>
#include <string.h>

#include "gemmtune.h"
#include "serve/blas.h"

/* A product, column-major, as cuBLAS takes it. */
struct gt_gemm {
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, sa, sb, sc; /* strides: 0 where batch is 1 */
    int ta, tb, at, bt, ct;    /* types: cudaDataType */
    int compute;               /* cublasComputeType_t */
    int epilogue;              /* GT_EPILOGUE_ flags */
    const void *alpha, *beta;  /* host pointers to the scalars, whose type follows from `compute` */
    const void *a, *b, *c, *bias;
    void *d;
};

/* The settings of a call's cuBLAS handle. */
struct gt_scene {
    void *stream, *workspace;
    size_t workspace_bytes;
    int math;    /* cublasMath_t */
    bool varies; /* bits may differ between runs */
};

/* Why a call is left to cuBLAS: X(name, text). */
#define GT_REASON_MAP(X)                                                 \
    X(UNDECIDED, "not decided yet")                                      \
    X(OFF, "serving is off; a winner is there")                          \
    X(ONLY_SEEN, "calls are only recorded")                              \
    X(EMPTY, "m, n or k is 0")                                           \
    X(POINTERS, "scalars or pointers are not on the host")               \
    X(ALPHA, "alpha is 0, or a scalar is not exact in FP32")             \
    X(TYPES, "types that gemmtune does not compute so")                  \
    X(ARRAYS, "arrays of matrices by pointer")                           \
    X(SMS, "the program limits the multiprocessors")                     \
    X(CONTEXT, "no primary context of a GPU is current")                 \
    X(SHAPE, "a size, stride or alignment that gemmtune does not take")  \
    X(EPILOGUE, "an epilogue that gemmtune does not compute so")         \
    X(LAYOUT, "scales, orders or batch modes of cublasLt")               \
    X(UNTUNED, "not tuned on this device")                               \
    X(UNCONFIRMED, "its winner was in no final")                         \
    X(UNCOMPARED, "it was tuned where no cuBLASLt was found")            \
    X(MARGIN, "cuBLAS is as fast")                                       \
    X(VARIES, "the winner sums with atomics, which the program forbids") \
    X(NO_CUBIN, "its kernel is not in the cache; compile=1 compiles it") \
    X(NOT_LOADED, "the kernel cannot be loaded")                         \
    X(CAPTURE, "it needs what no capture of a graph allows")             \
    X(WORKSPACE, "its workspace is not there yet, or cannot be")         \
    X(FULL, "more problems than the table holds")                        \
    X(REFUSED, "the launch was refused")                                 \
    X(DIFFERED, "its result differed from cuBLAS's")                     \
    X(RESET, "the program has reset the device")                         \
    X(FAILED, "gemmtune could not begin")

enum gt_reason {
    GT_SERVED, /* no reason: the call is served */
#define GT_REASON_ENUM(name, text) GT_PASS_##name,
    GT_REASON_MAP(GT_REASON_ENUM)
#undef GT_REASON_ENUM
        GT_REASON_COUNT
};

/* "not tuned on this device"; "served" for GT_SERVED. */
const char *gt_reason_text(enum gt_reason reason);

/* Two calls with equal keys are the same problem.  All bytes of a key are set, so that keys can be
 * compared. */
struct gt_call_key {
    int64_t size[6];     /* m n k lda ldb ldc */
    int64_t batched[4];  /* batch and strides */
    const void *context; /* CUcontext */
    int16_t kind[12];    /* ta tb at bt, ct compute math epilogue, align has_beta varies 0 */
};

/* Compares word by word, because wider loads would wait for stores of single words that were just
 * made. */
static inline bool gt_call_same(const struct gt_call_key *x, const struct gt_call_key *y)
{
    uint64_t a, b;

    for (size_t i = 0; i < sizeof(*x); i += sizeof(a)) {
        memcpy(&a, (const char *)x + i, sizeof(a));
        memcpy(&b, (const char *)y + i, sizeof(b));
        if (a != b)
            return false;
    }
    return true;
}

/* Sets the scalars and key of a call.  Returns a reason if the call is left to cuBLAS. */
enum gt_reason gt_call_key(struct gt_call_key *key, float *alpha, float *beta,
                           const struct gt_gemm *gemm, const struct gt_scene *scene,
                           const void *context);

/* The row-major problem of a key: D^T = op(B)^T op(A)^T.  accuracy: the accuracy with which the
 * program's strict FP32 products may be computed instead.  no_tf32: products for which the program
 * allows TF32 are strict, too.  Returns a reason if gemmtune has no such problem. */
enum gt_reason gt_call_problem(struct gt_problem *problem, const struct gt_call_key *key,
                               enum gt_accuracy accuracy, bool no_tf32);

#endif
