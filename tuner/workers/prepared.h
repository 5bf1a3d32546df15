/* prepared.h - a prepared candidate: with its geometry and the key of its cubin.  The compile pool
 * prepares candidates (gt_compile_pool_prepare) and keeps up to 256, each until another candidate
 * takes its place.  The GPU worker is sent the prepared candidate, a compile worker its request. */
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

/* The prepared candidates that are kept.  A zeroed struct with `nvrtc` set has none. */
#define GT_PREPARED_KEPT 256
struct gt_preparing {
    int nvrtc; /* NVRTC's version, which is part of the key */
    struct {
        struct gt_problem problem; /* the candidate's may be gone, */
        struct gt_device device;   /* and another device may be where its device was */
        struct gt_prepared prepared;
    } kept[GT_PREPARED_KEPT];
};

/* The only error is GT_ENOMEM; any other failure is in prepared->why. */
int gt_prepare(struct gt_preparing *preparing, const struct gt_candidate *candidate,
               struct gt_prepared *prepared, struct gt_err *err);

/* The request to the compiler; source: the candidate's rendered source. */
struct gt_compile_request gt_prepared_request(const struct gt_prepared *prepared,
                                              const char *source);

#endif
