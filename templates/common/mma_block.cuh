/* mma_block.cuh - D = A B + D by warp, where the tensor cores multiply by factors of blocks along
 * k: sm_120a, sm_120f, sm_121a. Fragments are those of mma.cuh; an instruction has 32 bytes of k.
 *
 * A lane gives a word of factors of A, and one of B. Of a word, FP8 uses one byte, of 32 of k
 * (ue8m0, a power of two: 2^(byte - 127)); FP4 all four, of 16 of k each (ue4m3, e4m3 without its
 * sign). Of the four lanes of a group
 *
 *            lane 0     lane 1      lane 2     lane 3
 *    A       row group  row group+8 the same two of another          lanes 2 pair, 2 pair + 1 count
 *                                   matrix
 *    B       column group of four matrices                           lane `quarter` counts
 *
 * so that a word of A serves two instructions, and a word of B four. */
#ifndef GT_MMA_BLOCK_CUH
#define GT_MMA_BLOCK_CUH

#include "common/mma.cuh"
#include "common/types.cuh"

/* A word of factors of each operand, and which of the group's lanes and which byte count. */
struct gt_block_factors {
    unsigned a, b;
    unsigned short pair, quarter, byte;
};

#ifndef GT_EMULATE

#define GT_MMA_BLOCK(name, text)                                                                \
    GT_DEVICE void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2],             \
                        const gt_block_factors &by)                                             \
    {                                                                                           \
        asm volatile("mma.sync.aligned." text                                                   \
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, " \
                     "{%11, %12}, {%13}, {%11, %14};"                                           \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                           \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),        \
                       "r"(by.a), "h"(by.byte), "h"(by.pair), "r"(by.b), "h"(by.quarter));      \
    }
#define GT_MMA_BLOCK_F8(type)                                                                     \
    GT_MMA_BLOCK(gt_mma_block_##type,                                                             \
                 "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32." #type "." #type \
                 ".f32.ue8m0")
GT_MMA_BLOCK_F8(e4m3)
GT_MMA_BLOCK_F8(e5m2)
GT_MMA_BLOCK(gt_mma_block_e2m1,
             "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3")
#undef GT_MMA_BLOCK_F8
#undef GT_MMA_BLOCK

#endif

/* By the type of A and B. */
template <int code>
GT_DEVICE void gt_mma_block(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                            const gt_block_factors &by)
{
    if constexpr (code == GT_E4M3)
        gt_mma_block_e4m3(d, a, b, by);
    else if constexpr (code == GT_E5M2)
        gt_mma_block_e5m2(d, a, b, by);
    else
        gt_mma_block_e2m1(d, a, b, by);
}

#endif
