/* split_operand.cuh - of the templates of f32acc that split operands by a launch of their own:
 * where the parts lie in the workspace, and how a tile of an operand is read.
 *
 *      A, m x k or k x m, any ld          parts of A: [matrix][part][m][ld], ld = k rounded up to whole
 *      +-----------+                      +-----------+
 *      |           |     ->               | high      |   tiles: so rows begin at lines of 128 bytes
 *      |           |                      +-----------+   (TMA takes each line that a row of a box
 *      +-----------+                      | ...       |   touches from L2 as a whole). Then come the
 *                                         +-----------+   parts of B, as n x k; then a word for each
 *                                                         tile of A and of B, which says what
 *                                                         consumers need to know of the tile
 *                                                         (split_store).
 *
 * What is behind k in a row is zeros, which nobody reads: the tensor maps end with k.
 *
 * The template defines STORED, the number of parts. */
#ifndef GT_F32ACC_SPLIT_OPERAND_CUH
#define GT_F32ACC_SPLIT_OPERAND_CUH

#include "pack/pack_tile.cuh"

/* The workspace: offsets in bytes. Each tile of PACK_TILE x PACK_TILE floats of an operand has a
 * word, an int. */
struct SplitLayout {
    long long b, words_a, words_b, end; /* of B's parts and of the words; A's parts begin at 0 */
    long long ld;                       /* of the parts, in elements */
    long long tiles_a, tiles_b, deep;   /* words of a matrix: tiles along m (or n) and along k */

    /* The word of a tile along m (or n), at the operand's first value of k; those of the tiles that
     * follow along k are behind it. */
    GT_DEVICE int *words(const gt_args &args, bool is_a, long long matrix, long long tile) const
    {
        return reinterpret_cast<int *>(static_cast<char *>(args.workspace) +
                                       (is_a ? words_a : words_b)) +
               (matrix * (is_a ? tiles_a : tiles_b) + tile) * deep;
    }
};

GT_DEVICE long long split_round(long long bytes)
{
    return gt_cdiv(bytes, 256) * 256;
}

GT_DEVICE SplitLayout split_layout_of(const gt_args &args)
{
    SplitLayout x;
    x.tiles_a = gt_cdiv(args.m, PACK_TILE);
    x.tiles_b = gt_cdiv(args.n, PACK_TILE);
    x.deep = gt_cdiv(args.k, PACK_TILE);
    x.ld = x.deep * PACK_TILE;
    x.b = split_round(args.batch * STORED * args.m * x.ld * 2);
    x.words_a = x.b + split_round(args.batch * STORED * args.n * x.ld * 2);
    x.words_b = x.words_a + split_round(args.batch * x.tiles_a * x.deep * 4);
    x.end = x.words_b + split_round(args.batch * x.tiles_b * x.deep * 4);
    return x;
}

/* One operand: `rows` rows of op(A) or columns of op(B), stored along k or across it. */
struct SplitOperand {
    gt_stored<unsigned> from; /* the bits of floats */
    long long stride;         /* between matrices of the batch */
    long long rows, k;
    bool is_a, transposed; /* k runs down the stored matrix */
    unsigned short *to;
};

GT_DEVICE SplitOperand split_operand(const gt_args &args, const SplitLayout &layout, bool is_a)
{
    SplitOperand x;
    x.is_a = is_a;
    x.transposed = is_a ? GT_TRANS_A : !GT_TRANS_B;
    x.rows = is_a ? args.m : args.n;
    x.k = args.k;
    x.stride = is_a ? args.stride_a : args.stride_b;
    x.from.first = static_cast<const unsigned *>(is_a ? args.a : args.b);
    x.from.rows = x.transposed ? args.k : x.rows;
    x.from.cols = x.transposed ? x.rows : args.k;
    x.from.ld = is_a ? args.lda : args.ldb;
    x.to = reinterpret_cast<unsigned short *>(static_cast<char *>(args.workspace) +
                                              (is_a ? 0 : layout.b));
    return x;
}

/* How a thread gets eight neighbours along k: from the tile in shared memory, along a row of it or
 * (TRANSPOSED) down a column; or directly, where they are two aligned vectors of 16 bytes of a tile
 * that lies within the operand. */
enum SplitWay { BY_TILE, TRANSPOSED, DIRECT };

/* A tile that is split: where it is read from and where its parts go. */
struct SplitTile {
    const gt_pack_tile<unsigned> &tile; /* filled, unless the tile is read directly */
    gt_stored<unsigned> from;
    long long rows, depth, ld; /* of the operand: its rows and its k; of the parts */
    long long row, k;          /* of the tile's first element */
    unsigned short *to;        /* the matrix's parts */
    int *word;                 /* of the tile */
};

/* Lanes next to each other; for a transposed tile, as many as do not use the same banks. */
template <int way> using SplitPlace = gt_pack_place<8, way == TRANSPOSED ? 4 : PACK_TILE / 8>;

/* A thread's values of a tile: eight neighbours in each of its rounds. They are loaded all at once,
 * so that no load waits for another, and kept, so that none is loaded twice. Distances within a
 * tile fit 31 bits (a constraint of the descriptions). */
template <int way> struct SplitValues {
    typedef SplitPlace<way> place_type;
    static constexpr int ROUNDS = place_type::rounds;
    float x[ROUNDS][8];

    GT_DEVICE SplitValues(const SplitTile &tile, int thread)
    {
        const place_type place(thread);
        const unsigned *const first =
            way == DIRECT ? tile.from.first + (tile.row + place.row) * tile.from.ld + tile.k +
                                place.column
            : way == TRANSPOSED ? tile.tile.at + place.column * tile.tile.pitch + place.row
                                : tile.tile.at + place.row * tile.tile.pitch + place.column;
#pragma unroll
        for (int i = 0; i < ROUNDS; i++)
            load(x[i], first, i, way == DIRECT ? (int)tile.from.ld : tile.tile.pitch);
    }

    /* Loads the eight of round i; `first` is of round 0. */
    static GT_DEVICE void load(float (&to)[8], const unsigned *first, int i, int pitch)
    {
        constexpr bool across = way != TRANSPOSED;
        const int down = place_type::down(i), right = place_type::right(i);
        const unsigned *const at = first + (across ? down * pitch + right : right * pitch + down);
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            gt_vec<unsigned, 4> vec;
            if (way == DIRECT)
                vec = gt_load_vec_global<unsigned, 4>(at + j);
#pragma unroll
            for (int u = 0; u < 4; u++)
                to[j + u] = __uint_as_float(way == DIRECT ? vec.at[u]
                                                          : at[across ? j + u : (j + u) * pitch]);
        }
    }
};

/* Where a thread stores the parts of its values. */
template <int way> struct SplitStores {
    typedef SplitPlace<way> place_type;
    unsigned short *first; /* of part 0 in round 0 */
    long long part;        /* elements between parts */
    int ld, left;          /* elements between rows; rows of the operand from the thread's first */

    GT_DEVICE SplitStores(const SplitTile &tile, int thread)
    {
        const place_type place(thread);
        const long long row = tile.row + place.row;
        first = tile.to + row * tile.ld + tile.k + place.column;
        part = tile.rows * tile.ld;
        ld = (int)tile.ld;
        left = (int)min(tile.rows - row, (long long)PACK_TILE);
    }

    /* Stores the eight of round i of each part. By asm, because the compiler makes four stores of a
     * gt_store_vec here (NVRTC 13.0). */
    GT_DEVICE void store(int i, const gt_vec<unsigned, 4> (&eight)[STORED]) const
    {
        unsigned short *at = first + place_type::down(i) * ld + place_type::right(i);
        if (place_type::down(i) >= left)
            return;
#pragma unroll
        for (int p = 0; p < STORED; p++, at += part) {
#ifdef GT_EMULATE
            gt_store_vec<unsigned, 4>(reinterpret_cast<unsigned *>(at), eight[p]);
#else
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(
                             __cvta_generic_to_global(at)),
                         "r"(eight[p].at[0]), "r"(eight[p].at[1]), "r"(eight[p].at[2]),
                         "r"(eight[p].at[3])
                         : "memory");
#endif
        }
    }
};

/* Whether the tile at (row, k) lies within the operand, along k and in whole vectors of 16
 * bytes. */
GT_DEVICE bool is_direct(const SplitOperand &x, const gt_stored<unsigned> &from, long long row,
                         long long k)
{
    const unsigned long long place =
        reinterpret_cast<unsigned long long>(from.first) | (unsigned long long)from.ld * 4;
    return !x.transposed && place % 16 == 0 && row + PACK_TILE <= x.rows && k + PACK_TILE <= x.k;
}

#endif
