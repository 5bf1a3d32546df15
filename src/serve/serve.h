/* serve.h - stage: serves a product that a program asks cuBLAS for, or tells the caller to leave it
 * to cuBLAS.  The hooks (hooks.c) call it on the program's own threads. */
#ifndef GT_SERVE_H
#define GT_SERVE_H

#include "serve/handle.h"

/* true: the product is enqueued.  gemm: without what the handle says. */
bool gt_serve_gemm(const struct gt_real *real, void *handle, const struct gt_gemm *gemm);

/* The same for cublasLtMatmul, whose arguments these are. */
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

/* A handle was made: what is remembered of an older one at its address is forgotten.  If the
 * device was reset since a context's first product, nothing is served from now on. */
void gt_serve_created(void *handle);

/* A handle is about to be destroyed. */
void gt_serve_destroyed(void *handle);

/* Where a setter's value is noted; NULL: nowhere.  begin: the session begins for it, as a getter
 * will not tell later. */
struct gt_handle *gt_serve_handle(void *handle, bool begin);

#endif
