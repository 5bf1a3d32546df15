/* groups.cuh - products of groups, whose sizes lie in device memory: the ends of the groups along m
 * (a matrix of B for each group) or along k (a matrix of D for each), as the problem's by= says.
 * Rows of D behind the end of the last group are not written, and no k behind it is read. */
#ifndef GT_GROUPS_CUH
#define GT_GROUPS_CUH

#include "common/more.cuh"

#define GT_BY_M 0
#define GT_BY_K 1

#ifndef GT_GROUPS_BY
#define GT_GROUPS_BY GT_BY_M
#endif

/* The group that has row or k `at`: the first one whose end is behind it; more.groups if there is
 * none. */
GT_DEVICE int gt_group_of(const gt_more &more, long long at)
{
    int first = 0, count = (int)more.groups;

    while (count > 0) {
        const int half = count / 2;
        if (more.sizes[first + half] > at) {
            count = half;
        } else {
            first += half + 1;
            count -= half + 1;
        }
    }
    return first;
}

/* The place of a group's first row or k, and the place behind its last one. */
GT_DEVICE long long gt_group_begin(const gt_more &more, int group)
{
    return group > 0 ? more.sizes[group - 1] : 0;
}

GT_DEVICE long long gt_group_end(const gt_more &more, int group)
{
    return more.sizes[group];
}

#endif
