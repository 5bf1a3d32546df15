/* pack_tile.cuh - a tile of PACK_TILE x PACK_TILE elements of a stored matrix, of any element size
 * and alignment, in shared memory, from where it is read along either of its sides. The template
 * defines PACK_TILE.
 *
 *            PACK_TILE elements        Loads run along the stored rows, as wide as the alignment of
 *          +--------------------+      the matrix allows: 16 bytes, 4, or one element; at its edges
 *          | -> -> -> ->        |      one element. Zeros replace what lies outside.
 *          | -> -> -> ->        | r
 *          |    |       |       |      A row of the tile is an odd number of words long, so that
 *          |    v       v       |      the lanes, which read along r if the copy is transposed,
 *          +--------------------+      find their elements in different banks.
 *                    c
 */
#ifndef GT_PACK_TILE_CUH
#define GT_PACK_TILE_CUH

#define GT_PACK_THREADS 128 /* of a block that fills a tile */

/* A matrix in memory: element (r, c) lies r * ld + c elements behind the first. */
template <class E> struct gt_stored {
    const E *first;
    long long rows, cols, ld;
};

/* A vector as smaller ones. */
template <class E, int count, int part> union gt_pack_words {
    gt_vec<E, count> vector;
    gt_vec<E, part> word[count / part];
};

template <class E> struct gt_pack_tile {
    static constexpr int size = (int)sizeof(E);
    static constexpr int pitch = PACK_TILE + 4 / size; /* elements between rows of the tile */
    static_assert(PACK_TILE % 32 == 0 && PACK_TILE * PACK_TILE * size >= 16 * GT_PACK_THREADS,
                  "16 bytes or more for every thread");

    E at[PACK_TILE * pitch];

    /* Stores a vector of `count` elements by words, because rows of the tile begin on multiples of
     * 4 bytes only. */
    template <int count> GT_DEVICE void put(E *to, const gt_vec<E, count> &vector)
    {
        constexpr int part = count * size < 4 ? count : 4 / size;
        gt_pack_words<E, count, part> words;
        words.vector = vector;
#pragma unroll
        for (int i = 0; i < count / part; i++)
            gt_store_vec<E, part>(to + i * part, words.word[i]);
    }

    /* Loads it. */
    template <int count> GT_DEVICE gt_vec<E, count> get(const E *from) const
    {
        constexpr int part = count * size < 4 ? count : 4 / size;
        gt_pack_words<E, count, part> words;
#pragma unroll
        for (int i = 0; i < count / part; i++)
            words.word[i] = gt_load_vec<E, part>(from + i * part);
        return words.vector;
    }

    /* `count` elements below each other. */
    template <int count> GT_DEVICE gt_vec<E, count> get_transposed(const E *from) const
    {
        gt_vec<E, count> vector;
#pragma unroll
        for (int j = 0; j < count; j++)
            vector.at[j] = from[j * pitch];
        return vector;
    }

    /* Fills the tile by vectors of `count` elements. whole: all of it lies within the matrix. */
    template <int count, bool whole>
    GT_DEVICE void fill_by(const gt_stored<E> &from, long long row, long long column, int thread)
    {
        constexpr int across = PACK_TILE / count; /* vectors of a row */
        constexpr int loads = PACK_TILE * across / GT_PACK_THREADS;
        constexpr int flight = loads < 8 ? loads : 8; /* under way */
        static_assert(loads % flight == 0, "a thread loads in whole rounds");

        static_assert(GT_PACK_THREADS % across == 0, "a thread stays in its column of the tile");
        constexpr int step = GT_PACK_THREADS / across; /* rows between vectors of a thread */
        const int r = thread / across, c = thread % across * count;
        const E *next = from.first + (row + r) * from.ld + column + c;
        long long left = from.cols - column - c;
        E *to = at + r * pitch + c;

#pragma unroll 1
        for (int base = 0; base < loads; base += flight) {
            gt_vec<E, count> vector[flight];
#pragma unroll
            for (int i = 0; i < flight; i++) {
                if (!whole && row + r + (base + i) * step >= from.rows)
                    left = 0;
                vector[i] = whole ? gt_load_vec_global<E, count>(next)
                                  : gt_load_vec_masked<E, count>(next, left);
                next += step * from.ld;
            }
#pragma unroll
            for (int i = 0; i < flight; i++)
                put<count>(to + i * step * pitch, vector[i]);
            to += flight * step * pitch;
        }
    }

    /* The tile whose first element is (row, column), both multiples of PACK_TILE.  Every thread of
     * the block takes part; a barrier must follow. */
    GT_DEVICE void fill(const gt_stored<E> &from, long long row, long long column, int thread)
    {
        unsigned long long place =
            reinterpret_cast<unsigned long long>(from.first) | (unsigned long long)from.ld * size;
        if (row + PACK_TILE > from.rows || column + PACK_TILE > from.cols)
            fill_by<1, false>(from, row, column, thread);
        else if (place % 16 == 0)
            fill_by<16 / size, true>(from, row, column, thread);
        else if (size < 4 && place % 4 == 0)
            fill_by<(size < 4 ? 4 / size : 1), true>(from, row, column, thread);
        else
            fill_by<1, true>(from, row, column, thread);
    }
};

/* Which `count` neighbouring elements of the copy a thread takes in each of its rounds. Of a warp,
 * `side` neighbouring lanes lie along a row of the copy, the others below each other. From a
 * thread's first place to that of round i it is as far for every thread: down(i) rows and right(i)
 * elements. */
template <int count, int side> struct gt_pack_place {
    static constexpr int across = PACK_TILE / count;
    static constexpr int rounds = PACK_TILE * across / GT_PACK_THREADS;
    static constexpr int step = GT_PACK_THREADS / side; /* rows between rounds */
    static_assert(across % side == 0 && rounds > 0, "whole groups of lanes, work for all threads");
    static_assert(PACK_TILE % step == 0, "a thread's rounds begin at the same distance");
    int row, column; /* of round 0, in the tile of the copy */

    GT_DEVICE gt_pack_place(int thread)
    {
        row = thread / side;
        column = thread % side * count;
    }
    static GT_DEVICE constexpr int down(int i)
    {
        return i * step % PACK_TILE;
    }
    static GT_DEVICE constexpr int right(int i)
    {
        return i * step / PACK_TILE * side * count;
    }
};

#endif
