/* store.cuh - of hopper/gemm.cu: stores a consumer's sums to D or, with SPLIT, to the workspace.
 *
 * By TMA: the sums go to shared memory in epilogue subtiles, each of which has SUBTILE_COLUMNS
 * columns of all the consumer's rows (the last two may overlap). TMA stores the STORE buffers while
 * the consumer goes on; they are filled again when TMA has read them. By threads: each thread
 * stores its pairs of neighbours as wgmma leaves them. */
#ifndef GT_HOPPER_STORE_CUH
#define GT_HOPPER_STORE_CUH

/* Rows of a subtile that are shorter than 128 bytes share a line of 128 bytes. The result says
 * which 16 bytes of it come first in `row`, as a value for exclusive or with a distance in the row.
 */
GT_DEVICE int swizzle_of(int row)
{
    return row * SUBTILE_WIDTH / 128 % (SUBTILE_WIDTH / 16) * 16;
}

/* Where the thread's part of a subtile's first 16 columns is. For later columns this is combined,
 * by exclusive or, with their distance in bytes; 64 rows further down add 64 * SUBTILE_WIDTH. */
template <class element> struct SubtilePlace {
    static GT_DEVICE int of(int warp, int lane)
    {
        const int row = warp * 16 + lane / 4, at = lane % 4 * 2 * (int)sizeof(element);
        return row * SUBTILE_WIDTH + (at ^ swizzle_of(row));
    }
    static GT_DEVICE void store(unsigned char *subtile, int place, int column,
                                const gt_vec<element, 2> *pair)
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int first = column * (int)sizeof(element),
                      next = i / 2 * 8 * (int)sizeof(element);
            const int at = next < 16 ? (place ^ first) + next : place ^ (first + next);
            gt_store_vec<element, 2>((element *)(subtile + at + i % 2 * 8 * SUBTILE_WIDTH),
                                     pair[i]);
        }
    }
#if LOADS_C
    static GT_DEVICE void load(const unsigned char *subtile, int place, int column,
                               gt_vec<element, 2> *pair)
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = place ^ (column + i / 2 * 8) * (int)sizeof(element);
            pair[i] = gt_load_vec<element, 2>(
                (const element *)(subtile + at + i % 2 * 8 * SUBTILE_WIDTH));
        }
    }
#endif
};

/* Elements of 16 bits are stored by stmatrix. */
struct SubtilePlace16 {
    static GT_DEVICE int of(int warp, int lane)
    {
        const int row = warp * 16 + lane % 16;
        return row * SUBTILE_WIDTH + (lane / 16 * 16 ^ swizzle_of(row));
    }
    template <class Pair16>
    static GT_DEVICE void store(unsigned char *subtile, int place, int column, const Pair16 *pair)
    {
        const unsigned word[4] = {pair[0].word, pair[1].word, pair[2].word, pair[3].word};
        gt_stmatrix_x4(subtile + (place ^ column * 2), word);
    }
#if LOADS_C
    template <class Pair16>
    static GT_DEVICE void load(unsigned char *subtile, int place, int column, Pair16 *pair)
    {
        unsigned word[4];
        gt_ldmatrix_x4(word, subtile + (place ^ column * 2));
#pragma unroll
        for (int i = 0; i < 4; i++)
            pair[i].word = word[i];
    }
#endif
};
template <> struct SubtilePlace<gt_f16> : SubtilePlace16 {
};
template <> struct SubtilePlace<gt_bf16> : SubtilePlace16 {
};

typedef SubtilePlace<Stored> Place;

/* Finishes the consumer's sums of SUBTILE_COLUMNS columns from `column` on, of the blocks of 64
 * rows from `begin` to before `end`, and writes them to a subtile. With LOADS_C the subtile holds
 * C. */
template <int begin, int end>
GT_DEVICE void fill_subtile(unsigned char *subtile, int thread_place, const Target &target,
                            int column, Sum (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x % 128 / 32 * 16 + lane / 4;

#pragma unroll
    for (int r = begin; r < end; r++)
#pragma unroll
        for (int c = 0; c < SUBTILE_COLUMNS; c += 16) {
            const int first = column + c + lane % 4 * 2;
            Pair pair[4];
#if LOADS_C
            if (target.output.beta != 0.0f) /* else the subtile holds anything */
                Place::load(subtile + r * 64 * SUBTILE_WIDTH, thread_place, c, pair);
#endif
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (!LOADS_C || target.output.beta == 0.0f)
                    pair[i].word = typename Pair::word_type();
                if (READ_C && !LOADS_C)
                    pair[i] = load_pair(target, r * 64 + row + i % 2 * 8, first + i / 2 * 8);
                pair[i] = finish_pair(target, pair[i], first + i / 2 * 8,
                                      sum[r] + (column + c) / 2 + i * 2);
            }
            Place::store(subtile + r * 64 * SUBTILE_WIDTH, thread_place, c, pair);
        }
}

static_assert(STORE == 0 || SUBTILES % BUFFERS == 0, "all buffers are filled each time");

/* First column, and first row, of subtile number s. */
GT_DEVICE constexpr int subtile_column(int s)
{
    return s % SUBTILES_ACROSS < SUBTILES_ACROSS - 1 ? s % SUBTILES_ACROSS * SUBTILE_COLUMNS
                                                     : TILE_COLUMNS - SUBTILE_COLUMNS;
}

GT_DEVICE constexpr int subtile_row(int s)
{
    return s / SUBTILES_ACROSS * (TILE_ROWS - SUBTILE_ROWS);
}

/* Waits until TMA has read the consumer's buffers. */
GT_DEVICE void wait_for_subtiles(int consumer)
{
    if (threadIdx.x % 128 == 0)
        gt_tma_store_wait_read<0>();
    gt_named_barrier_sync(1 + consumer, 128);
}

GT_DEVICE unsigned char *subtiles_of(const Ring &ring, int consumer)
{
    return ring.stages + SUBTILES_AT + consumer * STORE * SUBTILE_BYTES;
}

/* Stores what all buffers have been filled with, subtile number s and those after it. */
GT_DEVICE void store_filled(const gt_map *map, const unsigned char *subtiles, int consumer,
                            int left, int row, int z, int s)
{
    gt_tma_fence();
    gt_named_barrier_sync(1 + consumer, 128);
    if (threadIdx.x % 128 == 0) {
#pragma unroll
        for (int i = 0; i < BUFFERS; i++)
            gt_tma_store(map, subtiles + i * SUBTILE_BYTES, left + subtile_column(s + i),
                         row + subtile_row(s + i), z);
        gt_tma_store_commit();
    }
}

/* Stores the consumer's tile, whose corner in D is (row, left), through its buffers, which are
 * free. fill(subtile, s) writes subtile number s to a buffer. All buffers are filled before TMA
 * stores them, because a fence and a barrier take longer than filling a buffer. */
template <class Fill>
GT_DEVICE void store_subtiles(const gt_map *map, const Ring &ring, int consumer, int left, int row,
                              int z, Fill fill)
{
    unsigned char *const subtiles = subtiles_of(ring, consumer);

#pragma unroll
    for (int s = 0; s < SUBTILES; s += BUFFERS) {
        if (s > 0)
            wait_for_subtiles(consumer);
#pragma unroll
        for (int i = 0; i < BUFFERS; i++)
            fill(subtiles + i * SUBTILE_BYTES, s + i);
        store_filled(map, subtiles, consumer, left, row, z, s);
    }
}

GT_DEVICE void store_by_tma(const gt_map *map, const Ring &ring, int consumer, const Target &target,
                            int z, Sum (*sum)[BN / 2])
{
    const int thread = (int)threadIdx.x % 128, thread_place = Place::of(thread / 32, thread % 32);
    store_subtiles(
        map, ring, consumer, target.column, target.row, z, [&](unsigned char *subtile, int s) {
            fill_subtile<0, BLOCKS_64>(subtile, thread_place, target, subtile_column(s), sum);
        });
}

/* The same where TMA cannot write D: see store_rows.cuh. */
GT_DEVICE void store_by_rows(const Ring &ring, int consumer, const Target &target,
                             Sum (*sum)[BN / 2]);

/* Stores those elements of a pair that exist. */
GT_DEVICE void store_pair(Stored *to, int columns, Pair pair)
{
    if (SPLIT || (VEC_C > 1 && columns > 1)) {
        gt_store_vec<Stored, 2>(to, pair);
    } else {
        to[0] = pair.at[0];
        if (columns > 1)
            to[1] = pair.at[1];
    }
}

GT_DEVICE void store_by_threads(const Target &target, Sum (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32, first = lane % 4 * 2;

#pragma unroll
    for (int r = 0; r < BLOCKS_64 * 2; r++) {
        const int row = r * 32 / 64 * 64 + (int)threadIdx.x % 128 / 32 * 16 + lane / 4 + r % 2 * 8;
        Stored *const to = target.first + row * target.ld + first;
        if (row >= target.rows)
            continue;
#pragma unroll
        for (int column = 0; column < BN; column += 8) {
            const int columns = target.columns - first - column;
            Pair pair = {};
            if (columns <= 0)
                continue;
            if (READ_C)
                pair = load_pair(target, row, column + first);
            pair = finish_pair(target, pair, column + first, sum[r / 2] + column / 2 + r % 2 * 2);
            store_pair(to + column, columns, pair);
        }
    }
}

/* SPLIT 2: when all consumers have read the stages, their sums take the place of these in shared
 * memory, where the cluster's blocks read them. */
GT_DEVICE void sums_to_shared(const Ring &ring, int consumer, Sum (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32;
    Sum *const sums = (Sum *)ring.stages + lane % 4 * 2;

    gt_named_barrier_sync(4, CONSUMERS * 128);
#pragma unroll
    for (int r = 0; r < BLOCKS_64 * 2; r++) {
        const int row =
            consumer * ROWS + r / 2 * 64 + (int)threadIdx.x % 128 / 32 * 16 + lane / 4 + r % 2 * 8;
#pragma unroll
        for (int column = 0; column < BN; column += 8) {
            if (SWAP_AB) {
                for (int i = 0; i < 2; i++)
                    ((Sum *)ring.stages)[(column + lane % 4 * 2 + i) * SUMS_ROW + row] =
                        sum[r / 2][column / 2 + r % 2 * 2 + i];
                continue;
            }
            gt_vec<Sum, 2> pair;
            pair.at[0] = sum[r / 2][column / 2 + r % 2 * 2];
            pair.at[1] = sum[r / 2][column / 2 + r % 2 * 2 + 1];
            gt_store_vec<Sum, 2>(sums + row * SUMS_ROW + column, pair);
        }
    }
}

#if !SWAP_AB

/* Multiplies the sums by alpha. It is done here, and not in finish_pair, because alpha is mostly 1
 * and finish_pair would multiply all the same. */
GT_DEVICE void scale(Target &target, Sum (*sum)[BN / 2])
{
#if !SPLIT && GT_TYPE != GT_S8
    if (target.output.alpha != 1.0f)
#pragma unroll
        for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
            for (int i = 0; i < BN / 2; i++)
                sum[r][i] *= target.output.alpha;
    target.output.alpha = 1.0f; /* so that finish_pair does not multiply again */
#endif
}

GT_DEVICE void store(const gt_args &args, const gt_maps &maps, const Ring &ring, int consumer,
                     const Work &work, Sum (*sum)[BN / 2])
{
    Target target = target_of(args, work, PINGPONG ? 0 : consumer * ROWS);
    scale(target, sum);
    if (SPLIT == 2)
        sums_to_shared(ring, consumer, sum);
    else if (STORE_ROWS)
        store_by_rows(ring, consumer, target, sum);
    else if (STORE > 0)
        store_by_tma(&maps.map[MAP_D], ring, consumer, target,
                     SPLIT ? work.batch * SPLITS + work.split : work.batch, sum);
    else
        store_by_threads(target, sum);
}
#endif

/* Called before the block ends: its shared memory must remain until TMA's stores have read it. */
GT_DEVICE void store_finish()
{
    if (STORE > 0 && threadIdx.x % 128 == 0)
        gt_tma_store_wait_read<0>();
}

#endif
