/* serves.h - test: what a kernel serves, over all entries of "serves" or for one type. */
#ifndef GT_TEST_SERVES_H
#define GT_TEST_SERVES_H

#include "kernel/kernel.h"

/* All that some entry serves. */
static inline struct gt_serves gt_serves_any(const struct gt_kernel *kernel)
{
    struct gt_serves any = kernel->entry[0];

    for (size_t i = 1; i < kernel->entries; i++) {
        const struct gt_serves *entry = &kernel->entry[i];

        any.types |= entry->types;
        any.outs |= entry->outs;
        any.layouts |= entry->layouts;
        any.epilogues |= entry->epilogues;
        any.batched |= entry->batched;
        any.min_cc = entry->min_cc < any.min_cc ? entry->min_cc : any.min_cc;
        any.max_cc = entry->max_cc > any.max_cc ? entry->max_cc : any.max_cc;
        any.max_m = entry->max_m > any.max_m ? entry->max_m : any.max_m;
        any.accuracy = entry->accuracy < any.accuracy ? entry->accuracy : any.accuracy;
    }
    return any;
}

/* The first entry for operands of the type and, unless it is negative, a D of type `out`. */
static inline const struct gt_serves *gt_serves_of(const struct gt_kernel *kernel, int type,
                                                   int out)
{
    for (size_t i = 0; i < kernel->entries; i++)
        if (kernel->entry[i].types >> type & 1 && (out < 0 || kernel->entry[i].outs >> out & 1))
            return &kernel->entry[i];
    return NULL;
}

/* Gives the problem the scales and sums that the entry lists last, and groups where it has them. */
static inline void gt_serves_words(struct gt_problem *problem, const struct gt_serves *entry)
{
    if (entry->scale_a.count)
        problem->scale_a = entry->scale_a.scale[entry->scale_a.count - 1];
    if (entry->scale_b.count)
        problem->scale_b = entry->scale_b.scale[entry->scale_b.count - 1];
    problem->groups = entry->sizes ? 5 : 0;
    problem->by =
        entry->sizes && !(entry->by >> GT_GROUPS_BY_M & 1) ? GT_GROUPS_BY_K : GT_GROUPS_BY_M;
    problem->sums = entry->sums >> GT_SUMS_PROMOTED & 1 ? GT_SUMS_PROMOTED : GT_SUMS_FAST;
}

#endif
