/* tile.cuh - moves a tile of an operand from global memory, through registers, to shared memory.
 *
 * x is the index along m (A) or n (B). Vectors of vec elements lie along whichever of x and k is
 * contiguous in memory. Thread t has vectors t, t + threads, ... of the tile, in memory's order. */
#ifndef GT_TILE_CUH
#define GT_TILE_CUH

template <int extent, int depth, bool k_contiguous, int vec, int threads> struct gt_staged {
    static constexpr int row_vectors =
        (k_contiguous ? depth : extent) / vec; /* vectors in a row of memory */
    static constexpr int vectors = extent * depth / vec;
    static constexpr int loads = (vectors + threads - 1) / threads;
    static_assert(threads % row_vectors == 0 || row_vectors % threads == 0,
                  "loads at constant distances");

    float value[loads * vec];
    const float *from; /* the thread's first vector in the next tile */
    long long ld;
    int x, k; /* the place of the thread's first vector in the tile */

    /* The place of load i, as distances from that of load 0. */
    static GT_DEVICE constexpr int fast(int i)
    {
        return row_vectors > threads ? i % (row_vectors / threads) * threads * vec : 0;
    }
    static GT_DEVICE constexpr int slow(int i)
    {
        return row_vectors > threads ? i / (row_vectors / threads) : i * (threads / row_vectors);
    }
    static GT_DEVICE constexpr int far_x(int i)
    {
        return k_contiguous ? slow(i) : fast(i);
    }
    static GT_DEVICE constexpr int far_k(int i)
    {
        return k_contiguous ? fast(i) : slow(i);
    }

    /* Whether the thread has a load i. */
    GT_DEVICE bool has(int i) const
    {
        return vectors % threads == 0 || (x + far_x(i) < extent && k + far_k(i) < depth);
    }

    /* `first` is the operand's element at the tile's first x and k = 0. */
    GT_DEVICE void begin(const float *first, long long leading, int thread)
    {
        int row = thread / row_vectors, column = thread % row_vectors * vec;
        x = k_contiguous ? row : column;
        k = k_contiguous ? column : row;
        ld = leading;
        from = first + row * leading + column;
    }

    /* Loads the next tile, which lies within the operand, and moves on along k. */
    GT_DEVICE void load()
    {
#pragma unroll
        for (int i = 0; i < loads; i++)
            if (has(i))
                gt_load_global<vec>(value + i * vec, from + slow(i) * ld + fast(i));
        from += k_contiguous ? depth : depth * ld;
    }

    /* The same for a tile of which only x < x_valid and k < k_valid exist; the rest becomes
     * zeros. */
    GT_DEVICE void load_masked(int x_valid, int k_valid)
    {
#pragma unroll
        for (int i = 0; i < loads; i++) {
            int x_left = x_valid - x - far_x(i), k_left = k_valid - k - far_k(i);
            int along = k_contiguous ? k_left : x_left, across = k_contiguous ? x_left : k_left;
            gt_load_masked<vec>(value + i * vec, from + slow(i) * ld + fast(i),
                                across > 0 ? along : 0);
        }
        from += k_contiguous ? depth : depth * ld;
    }

    /* Loads the next tile, masked if necessary: x_left and k_left count what is left of the
     * operand. */
    GT_DEVICE void load_next(long long x_left, long long k_left)
    {
        if (x_left >= extent && k_left >= depth)
            load();
        else
            load_masked(x_left < extent ? (int)x_left : extent,
                        k_left < depth ? (int)k_left : depth);
    }

    /* Writes the tile to shared memory, element (x, k) at x * x_step + k * k_step. */
    template <int x_step, int k_step> GT_DEVICE void store(float *tile) const
    {
        constexpr int step = k_contiguous ? k_step : x_step;
#pragma unroll
        for (int i = 0; i < loads; i++) {
            float *to = tile + (x + far_x(i)) * x_step + (k + far_k(i)) * k_step;
            if (!has(i))
                continue;
            if (step == 1) {
                gt_store<vec>(to, value + i * vec);
            } else {
#pragma unroll
                for (int j = 0; j < vec; j++)
                    to[j * step] = value[i * vec + j];
            }
        }
    }
};

#endif
