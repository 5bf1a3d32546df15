/* gpu_internal.h - what gpu.c (device, memory, events) and module.c (images, launches) share. */
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
    _Atomic bool poisoned; /* by any thread that runs a plan */
};

/* The sentence for a failed driver call; notes sticky and lost devices. */
int gt_gpu_fail(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err);

/* The tensor maps of a geometry.  Each launch encodes them for its operands: 84 ns a map on an H200
 * host, against 3.5 us of a launch, need neither lock nor memory; maps kept and given another
 * address (cuTensorMapReplaceAddress) would cost 21 ns, but are not the same bytes. */
struct gt_module_maps {
    size_t count;
    struct gt_map_geometry map[GT_MAX_MAPS];
};

/* gt_gpu_fail, but GT_ERANGE where the call was refused for what was asked. */
int gt_gpu_refuse(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err);

/* Make the context current for a guest, and undo it. */
int gt_gpu_enter(struct gt_gpu *gpu, bool *pushed, struct gt_err *err);
void gt_gpu_leave(struct gt_gpu *gpu, bool pushed);

#endif
