/* tensor_maps.c - test: geometry -> the tensor maps that the emulated templates see
 * (tensor_maps.h).  Here struct gt_map has its fields, elsewhere on the host only its size. */
#define GT_EMULATE
#include "tensor_maps.h"

#include <string.h>

#include "problem/problem.h"

_Static_assert(sizeof(struct gt_map) == 128 && _Alignof(struct gt_map) == 64,
               "as large and as aligned as the driver's");

static void fill(struct gt_map *to, const struct gt_map_geometry *from, const void *operand)
{
    to->base = (unsigned char *)(uintptr_t)operand + from->offset;
    to->rank = from->rank;
    to->element_bytes = (int)from->strides[0];
    to->swizzle = from->swizzle;
    to->rounds = from->element == GT_TF32;
    for (int i = 0; i < from->rank; i++) {
        to->box[i] = from->box[i];
        to->dims[i] = (long long)from->dims[i];
        to->strides[i] = (long long)from->strides[i];
    }
}

void gt_emu_maps(struct gt_maps *maps, const struct gt_geometry *geometry,
                 const struct gt_args *args)
{
    const void *const operands[] = {[GT_MAP_A] = args->a,
                                    [GT_MAP_B] = args->b,
                                    [GT_MAP_C] = args->c ? args->c : args->d,
                                    [GT_MAP_D] = args->d,
                                    [GT_MAP_WORKSPACE] = args->workspace};

    memset(maps, 0, sizeof(*maps));
    for (size_t i = 0; i < geometry->maps; i++)
        if (geometry->map[i].used)
            fill(&maps->map[i], &geometry->map[i], operands[geometry->map[i].operand]);
}
