/* thin_row_phases_lines.cuh - part of thin_row_phases.cu: loads a phase's rows of B to the
 * registers of tensor cores from shared memory, where TMA left them `shift` columns too far right.
 *
 * A stage has boxes of 128 bytes of each row, side by side. A box has the LINES rows of one phase
 * after those of another. TMA has permuted their 16-byte chunks: chunk c of line l lies at place
 * c ^ l % 8.
 *
 *   16 bits   ldmatrix transposes 8 lines of 16 bytes: lane 4 * group + member has column `group` of
 *             each 8 columns. The column that it needs is in the lane `shift` groups further on.
 *   tf32      a lane reads the words that it needs, column group + shift of lines 2 * member and
 *             2 * member + 1, so that the four members read different banks */
#ifndef GT_SKINNY_THIN_ROW_PHASES_LINES_CUH
#define GT_SKINNY_THIN_ROW_PHASES_LINES_CUH

/* Offset of a 16-byte chunk in the stage: number `chunk` of the columns, in a line of a phase. */
GT_DEVICE int place_of_chunk(int chunk, int phase, int line)
{
    return (chunk / 8 * ROW_PHASES + phase) * BOX_BYTES + line * 128 + ((chunk ^ line) & 7) * 16;
}

template <int size> struct LinesOf;

template <> struct LinesOf<2> {
    static constexpr int LOADS = TILES + (ROW_PHASES > 1);
    int place[LOADS]; /* of the lane's addresses in the first group of lines */
    int shift;
    unsigned loaded[LOADS][4]; /* the tiles as stored; the last one lies behind the warp's */

    /* Behind the last columns of the stage these are read again: no column of D depends on them. */
    GT_DEVICE LinesOf(int warp, int phase, int by)
    {
        const int lane = (int)threadIdx.x % 32;
        shift = by;
#pragma unroll
        for (int t = 0; t < LOADS; t++) {
            int chunk = (warp * TILES + t) * 2 + lane % 16 / 8;
            if (t == TILES)
                chunk = min(chunk, WIDTH / 8 - 1);
            place[t] = place_of_chunk(chunk, phase, lane / 16 * 8 + lane % 8);
        }
    }

    /* Words of a tile: columns 0-7, 8-15 of lines 0-7, then of lines 8-15. */
    GT_DEVICE void load(const unsigned char *group)
    {
#pragma unroll
        for (int t = 0; t < LOADS; t++)
            gt_ldmatrix_x4_trans(loaded[t], group + place[t]);
    }

    /* The operand of an mma from a tile. */
    GT_DEVICE void get(int tile, unsigned (&b)[4]) const
    {
        const int lane = (int)threadIdx.x % 32, from = (lane + 4 * shift) % 32;
        const bool later = lane / 4 < shift; /* the lane's column is one of the next eight */
        const unsigned(&now)[4] = loaded[tile], (&next)[4] = loaded[(tile + 1) % LOADS];
        if (ROW_PHASES == 1) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                b[i] = now[i];
            return;
        }
        b[0] = __shfl_sync(0xffffffffu, later ? now[1] : now[0], from);
        b[1] = __shfl_sync(0xffffffffu, later ? next[0] : now[1], from);
        b[2] = __shfl_sync(0xffffffffu, later ? now[3] : now[2], from);
        b[3] = __shfl_sync(0xffffffffu, later ? next[2] : now[3], from);
    }
};

template <> struct LinesOf<4> {
    int place[TILES * 2]; /* of the lane's word of every eight columns, first line */
    unsigned word[TILES][4];

    GT_DEVICE LinesOf(int warp, int phase, int shift)
    {
        const int lane = (int)threadIdx.x % 32, first = lane / 4 + shift;
#pragma unroll
        for (int i = 0; i < TILES * 2; i++) {
            int chunk = warp * TILES * 4 + first / 4 + i * 2;
            if (i == TILES * 2 - 1) /* behind the stage's last columns there are none */
                chunk = min(chunk, WIDTH / 4 - 1);
            place[i] = place_of_chunk(chunk, phase, lane % 4 * 2) + first % 4 * 4;
        }
    }

    GT_DEVICE void load(const unsigned char *group)
    {
#pragma unroll
        for (int i = 0; i < TILES * 2; i++) {
            word[i / 2][i % 2] = *(const unsigned *)(group + place[i]);
            word[i / 2][i % 2 + 2] =
                *(const unsigned *)(group + (place[i] ^ 16) + 128); /* next line */
        }
    }

    GT_DEVICE void get(int tile, unsigned (&b)[4]) const
    {
#pragma unroll
        for (int i = 0; i < 4; i++)
            b[i] = word[tile][i];
    }
};

typedef LinesOf<SIZE> Lines;

#endif
