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
        .fma_f64 = 64,
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
    return out != GT_TF32 && gt_dtype_bits(out) >= 8 &&
           (gt_dtype_bits(type) >= 8 || type == GT_E2M1) &&
           gt_type_complex(out) == gt_type_complex(type);
}

static bool has_type(const struct gt_emu_types *types, size_t count, bool of_d, int wanted)
{
    for (size_t i = 0; i < count; i++)
        if ((of_d ? types[i].out : types[i].type) == (enum gt_dtype)wanted)
            return true;
    return false;
}

#define GROUPS 5 /* of a kernel that serves groups */

/* Adds the pair if the kernel serves it and one side of it is new; the default pairs come first. */
static void add_types(struct gt_emu_types *types, size_t *count, const struct gt_kernel *kernel,
                      int type, int out)
{
    enum gt_accuracy least = gt_dtype_default_accuracy((enum gt_dtype)type);
    const struct gt_serves *entry = gt_serves_of(kernel, type, out);

    if (!entry || !fits((enum gt_dtype)type, (enum gt_dtype)out) ||
        (has_type(types, *count, false, type) && has_type(types, *count, true, out)))
        return;
    types[(*count)++] = (struct gt_emu_types){
        .type = (enum gt_dtype)type,
        .out = (enum gt_dtype)out,
        .accuracy = entry->accuracy > least ? entry->accuracy : least,
        .groups = entry->sizes ? GROUPS : 0,
        .by = entry->by >> GT_GROUPS_BY_M & 1 ? GT_GROUPS_BY_M : GT_GROUPS_BY_K};
}

/* The i-th scale that an entry lists; none where it lists none. */
static struct gt_scale scale_at(const struct gt_served_scales *scales, size_t i)
{
    return scales->count ? scales->scale[i] : (struct gt_scale){0};
}

/* Gives the pairs of types the scales that the kernel serves, in turns, and adds pairs like the
 * first one until each combination of scales and sums is there. */
static void add_scales(struct gt_emu_types *types, size_t *count, const struct gt_kernel *kernel)
{
    const struct gt_serves *entry = &kernel->entry[0];
    const size_t of_a = entry->scale_a.count ? entry->scale_a.count : 1;
    const size_t of_b = entry->scale_b.count ? entry->scale_b.count : 1;
    const size_t pairs = *count;
    size_t at = 0;
    for (size_t i = 0; i < of_a * of_b * 2; i++) {
        const struct gt_scale a = scale_at(&entry->scale_a, i / 2 % of_a);
        const struct gt_scale b = scale_at(&entry->scale_b, i / 2 / of_a);
        const enum gt_sums sums = i % 2 ? GT_SUMS_PROMOTED : GT_SUMS_FAST;
        if (!(entry->sums >> sums & 1) || (!sums && (a.depth > 32 || b.depth > 32)))
            continue;
        if (at >= pairs)
            types[(*count)++] = types[0];
        types[at].scale_a = a;
        types[at].scale_b = b;
        types[at].sums = gt_type_f8(types[at].type) ? sums : GT_SUMS_FAST;
        at++;
    }
    for (size_t i = 1; i < kernel->entries; i++) { /* what other entries list first */
        const struct gt_serves *other = &kernel->entry[i];
        if (!(other->types >> types[0].type & 1))
            continue;
        types[*count] = types[0];
        types[*count].scale_a = scale_at(&other->scale_a, 0);
        types[*count].scale_b = scale_at(&other->scale_b, 0);
        types[(*count)++].sums = other->sums & 1 ? GT_SUMS_FAST : GT_SUMS_PROMOTED;
    }
    for (; at < pairs; at++) { /* more types than combinations */
        types[at].scale_a = types[0].scale_a;
        types[at].scale_b = types[0].scale_b;
        types[at].sums = gt_type_f8(types[at].type) ? types[0].sums : GT_SUMS_FAST;
    }
}

size_t gt_emu_types_of(struct gt_emu_types *types, const struct gt_kernel *kernel)
{
    size_t count = 0;
    for (int type = 0; type < GT_DTYPE_COUNT; type++)
        add_types(types, &count, kernel, type, (int)gt_dtype_default_out((enum gt_dtype)type));
    for (int type = 0; type < GT_DTYPE_COUNT; type++)
        for (int out = 0; out < GT_DTYPE_COUNT; out++)
            add_types(types, &count, kernel, type, out);
    if (kernel->entry[0].scale_a.count || kernel->entry[0].scale_b.count)
        add_scales(types, &count, kernel);
    for (size_t i = count; i-- > 0 && kernel->entry[0].by >> GT_GROUPS_BY_K & 1;) {
        types[count] = types[i]; /* those of groups along m once more with groups along k */
        types[count++].by = GT_GROUPS_BY_K;
    }
    for (int gate = GT_GATE_SECOND; gate <= GT_GATE_INTERLEAVED; gate++)
        if (kernel->entry[0].gates >> gate & 1) {
            types[count] = types[0];
            types[count++].gate = (enum gt_gate)gate;
        }
    return count;
}
