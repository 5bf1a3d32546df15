/* store.cuh - of hopper_transposed/gemm.cu: a consumer's threads store its sums to D or, with
 * SPLIT, to the workspace.
 *
 * For each pair of neighbours along the other operand a thread has VECTOR neighbours along the
 * transposed one. B transposed: these are neighbours of a row of D and are stored together; the
 * lanes that differ in r have 128 bytes of the row. A transposed: the pairs are neighbours of a row
 * of D; four lanes have 32 bytes of the row. */
#ifndef GT_HOPPER_TRANSPOSED_STORE_CUH
#define GT_HOPPER_TRANSPOSED_STORE_CUH

/* Stores those of `pairs` pairs of a row that exist; the first column is even. */
template <int pairs> GT_DEVICE void store_pairs(Stored *to, int columns, const Pair *pair)
{
    constexpr int count = 2 * pairs;
    gt_vec<Stored, count> vec;
#pragma unroll
    for (int i = 0; i < count; i++)
        vec.at[i] = pair[i / 2].at[i % 2];
    if ((SPLIT || VEC_C >= count) && columns >= count) {
        gt_store_vec<Stored, count>(to, vec);
        return;
    }
#pragma unroll
    for (int i = 0; i < count; i++)
        if (i < columns)
            to[i] = vec.at[i];
}

GT_DEVICE Pair pair_at(const Target &target, int row, int column, Sum x, Sum y)
{
    const Sum sum[2] = {x, y};
    Pair c = {};
    if (READ_C)
        c = load_pair(target, row, column);
    return finish_pair(target, c, column, sum);
}

/* B transposed: VECTOR neighbours of a row form the pairs; rows go along with WIDTH. */
GT_DEVICE void store_rows(const Target &target, int first, Sum (*sum)[WIDTH / 2])
{
    const int columns = target.columns - first, own = (int)threadIdx.x % 4 * 2;
    const int rows = columns > 0 ? target.rows - own : 0;
    Stored *to = target.first + own * target.ld + first;
#pragma unroll
    for (int row = 0; row < WIDTH; row += row % 2 ? 7 : 1) {
        const int at = row / 2 + row % 2;
        Pair pair[BLOCKS];
        if (row < rows) {
#pragma unroll
            for (int b = 0; b < BLOCKS; b++)
                pair[b] = pair_at(target, own + row, first + 2 * b, sum[b][at], sum[b][at + 2]);
            store_pairs<BLOCKS>(to, columns, pair);
        }
        to += row % 2 ? 7 * target.ld : target.ld;
    }
}

/* A transposed: the rows of D are those of the products. */
GT_DEVICE void store_columns(const Target &target, int first, Sum (*sum)[WIDTH / 2])
{
    const int own = (int)threadIdx.x % 4 * 2, rows = target.rows - first;
    const int columns = target.columns - own;
    Stored *to = target.first + first * target.ld + own;
#pragma unroll
    for (int r = 0; r < VECTOR; r++, to += target.ld) {
        if (r >= rows)
            break;
#pragma unroll
        for (int column = 0; column < WIDTH; column += 8) {
            const int at = column / 2 + r % 2 * 2;
            if (column >= columns)
                break;
            const Pair pair =
                pair_at(target, first + r, own + column, sum[r / 2][at], sum[r / 2][at + 1]);
            store_pairs<1>(to + column, columns - column, &pair);
        }
    }
}

/* SPLIT 2: when all consumers have read the stages, their sums take the place of these in shared
 * memory, where the cluster's blocks read them. */
GT_DEVICE void sums_to_shared(const Ring &ring, int first, Sum (*sum)[WIDTH / 2])
{
    Sum *const sums = (Sum *)ring.stages;

    gt_named_barrier_sync(1, CONSUMERS * 128);
#pragma unroll
    for (int i = 0; i < WIDTH / 8; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const int along = i * 8 + (int)threadIdx.x % 4 * 2 + j;
            gt_vec<Sum, VECTOR> vec;
#pragma unroll
            for (int r = 0; r < VECTOR; r++) {
                vec.at[r] = sum[r / 2][i * 4 + r % 2 * 2 + j];
                if (A_ALONG_MN)
                    sums[(first + r) * SUMS_ROW + along] = vec.at[r];
            }
            if (!A_ALONG_MN)
                gt_store_vec<Sum, VECTOR>(sums + along * SUMS_ROW + first, vec);
        }
}

GT_DEVICE void store(const gt_args &args, const Ring &ring, int consumer, const Work &work,
                     Sum (*sum)[WIDTH / 2])
{
    const Target target = target_of(args, work, 0);
    const int first = consumer * 64 * BLOCKS + thread_row();
    if (SPLIT == 2)
        sums_to_shared(ring, first, sum);
    else if (A_ALONG_MN)
        store_columns(target, first, sum);
    else
        store_rows(target, first, sum);
}

#endif
