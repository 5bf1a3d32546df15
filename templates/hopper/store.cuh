/* store.cuh - of hopper/gemm.cu: a consumer's sums to D or, with SPLIT, to the workspace.
 *
 * Through shared memory: the sums go slice by slice, SLICE_COLUMNS columns of all the consumer's
 * rows, into one of STORE buffers, from where TMA takes them while the consumer goes on; a buffer
 * is written again when TMA has read it. Or by the threads: pairs, as wgmma leaves them. */

/* Two neighbours of a row as they will be stored. */
typedef gt_run<stored_type, 2> pair_type;

/* Behind copies of operands the workspace holds, for each matrix of the batch and each part of the
 * depth, sums of m rows that are this long. */
GT_DEVICE long long partial_row(const gt_args &args)
{
    return gt_cdiv(args.n, 4) * 4;
}

GT_DEVICE sum_type *partial_sums(const gt_args &args, int batch, int split)
{
    char *const sums = static_cast<char *>(args.workspace) + gt_packed_bytes(args);
    return reinterpret_cast<sum_type *>(sums) +
           ((long long)batch * SPLITS + split) * args.m * partial_row(args);
}

#if SPLIT

GT_DEVICE pair_type load_pair(const gt_typed_output &, long long, long long)
{
    return pair_type();
}

GT_DEVICE pair_type finish_pair(const gt_typed_output &, pair_type pair, long long,
                                const sum_type *sum)
{
    pair.at[0] = sum[0];
    pair.at[1] = sum[1];
    return pair;
}

GT_DEVICE void store_pair(const gt_args &args, const gt_typed_output &, const work &work,
                          long long row, long long column, const sum_type *sum)
{
    if (row >= args.m || column >= args.n)
        return;
    sum_type *to = partial_sums(args, work.batch, work.split) + row * partial_row(args) + column;
    gt_store_run<sum_type, 2>(to, finish_pair(gt_typed_output(), pair_type(), column, sum));
}

#else

template <int code> GT_DEVICE gt_run<typename gt_element<code>::type, 2> round_pair(float x, float y)
{
    gt_run<typename gt_element<code>::type, 2> pair;
    pair.at[0] = gt_from_float<code>(x);
    pair.at[1] = gt_from_float<code>(y);
    return pair;
}

#ifndef GT_EMULATE
/* One instruction for both. */
template <> GT_DEVICE gt_run<gt_f16, 2> round_pair<GT_F16>(float x, float y)
{
    gt_run<gt_f16, 2> pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair.word) : "f"(y), "f"(x));
    return pair;
}

template <> GT_DEVICE gt_run<gt_bf16, 2> round_pair<GT_BF16>(float x, float y)
{
    gt_run<gt_bf16, 2> pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair.word) : "f"(y), "f"(x));
    return pair;
}
#endif

/* The elements of C that belong to a pair; outside of D there is nothing to read. */
GT_DEVICE pair_type load_pair(const gt_typed_output &output, long long row, long long column)
{
    pair_type c;
    c.word = typename pair_type::word_type();
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (row < output.m && column + i < output.n)
            c.at[i] = output.c[row * output.ldc + column + i];
    return c;
}

/* A pair of D; what lies outside of it TMA leaves out. */
GT_DEVICE pair_type finish_pair(const gt_typed_output &output, pair_type c, long long column,
                                const sum_type *sum)
{
#if GT_OUT == GT_S32
    pair_type pair;
    for (int i = 0; i < 2; i++)
        pair.at[i] = gt_typed_finish(output, sum[i], c.at[i], column + i);
    return pair;
#else
    float value[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        value[i] = output.alpha * (float)sum[i];
        if (output.beta != 0.0f)
            value[i] = fmaf(output.beta, gt_to_float<GT_OUT>(c.at[i]), value[i]);
        value[i] = gt_typed_activate(output, value[i], min(column + i, output.n - 1));
    }
    return round_pair<GT_OUT>(value[0], value[1]);
#endif
}

GT_DEVICE void store_pair(const gt_args &, const gt_typed_output &output, const work &,
                          long long row, long long column, const sum_type *sum)
{
    if (VEC_C > 1) {
        gt_typed_output_store<2>(output, row, column, sum);
    } else {
        gt_typed_output_store<1>(output, row, column, sum);
        gt_typed_output_store<1>(output, row, column + 1, sum + 1);
    }
}

#endif

/* Where 16 bytes of a slice lie, which would be number `unit` of `row`. */
GT_DEVICE unsigned char *slice_unit(unsigned char *slice, int row, int unit)
{
    constexpr int per_row = SLICE_WIDTH / 16; /* rows of less than 128 bytes share a line of them */
    return slice + row * SLICE_WIDTH + ((unit ^ (row * SLICE_WIDTH / 128 % per_row)) * 16);
}

/* Writes a warp's 16 rows of 16 columns: row and column are the first ones in the slice. */
template <class element>
GT_DEVICE void fill_unit(unsigned char *slice, int row, int column, const gt_run<element, 2> *pair)
{
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int at = (column + i / 2 * 8 + lane % 4 * 2) * (int)sizeof(element);
        unsigned char *unit = slice_unit(slice, row + lane / 4 + i % 2 * 8, at / 16);
        gt_store_run<element, 2>((element *)(unit + at % 16), pair[i]);
    }
}

/* Elements of 16 bits have an instruction of their own. */
GT_DEVICE void fill_words(unsigned char *slice, int row, int column, const unsigned *word)
{
    const int lane = (int)threadIdx.x % 32;
    gt_stmatrix_x4(slice_unit(slice, row + lane % 16, column / 8 + lane / 16), word);
}
GT_DEVICE void fill_unit(unsigned char *slice, int row, int column, const gt_run<gt_f16, 2> *pair)
{
    const unsigned word[4] = {pair[0].word, pair[1].word, pair[2].word, pair[3].word};
    fill_words(slice, row, column, word);
}
GT_DEVICE void fill_unit(unsigned char *slice, int row, int column, const gt_run<gt_bf16, 2> *pair)
{
    const unsigned word[4] = {pair[0].word, pair[1].word, pair[2].word, pair[3].word};
    fill_words(slice, row, column, word);
}

/* Sums of 16 columns from `column` of the tile on, of 64 rows from `row` of the consumer on, into
 * the slice. sum[0..7] are the thread's. */
GT_DEVICE void fill_slice(unsigned char *slice, const gt_typed_output &output, const work &work,
                          int row, int column, int first_row, const sum_type *sum)
{
    const int lane = (int)threadIdx.x % 32;
    const long long d_column = (long long)work.column + column + lane % 4 * 2;
    pair_type pair[4] = {};

    row += (int)threadIdx.x % 128 / 32 * 16;
    if (output.beta != 0.0f) {
        const long long d_row = (long long)work.row + first_row + row + lane / 4;
#pragma unroll
        for (int i = 0; i < 4; i++)
            pair[i] = load_pair(output, d_row + i % 2 * 8, d_column + i / 2 * 8);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        pair[i] = finish_pair(output, pair[i], d_column + i / 2 * 8, sum + i * 2);
    fill_unit(slice, row, column % SLICE_COLUMNS, pair);
}

static_assert(STORE == 0 || BN / SLICE_COLUMNS % BUFFERS == 0,
              "a tile ends with the last buffer, so that the next begins with the oldest");

/* The consumer's tile through its buffers. */
GT_DEVICE void store_by_tma(const gt_args &args, const gt_maps &maps, const ring &ring,
                            int consumer, const work &work, sum_type (*sum)[BN / 2])
{
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const int first_row = PINGPONG ? 0 : consumer * ROWS;
    const int z = SPLIT ? work.batch * SPLITS + work.split : work.batch;
    unsigned char *const slices = ring.slices + consumer * STORE * SLICE_BYTES;
    const bool chosen = threadIdx.x % 128 == 0;

#pragma unroll
    for (int s = 0; s < BN / SLICE_COLUMNS; s++) {
        unsigned char *slice = slices + s % BUFFERS * SLICE_BYTES;
        if (chosen)
            gt_tma_store_wait_read<BUFFERS - 1>();
        gt_part_sync(1 + consumer, 128);
#pragma unroll
        for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
            for (int c = 0; c < SLICE_COLUMNS; c += 16)
                fill_slice(slice, output, work, r * 64, s * SLICE_COLUMNS + c, first_row,
                           sum[r] + (s * SLICE_COLUMNS + c) / 2);
        gt_tma_fence();
        gt_part_sync(1 + consumer, 128);
        if (chosen) {
            gt_tma_store(&maps.map[MAP_D], slice, work.column + s * SLICE_COLUMNS,
                         work.row + first_row, z);
            gt_tma_store_commit();
        }
    }
}

GT_DEVICE void store_by_threads(const gt_args &args, int consumer, const work &work,
                                sum_type (*sum)[BN / 2])
{
    const gt_typed_output output = gt_typed_output_of(args, work.batch);
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
    const long long row = (long long)work.row + (PINGPONG ? 0 : consumer * ROWS) +
                          thread / 32 * 16 + lane / 4;
    const long long column = (long long)work.column + lane % 4 * 2;

#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
        for (int i = 0; i < BN / 4; i++)
            store_pair(args, output, work, row + r * 64 + i % 2 * 8, column + i / 2 * 8,
                       sum[r] + i * 2);
}

GT_DEVICE void store(const gt_args &args, const gt_maps &maps, const ring &ring, int consumer,
                     const work &work, sum_type (*sum)[BN / 2])
{
    if (STORE > 0)
        store_by_tma(args, maps, ring, consumer, work, sum);
    else
        store_by_threads(args, consumer, work, sum);
}

/* Before the block ends: its shared memory must outlive the stores from it. */
GT_DEVICE void store_finish()
{
    if (STORE > 0 && threadIdx.x % 128 == 0)
        gt_tma_store_wait<0>();
}
