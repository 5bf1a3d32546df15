/* edge.cuh - part of the kernels for few rows: neighbouring elements of an operand where it ends.
 * These are functions of their own: inlined, they would fill the instruction cache with code that
 * is hardly ever run. */
#ifndef GT_SKINNY_EDGE_CUH
#define GT_SKINNY_EDGE_CUH

#include "common/tensor.cuh"

/* The first `valid` of `count` elements, zeros for the rest. */
template <int count>
__device__ __noinline__ typename gt_vec<GT_IN, count>::word_type edge(const GT_IN *from, int valid)
{
    gt_vec<GT_IN, count> elements;
    elements.word = typename gt_vec<GT_IN, count>::word_type();
#pragma unroll
    for (int i = 0; i < count; i++)
        if (i < valid)
            elements.at[i] = from[i];
    return elements.word;
}

/* The same of elements that are `step` apart. */
template <int count>
__device__ __noinline__ typename gt_vec<GT_IN, count>::word_type edge(const GT_IN *from,
                                                                      long long step, int valid)
{
    gt_vec<GT_IN, count> elements;
    elements.word = typename gt_vec<GT_IN, count>::word_type();
#pragma unroll
    for (int i = 0; i < count; i++)
        if (i < valid)
            elements.at[i] = from[i * step];
    return elements.word;
}

#endif
