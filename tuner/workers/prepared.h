/* prepared.h - a candidate with what is computed of it: its geometry and the key of its cubin.  The
 * compile pool makes it (gt_compile_pool_prepare), once for each candidate unless another one
 * took its place among the last 256; the GPU worker is sent it, a compile worker its request. */
#ifndef GT_PREPARED_H
#define GT_PREPARED_H

#include "base/digest.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"

struct gt_prepared {
    struct gt_candidate candidate;
    struct gt_err why; /* a code other than GT_OK: the candidate cannot be launched or rendered */
    struct gt_geometry geometry;
    char key[GT_DIGEST_HEX];
};

/* Candidates that were prepared of late.  A zeroed one with `nvrtc` set is empty. */
#define GT_PREPARED_KEPT 256
struct gt_preparing {
    int nvrtc; /* it is part of the key */
    struct {
        struct gt_problem problem; /* the candidate's may be gone */
        struct gt_prepared prepared;
    } kept[GT_PREPARED_KEPT];
};

/* GT_ENOMEM, and nothing else: another failure is prepared->why. */
int gt_prepare(struct gt_preparing *preparing, const struct gt_candidate *candidate,
               struct gt_prepared *prepared, struct gt_err *err);

/* What is asked of the compiler; source: the candidate's, rendered. */
struct gt_compile_request gt_prepared_request(const struct gt_prepared *prepared,
                                              const char *source);

#endif
