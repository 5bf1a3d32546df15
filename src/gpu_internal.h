/* gpu_internal.h - what gpu.c (device, memory, events) and module.c (images, launches) share. */
#ifndef GT_GPU_INTERNAL_H
#define GT_GPU_INTERNAL_H

#include "cuda_api.h"
#include "gpu.h"

struct gt_gpu {
    struct gt_driver_api cu;
    struct gt_device device;
    int ordinal, cu_device;
    void *context, *stream;
    bool guest, retained, current;
    bool poisoned;
};

/* The sentence for a failed driver call; notes sticky and lost devices. */
int gt_gpu_fail(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err);

/* Make the context current for a guest, and undo it. */
int gt_gpu_enter(struct gt_gpu *gpu, bool *pushed, struct gt_err *err);
void gt_gpu_leave(struct gt_gpu *gpu, bool pushed);

#endif
