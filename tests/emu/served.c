/* served.c - test: the device and the types that a kernel is run for (served.h). */
#include "served.h"

#include "problem/problem.h"
#include "tests/serves.h"

void gt_emu_device(struct gt_device *device, const struct gt_kernel *kernel, int sms)
{
    const struct gt_serves any = gt_serves_any(kernel);

    *device = (struct gt_device){
        .name = "emulated",
        .ordinal = -1,
        .profile = true,
        .cc = 90,
        .sms = sms,
        .smem_block = 232448,
        .smem_sm = 233472,
        .smem_reserved = 1024,
        .regs_sm = 65536,
        .max_threads_sm = 2048,
        .max_blocks_sm = 32,
        .l2_bytes = 1 << 20,
        .chained = true, /* points for chains alone are run, too */
        .memory_bytes = (int64_t)1 << 32,
        .clock_mhz = 1000,
        .memory_gbps = 100,
        .l2_gbps = 200,
        .fma_lanes = 128,
    };
    if (device->cc < any.min_cc)
        device->cc = any.min_cc;
    if (device->cc > any.max_cc)
        device->cc = any.max_cc;
}

/* Whether there is a D of type `out` for operands of `type`: s32 holds sums of 8-bit integers. */
static bool fits(enum gt_dtype type, enum gt_dtype out)
{
    if (out == GT_S32)
        return type == GT_S8;
    return out != GT_TF32;
}

static bool has_type(const struct gt_emu_types *types, size_t count, bool of_d, int wanted)
{
    for (size_t i = 0; i < count; i++)
        if ((of_d ? types[i].out : types[i].type) == (enum gt_dtype)wanted)
            return true;
    return false;
}

/* Adds the pair if the kernel serves it and one side of it is new; the default pairs come first. */
static void add_types(struct gt_emu_types *types, size_t *count, const struct gt_kernel *kernel,
                      int type, int out)
{
    enum gt_accuracy least = gt_dtype_default_accuracy((enum gt_dtype)type);
    const struct gt_serves *entry = gt_serves_of(kernel, type, out);

    if (!entry || !fits((enum gt_dtype)type, (enum gt_dtype)out) ||
        (has_type(types, *count, false, type) && has_type(types, *count, true, out)))
        return;
    types[(*count)++] = (struct gt_emu_types){(enum gt_dtype)type, (enum gt_dtype)out,
                                              entry->accuracy > least ? entry->accuracy : least};
}

size_t gt_emu_types_of(struct gt_emu_types *types, const struct gt_kernel *kernel)
{
    size_t count = 0;
    for (int type = 0; type < GT_DTYPE_COUNT; type++)
        add_types(types, &count, kernel, type, (int)gt_dtype_default_out((enum gt_dtype)type));
    for (int type = 0; type < GT_DTYPE_COUNT; type++)
        for (int out = 0; out < GT_DTYPE_COUNT; out++)
            add_types(types, &count, kernel, type, out);
    return count;
}
