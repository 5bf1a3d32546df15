/* operands.cuh - what a problem's operands have besides their types: the rendered source defines
 * what is not 0. The codes are those of gemmtune.h. */
#ifndef GT_OPERANDS_CUH
#define GT_OPERANDS_CUH

/* Kinds of scales. */
#define GT_SCALE_NONE   0
#define GT_SCALE_TENSOR 1
#define GT_SCALE_VECTOR 2
#define GT_SCALE_BLOCK  3

/* How a factor is stored. */
#define GT_FACTOR_F32   0
#define GT_FACTOR_UE8M0 1
#define GT_FACTOR_UE4M3 2
#define GT_FACTOR_BF16  3
#define GT_FACTOR_F16   4

/* How the factors of blocks lie. */
#define GT_ORDER_MN    0
#define GT_ORDER_K     1
#define GT_ORDER_TILED 2

#define GT_SUMS_FAST     0
#define GT_SUMS_PROMOTED 1

#ifndef GT_TYPE_B
#define GT_TYPE_B GT_TYPE
#endif
#ifndef GT_BIAS
#define GT_BIAS GT_OUT
#endif
#ifndef GT_SUMS
#define GT_SUMS GT_SUMS_FAST
#endif

/* _ROWS, _DEPTH: rows of op(A) or columns of op(B), and k, that share a factor of a block. */
#ifndef GT_SCALE_A
#define GT_SCALE_A GT_SCALE_NONE
#endif
#ifndef GT_SCALE_A_ROWS
#define GT_SCALE_A_ROWS 0
#endif
#ifndef GT_SCALE_A_DEPTH
#define GT_SCALE_A_DEPTH 0
#endif
#ifndef GT_SCALE_A_TYPE
#define GT_SCALE_A_TYPE GT_FACTOR_F32
#endif
#ifndef GT_SCALE_A_ORDER
#define GT_SCALE_A_ORDER GT_ORDER_MN
#endif
#ifndef GT_SCALE_A_TENSOR
#define GT_SCALE_A_TENSOR 0
#endif
#ifndef GT_SCALE_B
#define GT_SCALE_B GT_SCALE_NONE
#endif
#ifndef GT_SCALE_B_ROWS
#define GT_SCALE_B_ROWS 0
#endif
#ifndef GT_SCALE_B_DEPTH
#define GT_SCALE_B_DEPTH 0
#endif
#ifndef GT_SCALE_B_TYPE
#define GT_SCALE_B_TYPE GT_FACTOR_F32
#endif
#ifndef GT_SCALE_B_ORDER
#define GT_SCALE_B_ORDER GT_ORDER_MN
#endif
#ifndef GT_SCALE_B_TENSOR
#define GT_SCALE_B_TENSOR 0
#endif
#ifndef GT_SCALE_D
#define GT_SCALE_D GT_SCALE_NONE
#endif

#endif
