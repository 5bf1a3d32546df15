/* gemm_operand.cuh - part of gemm.cu, whose parameters it uses: how the tiles of an operand travel
 * from global to shared memory, and where in it their bytes lie.
 *
 * A tile keeps the lines of global memory: BK long, one for each m or n, where the operand lies
 * along k, and else MN long, one for each k. A line is a row of 16-byte chunks, and lanes that work
 * together read chunks of several lines at once, which must lie in different banks: either chunk c
 * of a line lies in place c XOR a number that changes from line to line, or lines are padded. */
#ifndef GT_MMA_GEMM_OPERAND_CUH
#define GT_MMA_GEMM_OPERAND_CUH

/* MN: the operand's extent in the block along m or n; COPY: bytes of a copy. */
template <int MN, bool K_CONTIGUOUS, int PATH, int COPY> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS;
    static constexpr bool STAGED = PATH == 1; /* through registers */
    /* Lines along m or n, of elements that ldmatrix cannot turn round: read by words. */
    static constexpr bool BY_WORDS = !ALONG_K && SIZE != 2;
    static constexpr int LINES = ALONG_K ? MN : BK;
    static constexpr int LENGTH = (ALONG_K ? BK : MN) * SIZE; /* bytes of a line */
    static constexpr int PITCH = LENGTH + (SWIZZLE ? 0 : BY_WORDS ? 32 : 16);
    static constexpr int BYTES = LINES * PITCH; /* of a stage */

    static constexpr int PER_LINE = LENGTH / COPY;
    static constexpr int COPIES = PER_LINE * LINES;
    static constexpr int COUNT = (COPIES + THREADS - 1) / THREADS; /* copies of a thread */
    /* A thread's copies lie in one column of the tile, a constant number of lines apart; or in long
     * lines ACROSS of them in each line; or anywhere. */
    static constexpr bool LONG = PER_LINE > THREADS && PER_LINE % THREADS == 0;
    static constexpr bool REGULAR = LONG || THREADS % PER_LINE == 0;
    static constexpr int ACROSS = LONG ? PER_LINE / THREADS : 1;
    static constexpr int LINES_PER_PASS = REGULAR && !LONG ? THREADS / PER_LINE : 1;
    static constexpr int SOURCES = REGULAR ? 1 : COUNT;

    typedef gt_run<Element, COPY / SIZE> Run;

    const char *source[SOURCES];
    const char *inside; /* an address that may be named where nothing is read */
    long long pass;     /* bytes between the lines of two passes */
    int last;           /* last pass that lies in the matrix, if along k */
    Run staged[STAGED ? COUNT : 1];

    /* Where chunk `chunk` of a line lies. */
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
    /* Lines after which the swizzle begins anew. */
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
               COPY;
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

    /* Whether a tile can be copied whole where it is whole along k. What lies beyond the edge is
     * then replaced by what lies before it, since nobody stores what is computed from it. */
    static GT_DEVICE bool whole_across(int mn_left)
    {
        return ALONG_K || mn_left >= MN || (!LONG && mn_left * SIZE % COPY == 0);
    }

    GT_DEVICE void init(const Element *matrix, long long ld, long long first, long long k,
                        int mn_left)
    {
        const int thread = threadIdx.x;
        const char *bytes = reinterpret_cast<const char *>(matrix);
        inside = bytes;
        pass = LINES_PER_PASS * ld * SIZE;
        last = (mn_left - 1 - line(0, thread)) / LINES_PER_PASS;
        last = last > 0 ? last : 0;
#pragma unroll
        for (int i = 0; i < SOURCES; i++) {
            int at_line = line(i, thread), at = place(i, thread);
            if (ALONG_K)
                at_line = at_line < mn_left ? at_line : mn_left - 1;
            else if (whole_across(mn_left))
                at = at < mn_left * SIZE ? at : mn_left * SIZE - COPY;
            source[i] = bytes + (ALONG_K ? (first + at_line) * ld + k : (k + at_line) * ld + first) *
                                    SIZE + at;
        }
    }

    GT_DEVICE const char *from(int i) const
    {
        if constexpr (!REGULAR)
            return source[i];
        int number = LONG ? i / ACROSS : i;
        return source[0] + (ALONG_K && number > last ? last : number) * pass +
               (LONG ? i % ACROSS * THREADS * COPY : 0);
    }

    /* Starts part `part` of `parts` of the copies of one tile. Unless it is copied whole, mn_left
     * and k_left elements of the matrix remain from its first on and zeros follow them. */
    GT_DEVICE void begin(char *stage, bool whole, int mn_left, int k_left, int part, int parts)
    {
        if (whole) {
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (i * parts / COUNT == part && mine(i))
                    copy(stage, i);
        } else {
            const int thread = gt_thread_anew();
            int lines = ALONG_K ? mn_left : k_left, length = (ALONG_K ? k_left : mn_left) * SIZE;
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (i * parts / COUNT == part && mine(i))
                    copy_part(stage, i, thread,
                              line(i, thread) < lines ? length - place(i, thread) : 0);
        }
    }
    /* Moves on by `step` bytes, to the next tile. */
    GT_DEVICE void advance(long long step)
    {
#pragma unroll
        for (int i = 0; i < SOURCES; i++)
            source[i] += step;
    }

    GT_DEVICE void copy(char *stage, int i)
    {
        if constexpr (STAGED)
            staged[i] =
                gt_load_run_global<Element, COPY / SIZE>(reinterpret_cast<const Element *>(from(i)));
        else
            cp_async_whole<COPY>(stage + target(i, threadIdx.x), from(i));
    }
    /* Only the first `valid` bytes exist. */
    GT_DEVICE void copy_part(char *stage, int i, int thread, int valid)
    {
        if constexpr (STAGED)
            staged[i] = gt_load_run_masked<Element, COPY / SIZE>(
                reinterpret_cast<const Element *>(valid > 0 ? from(i) : inside), valid / SIZE);
        else
            cp_async<COPY>(stage + target(i, thread), valid > 0 ? from(i) : inside,
                           valid >= COPY ? COPY : valid > 0 ? valid : 0);
    }

    /* The second half of copies through registers, once the stage is free. */
    GT_DEVICE void end(char *stage)
    {
        if constexpr (STAGED) {
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (mine(i))
                    gt_store_run<Element, COPY / SIZE>(
                        reinterpret_cast<Element *>(stage + target(i, threadIdx.x)), staged[i]);
        }
    }
};

#endif
