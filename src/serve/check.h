/* check.h - stage: compares the result of every n-th served call of a problem with cuBLAS's result
 * (GEMMTUNE_CHECK=n).
 *
 * Both results stay on the device, where kernels of templates/proof/served.cu find the elements
 * that differ most and compute these elements in float64; a few numbers come back.  If these
 * kernels cannot be compiled or loaded, both results and the operands are copied to the host and
 * compared there. */
#ifndef GT_CHECK_H
#define GT_CHECK_H

#include "serve/session.h"

struct gt_nvrtc;

/* Makes a checker for the primary context of a device, whose arch is, say, 90.  The checker lives
 * as long as the process.  If nvrtc is NULL, or the kernels cannot be loaded, it compares on the
 * host, and *err says why; for nvrtc NULL the caller has set *err.  Returns NULL if there is no
 * memory. */
struct gt_checker *gt_checker_new(const struct gt_serve_driver *driver, void *context, int ordinal,
                                  int arch, struct gt_nvrtc *nvrtc, struct gt_err *err);

/* A call of cuBLAS's own product for comparisons: `run` writes the result to d and reads C at c. */
struct gt_reference {
    int (*run)(const struct gt_reference *reference, const void *c, void *d);
    const void *real; /* struct gt_real or gt_real_lt */
    void *handle;     /* cuBLAS's handle; NULL: it is in call */
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
 * Any other reason: D is unchanged. */
enum gt_reason gt_check(const struct gt_checking *checking);

#endif
