/* gpu_internal.h - declarations that gpu.c (device, memory, events) and module.c (images, launches)
 * share. */
#ifndef GT_GPU_INTERNAL_H
#define GT_GPU_INTERNAL_H

#include <stdatomic.h>

#include "cuda/cuda_api.h"
#include "cuda/gpu.h"

struct gt_gpu {
    struct gt_driver_api cu;
    struct gt_device device;
    int ordinal, cu_device;
    void *context, *stream;
    uint64_t context_id; /* 0: the driver does not tell */
    bool guest, retained, current;
    _Atomic bool poisoned; /* set by any thread that runs a plan */
};

/* Sets the sentence of a call of the driver whose result is an error, and returns its code; a
 * context that the error destroyed is remembered as poisoned.  gt_gpu_refuse returns GT_ERANGE if
 * the driver refused the call because of its arguments. */
int gt_gpu_fail(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err);
int gt_gpu_refuse(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err);

/* As gt_gpu_fail and gt_gpu_refuse, where the result may be success; inline, because every launch
 * calls them. */
static inline int gt_gpu_check(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err)
{
    return result ? gt_gpu_fail(gpu, result, call, err) : GT_OK;
}

static inline int gt_gpu_accept(struct gt_gpu *gpu, int result, const char *call,
                                struct gt_err *err)
{
    return result ? gt_gpu_refuse(gpu, result, call, err) : GT_OK;
}

/* gt_gpu_enter makes the context current for a guest; gt_gpu_leave undoes that. */
int gt_gpu_enter(struct gt_gpu *gpu, bool *pushed, struct gt_err *err);
void gt_gpu_leave(struct gt_gpu *gpu, bool pushed);

#endif
