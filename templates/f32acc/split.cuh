/* split.cuh - FP32 operands as sums of three bfloat16 numbers, in the workspace, along k.
 *
 *      A, m x k or k x m, any ld          parts of A: [matrix][part][m][ld], ld = k rounded up to 8
 *      +-----------+                      +-----------+
 *      |     x     |     ->               | high      |   x = high + mid + low, up to 2^-26 |x|:
 *      |           |                      +-----------+   each part is what the parts before it
 *      +-----------+                      | mid       |   left over, rounded to nearest; what is
 *                                         +-----------+   left over is exact in float.
 *                                         | low       |
 *                                         +-----------+   B the same way, as n x k, behind A's.
 *
 * Values that would round to an infinity (from 255.5 * 2^120 on) are truncated instead. Infinities
 * and NaN have no parts: zeros stand in their place, and their tile is flagged. Parts below 2^-126
 * are subnormal, and what lies below 2^-134 is lost, where FP32 would have kept 2^-150. */
#ifndef GT_F32ACC_SPLIT_CUH
#define GT_F32ACC_SPLIT_CUH

#include "pack/pack_tile.cuh"

constexpr int PARTS = 3;

/* The workspace, in bytes from its start. A tile of PACK_TILE x PACK_TILE floats of an operand has
 * a flag, an int: whether one of them is infinite or NaN. */
struct SplitLayout {
    long long b, flags_a, flags_b, end; /* parts of B, flags; A's parts are at 0 */
    long long ld;                       /* of the parts, elements */
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

/* One operand: `rows` of op(A) or columns of op(B), stored along k or across. */
struct SplitOperand {
    gt_stored<unsigned> from; /* the bits of floats */
    long long stride;         /* between matrices of the batch */
    long long rows, k;
    bool is_a, turn; /* turn: k runs down the stored matrix */
    unsigned short *to;
};

GT_DEVICE SplitOperand split_operand(const gt_args &args, const SplitLayout &layout, bool is_a)
{
    SplitOperand x;
    x.is_a = is_a;
    x.turn = is_a ? GT_TRANS_A : !GT_TRANS_B;
    x.rows = is_a ? args.m : args.n;
    x.k = args.k;
    x.stride = is_a ? args.stride_a : args.stride_b;
    x.from.first = static_cast<const unsigned *>(is_a ? args.a : args.b);
    x.from.rows = x.turn ? args.k : x.rows;
    x.from.cols = x.turn ? x.rows : args.k;
    x.from.ld = is_a ? args.lda : args.ldb;
    x.to = reinterpret_cast<unsigned short *>(static_cast<char *>(args.workspace) +
                                              (is_a ? 0 : layout.b));
    return x;
}

/* Takes the next part off x, which is finite. */
GT_DEVICE unsigned short next_part(float &x)
{
    const unsigned bits = __float_as_uint(x);
    gt_bf16 part = gt_from_float<GT_BF16>(x);
    if ((bits & 0x7fffffffu) >= 0x7f7f8000u) /* would round to infinity */
        part.bits = (unsigned short)(bits >> 16);
    x -= gt_to_float<GT_BF16>(part);
    return part.bits;
}

/* Writes the parts of a tile; whether the thread saw an infinity or a NaN. */
template <bool turn>
GT_DEVICE bool split_store(const gt_pack_tile<unsigned> &tile, const SplitOperand &x, long long ld,
                           unsigned short *to, long long row, long long k, int thread)
{
    /* Lanes side by side: turned, as many as keep the banks apart. */
    typedef gt_pack_piece<8, turn ? 4 : PACK_TILE / 8> piece_type;
    bool special = false;

#pragma unroll 1
    for (int i = 0; i < piece_type::rounds; i++) {
        const piece_type piece(i, thread);
        gt_run<unsigned short, 8> part[PARTS];
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int r = turn ? piece.column + j : piece.row, c = turn ? piece.row : piece.column + j;
            const unsigned bits = tile.at[r * tile.pitch + c];
            const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
            float rest = finite ? __uint_as_float(bits) : 0.0f;
            special = special || !finite;
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                part[p].at[j] = next_part(rest);
        }
        if (row + piece.row < x.rows && k + piece.column < ld)
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                gt_store_run<unsigned short, 8>(
                    to + (p * x.rows + row + piece.row) * ld + k + piece.column, part[p]);
    }
    return special;
}

/* Tile `number` of one operand, in every matrix of the batch. */
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
        tile.fill(from, x.turn ? k : row, x.turn ? row : k, threadIdx.x);
        gt_sync(); /* of the tile, and of the flag */
        const bool special = x.turn
                                 ? split_store<true>(tile, x, layout.ld, to, row, k, threadIdx.x)
                                 : split_store<false>(tile, x, layout.ld, to, row, k, threadIdx.x);
        if (special)
            *flag = 1;
        gt_sync();
    }
}

/* What the entry does: the first blocks take the tiles of A, the others those of B. */
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
