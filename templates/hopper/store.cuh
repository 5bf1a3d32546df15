/* store.cuh - of hopper/gemm.cu: a consumer's sums to D or, with SPLIT, to the workspace.
 *
 * Through shared memory: the sums go by slices, SLICE_COLUMNS columns of all the consumer's rows
 * (the last ones, some of them twice), into the STORE buffers, from where TMA takes them while the
 * consumer goes on; the buffers are filled again when TMA has read them. Or by the threads: pairs,
 * as wgmma leaves them. */

/* Rows of a slice that are less than 128 bytes share a line of them: which of its 16 bytes come
 * first in `row`, as a distance to be combined by exclusive or. */
GT_DEVICE int swizzle_of(int row)
{
    return row * SLICE_WIDTH / 128 % (SLICE_WIDTH / 16) * 16;
}

/* Where the thread's part of a slice's first 16 columns lies; of later columns it lies at this
 * distance ^ their own in bytes, 64 rows further on 64 * SLICE_WIDTH behind. */
template <class element> struct place_in_slice {
    static GT_DEVICE int of(int warp, int lane)
    {
        const int row = warp * 16 + lane / 4, at = lane % 4 * 2 * (int)sizeof(element);
        return row * SLICE_WIDTH + (at ^ swizzle_of(row));
    }
    static GT_DEVICE void store(unsigned char *slice, int place, int column,
                                const gt_vec<element, 2> *pair)
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int first = column * (int)sizeof(element),
                      next = i / 2 * 8 * (int)sizeof(element);
            const int at = next < 16 ? (place ^ first) + next : place ^ (first + next);
            gt_store_vec<element, 2>((element *)(slice + at + i % 2 * 8 * SLICE_WIDTH), pair[i]);
        }
    }
};

/* Elements of 16 bits have an instruction of their own. */
struct place_of_words {
    static GT_DEVICE int of(int warp, int lane)
    {
        const int row = warp * 16 + lane % 16;
        return row * SLICE_WIDTH + (lane / 16 * 16 ^ swizzle_of(row));
    }
    template <class pair_16>
    static GT_DEVICE void store(unsigned char *slice, int place, int column, const pair_16 *pair)
    {
        const unsigned word[4] = {pair[0].word, pair[1].word, pair[2].word, pair[3].word};
        gt_stmatrix_x4(slice + (place ^ column * 2), word);
    }
};
template <> struct place_in_slice<gt_f16> : place_of_words {
};
template <> struct place_in_slice<gt_bf16> : place_of_words {
};

typedef place_in_slice<stored_type> place;

/* Finishes the consumer's sums of SLICE_COLUMNS columns from `column` on and puts them in a slice.
 */
GT_DEVICE void fill_slice(unsigned char *slice, int own_place, const target &target, int column,
                          sum_type (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x % 128 / 32 * 16 + lane / 4;

#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
        for (int c = 0; c < SLICE_COLUMNS; c += 16) {
            const int first = column + c + lane % 4 * 2;
            pair_type pair[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                pair[i].word = typename pair_type::word_type();
                if (READ_C)
                    pair[i] = load_pair(target, r * 64 + row + i % 2 * 8, first + i / 2 * 8);
                pair[i] = finish_pair(target, pair[i], first + i / 2 * 8,
                                      sum[r] + (column + c) / 2 + i * 2);
            }
            place::store(slice + r * 64 * SLICE_WIDTH, own_place, c, pair);
        }
}

static_assert(STORE == 0 || SLICES % BUFFERS == 0, "all buffers are filled each time");

/* First column of a slice. */
GT_DEVICE constexpr int column_of_slice(int s)
{
    return s < SLICES - 1 ? s * SLICE_COLUMNS : TILE_COLUMNS - SLICE_COLUMNS;
}

/* Until the consumer's buffers have been read. */
GT_DEVICE void await_slices(int consumer)
{
    if (threadIdx.x % 128 == 0)
        gt_tma_store_wait_read<0>();
    gt_named_barrier_sync(1 + consumer, 128);
}

/* The consumer's tile, whose corner in D is (row, left), through its buffers, which are free;
 * fill(slice, s) puts slice number s where it is told.  All buffers are filled before TMA takes
 * them: a fence and a barrier take longer than filling one. */
template <class Fill>
GT_DEVICE void store_slices(const gt_map *map, const ring &ring, int consumer, int left, int row,
                            int z, Fill fill)
{
    unsigned char *const slices = ring.slices + consumer * STORE * SLICE_BYTES;

#pragma unroll
    for (int s = 0; s < SLICES; s += BUFFERS) {
        if (s > 0)
            await_slices(consumer);
#pragma unroll
        for (int i = 0; i < BUFFERS; i++)
            fill(slices + i * SLICE_BYTES, s + i);
        gt_tma_fence();
        gt_named_barrier_sync(1 + consumer, 128);
        if (threadIdx.x % 128 == 0) {
#pragma unroll
            for (int i = 0; i < BUFFERS; i++)
                gt_tma_store(map, slices + i * SLICE_BYTES, left + column_of_slice(s + i), row, z);
            gt_tma_store_commit();
        }
    }
}

GT_DEVICE void store_by_tma(const gt_map *map, const ring &ring, int consumer, const target &target,
                            int z, sum_type (*sum)[BN / 2])
{
    const int thread = (int)threadIdx.x % 128, own_place = place::of(thread / 32, thread % 32);
    store_slices(map, ring, consumer, target.column, target.row, z,
                 [&](unsigned char *slice, int s) {
                     fill_slice(slice, own_place, target, column_of_slice(s), sum);
                 });
}

/* The same where TMA cannot write D: store_rows.cuh. */
GT_DEVICE void store_by_rows(const ring &ring, int consumer, const target &target,
                             sum_type (*sum)[BN / 2]);

/* A pair at its place, as far as it exists. */
GT_DEVICE void store_pair(stored_type *to, int columns, pair_type pair)
{
    if (SPLIT || (VEC_C > 1 && columns > 1)) {
        gt_store_vec<stored_type, 2>(to, pair);
    } else {
        to[0] = pair.at[0];
        if (columns > 1)
            to[1] = pair.at[1];
    }
}

GT_DEVICE void store_by_threads(const target &target, sum_type (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32, first = lane % 4 * 2;

#pragma unroll
    for (int r = 0; r < BLOCKS_64 * 2; r++) {
        const int row = r * 32 / 64 * 64 + (int)threadIdx.x % 128 / 32 * 16 + lane / 4 + r % 2 * 8;
        stored_type *const to = target.first + row * target.ld + first;
        if (row >= target.rows)
            continue;
#pragma unroll
        for (int column = 0; column < BN; column += 8) {
            const int columns = target.columns - first - column;
            pair_type pair = {};
            if (columns <= 0)
                continue;
            if (READ_C)
                pair = load_pair(target, row, column + first);
            pair = finish_pair(target, pair, column + first, sum[r / 2] + column / 2 + r % 2 * 2);
            store_pair(to + column, columns, pair);
        }
    }
}

/* SPLIT 2: the sums to shared memory for the cluster, where the stages were, when all consumers
 * have read them. */
GT_DEVICE void leave_sums(const ring &ring, int consumer, sum_type (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32;
    sum_type *const sums = (sum_type *)ring.stages + lane % 4 * 2;

    gt_named_barrier_sync(4, CONSUMERS * 128);
#pragma unroll
    for (int r = 0; r < BLOCKS_64 * 2; r++) {
        const int row =
            consumer * ROWS + r / 2 * 64 + (int)threadIdx.x % 128 / 32 * 16 + lane / 4 + r % 2 * 8;
#pragma unroll
        for (int column = 0; column < BN; column += 8) {
            if (SWAP_AB) {
                for (int i = 0; i < 2; i++)
                    ((sum_type *)ring.stages)[(column + lane % 4 * 2 + i) * SUMS_ROW + row] =
                        sum[r / 2][column / 2 + r % 2 * 2 + i];
                continue;
            }
            gt_vec<sum_type, 2> pair;
            pair.at[0] = sum[r / 2][column / 2 + r % 2 * 2];
            pair.at[1] = sum[r / 2][column / 2 + r % 2 * 2 + 1];
            gt_store_vec<sum_type, 2>(sums + row * SUMS_ROW + column, pair);
        }
    }
}

#if !SWAP_AB

/* The sums times alpha, here because it mostly is 1, and each tile would wait for the products. */
GT_DEVICE void scale(target &target, sum_type (*sum)[BN / 2])
{
#if !SPLIT && GT_TYPE != GT_S8
    if (target.output.alpha != 1.0f)
#pragma unroll
        for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
            for (int i = 0; i < BN / 2; i++)
                sum[r][i] *= target.output.alpha;
    target.output.alpha = 1.0f; /* for finish_pair */
#endif
}

GT_DEVICE void store(const gt_args &args, const gt_maps &maps, const ring &ring, int consumer,
                     const work &work, sum_type (*sum)[BN / 2])
{
    target target = target_of(args, work, PINGPONG ? 0 : consumer * ROWS);
    scale(target, sum);
    if (SPLIT == 2)
        leave_sums(ring, consumer, sum);
    else if (STORE_ROWS)
        store_by_rows(ring, consumer, target, sum);
    else if (STORE > 0)
        store_by_tma(&maps.map[MAP_D], ring, consumer, target,
                     SPLIT ? work.batch * SPLITS + work.split : work.batch, sum);
    else
        store_by_threads(target, sum);
}
#endif

/* Before the block ends: its shared memory must outlive the reading of the stores from it. */
GT_DEVICE void store_finish()
{
    if (STORE > 0 && threadIdx.x % 128 == 0)
        gt_tma_store_wait_read<0>();
}
