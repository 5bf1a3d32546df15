/* check.h - stage: GEMMTUNE_CHECK: every n-th served call of a problem is computed by cuBLAS, too,
 * and the results are compared. */
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
bool gt_check_due(const struct gt_session *session, const struct gt_entry *entry);

/* Runs both, waits for the stream and compares.  GT_SERVED: D holds the product; if ours differed
 * it is cuBLAS's, and the problem is cuBLAS's from now on.  Another reason: D is as it was. */
enum gt_reason gt_check(const struct gt_checking *checking);

#endif
