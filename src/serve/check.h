/* check.h - stage: compares every n-th served call of a problem with cuBLAS's result for it
 * (GEMMTUNE_CHECK=n).
 *
 * Both results stay on the device, where kernels of templates/proof/served.cu find the elements
 * that differ most and compute these in float64; a few numbers come back.  Where these kernels
 * cannot be had, both results and the operands are copied to the host and compared there. */
#ifndef GT_CHECK_H
#define GT_CHECK_H

#include "serve/session.h"

struct gt_nvrtc;

/* Makes a checker for the primary context of a device, whose arch is, say, 90.  It lives as long as
 * the process.  nvrtc NULL, or kernels that cannot be loaded: it compares on the host, and *err
 * (which for nvrtc NULL is the caller's) says why.  NULL: no memory. */
struct gt_checker *gt_checker_new(const struct gt_serve_driver *driver, void *context, int ordinal,
                                  int arch, struct gt_nvrtc *nvrtc, struct gt_err *err);

/* cuBLAS's own product, for comparisons: into d, with C at c. */
struct gt_reference {
    int (*run)(const struct gt_reference *reference, const void *c, void *d);
    const void *real; /* struct gt_real or gt_real_lt */
    void *handle;     /* of cuBLAS; NULL: see call */
    const void *call; /* struct gt_gemm, or gt_matmul */
};

struct gt_checking {
    struct gt_session *session;
    struct gt_entry *entry;
    const struct gt_gemm *gemm;
    void *stream;
    const struct gt_operands *operands;
    const struct gt_reference *reference;
};

/* Runs both products, waits for the stream and compares them.  GT_SERVED: D holds the product.  If
 * the winner's was wrong, D holds cuBLAS's product, and the problem is left to cuBLAS from now on.
 * Any other reason: D is as it was before. */
enum gt_reason gt_check(const struct gt_checking *checking);

#endif
