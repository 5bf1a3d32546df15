/* factors.cuh - of mma_scaled/gemm.cu: multiplies a lane's sums by the factors of their rows of A
 * and columns of B, where there are such factors. */
#ifndef GT_MMA_SCALED_FACTORS_CUH
#define GT_MMA_SCALED_FACTORS_CUH

GT_DEVICE void scale_sums(const gt_args &args, const gt_more &more, const Work &work,
                          const Position &p, const Products &products, ScaledSums &acc)
{
    const unsigned first_row = (unsigned)work.row + (unsigned)p.row;
    const unsigned first_column = (unsigned)work.column + (unsigned)p.column;
    float column[WN / 8][2];
#pragma unroll
    for (int j = 0; j < WN / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            column[j][e] = gt_factor<GT_SCALE_B>(
                more.scale_b, first_column + (unsigned)Columns::at(j, p.member * 2 + e),
                (unsigned)args.n);
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float row = gt_factor<GT_SCALE_A>(
                more.scale_a, first_row + (unsigned)Rows::at(i * 2 + half, p.group),
                (unsigned)args.m);
#pragma unroll
            for (int j = 0; j < WN / 8; j++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    acc.sum[i][j][half * 2 + e] =
                        (float)products.sum[i][j][half * 2 + e] * (row * column[j][e]);
        }
}

#endif
