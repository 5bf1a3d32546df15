/* store_rows.cuh - of hopper/gemm.cu: stores a consumer's sums to a D that TMA cannot write,
 * because its rows are no multiples of 16 bytes or end within one.
 *
 * wgmma leaves pairs of neighbours of eight rows in a warp's threads. An instruction that stored
 * them from there would reach eight lines of memory for 8 bytes of each. So a warp writes its rows
 * of a subtile to shared memory, as for TMA, and copies them to D row by row, in words of 4 bytes
 * that are aligned in D. Such a word joins parts of two words of the subtile:
 *
 *   subtile   | word 0  | word 1  | ...
 *   D      .. |   | word 0  | word 1  | ... */
#ifndef GT_HOPPER_STORE_ROWS_CUH
#define GT_HOPPER_STORE_ROWS_CUH

/* Stores `bytes` bytes of a word from its byte `first` on, element by element. */
GT_DEVICE void store_word_part(char *to, unsigned word, int first, int bytes)
{
    constexpr int size = (int)sizeof(Stored);
    gt_vec<Stored, 4 / size> vec;
    vec.word = typename gt_vec<Stored, 4 / size>::word_type(word);
#pragma unroll
    for (int i = 0; i < 4 / size; i++)
        if (i * size >= first && i * size < first + bytes)
            ((Stored *)to)[i] = vec.at[i];
}

/* Stores the lane's word of a row of a subtile to D, which has `left` bytes of this row from `to`
 * on. All lanes that have words of the row call it. */
GT_DEVICE void store_word(char *to, unsigned own, int number, int left)
{
    constexpr int words = SUBTILE_WIDTH / 4;
    const int lane = (int)threadIdx.x % 32;
    const int before = (int)(reinterpret_cast<unsigned long long>(to) & 3);
    const unsigned previous = __shfl_sync(0xffffffffu, own, (lane + 31) % 32);
    const unsigned joined = __byte_perm(previous, own, 0x7654u - 0x1111u * (unsigned)before);
    const int at = number * 4 - before; /* the byte of the row at which the lane's word begins */

    if (at >= 0 && at + 4 <= left)
        *(unsigned *)(to + at) = joined;
    else if (number == 0)
        store_word_part(to + at, joined, before, left);
    else
        store_word_part(to + at, joined, 0, left - at);
    if (before > 0 && number == words - 1) /* what is left of the subtile's last word */
        store_word_part(to + at + 4, __byte_perm(own, 0, 0x7654u - 0x1111u * (unsigned)before), 0,
                        min(left, SUBTILE_WIDTH) - at - 4);
}

/* Copies the warp's rows of a subtile, whose first column is `column`, to D. */
GT_DEVICE void copy_rows(const unsigned char *subtile, const Target &target, int column)
{
    constexpr int words = SUBTILE_WIDTH / 4, together = 32 / words; /* rows that a warp reads at
                                                                     * a time */
    constexpr int loads = together < 4 ? 4 / together : 1;          /* of a lane, in flight */
    const int lane = (int)threadIdx.x % 32, number = lane % words;
    const int first = (int)threadIdx.x % 128 / 32 * 16 + lane / words;
    const int left = (target.columns - column) * (int)sizeof(Stored);

#pragma unroll 1 /* the code is fetched once for each tile, so that short code is faster */
    for (int round = 0; round < BLOCKS_64 * 16 / (loads * together); round++) {
        const int done = round * loads * together;
        const int begin = first + done / 16 * 64 + done % 16;
        unsigned word[loads];
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const int row = begin + i * together;
            word[i] =
                *(const unsigned *)(subtile + row * SUBTILE_WIDTH + (number * 4 ^ swizzle_of(row)));
        }
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const int row = begin + i * together;
            store_word((char *)(target.first + row * target.ld + column), word[i], number,
                       row < target.rows ? left : 0);
        }
    }
}

GT_DEVICE void store_by_rows(const Ring &ring, int consumer, const Target &target,
                             Sum (*sum)[BN / 2])
{
    const int thread_place = Place::of((int)threadIdx.x % 128 / 32, (int)threadIdx.x % 32);
    unsigned char *const subtiles = ring.stages + SUBTILES_AT + consumer * STORE * SUBTILE_BYTES;

#pragma unroll
    for (int first = 0; first < SUBTILES; first += BUFFERS) {
        __syncwarp(); /* the rows of the subtiles before have been read */
#pragma unroll
        for (int s = 0; s < BUFFERS; s++)
            fill_subtile(subtiles + s * SUBTILE_BYTES, thread_place, target,
                         subtile_column(first + s), sum);
        __syncwarp();
#pragma unroll 1
        for (int s = 0; s < BUFFERS; s++)
            copy_rows(subtiles + s * SUBTILE_BYTES, target, subtile_column(first + s));
    }
}

#endif
