/* swapped.cuh - of hopper/gemm.cu: SWAP_AB, the transposed product.
 *
 *    rows of D              The kernel computes D^T = B^T A^T: its rows are D's n columns, of which
 *  +----------+             wgmma takes at least 64, and its columns are D's m rows, of which 16
 *  | B^T A^T  | columns     are enough. So few rows of D leave nothing idle, and a stage holds BM
 *  |          | of D        rows of B^T, which is most of what is read. Where A lies along k and B
 *  +----------+             along n, BN may be any multiple of 8, as the boxes of an operand along
 *                           k are 128 bytes wide whatever BN is. The kernel's A is B^T and its B is
 *                           A^T. For D, C, bias and the sums of parts of the depth, rows and
 *                           columns are D's again. */
#ifndef GT_HOPPER_SWAPPED_CUH
#define GT_HOPPER_SWAPPED_CUH

#if SWAP_AB

static_assert(PACK_A == 0 && PACK_B == 0 && ROW_PHASES == 1, "operands as they are");
static_assert(SPLIT == 0 || STORE == 0, "the sums of parts go to the workspace by threads");
static_assert(BN >= 16 || STORE == 0, "16 rows of a subtile are written at a time");

GT_DEVICE gt_args product_of(const gt_args &args)
{
    gt_args product = args;
    product.a = args.b;
    product.b = args.a;
    product.m = args.n;
    product.n = args.m;
    product.lda = args.ldb;
    product.ldb = args.lda;
    product.stride_a = args.stride_b;
    product.stride_b = args.stride_a;
    return product;
}

/* Where a consumer stores. */
struct Swapped {
    gt_typed_output output;
    int row, left; /* the thread's first row of D; the consumer's first column of D */
    int column;    /* the thread's first column, counted from `left` */
};

GT_DEVICE Swapped swapped_of(const gt_args &args, const Work &work, int consumer)
{
    const int lane = (int)threadIdx.x % 32;
    Swapped swapped;
    swapped.output = gt_typed_output_of(args, work.batch);
    swapped.row = work.column + lane % 4 * 2;
    swapped.left = work.row + (PINGPONG ? 0 : consumer * ROWS);
    swapped.column = (int)threadIdx.x % 128 / 32 * 16 + lane / 4;
    return swapped;
}

/* Stores a sum: finished to D or, with SPLIT 1, as it is to its place in the workspace. */
GT_DEVICE void store_sum(const gt_args &args, const Work &work, const Swapped &swapped, int row,
                         int column, Sum sum)
{
#if SPLIT == 1
    if (row < args.m && column < args.n)
        partial_sums(args, work.batch, work.split)[row * partial_row(args) + column] = sum;
#else
    gt_typed_output_store<1>(swapped.output, row, column, &sum);
#endif
}

/* Lanes whose numbers differ by 4 have neighbours of a row of D. */
GT_DEVICE void store_swapped(const gt_args &args, const Work &work, const Swapped &swapped,
                             Sum (*sum)[BN / 2])
{
    const int column = swapped.left + swapped.column;
#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            store_sum(args, work, swapped, swapped.row + i / 4 * 8 + i % 2,
                      column + r * 64 + i / 2 % 2 * 8, sum[r][i]);
}

#if STORE > 0 && SPLIT == 0

/* Finishes two sums of a column of D, of the thread's rows `row` and row + 1. With LOADS_C, c is
 * their C. */
GT_DEVICE Pair finish_swapped(const Swapped &swapped, int row, int column, const Sum *sum,
                              Pair c = {})
{
    const gt_typed_output &output = swapped.output;
    const long long n = min((long long)swapped.left + swapped.column + column, output.n - 1);
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (READ_C && !LOADS_C && output.beta != 0.0f && swapped.row + row + i < output.m)
            c.at[i] = output.c[(swapped.row + row + i) * output.ldc + n];
    return finish_two(output, c, n, n, sum);
}

/* Writes four pairs of the warp to a subtile: 16 columns of D from `left` on, 16 rows from `row`
 * on. The elements of a pair belong to two rows, so that each is written by itself. */
template <class element> struct SwappedPlace {
    static GT_DEVICE void store(unsigned char *subtile, int row, int left,
                                const gt_vec<element, 2> *pair)
    {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int down =
                lane % 4 * 2 + i % 2; /* among eight rows, after which the swizzle repeats */
            const int at = (left + i / 2 % 2 * 8 + lane / 4) * (int)sizeof(element);
            unsigned char *const place = subtile + down * SUBTILE_WIDTH + (at ^ swizzle_of(down));
            *(element *)(place + (row + i / 4 * 8) * SUBTILE_WIDTH) = pair[i / 2].at[i % 2];
        }
    }
#if LOADS_C
    static GT_DEVICE void load(const unsigned char *subtile, int row, int left,
                               gt_vec<element, 2> *pair)
    {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int down = row + i / 4 * 8 + lane % 4 * 2 + i % 2;
            const int at = (left + i / 2 % 2 * 8 + lane / 4) * (int)sizeof(element);
            pair[i / 2].at[i % 2] =
                *(const element *)(subtile + down * SUBTILE_WIDTH + (at ^ swizzle_of(down)));
        }
    }
#endif
};

struct SwappedPlace16 {
    template <class Pair16>
    static GT_DEVICE void store(unsigned char *subtile, int row, int left, const Pair16 *pair)
    {
        const int lane = (int)threadIdx.x % 32, down = row + lane / 16 * 8 + lane % 8;
        const unsigned word[4] = {pair[0].word, pair[1].word, pair[2].word, pair[3].word};
        gt_stmatrix_x4_trans(subtile + down * SUBTILE_WIDTH +
                                 ((left + lane / 8 % 2 * 8) * 2 ^ swizzle_of(down)),
                             word);
    }
#if LOADS_C
    template <class Pair16>
    static GT_DEVICE void load(const unsigned char *subtile, int row, int left, Pair16 *pair)
    {
        const int lane = (int)threadIdx.x % 32, down = row + lane / 16 * 8 + lane % 8;
        unsigned word[4];
        gt_ldmatrix_x4_trans(word, subtile + down * SUBTILE_WIDTH +
                                       ((left + lane / 8 % 2 * 8) * 2 ^ swizzle_of(down)));
#pragma unroll
        for (int i = 0; i < 4; i++)
            pair[i].word = word[i];
    }
#endif
};
template <> struct SwappedPlace<gt_f16> : SwappedPlace16 {
};
template <> struct SwappedPlace<gt_bf16> : SwappedPlace16 {
};

/* Finishes those of the warp's sums that belong to subtile s, and writes them there. */
GT_DEVICE void fill_swapped(unsigned char *subtile, int s, const Swapped &swapped,
                            Sum (*sum)[BN / 2])
{
    const int warp = (int)threadIdx.x % 128 / 32 * 16; /* the warp's first column among 64 */
#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++) {
        const int left = r * 64 + warp - subtile_column(s);
        if (left < 0 || left >= SUBTILE_COLUMNS)
            continue;
#if LOADS_C
        Pair pair[4];
#endif
#pragma unroll
        for (int step = 0; step < SUBTILE_ROWS; step += 16) {
            /* Of the last 16 rows, 8 may be written twice. */
            const int down = step < SUBTILE_ROWS - 16 ? step : SUBTILE_ROWS - 16;
            const int row = subtile_row(s) + down;
#if LOADS_C
            Pair c[4] = {};
            if (swapped.output.beta != 0.0f) /* else the subtile holds anything */
                SwappedPlace<Stored>::load(subtile, down, left, c);
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (down < step && i < 2) /* is D by now */
                    pair[i] = pair[i + 2];
                else
                    pair[i] = finish_swapped(swapped, row + i / 2 * 8, r * 64 + i % 2 * 8,
                                             sum[r] + row / 2 + i * 2, c[i]);
#else
            Pair pair[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                pair[i] = finish_swapped(swapped, row + i / 2 * 8, r * 64 + i % 2 * 8,
                                         sum[r] + row / 2 + i * 2);
#endif
            SwappedPlace<Stored>::store(subtile, down, left, pair);
        }
    }
}

GT_DEVICE void store_swapped_by_tma(const gt_map *map, const Ring &ring, int consumer,
                                    const Work &work, const Swapped &swapped, Sum (*sum)[BN / 2])
{
    store_subtiles(map, ring, consumer, swapped.left, work.column, work.batch,
                   [&](unsigned char *subtile, int s) { fill_swapped(subtile, s, swapped, sum); });
}

#endif

GT_DEVICE void store(const gt_args &args, const gt_maps &maps, const Ring &ring, int consumer,
                     const Work &work, Sum (*sum)[BN / 2])
{
#if SPLIT == 2
    sums_to_shared(ring, consumer, sum);
#elif STORE > 0
    store_swapped_by_tma(&maps.map[MAP_D], ring, consumer, work, swapped_of(args, work, consumer),
                         sum);
#else
    store_swapped(args, work, swapped_of(args, work, consumer), sum);
#endif
}

#endif

#endif
