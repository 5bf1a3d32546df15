/* blocks.cuh - of mma_scaled/gemm.cu: factors of blocks along k, which change every 128 of k: A has
 * one for each row, 128 x 128 elements of B have one. The block of k is multiplied like a product
 * of its own, by the same ring of stages, which runs empty between two of them; then its sums are
 * added in FP32. This is right for every layout and alignment, and far from fast. */
#ifndef GT_MMA_SCALED_BLOCKS_CUH
#define GT_MMA_SCALED_BLOCKS_CUH

#if GT_SCALE_A == GT_SCALE_BLOCK

static_assert(GT_SCALE_A_ROWS == 1 && GT_SCALE_A_DEPTH == 128 && GT_SCALE_A_ORDER == GT_ORDER_MN &&
                  GT_SCALE_A_TYPE == GT_FACTOR_F32 && !GT_SCALE_A_TENSOR,
              "a factor for each row of A and 128 of k, neighbours along m");
static_assert(GT_SCALE_B == GT_SCALE_BLOCK && GT_SCALE_B_ROWS == 128 && GT_SCALE_B_DEPTH == 128 &&
                  GT_SCALE_B_ORDER == GT_ORDER_K && GT_SCALE_B_TYPE == GT_FACTOR_F32 &&
                  !GT_SCALE_B_TENSOR,
              "a factor for 128 x 128 of B, neighbours along k");

/* Adds the sums of k block `block`, multiplied by its factors, to those of all. Beyond D's edges
 * the last row's and column's factors are taken: such sums are not stored. */
GT_DEVICE void add_block(const gt_args &args, const gt_more &more, const Work &work,
                         const Position &p, long long block, const Products &acc,
                         float (&all)[WM / 16][WN / 8][4])
{
    const float *const a = static_cast<const float *>(more.scale_a) + block * more.lsa;
    const float *const b = static_cast<const float *>(more.scale_b) + block;
    float column[WN / 8][2];
#pragma unroll
    for (int j = 0; j < WN / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            column[j][e] = __ldg(
                b + min(work.column + p.column + Columns::at(j, p.member * 2 + e), args.n - 1) /
                        128 * more.lsb);
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float row =
                __ldg(a + min(work.row + p.row + Rows::at(i * 2 + half, p.group), args.m - 1));
#pragma unroll
            for (int j = 0; j < WN / 8; j++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    all[i][j][half * 2 + e] = fmaf(acc.sum[i][j][half * 2 + e], row * column[j][e],
                                                   all[i][j][half * 2 + e]);
        }
}

/* Sums over the block's k, with factors. */
GT_DEVICE void accumulate_blocks(const gt_args &args, const gt_more &more, const Work &work,
                                 long long batch, char *shared, Position &p, Products &acc)
{
    float all[WM / 16][WN / 8][4] = {};
    Work part = work;

#pragma unroll 1
    do {
        const long long block = part.k.first / 128;
        part.k.end = min((block + 1) * 128, work.k.end);
        acc.clear();
        accumulate(args, part, batch, shared, p, acc);
        gt_cp_async_wait<0>();
        gt_sync(); /* the ring is filled again for the next block */
        if (part.k.first < part.k.end)
            add_block(args, more, work, p, block, acc, all);
        part.k.first = part.k.end;
    } while (part.k.end < work.k.end);
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int j = 0; j < WN / 8; j++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                acc.sum[i][j][r] = all[i][j][r];
}

#endif

#endif
