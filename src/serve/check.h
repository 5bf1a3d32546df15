/* check.h - stage: compares every n-th served call of a problem with cuBLAS's result for it
 * (GEMMTUNE_CHECK=n). */
#ifndef GT_CHECK_H
#define GT_CHECK_H

#include "serve/serve.h"
#include "serve/session.h"

struct gt_checking {
    struct gt_session *session;
    struct gt_entry *entry;
    const struct gt_gemm *gemm;
    void *stream;
    const struct gt_operands *operands;
    const struct gt_reference *reference;
};

/* Whether this call is one to compare. */
bool gt_check_due(const struct gt_session *session, struct gt_entry *entry);

/* Runs both products, waits for the stream and compares them.  GT_SERVED: D holds the product.  If
 * the winner's was wrong, D holds cuBLAS's product, and the problem is left to cuBLAS from now on.
 * Any other reason: D is as it was before. */
enum gt_reason gt_check(const struct gt_checking *checking);

#endif
