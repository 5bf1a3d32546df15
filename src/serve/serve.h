/* serve.h - stage: serves a product that a program asks cuBLAS for, or tells the caller to leave it
 * to cuBLAS.  The hooks (hooks.c) call it on the program's own threads. */
#ifndef GT_SERVE_H
#define GT_SERVE_H

#include "serve/handle.h"

/* true: the product is enqueued.  gemm: the call's arguments, without the handle's settings. */
bool gt_serve_gemm(const struct gt_real *real, void *handle, const struct gt_gemm *gemm);

/* As gt_serve_gemm, for cublasLtMatmul, whose arguments are the members. */
struct gt_matmul {
    void *handle, *desc;
    const void *alpha, *a;
    void *la;
    const void *b;
    void *lb;
    const void *beta, *c;
    void *lc, *d, *ld, *algo, *workspace;
    size_t workspace_bytes;
    void *stream;
};
bool gt_serve_matmul(const struct gt_real_lt *real, const struct gt_matmul *matmul);

/* Counts a product of arrays of matrices by pointer, which cuBLAS computes. */
void gt_serve_arrays(void);

/* To be called after a handle was made: the settings of an older handle at its address are
 * forgotten.  If the device was reset since a context's first product, nothing is served from now
 * on. */
void gt_serve_created(void *handle);

/* To be called before a handle is destroyed. */
void gt_serve_destroyed(void *handle);

/* The slot in which a setter's value is noted; NULL: none.  begin: the session begins for the
 * value, because no getter tells it later. */
struct gt_handle *gt_serve_handle(void *handle, bool begin);

#endif
