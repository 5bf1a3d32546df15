/* served.h - test: the types and the emulated device that a kernel is run for. */
#ifndef GT_EMU_SERVED_H
#define GT_EMU_SERVED_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "operands.h"

/* All that the kernel serves of types: each type of A and B with the first type of D that fits it,
 * then each type of D not yet among them with the first of A and B that fits; the same once more
 * with groups along k where the kernel serves them.  Fills types[0 ..
 * return value), at most GT_EMU_TYPES. */
size_t gt_emu_types_of(struct gt_emu_types *types, const struct gt_kernel *kernel);
#define GT_EMU_TYPES \
    (4 * GT_DTYPE_COUNT + 2 * GT_MAX_SERVED_SCALES * GT_MAX_SERVED_SCALES + GT_MAX_SERVES)

/* A GPU with few SMs, so that split and persistent kernels need few blocks: 1, or
 * GT_EMU_SEVERAL_SMS for points that are for several. */
void gt_emu_device(struct gt_device *device, const struct gt_kernel *kernel, int sms);
#define GT_EMU_SEVERAL_SMS 5

#endif
