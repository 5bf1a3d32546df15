/* split.cuh - writes FP32 operands to the workspace in three parts (parts.cuh), along k.
 *
 *      A, m x k or k x m, any ld          parts of A: [matrix][part][m][ld], ld = k rounded up to 8
 *      +-----------+                      +-----------+
 *      |           |     ->               | high      |   After the parts of A come those of B, as
 *      |           |                      +-----------+   n x k; then a flag for each tile of A and
 *      +-----------+                      | mid       |   of B that says whether the tile
 *                                         +-----------+   holds a value that has no parts.
 *                                         | low       |
 *                                         +-----------+ */
#ifndef GT_F32ACC_SPLIT_CUH
#define GT_F32ACC_SPLIT_CUH

#include "pack/pack_tile.cuh"
#include "f32acc/parts.cuh"

/* The workspace: offsets in bytes. Each tile of PACK_TILE x PACK_TILE floats of an operand has a
 * flag, an int, which is 1 if one of the floats has no parts. */
struct SplitLayout {
    long long b, flags_a, flags_b, end; /* of B's parts and of the flags; A's parts begin at 0 */
    long long ld;                       /* of the parts, in elements */
    long long tiles_a, tiles_b, deep;   /* flags of a matrix: tiles along m (or n) and along k */

    GT_DEVICE int *flags(const gt_args &args, bool is_a) const
    {
        return reinterpret_cast<int *>(static_cast<char *>(args.workspace) +
                                       (is_a ? flags_a : flags_b));
    }
    GT_DEVICE long long flag_at(bool is_a, long long matrix, long long tile, long long k) const
    {
        return (matrix * (is_a ? tiles_a : tiles_b) + tile) * deep + k;
    }
    GT_DEVICE int flag(const gt_args &args, bool is_a, long long matrix, long long tile,
                       long long k) const
    {
        return flags(args, is_a)[flag_at(is_a, matrix, tile, k)];
    }
};

GT_DEVICE long long split_round(long long bytes)
{
    return gt_cdiv(bytes, 256) * 256;
}

GT_DEVICE SplitLayout split_layout_of(const gt_args &args)
{
    SplitLayout x;
    x.ld = gt_cdiv(args.k, 8) * 8;
    x.tiles_a = gt_cdiv(args.m, PACK_TILE);
    x.tiles_b = gt_cdiv(args.n, PACK_TILE);
    x.deep = gt_cdiv(args.k, PACK_TILE);
    x.b = split_round(args.batch * PARTS * args.m * x.ld * 2);
    x.flags_a = x.b + split_round(args.batch * PARTS * args.n * x.ld * 2);
    x.flags_b = x.flags_a + split_round(args.batch * x.tiles_a * x.deep * 4);
    x.end = x.flags_b + split_round(args.batch * x.tiles_b * x.deep * 4);
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

/* Writes the parts of a tile; true if the thread saw a value that has none. */
template <int way>
GT_DEVICE bool split_store(const gt_pack_tile<unsigned> &tile, const gt_stored<unsigned> &from,
                           long long x_rows, long long ld, unsigned short *to, long long row,
                           long long k, int thread)
{
    /* Lanes next to each other; for a transposed tile, as many as do not use the same banks. */
    typedef gt_pack_place<8, way == TRANSPOSED ? 4 : PACK_TILE / 8> piece_type;
    float largest = 0.0f;

#pragma unroll 1 /* not unrolled, because registers for more blocks are worth more */
    for (int i = 0; i < piece_type::rounds; i++) {
        const piece_type piece(i, thread);
        gt_vec<unsigned, 4> part[PARTS];
        float x[8];
        load_eight<way>(x, tile, from, row, k, piece.row, piece.column);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            unsigned pair[PARTS];
            largest = max(largest, max(fabsf(x[2 * j]), fabsf(x[2 * j + 1])));
            split_pair(x[2 * j], x[2 * j + 1], pair);
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                part[p].at[j] = pair[p];
        }
        if (row + piece.row < x_rows && k + piece.column < ld)
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                gt_store_vec<unsigned, 4>(
                    reinterpret_cast<unsigned *>(to + (p * x_rows + row + piece.row) * ld + k +
                                                 piece.column),
                    part[p]);
    }
    return largest >= NO_PARTS;
}

/* Whether the tile at (row, k) lies within the operand, along k and in whole vectors of 16
 * bytes. */
GT_DEVICE bool is_direct(const SplitOperand &x, const gt_stored<unsigned> &from, long long row,
                         long long k)
{
    const unsigned long long place =
        reinterpret_cast<unsigned long long>(from.first) | (unsigned long long)from.ld * 4;
    return !x.transposed && place % 16 == 0 && row + PACK_TILE <= x.rows && k + PACK_TILE <= x.k;
}

/* Splits tile `number` of one operand in every matrix of the batch. */
GT_DEVICE void split_tile(const gt_args &args, const SplitLayout &layout, const SplitOperand &x,
                          unsigned number)
{
    GT_STATIC_SHARED(gt_pack_tile<unsigned>, tile, );
    const unsigned deep = (unsigned)layout.deep;
    const long long row = (long long)(number / deep) * PACK_TILE;
    const long long k = (long long)(number % deep) * PACK_TILE;

    for (long long matrix = blockIdx.y; matrix < args.batch; matrix += gridDim.y) {
        int *flag = layout.flags(args, x.is_a) +
                    layout.flag_at(x.is_a, matrix, number / deep, number % deep);
        unsigned short *to = x.to + matrix * PARTS * x.rows * layout.ld;
        gt_stored<unsigned> from = x.from;
        from.first += matrix * x.stride;
        if (threadIdx.x == 0)
            *flag = 0;
        const bool direct = is_direct(x, from, row, k);
        if (!direct)
            tile.fill(from, x.transposed ? k : row, x.transposed ? row : k, threadIdx.x);
        gt_sync(); /* for the tile and for the flag */
        bool special;
        if (direct)
            special = split_store<DIRECT>(tile, from, x.rows, layout.ld, to, row, k, threadIdx.x);
        else if (x.transposed)
            special =
                split_store<TRANSPOSED>(tile, from, x.rows, layout.ld, to, row, k, threadIdx.x);
        else
            special = split_store<BY_TILE>(tile, from, x.rows, layout.ld, to, row, k, threadIdx.x);
        if (special)
            *flag = 1;
        gt_sync();
    }
}

/* The entry `split`: the first blocks have the tiles of A, the others those of B. */
GT_DEVICE void split_both(const gt_args &args)
{
    const SplitLayout layout = split_layout_of(args);
    const unsigned tiles_a = (unsigned)(layout.tiles_a * layout.deep);
    const unsigned tiles_b = (unsigned)(layout.tiles_b * layout.deep);

    if (args.alpha == 0.0f || blockIdx.x >= tiles_a + tiles_b)
        return;
    const bool is_a = blockIdx.x < tiles_a;
    split_tile(args, layout, split_operand(args, layout, is_a),
               is_a ? blockIdx.x : blockIdx.x - tiles_a);
}

#endif
