/* strands_lines.cuh - of strands.cu: a strand's rows of B, which TMA left in shared memory `shift`
 * columns too far right, to the registers of tensor cores.
 *
 * A stage has boxes of 128 bytes of each row, beside each other; in each, strand after strand, the
 * strand's LINES rows, whose 16-byte chunks TMA has exchanged: chunk c of line l lies at c ^ l % 8.
 *
 *   16 bits   ldmatrix turns 8 lines of 16 bytes into 8 columns along k; lane 4 * group + member has
 *             column `group` of each 8.  Its place is then another lane's: `shift` groups lower.
 *   tf32      a lane reads the words that it needs, column `group` + shift: of lines 2 * member and
 *             the next, so that four members find their words in different banks */
#ifndef GT_SKINNY_STRANDS_LINES_CUH
#define GT_SKINNY_STRANDS_LINES_CUH

/* Byte of 16 bytes of columns, the chunk-th of the stage, of a line of a strand. */
GT_DEVICE int place_of_chunk(int chunk, int strand, int line)
{
    return (chunk / 8 * STRANDS + strand) * BOX_BYTES + line * 128 + ((chunk ^ line) & 7) * 16;
}

template <int size> struct LinesOf;

template <> struct LinesOf<2> {
    const unsigned char *stage;
    int first, strand, line, shift; /* chunk of the warp; the lane's line */
    unsigned next[4];               /* the columns to come, as loaded */

    GT_DEVICE LinesOf(const unsigned char *from, int warp, int unit, int by)
    {
        const int lane = (int)threadIdx.x % 32;
        stage = from;
        first = warp * TILES * 2;
        strand = unit % STRANDS;
        line = unit / STRANDS * DEEP + lane / 16 * 8 + lane % 8;
        shift = by;
        load(0);
    }

    /* The 16 columns of a tile: words are columns 0-7, 8-15 of lines 0-7, then of lines 8-15. Behind
     * the stage's last columns, these again: no column of D depends on them. */
    GT_DEVICE void load(int tile)
    {
        const int chunk = first + tile * 2 + (int)threadIdx.x % 16 / 8;
        ldmatrix_x4_trans(next, stage + place_of_chunk(min(chunk, WIDTH / 8 - 1), strand, line));
    }

    /* What an mma wants of tile t; t = 0, 1 ... in this order. */
    GT_DEVICE void read(int t, unsigned (&b)[4])
    {
        const int lane = (int)threadIdx.x % 32, from = (lane + 4 * shift) % 32;
        const bool later = lane / 4 < shift; /* the lane's columns are of the next eight */
        const unsigned now[4] = {next[0], next[1], next[2], next[3]};
        load(t + 1);
        b[0] = __shfl_sync(0xffffffffu, later ? now[1] : now[0], from);
        b[1] = __shfl_sync(0xffffffffu, later ? next[0] : now[1], from);
        b[2] = __shfl_sync(0xffffffffu, later ? now[3] : now[2], from);
        b[3] = __shfl_sync(0xffffffffu, later ? next[2] : now[3], from);
    }
};

template <> struct LinesOf<4> {
    const unsigned char *stage;
    int first, strand, line; /* the lane's first column and line */

    GT_DEVICE LinesOf(const unsigned char *from, int warp, int unit, int shift)
    {
        const int lane = (int)threadIdx.x % 32;
        stage = from;
        first = warp * WARP_N + lane / 4 + shift;
        strand = unit % STRANDS;
        line = unit / STRANDS * DEEP + lane % 4 * 2;
    }

    GT_DEVICE void read(int t, unsigned (&b)[4])
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int column = min(first + t * 16 + i % 2 * 8, WIDTH - 1);
            const int at = place_of_chunk(column / 4, strand, line + i / 2) + column % 4 * 4;
            b[i] = gt_round_tf32(*(const unsigned *)(stage + at));
        }
    }
};

typedef LinesOf<SIZE> Lines;

#endif
