/* module_maps.c - stage: encodes the tensor maps of a module's launches (module.c) for the operands
 * of each launch. */
#include "cuda/gpu_internal.h"

#include <string.h>

#include "base/err.h"
#include "problem/problem.h"

/* The CUtensorMapDataType.  TFLOAT32 rounds floats to TF32 as they are loaded, while wgmma would
 * cut off the lower bits.  The other types leave the bits as they are. */
static int data_type(enum gt_dtype element)
{
    enum { UINT8 = 0, INT32 = 3, FLOAT16 = 6, FLOAT32 = 7, BFLOAT16 = 9, TFLOAT32 = 11 };
    static const int types[GT_DTYPE_COUNT] = {
        [GT_F32] = FLOAT32, [GT_TF32] = TFLOAT32, [GT_F16] = FLOAT16, [GT_BF16] = BFLOAT16,
        [GT_E4M3] = UINT8,  [GT_E5M2] = UINT8,    [GT_S8] = UINT8,    [GT_S32] = INT32,
    };
    _Static_assert(GT_DTYPE_COUNT == 8, "a new type needs its CUtensorMapDataType here");

    return types[element];
}

/* 0, 1, 2, 3 for 0, least, 2 * least, 4 * least bytes: CUtensorMapSwizzle, CUtensorMapL2promotion.
 */
static int doublings(int bytes, int least)
{
    int code = 0;

    for (; bytes >= least; bytes /= 2)
        code++;
    return code;
}

static int encode(struct gt_gpu *gpu, struct gt_map *to, const struct gt_map_geometry *map,
                  uintptr_t address)
{
    static const uint32_t every[GT_MAX_MAP_RANK] = {1, 1, 1, 1,
                                                    1}; /* element along each dimension */

    return gpu->cu.TensorMapEncodeTiled(to, data_type(map->element), (unsigned)map->rank,
                                        (void *)address, map->dims, map->strides + 1, map->box,
                                        every, 0 /* not interleaved */, doublings(map->swizzle, 32),
                                        doublings(map->promotion, 64), 0 /* outside reads as 0 */);
}

static int fail(struct gt_gpu *gpu, int result, size_t index, struct gt_err *err)
{
    return gt_err_prefix(err, gt_gpu_refuse(gpu, result, "cuTensorMapEncodeTiled", err),
                         "tensor_maps[%zu]", index);
}

int gt_module_maps_set(struct gt_module_maps *maps, struct gt_gpu *gpu,
                       const struct gt_geometry *geometry, struct gt_err *err)
{
    const uintptr_t anywhere = 4096; /* only the address of a launch's own map matters */

    maps->count = 0;
    for (size_t i = 0; i < geometry->maps; i++) {
        struct gt_map encoded;
        int result;

        maps->map[i] = geometry->map[i];
        if (!geometry->map[i].used)
            continue;
        if (!gpu->cu.TensorMapEncodeTiled)
            return gt_err_set(err, GT_ERANGE,
                              "the driver is too old for tensor maps (cuTensorMapEncodeTiled)");
        result = encode(gpu, &encoded, &geometry->map[i], anywhere);
        if (result)
            return fail(gpu, result, i, err);
    }
    maps->count = geometry->maps;
    return GT_OK;
}

static const void *operand_base(const struct gt_args *args, enum gt_map_operand operand)
{
    switch (operand) {
    case GT_MAP_A:
        return args->a;
    case GT_MAP_B:
        return args->b;
    case GT_MAP_C:
        return args->c;
    case GT_MAP_D:
        return args->d;
    case GT_MAP_WORKSPACE:
        break;
    }
    return args->workspace;
}

int gt_module_maps_encode(struct gt_maps *to, const struct gt_module_maps *maps, struct gt_gpu *gpu,
                          const struct gt_args *args, struct gt_err *err)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct gt_map_geometry *map = &maps->map[i];
        uintptr_t address = (uintptr_t)operand_base(args, map->operand) + (uintptr_t)map->offset;
        int result = map->used ? encode(gpu, &to->map[i], map, address) : 0;

        if (result)
            return fail(gpu, result, i, err);
    }
    return GT_OK;
}
