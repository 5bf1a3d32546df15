/* store_sums.cuh - of the templates of f32acc with wgmma: stores a consumer's sums to D or, where a
 * launch adds parts of the depth, to the workspace. */
#ifndef GT_F32ACC_STORE_SUMS_CUH
#define GT_F32ACC_STORE_SUMS_CUH

/* Stores those of two neighbours of a row that exist: `left` is the number of elements from the
 * first one to the row's end, at least 1. The arithmetic is there once for both cases, because half
 * of the compiler's time would go to the copies of it for every pair. */
GT_DEVICE void store_pair(const gt_typed_output &output, float *d, const float *c, int column,
                          int left, const float *sum)
{
    const bool whole = VEC_C > 1 && left > 1;
    gt_vec<float, 2> old = {}, pair;

    if (output.beta != 0.0f) {
        if (whole)
            old = gt_load_vec<float, 2>(c);
        else
            old.at[0] = c[0];
        if (!whole && left > 1)
            old.at[1] = c[1];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) /* behind D's last column its bias is read once more */
        pair.at[i] = gt_typed_finish(output, sum[i], old.at[i], column + min(i, left - 1));
    if (whole) {
        gt_store_vec<float, 2>(d, pair);
    } else {
        d[0] = pair.at[0];
        if (left > 1)
            d[1] = pair.at[1];
    }
}

/* Stores the consumer's sums, which are pairs of neighbours as wgmma leaves them. Of a warp's 16
 * rows, wgmma's rows r and r + 8, whose first sums lane 4 * r has, are r * lane_rows and half_rows
 * more. */
template <int lane_rows = 1, int half_rows = 8>
GT_DEVICE void store_sums(const gt_args &args, const Work &work, int consumer, const float *sum)
{
    const Target target(args, work.batch, work.split);
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
    const int first = work.column + lane % 4 * 2, left = (int)args.n - first;

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = work.row + consumer * 64 + thread / 32 * 16 + lane / 4 * lane_rows +
                        half * half_rows;
        const long long at = row * (SPLIT == 1 ? target.row_length : target.output.ldc) + first;
        if (row >= args.m)
            continue;
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
            const float *const pair = sum + j * 4 + half * 2;
            if (j * 8 >= left)
                continue;
            if (SPLIT == 1) {
                gt_vec<float, 2> vec;
                vec.at[0] = pair[0];
                vec.at[1] = pair[1];
                gt_store_vec<float, 2>(target.partial + at + j * 8, vec);
            } else {
                store_pair(target.output, target.output.d + at + j * 8,
                           target.output.c + at + j * 8, first + j * 8, left - j * 8, pair);
            }
        }
    }
}

#endif
