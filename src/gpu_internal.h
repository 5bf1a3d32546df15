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

/* Tensor maps of a geometry, encoded but for their addresses.  Replacing an address is host
 * arithmetic on the map: gt_module_maps_point needs no lock, no context and no memory. */
struct gt_module_maps {
    size_t count;
    struct {
        bool used;
        enum gt_map_operand operand;
        int64_t offset;
        unsigned char opaque[sizeof(struct gt_map)]; /* aligned when it is copied out */
    } map[GT_MAX_MAPS];
};

/* GT_ERANGE: the driver refuses a map, or is too old to know any. */
int gt_module_maps_encode(struct gt_module_maps *maps, struct gt_gpu *gpu,
                          const struct gt_geometry *geometry, struct gt_err *err);

/* The maps for these operands; what is not used is left undefined. */
int gt_module_maps_point(struct gt_maps *to, const struct gt_module_maps *maps, struct gt_gpu *gpu,
                         const struct gt_args *args, struct gt_err *err);

/* gt_gpu_fail, but GT_ERANGE where the call was refused for what was asked. */
int gt_gpu_refuse(struct gt_gpu *gpu, int result, const char *call, struct gt_err *err);

/* Make the context current for a guest, and undo it. */
int gt_gpu_enter(struct gt_gpu *gpu, bool *pushed, struct gt_err *err);
void gt_gpu_leave(struct gt_gpu *gpu, bool pushed);

#endif
