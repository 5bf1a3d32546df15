/* gemm_layout.cuh - part of gemm.cu: sizes that follow from its parameters. */
#ifndef GT_MMA_GEMM_LAYOUT_CUH
#define GT_MMA_GEMM_LAYOUT_CUH

typedef gt_element<GT_TYPE>::type Element;
constexpr int SIZE = (int)sizeof(Element);
constexpr int BK = BK_BYTES / SIZE;
constexpr int THREADS = (BM / WM) * (BN / WN) * WARPS_K * 32;
constexpr int STEPS = BK_BYTES / 32 / WARPS_K; /* of a warp in a tile */
/* Copies under masks, for tiny products: tile rows and columns are two dimensions of the grid. This
 * is no constant, since all constants become symbols of the cubin, whatever the point. */
#define MASKED (PATH_A == 3 || PATH_B == 3)

static_assert(WM % 16 == 0 && WN % 16 == 0, "a warp tile is made of 16 x 16 elements");
static_assert(STEPS >= 2 && STAGES >= 2, "the pipeline overlaps at least two steps and two tiles");

#endif
