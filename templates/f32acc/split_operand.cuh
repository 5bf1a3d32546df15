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

template <int way>
GT_DEVICE void load_eight(float (&to)[8], const gt_pack_tile<unsigned> &tile,
                          const gt_stored<unsigned> &from, long long row, long long k, int tile_row,
                          int tile_k)
{
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
        const unsigned *at = from.first + (row + tile_row) * from.ld + k + tile_k + j;
        gt_vec<unsigned, 4> vec;
        if (way == DIRECT)
            vec = gt_load_vec_global<unsigned, 4>(at);
#pragma unroll
        for (int u = 0; u < 4; u++)
            to[j + u] = __uint_as_float(way == DIRECT ? vec.at[u]
                                        : way == TRANSPOSED
                                            ? tile.at[(tile_k + j + u) * tile.pitch + tile_row]
                                            : tile.at[tile_row * tile.pitch + tile_k + j + u]);
    }
}

/* A tile that is split: where it is read from and where its parts go. */
struct SplitTile {
    const gt_pack_tile<unsigned> &tile; /* filled, unless the tile is read directly */
    gt_stored<unsigned> from;
    long long rows, depth, ld; /* of the operand: its rows and its k; of the parts */
    long long row, k;          /* of the tile's first element */
    unsigned short *to;        /* the matrix's parts */
    int *word;                 /* of the tile */

    /* The thread's eight neighbours at a place of the tile. */
    template <int way> GT_DEVICE void load(float (&x)[8], int tile_row, int tile_k) const
    {
        load_eight<way>(x, tile, from, row, k, tile_row, tile_k);
    }

    /* Stores eight neighbours of part p. */
    GT_DEVICE void store(int p, int tile_row, int tile_k, const gt_vec<unsigned, 4> &eight) const
    {
        gt_store_vec<unsigned, 4>(
            reinterpret_cast<unsigned *>(to + (p * rows + row + tile_row) * ld + k + tile_k),
            eight);
    }
    GT_DEVICE bool has(int tile_row) const
    {
        return row + tile_row < rows;
    }
};

/* Lanes next to each other; for a transposed tile, as many as do not use the same banks. */
template <int way> using SplitPiece = gt_pack_place<8, way == TRANSPOSED ? 4 : PACK_TILE / 8>;

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
