/* gemm_operand.cuh - part of gemm.cu, whose parameters it uses: how the tiles of an operand travel
 * from global to shared memory. */
#ifndef GT_SIMT_GEMM_OPERAND_CUH
#define GT_SIMT_GEMM_OPERAND_CUH

/* Layout and copies of an operand. MN: its extent in the block along m or n. */
template <int MN, bool K_CONTIGUOUS, int PATH, int VEC> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS && PATH == 2; /* layout in shared memory */
    static constexpr bool TRANSPOSED = K_CONTIGUOUS && PATH != 2;
    static constexpr bool STAGED = PATH == 1;                     /* through registers */
    static constexpr int WIDTH = TRANSPOSED && !STAGED ? 1 : VEC; /* floats of a copy */
    static constexpr int LINE = ALONG_K ? BK + SKEW : MN + SKEW;  /* floats, in shared memory */
    static constexpr int SIZE = (ALONG_K ? MN : BK) * LINE;       /* floats of a stage */
    static constexpr int PER_LINE = (K_CONTIGUOUS ? BK : MN) / WIDTH;
    static constexpr int COPIES = PER_LINE * (K_CONTIGUOUS ? MN : BK);
    static constexpr int COUNT = (COPIES + THREADS - 1) / THREADS; /* copies of a thread */

    /* If the threads copy whole lines at a time, the copies of a thread are a constant number of
     * lines apart. */
    static constexpr bool REGULAR = THREADS % PER_LINE == 0;
    static constexpr int LINES_PER_PASS = REGULAR ? THREADS / PER_LINE : 1;

    const float *source[REGULAR ? 1 : COUNT];
    const float *inside; /* any valid address: for copies that read nothing */
    int last;       /* last copy that lies in the matrix along m or n, if along k and regular */
    long long pass; /* elements between two copies of a thread, if regular */
    float staged[STAGED ? COUNT * WIDTH : 1];

    /* Copy i of this thread: line (along the slow dimension of global memory) and place in it. */
    static GT_DEVICE int line(int i, int thread)
    {
        return REGULAR ? thread / PER_LINE + i * LINES_PER_PASS : (thread + i * THREADS) / PER_LINE;
    }
    static GT_DEVICE int place(int i, int thread)
    {
        return (REGULAR ? thread % PER_LINE : (thread + i * THREADS) % PER_LINE) * WIDTH;
    }
    static GT_DEVICE bool mine(int i)
    {
        return COPIES % THREADS == 0 || (int)threadIdx.x + i * THREADS < COPIES;
    }
    /* Offset in shared memory of float u of copy i. */
    static GT_DEVICE int target(int i, int u, int thread)
    {
        if (ALONG_K) {
            int row = line(i, thread), k = place(i, thread) + u;
            return row * LINE + (swizzled(row, k / 4) * 4 + k % 4);
        }
        return TRANSPOSED ? (place(i, thread) + u) * LINE + line(i, thread)
                          : line(i, thread) * LINE + place(i, thread) + u;
    }
    static GT_DEVICE int swizzled(int row, int chunk)
    {
        constexpr int ROWS = BK >= 32 ? 1 : 32 / BK; /* rows of a line of banks */
        return SWIZZLE ? chunk ^ (row / ROWS & (BK / 4 - 1)) : chunk;
    }

    /* Whether a tile that is whole along k can be copied without masks. Elements beyond the edge
     * are then replaced by elements before it, because no result that depends on them is stored.
     * Along the lines this costs nothing, unless the edge cuts a vector; across them it needs EDGE
     * 1. */
    static GT_DEVICE bool whole_across(int mn_left)
    {
        return mn_left >= MN || (K_CONTIGUOUS ? EDGE == 1 : mn_left % WIDTH == 0);
    }

    GT_DEVICE void init(const float *matrix, long long ld, long long first, long long k,
                        int mn_left)
    {
        const int thread = threadIdx.x;
        inside = matrix;
        if constexpr (STAGED)
#pragma unroll
            for (int i = 0; i < COUNT * WIDTH; i++)
                staged[i] = 0.0f;
        pass = LINES_PER_PASS * ld;
        last = (mn_left - 1 - line(0, thread)) / LINES_PER_PASS;
        last = last > 0 ? last : 0;
#pragma unroll
        for (int i = 0; i < (REGULAR ? 1 : COUNT); i++) {
            int at_line = line(i, thread), at_place = place(i, thread);
            if (K_CONTIGUOUS && EDGE == 1)
                at_line = at_line < mn_left ? at_line : mn_left - 1;
            else if (!K_CONTIGUOUS && whole_across(mn_left))
                at_place = at_place < mn_left ? at_place : mn_left - WIDTH;
            source[i] = K_CONTIGUOUS ? matrix + (first + at_line) * ld + k + at_place
                                     : matrix + (k + at_line) * ld + first + at_place;
        }
    }

    GT_DEVICE const float *from(int i) const
    {
        if constexpr (!REGULAR)
            return source[i];
        return source[0] + (EDGE == 1 && K_CONTIGUOUS && i > last ? last : i) * pass;
    }

    /* Starts the copies of one tile and moves on to the next. Unless it is copied whole, the matrix
     * has mn_left and k_left elements from the tile's first one on, and zeros follow them. */
    GT_DEVICE void begin(float *stage, long long step, bool whole, int mn_left, int k_left)
    {
        if (!whole) {
            const int thread = gt_reload_thread_index();
            int lines = K_CONTIGUOUS ? mn_left : k_left, length = K_CONTIGUOUS ? k_left : mn_left;
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (mine(i))
                    copy_part(stage, i, thread,
                              line(i, thread) < lines ? length - place(i, thread) : 0);
        } else {
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (mine(i))
                    copy(stage, i);
        }
#pragma unroll
        for (int i = 0; i < (REGULAR ? 1 : COUNT); i++)
            source[i] += step;
    }

    GT_DEVICE void copy(float *stage, int i)
    {
        if constexpr (STAGED)
            gt_load_global<WIDTH>(staged + i * WIDTH, from(i));
        else
            gt_cp_async_whole<WIDTH * 4>(stage + target(i, 0, threadIdx.x), from(i));
    }

    /* Only the first `count` floats exist. */
    GT_DEVICE void copy_part(float *stage, int i, int thread, int count)
    {
        if constexpr (STAGED)
            gt_load_masked<WIDTH>(staged + i * WIDTH, from(i), count);
        else
            gt_cp_async<WIDTH * 4>(stage + target(i, 0, thread), count > 0 ? from(i) : inside,
                                   count >= WIDTH ? WIDTH * 4
                                   : count > 0    ? count * 4
                                                  : 0);
    }

    /* The second half of the copies through registers, once the stage is free. It is divided into
     * `parts` parts, so that the stores can be spread over the arithmetic. */
    GT_DEVICE void end(float *stage, int part, int parts)
    {
        if constexpr (STAGED) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                if (i * parts / COUNT != part || !mine(i))
                    continue;
                if (TRANSPOSED) {
#pragma unroll
                    for (int u = 0; u < WIDTH; u++)
                        stage[target(i, u, threadIdx.x)] = staged[i * WIDTH + u];
                } else {
                    gt_store<WIDTH>(stage + target(i, 0, threadIdx.x), staged + i * WIDTH);
                }
            }
        }
    }
};

#endif
