/* swapped.cuh - of hopper/gemm.cu: SWAP_AB, the transposed product.
 *
 *        rows of D               What multiplies has n for its rows, of which wgmma takes 64 at
 *      +----------+              least, and m for its columns, 16 or more: few rows of D leave
 *      | B^T A^T  |  columns     nothing idle, and of B, which is most of what is read, a stage
 *      |          |  of D        holds BM rows.  Its A is B^T and its B is A^T; where D comes in
 *      +----------+              (C, bias, the sums of parts) rows and columns are D's again.
 */
#if SWAP_AB

static_assert(PACK_A == 0 && PACK_B == 0 && ROW_PHASES == 1, "operands as they are");
static_assert(SPLIT == 0 || STORE == 0, "the sums of parts go to the workspace by threads");

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

/* What a consumer stores: the thread's first row of D and, in the tile, first column. */
struct swapped {
    gt_typed_output output;
    int row, left; /* of D; of the consumer's columns */
    int column;    /* of the thread's, behind `left` */
};

GT_DEVICE swapped swapped_of(const gt_args &args, const work &work, int consumer)
{
    const int lane = (int)threadIdx.x % 32;
    swapped swapped;
    swapped.output = gt_typed_output_of(args, work.batch);
    swapped.row = work.column + lane % 4 * 2;
    swapped.left = work.row + (PINGPONG ? 0 : consumer * ROWS);
    swapped.column = (int)threadIdx.x % 128 / 32 * 16 + lane / 4;
    return swapped;
}

/* A sum as it is to the place in the workspace that is its part's; or, finished, to D. */
GT_DEVICE void store_sum(const gt_args &args, const work &work, const swapped &swapped, int row,
                         int column, sum_type sum)
{
#if SPLIT == 1
    if (row < args.m && column < args.n)
        partial_sums(args, work.batch, work.split)[row * partial_row(args) + column] = sum;
#else
    gt_typed_output_store<1>(swapped.output, row, column, &sum);
#endif
}

/* Lanes whose numbers differ by 4 have neighbours of a row of D. */
GT_DEVICE void store_swapped(const gt_args &args, const work &work, const swapped &swapped,
                             sum_type (*sum)[BN / 2])
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

/* Two sums of a column of D, rows `row` and the next of the thread's. */
GT_DEVICE pair_type finish_swapped(const swapped &swapped, int row, int column, const sum_type *sum)
{
    const gt_typed_output &output = swapped.output;
    const long long n = min((long long)swapped.left + swapped.column + column, output.n - 1);
    pair_type pair;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        stored_type c = stored_type();
        if (READ_C && swapped.row + row + i < output.m)
            c = output.c[(swapped.row + row + i) * output.ldc + n];
        pair.at[i] = gt_typed_finish(output, sum[i], c, n);
    }
    return pair;
}

/* Four pairs, of 16 columns of D that the warp has from `left` on in the slice and 16 rows from
 * `row` on, to their places, which are their own words' halves: rows lie across the pairs. */
template <class element> struct place_swapped {
    static GT_DEVICE void store(unsigned char *slice, int row, int left,
                                const gt_vec<element, 2> *pair)
    {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int down =
                lane % 4 * 2 + i % 2; /* among eight rows, after which swizzles repeat */
            const int at = (left + i / 2 % 2 * 8 + lane / 4) * (int)sizeof(element);
            unsigned char *const place = slice + down * SLICE_WIDTH + (at ^ swizzle_of(down));
            *(element *)(place + (row + i / 4 * 8) * SLICE_WIDTH) = pair[i / 2].at[i % 2];
        }
    }
};

struct place_swapped_words {
    template <class pair_16>
    static GT_DEVICE void store(unsigned char *slice, int row, int left, const pair_16 *pair)
    {
        const int lane = (int)threadIdx.x % 32, down = row + lane / 16 * 8 + lane % 8;
        const unsigned word[4] = {pair[0].word, pair[1].word, pair[2].word, pair[3].word};
        gt_stmatrix_x4_trans(
            slice + down * SLICE_WIDTH + ((left + lane / 8 % 2 * 8) * 2 ^ swizzle_of(down)), word);
    }
};
template <> struct place_swapped<gt_f16> : place_swapped_words {
};
template <> struct place_swapped<gt_bf16> : place_swapped_words {
};

/* Finishes the warp's sums as far as they lie in slice s, and puts them there. */
GT_DEVICE void fill_swapped(unsigned char *slice, int s, const swapped &swapped,
                            sum_type (*sum)[BN / 2])
{
    const int warp = (int)threadIdx.x % 128 / 32 * 16; /* the warp's first column of 64 */
#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++) {
        const int left = r * 64 + warp - s * SLICE_COLUMNS;
        if (left < 0 || left >= SLICE_COLUMNS)
            continue;
#pragma unroll
        for (int row = 0; row < BN; row += 16) {
            pair_type pair[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                pair[i] = finish_swapped(swapped, row + i / 2 * 8, r * 64 + i % 2 * 8,
                                         sum[r] + row / 2 + i * 2);
            place_swapped<stored_type>::store(slice, row, left, pair);
        }
    }
}

GT_DEVICE void store_swapped_by_tma(const gt_map *map, const ring &ring, int consumer,
                                    const work &work, const swapped &swapped,
                                    sum_type (*sum)[BN / 2])
{
    store_slices(map, ring, consumer, swapped.left, work.column, work.batch,
                 [&](unsigned char *slice, int s) { fill_swapped(slice, s, swapped, sum); });
}

#endif

GT_DEVICE void store(const gt_args &args, const gt_maps &maps, const ring &ring, int consumer,
                     const work &work, sum_type (*sum)[BN / 2])
{
#if SPLIT == 2
    leave_sums(ring, consumer, sum);
#elif STORE > 0
    store_swapped_by_tma(&maps.map[MAP_D], ring, consumer, work, swapped_of(args, work, consumer),
                         sum);
#else
    store_swapped(args, work, swapped_of(args, work, consumer), sum);
#endif
}

#else

GT_DEVICE const gt_args &product_of(const gt_args &args)
{
    return args;
}

#endif
