/* gemm_operand.cuh - part of gemm.cu, whose parameters it uses: how the tiles of an operand travel
 * from global to shared memory, and their layout there.
 *
 * A tile keeps the lines of global memory. Where the operand lies along k there is a line of BK
 * elements for each m or n, else a line of MN elements for each k. A line is a row of 16-byte
 * chunks. Lanes that work together read chunks of several lines at once, which must lie in
 * different banks: either chunk c of a line lies at place c XOR a number that changes from line to
 * line, or the lines are padded. */
#ifndef GT_MMA_GEMM_OPERAND_CUH
#define GT_MMA_GEMM_OPERAND_CUH

/* MN: the operand's extent in the block along m or n; COPY: bytes that rows are a multiple of.
 *
 * PATH 0: cp.async of COPY bytes. 1: loads of COPY bytes into registers and stores from there. 2:
 * loads of the two aligned vectors of 16 bytes in which a chunk lies, which are shifted into place.
 * These copy whole tiles, and tiles at the edge in a loop of short code. 3: every copy of every tile
 * under a mask, by cp.async or, of less than 4 bytes, through registers. The loop is unrolled, so
 * that all loads of a tile are on their way at the same time. */
template <int MN, bool K_CONTIGUOUS, int PATH, int COPY> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS;
    static constexpr bool STAGED = PATH == 3 ? COPY < 4 : PATH != 0; /* through registers */
    static constexpr bool SHIFTED = PATH == 2;
    /* Lines along m or n of elements that ldmatrix cannot transpose are read by words. */
    static constexpr bool BY_WORDS = !ALONG_K && SIZE != 2;
    static constexpr int LINES = ALONG_K ? MN : BK;
    static constexpr int LENGTH = (ALONG_K ? BK : MN) * SIZE; /* bytes of a line */
    static constexpr int PITCH = LENGTH + (SWIZZLE ? 0 : BY_WORDS ? 32 : 16);
    static constexpr int BYTES = LINES * PITCH; /* of a stage */

    static constexpr int WIDTH = SHIFTED ? 16 : COPY; /* of a copy */
    static constexpr int PER_LINE = LENGTH / WIDTH;
    static constexpr int COPIES = PER_LINE * LINES;
    static constexpr int COUNT = (COPIES + THREADS - 1) / THREADS; /* copies of a thread */
    /* The copies of a thread lie in one column of the tile, a constant number of lines apart
     * (REGULAR); or, if lines are long (LONG), ACROSS of them in each line; or anywhere. */
    static constexpr bool LONG = PER_LINE > THREADS &&PER_LINE % THREADS == 0;
    static constexpr bool REGULAR = LONG || THREADS % PER_LINE == 0;
    static constexpr int ACROSS = LONG ? PER_LINE / THREADS : 1;
    static constexpr int LINES_PER_PASS = REGULAR && !LONG ? THREADS / PER_LINE : 1;
    static constexpr int SOURCES = REGULAR ? 1 : COUNT;

    typedef gt_vec<Element, WIDTH / SIZE> Vector;
    typedef gt_vec<unsigned, 4> Words;

    const char *source[SOURCES]; /* of the thread's first copy, or of each */
    Vector staged[STAGED && !SHIFTED ? COUNT : 1];
    Words aligned[SHIFTED ? COUNT : 1][2];
    unsigned shift[SHIFTED ? COUNT : 1]; /* bytes in front of the chunk */

    /* Place of chunk `chunk` in a line. */
    static GT_DEVICE int swizzled(int line, int chunk)
    {
        constexpr int WHOLE = LENGTH & -LENGTH; /* largest power of two that divides it */
        constexpr int CYCLE = WHOLE < 128 ? WHOLE : 128;
        if (!SWIZZLE)
            return chunk;
        if (!BY_WORDS)
            return chunk ^ (line / (128 / CYCLE) & (CYCLE / 16 - 1));
        return chunk ^ (line / (SIZE == 1 ? 4 : 1) & (CYCLE >= 32 ? CYCLE / 32 - 1 : 0)) << 1;
    }
    /* Lines after which the swizzle repeats. */
    static constexpr int PERIOD = BY_WORDS ? 16 : 8;

    /* Copy i of this thread: its line and its first byte in it. */
    static GT_DEVICE int line(int i, int thread)
    {
        return LONG      ? i / ACROSS
               : REGULAR ? thread / PER_LINE + i * LINES_PER_PASS
                         : (thread + i * THREADS) / PER_LINE;
    }
    static GT_DEVICE int place(int i, int thread)
    {
        return (LONG      ? thread + i % ACROSS * THREADS
                : REGULAR ? thread % PER_LINE
                          : (thread + i * THREADS) % PER_LINE) *
               WIDTH;
    }
    static GT_DEVICE bool mine(int i)
    {
        return COPIES % THREADS == 0 || (int)threadIdx.x + i * THREADS < COPIES;
    }
    /* Its offset in shared memory: that of the first copy, where all lie in one column. */
    static GT_DEVICE int target(int i, int thread)
    {
        constexpr bool SAME = LINES_PER_PASS % PERIOD == 0;
        int at_line = line(SAME ? 0 : i, thread), at = place(SAME ? 0 : i, thread);
        return at_line * PITCH + swizzled(at_line, at / 16) * 16 + at % 16 +
               (SAME ? i * LINES_PER_PASS * PITCH : 0);
    }

    /* Byte `at` of line `line` of the tile whose first element lies `first` along m or n and `k`
     * along k. */
    static GT_DEVICE const char *address(const Element *matrix, long long ld, long long first,
                                         long long k, int line, int at)
    {
        return reinterpret_cast<const char *>(
                   matrix + (ALONG_K ? (first + line) * ld + k : (k + line) * ld + first)) +
               at;
    }
    GT_DEVICE void init(const Element *matrix, long long ld, long long first, long long k)
    {
        const int thread = threadIdx.x;
#pragma unroll
        for (int i = 0; i < SOURCES; i++)
            source[i] = address(matrix, ld, first, k, line(i, thread), place(i, thread));
    }

    /* Starts part `part` of `parts` of the copies of a tile that lies wholly within the matrix. */
    GT_DEVICE void begin(char *stage, long long ld, int part, int parts)
    {
        const char *from =
            source[0] + (part * COUNT + parts - 1) / parts / ACROSS * (LINES_PER_PASS * ld * SIZE);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            if (i * parts / COUNT != part)
                continue;
            if (mine(i))
                copy(stage, i,
                     REGULAR ? from + i % ACROSS * (THREADS * WIDTH) : source[REGULAR ? 0 : i]);
            if (i % ACROSS == ACROSS - 1)
                from += LINES_PER_PASS * ld * SIZE;
        }
    }
    /* Moves on by `step` bytes, to the next tile. */
    GT_DEVICE void advance(long long step)
    {
#pragma unroll
        for (int i = 0; i < SOURCES; i++)
            source[i] += step;
    }
    GT_DEVICE void copy(char *stage, int i, const char *from)
    {
        if constexpr (SHIFTED) {
            shift[i] = static_cast<unsigned>(reinterpret_cast<unsigned long long>(from)) % 16;
            const unsigned *first = reinterpret_cast<const unsigned *>(from - shift[i]);
            aligned[i][0] = gt_load_vec_global<unsigned, 4>(first);
            aligned[i][1] = gt_load_vec_global<unsigned, 4>(first + 4);
        } else if constexpr (STAGED) {
            staged[i] =
                gt_load_vec_global<Element, COPY / SIZE>(reinterpret_cast<const Element *>(from));
        } else {
            gt_cp_async_whole<COPY>(stage + target(i, threadIdx.x), from);
        }
    }
    /* How many tiles from the first on can be copied whole, if `tiles` of them lie wholly within
     * the matrix: with aligned vectors not a tile whose last vector may reach beyond the matrix's
     * end. */
    static GT_DEVICE int safe_tiles(int tiles, const Element *matrix, long long ld, long long first,
                                    long long k, long long mn, long long depth)
    {
        if (!SHIFTED || tiles == 0)
            return tiles;
        const char *last =
            address(matrix, ld, first, k + (tiles - 1) * (long long)BK, LINES - 1, 0);
        const char *end = address(matrix, ld, 0, 0, (int)(ALONG_K ? mn : depth) - 1,
                                  (int)(ALONG_K ? depth : mn) * SIZE);
        return last + LENGTH + 16 <= end ? tiles : tiles - 1;
    }
    /* Whether the first vector of the first tile may begin before the matrix. */
    static GT_DEVICE bool unsafe_start(const Element *matrix, long long first, long long k)
    {
        return SHIFTED && first == 0 && k == 0 &&
               reinterpret_cast<unsigned long long>(matrix) % 16 != 0;
    }

    /* All copies of a tile, wherever it lies (PATH 3). Those of a thread are a constant number of
     * lines apart, so that a mask is a comparison with a constant. */
    GT_DEVICE void begin_masked(char *stage, const Element *matrix, long long ld, long long first,
                                long long k, long long mn_left, long long k_left)
    {
        static_assert(PATH != 3 || THREADS % PER_LINE == 0, "a thread's copies lie in one column");
        const int thread = gt_reload_thread_index();
        const int at = place(0, thread);
        const int length = (int)min((ALONG_K ? k_left : mn_left) * SIZE, (long long)LENGTH) - at;
        const int lines = (int)min(ALONG_K ? mn_left : k_left, (long long)LINES) - line(0, thread);
        const int inside = length > 0 ? lines : 0;
        const char *from = address(matrix, ld, first, k, line(0, thread), at);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int left = i * LINES_PER_PASS < inside ? length : 0; /* bytes */
            if constexpr (STAGED)
                staged[i] = gt_load_vec_masked<Element, COPY / SIZE>(
                    reinterpret_cast<const Element *>(from), left / SIZE);
            else if (mine(i))
                gt_cp_async<COPY>(stage + target(i, thread), left ? from : (const char *)matrix,
                                  min(left, COPY));
            from += LINES_PER_PASS * ld * SIZE;
        }
    }

    /* All copies of a tile at the edge, beyond which zeros follow: from its first element on the
     * matrix has mn_left and k_left elements. Addresses are computed again for each tile, in a
     * loop, so that they take no registers from the whole tiles; nothing waits in registers either.
     */
    GT_DEVICE void begin_edge(char *stage, const Element *matrix, long long ld, long long first,
                              long long k, long long mn_left, long long k_left)
    {
        if constexpr (PATH == 3) {
            begin_masked(stage, matrix, ld, first, k, mn_left, k_left);
            return;
        }
        const int thread = gt_reload_thread_index();
        int lines = (int)min(ALONG_K ? mn_left : k_left, (long long)LINES);
        int length = (int)min((ALONG_K ? k_left : mn_left) * SIZE, (long long)LENGTH);
#pragma unroll 1
        for (int i = 0; i < COUNT; i++) {
            if (!mine(i))
                continue;
            int at_line = line(i, thread), to = target(i, thread);
#pragma unroll
            for (int u = 0; u < WIDTH; u += COPY) {
                int at = place(i, thread) + u;
                bool inside = at_line < lines && at < length;
                const char *from =
                    address(matrix, ld, first, k, inside ? at_line : 0, inside ? at : 0);
                if constexpr (STAGED)
                    gt_store_vec<Element, COPY / SIZE>(reinterpret_cast<Element *>(stage + to + u),
                                                       gt_load_vec_masked<Element, COPY / SIZE>(
                                                           reinterpret_cast<const Element *>(from),
                                                           inside ? (length - at) / SIZE : 0));
                else
                    gt_cp_async<COPY>(stage + to + u, from, inside ? min(length - at, COPY) : 0);
            }
        }
    }

    /* The second half of copies through registers, once the stage is free. */
    GT_DEVICE void end(char *stage)
    {
        if constexpr (STAGED) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                char *to = stage + target(i, threadIdx.x);
                if (!mine(i))
                    continue;
                if constexpr (SHIFTED)
                    gt_store_vec<unsigned, 4>(
                        reinterpret_cast<unsigned *>(to),
                        gt_pack_shift(aligned[i][0], aligned[i][1], (int)shift[i]));
                else
                    gt_store_vec<Element, COPY / SIZE>(reinterpret_cast<Element *>(to), staged[i]);
            }
        }
    }
};

#endif
