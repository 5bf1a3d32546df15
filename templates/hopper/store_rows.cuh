/* store_rows.cuh - of hopper/gemm.cu: a consumer's sums to D whose rows TMA cannot write, because
 * they are no multiples of 16 bytes or end amid one.
 *
 * What wgmma leaves in a thread are pairs of eight rows; stored from there an instruction would
 * reach eight lines of memory for 8 bytes of each. So a warp puts a slice of its rows into shared memory,
 * as for TMA, and copies them from there row by row, in words of 4 bytes that are aligned in D:
 *
 *   slice     | word 0  | word 1  | ...
 *   D      .. |   | word 0  | word 1  | ...      each word joins parts of two of the slice's
 */

/* Stores `bytes` of the 4 of a word, from its byte `first` on, by elements. */
GT_DEVICE void store_part(char *to, unsigned word, int first, int bytes)
{
    constexpr int size = (int)sizeof(stored_type);
    gt_vec<stored_type, 4 / size> run;
    run.word = typename gt_vec<stored_type, 4 / size>::word_type(word);
#pragma unroll
    for (int i = 0; i < 4 / size; i++)
        if (i * size >= first && i * size < first + bytes)
            ((stored_type *)to)[i] = run.at[i];
}

/* The lane's word of a row of a slice to D, where the row has `left` bytes from `to` on.  All lanes
 * of the row call it. */
GT_DEVICE void store_word(char *to, unsigned own, int number, int left)
{
    constexpr int words = SLICE_WIDTH / 4;
    const int lane = (int)threadIdx.x % 32;
    const int before = (int)(reinterpret_cast<unsigned long long>(to) & 3);
    const unsigned previous = __shfl_sync(0xffffffffu, own, (lane + 31) % 32);
    const unsigned joined = __byte_perm(previous, own, 0x7654u - 0x1111u * (unsigned)before);
    const int at = number * 4 - before; /* byte of the row where the lane's word begins */

    if (at >= 0 && at + 4 <= left)
        *(unsigned *)(to + at) = joined;
    else if (number == 0)
        store_part(to + at, joined, before, left);
    else
        store_part(to + at, joined, 0, left - at);
    if (before > 0 && number == words - 1) /* the rest of the slice's last word */
        store_part(to + at + 4, __byte_perm(own, 0, 0x7654u - 0x1111u * (unsigned)before), 0,
                   min(left, SLICE_WIDTH) - at - 4);
}

/* The warp's rows of a slice, whose first column is `column`. */
GT_DEVICE void copy_rows(const unsigned char *slice, const target &target, int column)
{
    constexpr int words = SLICE_WIDTH / 4, together = 32 / words; /* rows that lanes have at a time */
    constexpr int loads = together < 4 ? 4 / together : 1;        /* in flight */
    const int lane = (int)threadIdx.x % 32, number = lane % words;
    const int first = (int)threadIdx.x % 128 / 32 * 16 + lane / words;
    const int left = (target.columns - column) * (int)sizeof(stored_type);

#pragma unroll 1 /* code is read once a tile: short code is fast code */
    for (int round = 0; round < BLOCKS_64 * 16 / (loads * together); round++) {
        const int done = round * loads * together;
        const int begin = first + done / 16 * 64 + done % 16;
        unsigned word[loads];
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const int row = begin + i * together;
            word[i] =
                *(const unsigned *)(slice + row * SLICE_WIDTH + (number * 4 ^ swizzle_of(row)));
        }
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const int row = begin + i * together;
            store_word((char *)(target.first + row * target.ld + column), word[i], number,
                       row < target.rows ? left : 0);
        }
    }
}

GT_DEVICE void store_by_rows(const ring &ring, int consumer, const target &target,
                             sum_type (*sum)[BN / 2])
{
    const int own_place = place::of((int)threadIdx.x % 128 / 32, (int)threadIdx.x % 32);
    unsigned char *const slices = ring.slices + consumer * STORE * SLICE_BYTES;

#pragma unroll
    for (int first = 0; first < SLICES; first += BUFFERS) {
        __syncwarp(); /* the rows of the slices before have been read */
#pragma unroll
        for (int s = 0; s < BUFFERS; s++)
            fill_slice(slices + s * SLICE_BYTES, own_place, target, column_of_slice(first + s), sum);
        __syncwarp();
#pragma unroll 1
        for (int s = 0; s < BUFFERS; s++)
            copy_rows(slices + s * SLICE_BYTES, target, column_of_slice(first + s));
    }
}
