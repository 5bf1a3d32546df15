/* store_rows.cuh - of hopper/gemm.cu: stores a consumer's sums to a D that TMA cannot write,
 * because its rows are no multiples of 16 bytes or end within one.
 *
 * wgmma leaves pairs of neighbours of eight rows in a warp's threads. An instruction that stored
 * them from there would reach eight lines of memory for 8 bytes of each. So a warp writes its rows
 * of the subtiles to shared memory, as for TMA, and copies them to D row by row, in pieces of 16
 * bytes that are aligned in D. Such a piece joins parts of two pieces of the subtiles. What is left
 * of a row before the first and behind the last piece is stored element by element:
 *
 *   subtiles     | piece 0 | piece 1 | piece 2 | ...
 *   D         .. |ele| piece 1 | piece 2 | ...     |elements| ...
 *
 * Eight neighbouring lanes store a line of 128 bytes: an instruction that began within a line would
 * write its first and last sectors of 32 bytes in two halves. So a row that begins within a line
 * takes a second instruction for its end. */
#ifndef GT_HOPPER_STORE_ROWS_CUH
#define GT_HOPPER_STORE_ROWS_CUH

/* Subtiles whose rows are copied as one: all buffers, if they are neighbours in D. */
constexpr int BAND = TILE_ROW % SUBTILE_WIDTH == 0 && (BUFFERS & (BUFFERS - 1)) == 0 ? BUFFERS : 1;
constexpr int BAND_BYTES = BAND * SUBTILE_WIDTH; /* of a row */
constexpr int BAND_LANES = BAND_BYTES / 16;      /* that copy a row */
static_assert(BAND_LANES <= 32, "a warp copies a row at a time");

/* The place of a row's byte number `byte` in the subtiles. */
GT_DEVICE const unsigned char *byte_of_row(const unsigned char *subtiles, int row, int byte)
{
    return subtiles + byte / SUBTILE_WIDTH * SUBTILE_BYTES + row * SUBTILE_WIDTH +
           (byte % SUBTILE_WIDTH ^ swizzle_of(row));
}

/* 16 bytes of a row, from its byte number `at` on, `late` bytes before a multiple of 16: parts of
 * two pieces. */
GT_DEVICE gt_vec<unsigned, 4> join_pieces(const unsigned char *subtiles, int row, int at, int late)
{
    typedef gt_vec<unsigned, 4> Piece;
    const Piece before = gt_load_vec<unsigned, 4>(
        (const unsigned *)byte_of_row(subtiles, row, max(at + late - 16, 0)));
    const Piece own = gt_load_vec<unsigned, 4>(
        (const unsigned *)byte_of_row(subtiles, row, at + late));
    unsigned word[8];
    Piece joined;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        word[i] = before.at[i];
        word[i + 4] = own.at[i];
    }
#pragma unroll
    for (int i = 7; i > 1; i--)
        word[i] = late & 8 ? word[i - 2] : word[i];
#pragma unroll
    for (int i = 7; i > 2; i--)
        word[i] = late & 4 ? word[i - 1] : word[i];
#pragma unroll
    for (int i = 0; i < 4; i++)
        joined.at[i] =
            __byte_perm(word[i + 3], word[i + 4], 0x7654u - 0x1111u * (unsigned)(late & 3));
    return joined;
}

/* Stores elements of a row, from its byte `from` to before its byte `end`: less than 16 bytes. */
GT_DEVICE void store_elements(char *to, const unsigned char *subtiles, int row, int from, int end)
{
    constexpr int size = (int)sizeof(Stored);
#pragma unroll
    for (int i = 0; i < 16 / size; i += BAND_LANES) {
        const int byte = from + (i + (int)threadIdx.x % BAND_LANES) * size;
        if (byte < end)
            *(Stored *)(to + byte) = *(const Stored *)byte_of_row(subtiles, row, byte);
    }
}

/* Stores a row to D, which has `left` bytes (0 or less: none) of this row from `to` on. */
GT_DEVICE void store_row(char *to, const unsigned char *subtiles, int row, int left)
{
    const int in_line = (int)(reinterpret_cast<unsigned long long>(to) & 127), late = in_line % 16;
    const int end = min(left, BAND_BYTES);
    const int first = min(late > 0 ? 16 - late : 0, end); /* bytes before the first piece */

#pragma unroll
    for (int i = 0; i < BAND_BYTES + 128; i += BAND_BYTES) {
        const int at = i + (int)threadIdx.x % BAND_LANES * 16 - in_line;
        if (at >= 0 && at + 16 <= end)
            gt_store_vec<unsigned, 4>((unsigned *)(to + at), join_pieces(subtiles, row, at, late));
    }
    store_elements(to, subtiles, row, 0, first);
    store_elements(to, subtiles, row, max(first, (end + late) / 16 * 16 - late), end);
}

/* Copies the warp's rows of a band, whose first column is `column`, to D. */
GT_DEVICE void copy_rows(const unsigned char *subtiles, const Target &target, int column)
{
    constexpr int together = 32 / BAND_LANES; /* rows that a warp copies at a time */
    const int lane = (int)threadIdx.x % 32;
    const int first = (int)threadIdx.x % 128 / 32 * 16 + lane / BAND_LANES;
    const int left = (target.columns - column) * (int)sizeof(Stored);

#pragma unroll 2 /* the code is fetched once for each tile, so that short code is faster */
    for (int done = 0; done < BLOCKS_64 * 16; done += together) {
        const int row = first + done / 16 * 64 + done % 16;
        store_row((char *)(target.first + row * target.ld + column), subtiles, row,
                  row < target.rows ? left : 0);
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
            fill_subtile<0, BLOCKS_64>(subtiles + s * SUBTILE_BYTES, thread_place, target,
                         subtile_column(first + s), sum);
        __syncwarp();
#pragma unroll 1
        for (int s = 0; s < BUFFERS; s += BAND)
            copy_rows(subtiles + s * SUBTILE_BYTES, target, subtile_column(first + s));
    }
}

#endif
