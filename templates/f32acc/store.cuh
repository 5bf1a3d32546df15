/* store.cuh - of f32acc/gemm.cu: stores what a consumer has computed to D or to the workspace. */
#ifndef GT_F32ACC_STORE_CUH
#define GT_F32ACC_STORE_CUH

/* In the workspace the sums of parts of the depth follow what `split` writes. */
GT_DEVICE long long partial_begin(const gt_args &args)
{
    return split_layout_of(args).end;
}

#include "f32acc/reduce.cuh"

#include "f32acc/store_sums.cuh"

/* Whether an operand of the warp's 16 rows holds a value that has no parts; the same for all
 * lanes. */
GT_DEVICE bool is_special(const gt_args &args, const Work &work, int consumer)
{
    const SplitLayout layout = split_layout_of(args);
    const int row = work.row + consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;
    const int first = work.k / PACK_TILE, end = (int)gt_cdiv(work.k_end, PACK_TILE);
    const int last = min((int)gt_cdiv(work.column + BN, PACK_TILE), (int)layout.tiles_b);
    int found = 0;

    for (int k = first + (int)threadIdx.x % 32; k < end; k += 32) {
        if (row < args.m)
            found |= layout.words(args, true, work.batch, row / PACK_TILE)[k];
        for (int x = work.column / PACK_TILE; x < last; x++)
            found |= layout.words(args, false, work.batch, x)[k];
    }
    return any_lane(found);
}

/* Computes the warp's 16 rows of the tile from A and B themselves. */
GT_DEVICE void store_special(const gt_args &args, const Work &work, int consumer)
{
    const Target target(args, work.batch, work.split);
    const int first = work.row + consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;

    for (int e = (int)threadIdx.x % 32; e < 16 * BN; e += 32) {
        const int row = first + e / BN, column = work.column + e % BN;
        if (row >= args.m || column >= args.n)
            continue;
        const float sum = exact_element<8>(args, work.batch, row, column, work.k, work.k_end);
        target.put<1>(row, column, &sum);
    }
}

#endif
