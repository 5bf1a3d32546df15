/* operand.cuh - part of gemm.cu, whose parameters it uses: how the tiles of an operand of doubles
 * travel from global to shared memory, and from there to registers. */
#ifndef GT_DOUBLE_OPERAND_CUH
#define GT_DOUBLE_OPERAND_CUH

/* MN: the operand's extent in the block along m or n. */
template <int MN, bool K_CONTIGUOUS, int PATH, int VEC> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS && PATH == 1; /* layout in shared memory */
    static constexpr bool TRANSPOSED = K_CONTIGUOUS && PATH == 0;
    static constexpr int WIDTH = TRANSPOSED ? 1 : VEC;      /* doubles of a copy */
    static constexpr int LINE = (ALONG_K ? BK : MN) + SKEW; /* doubles, in shared memory */
    static constexpr int SIZE = (ALONG_K ? MN : BK) * LINE; /* doubles of a stage */
    static constexpr int PER_LINE = (K_CONTIGUOUS ? BK : MN) / WIDTH; /* copies, of global memory */
    static constexpr int COPIES = PER_LINE * (K_CONTIGUOUS ? MN : BK);
    static constexpr int COUNT = (COPIES + THREADS - 1) / THREADS; /* copies of a thread */
    static constexpr bool REGULAR = THREADS % PER_LINE == 0; /* its copies share their place */

    const double *inside; /* any valid address: for copies that read nothing */
    const double *next;   /* the first element of the next tile */
    long long ld;
    int left; /* lines along m or n that exist from the block's first one on, at most MN */

    GT_DEVICE void init(const double *matrix, long long leading, long long first, long long k,
                        long long extent)
    {
        inside = matrix;
        ld = leading;
        next = matrix + (K_CONTIGUOUS ? first * ld + k : k * ld + first);
        left = extent - first < MN ? (int)(extent - first) : MN;
    }

    /* Copy i of this thread: its line in global memory, and its first element in that line. */
    static GT_DEVICE int line(int i)
    {
        return REGULAR ? (int)threadIdx.x / PER_LINE + i * (THREADS / PER_LINE)
                       : ((int)threadIdx.x + i * THREADS) / PER_LINE;
    }
    static GT_DEVICE int place(int i)
    {
        return ((int)threadIdx.x + (REGULAR ? 0 : i * THREADS)) % PER_LINE * WIDTH;
    }
    /* Where element (x, k) lies in a tile, x along m or n. */
    static GT_DEVICE constexpr int offset(int x, int k)
    {
        return ALONG_K ? x * LINE + k : k * LINE + x;
    }
    static GT_DEVICE bool mine(int i)
    {
        return COPIES % THREADS == 0 || (int)threadIdx.x + i * THREADS < COPIES;
    }

    /* Starts the copies of the next tile, of which `left_k` values along k exist; zeros stand in
     * the place of those that do not. */
    GT_DEVICE void begin(double *stage, int left_k)
    {
        const bool whole = left == MN && left_k >= BK;
        const int lines = K_CONTIGUOUS ? left : left_k, length = K_CONTIGUOUS ? left_k : left;

#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const int x = line(i), at = place(i);
            double *to = stage + (TRANSPOSED ? at * LINE + x : x * LINE + at);
            if (!mine(i))
                continue;
            if (whole)
                gt_cp_async_whole<8 * WIDTH>(to, next + x * ld + at);
            else
                copy_part(to, next + x * ld + at, x < lines ? length - at : 0);
        }
        next += K_CONTIGUOUS ? BK : BK * ld;
    }

    /* Only the first `count` doubles exist. */
    GT_DEVICE void copy_part(double *to, const double *from, int count) const
    {
        gt_cp_async<8 * WIDTH>(to, count > 0 ? from : inside,
                               count >= WIDTH ? 8 * WIDTH
                               : count > 0    ? 8 * count
                                              : 0);
    }
};

/* Element i of a lane's `T` rows or columns, of which `lanes` lanes have a warp tile: pairs of
 * neighbours, so that 16 bytes are loaded at once, or single ones from a tile that lies along k. */
template <bool ALONG_K> GT_DEVICE int element(int i, int lane, int lanes)
{
    return ALONG_K ? i * lanes + lane : i / 2 * 2 * lanes + 2 * lane + i % 2;
}

/* Loads a lane's elements of step k; `tile` begins with the warp's first row or column. */
template <class Of, int T>
GT_DEVICE void load_elements(double (&value)[T], const double *tile, int k, int lane, int lanes)
{
    if constexpr (Of::ALONG_K) {
#pragma unroll
        for (int i = 0; i < T; i++)
            value[i] = tile[element<true>(i, lane, lanes) * Of::LINE + k];
    } else {
#pragma unroll
        for (int i = 0; i < T; i += 2) {
            const gt_vec<double, 2> pair =
                gt_load_vec<double, 2>(tile + k * Of::LINE + element<false>(i, lane, lanes));
            value[i] = pair.at[0];
            value[i + 1] = pair.at[1];
        }
    }
}

#endif
