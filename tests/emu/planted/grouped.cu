/* grouped.cu - test: the groups of templates/grouped with one fault at a time, which the emulator
 * must find. */
#include "common/tensor.cuh"
#include "common/groups.cuh"

#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif

/* A row at the end of its group is the next group's. */
GT_DEVICE int planted_group_of(const gt_more &more, long long at)
{
    const int found = gt_group_of(more, at + (FAULT == 1));

    return FAULT == 2 && found == more.groups ? found - 1 : found;
}

/* The depth of a group begins, or ends, with a neighbour's. */
GT_DEVICE long long planted_begin(const gt_more &more, int group)
{
    return FAULT == 3 ? 0 : gt_group_begin(more, group);
}

GT_DEVICE long long planted_end(const gt_more &more, int group)
{
    const int last = (int)more.groups - 1;

    return gt_group_end(more, FAULT == 4 && group < last ? group + 1 : group);
}

#define gt_group_of    planted_group_of
#define gt_group_begin planted_begin
#define gt_group_end   planted_end
#include "grouped/naive.cu"
