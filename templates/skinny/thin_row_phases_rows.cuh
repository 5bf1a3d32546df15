/* thin_row_phases_rows.cuh - part of thin_row_phases.cu: A from memory, in any layout and of any
 * alignment, through registers to shared memory in the phases' order of k, and from there to the
 * registers of tensor cores.
 *
 * In shared memory each unit of a stage has ROWS rows of 32 bytes, with the DEEP lines of the unit,
 * k = ROW_PHASES * line + phase. 16-bit types lie in the order of lines, a pair of them a word. For
 * tf32 the words of an mma are lines 2 * member and 2 * member + 1 of a lane
 * (thin_row_phases_lines.cuh), so that the even lines come first. The halves of every other four
 * rows are exchanged, so that eight rows are read from different banks. */
#ifndef GT_SKINNY_THIN_ROW_PHASES_ROWS_CUH
#define GT_SKINNY_THIN_ROW_PHASES_ROWS_CUH

/* Offset of half `half`, 16 bytes, of row `row` of a unit. */
GT_DEVICE int place_of_half(int row, int half)
{
    return row * 32 + ((half ^ row / 4) & 1) * 16;
}

/* VECTOR values along k, element by element, and zeros beyond the `valid` that exist, which may be
 * more. Each word moves the others on: this is short code, because it runs seldom. */
GT_DEVICE uint4 edge_of_rows(const GT_IN *from, long long step, long long valid)
{
    gt_vec<unsigned, 4> line = {};
#pragma unroll 1
    for (int w = 0; w < 4; w++) {
        gt_vec<GT_IN, 4 / SIZE> word;
        word.word = 0;
#pragma unroll
        for (int i = 0; i < 4 / SIZE; i++, from += step)
            if (w * (4 / SIZE) + i < valid)
                word.at[i] = *from;
#pragma unroll
        for (int i = 0; i < 3; i++)
            line.at[i] = line.at[i + 1];
        line.at[3] = word.word;
    }
    return line.word;
}

/* A thread's part of the rows of A of a stage: vectors of 32 bytes along k. */
struct Rows {
    static constexpr int ACROSS = TILE_K / DEEP; /* vectors of a row */
    static constexpr int VECTORS = (ROWS * ACROSS + THREADS - 1) / THREADS;
    static_assert(THREADS % ACROSS == 0, "a thread's vectors lie below each other");
    uint4 vector[VECTORS][2];

    static GT_DEVICE int number(int i)
    {
        return i * THREADS + (int)threadIdx.x;
    }

    /* Rows beyond the matrix are computed from one that exists and never stored. */
    GT_DEVICE void load(const gt_args &args, long long batch, long long tile)
    {
        const GT_IN *const a = gt_typed_a(args, batch);
        const long long k = tile * TILE_K + number(0) % ACROSS * DEEP;
        const bool whole = !GT_TRANS_A && reinterpret_cast<unsigned long long>(a) % 16 == 0 &&
                           args.lda % VECTOR == 0 && (tile + 1) * TILE_K <= gt_depth(args);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const int row = (int)min(block_row(args) + number(i) / ACROSS, args.m - 1);
            const GT_IN *const from = a + gt_offset_a(args, row, k);
            if (whole) {
                vector[i][0] = gt_load_vec_global<GT_IN, VECTOR>(from).word;
                vector[i][1] = gt_load_vec_global<GT_IN, VECTOR>(from + VECTOR).word;
            } else {
                const long long left = gt_depth(args) - k, step = GT_TRANS_A ? args.lda : 1;
                vector[i][0] = edge_of_rows(from, step, left);
                vector[i][1] = edge_of_rows(from + VECTOR * step, step, left - VECTOR);
            }
        }
    }

    /* Word `w` of the 8 of vector i, in the order of shared memory: of phase w % ROW_PHASES. */
    GT_DEVICE unsigned word(int i, int w) const
    {
        const unsigned in[8] = {vector[i][0].x, vector[i][0].y, vector[i][0].z, vector[i][0].w,
                                vector[i][1].x, vector[i][1].y, vector[i][1].z, vector[i][1].w};
        if constexpr (SIZE == 4)
            return gt_round_tf32(in[w]);
        if constexpr (ROW_PHASES == 1)
            return in[w];
        const int first =
            w / ROW_PHASES * 2 * ROW_PHASES + w % ROW_PHASES; /* of its two elements */
        return __byte_perm(in[first / 2], in[(first + ROW_PHASES) / 2 % 8],
                           first % 2 ? 0x7632 : 0x5410);
    }

    GT_DEVICE void store(unsigned char *rows) const
    {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const int row = number(i) / ACROSS;
            if (row >= ROWS)
                continue;
#pragma unroll
            for (int w = 0; w < 8; w++) {
                const int line = number(i) % ACROSS * (DEEP / ROW_PHASES) +
                                 w / ROW_PHASES * (4 / SIZE); /* of the word's first element */
                const int unit = line / DEEP * ROW_PHASES + w % ROW_PHASES, within = line % DEEP;
                const int at = SIZE == 4 ? within % 2 * 4 + within / 2 : within / 2;
                *(unsigned *)(rows + unit * ROWS * 32 + place_of_half(row, at / 4) + at % 4 * 4) =
                    word(i, w);
            }
        }
    }
};

/* A lane's part of a unit: two words of every eight rows, as mma takes them. */
GT_DEVICE void read_rows(const unsigned char *rows, int unit, unsigned (&a)[EIGHTS][2])
{
    const int lane = (int)threadIdx.x % 32;
    const unsigned char *const from = rows + unit * ROWS * 32;
#pragma unroll
    for (int x = 0; x + 1 < EIGHTS; x += 2) {
        unsigned word[4];
        gt_ldmatrix_x4(word, from + place_of_half(x * 8 + lane / 16 * 8 + lane % 8, lane / 8 % 2));
#pragma unroll
        for (int h = 0; h < 2; h++) {
            a[x][h] = word[h];
            a[x + 1][h] = word[2 + h];
        }
    }
    if (EIGHTS % 2)
        gt_ldmatrix_x2(a[EIGHTS - 1], from + place_of_half(ROWS - 8 + lane % 8, lane / 8 % 2));
}

#endif
