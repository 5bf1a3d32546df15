/* sums.cuh - of mma_scaled/gemm.cu: a lane's sums, with their factors, as the stores take them:
 * floats, whatever the products are added in. What is included behind this file means them by Sum
 * and Accumulator. */
#ifndef GT_MMA_SCALED_SUMS_CUH
#define GT_MMA_SCALED_SUMS_CUH

typedef Accumulator Products;

struct ScaledSums {
    float sum[WM / 16][WN / 8][4];

    /* As Accumulator's. */
    GT_DEVICE float get(int i, int j, int half, int e) const
    {
        return sum[i][j][half * 2 + e];
    }
};

typedef float ScaledSum;
#define Sum         ScaledSum
#define Accumulator ScaledSums

#endif
