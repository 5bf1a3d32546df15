/* pack.cuh - an operand copied into the workspace before the product, for templates that need rows
 * at multiples of 16 bytes, or both operands along k.
 *
 *      stored, any ld              workspace
 *      +-----------+..           +-----------+--+     rows as stored (PACK_A 1), or turned, columns
 *      |           | .     ->    |           | 0|     becoming rows (PACK_A 2). Rows are padded
 * with |           | .           |           | 0|     zeros to whole 16 bytes; matrices of a batch
 *      +-----------+..           +-----------+--+     follow each other, B's behind A's.
 *
 * Include it in a template of tensor.cuh, behind a parameter block that defines PACK_A, PACK_B and
 * PACK_TILE where they are not defined, and write the entries:
 *
 *   #if PACK_A
 *   GT_KERNEL_BOUNDS(pack_a, GT_PACK_THREADS, 4) { gt_pack_a(args); }
 *   #endif
 *
 * and the same for B.  In the description:
 *
 *   "params":       PACK_A and PACK_B: 0 no copy, 1 as stored, 2 turned; PACK_TILE: 32, 64, 128
 *
 *   "constraints":  PACK_TILE * PACK_TILE * SIZE_IN >= 4096 (16 bytes for each thread),
 *                   PACK_TILE * (PACK_TILE * SIZE_IN + 4) <= 49152 (static shared memory)
 *
 *   "derive":       PACK_COLS_A = TRANS_A != (PACK_A == 2) ? M : K
 *
 *                   PACK_ROWS_A = TRANS_A != (PACK_A == 2) ? K : M
 *
 *                   PACK_LDA = cdiv(PACK_COLS_A * SIZE_IN, 16) * 16 / SIZE_IN
 *
 *                   PACK_BYTES_A = PACK_A ? bytes of BATCH such copies, rounded up to 256 : 0
 *
 *                   PACK_GRID_A = max(1, cdiv(M, PACK_TILE) * cdiv(K, PACK_TILE))
 *
 *                   and the same for B, whose copy begins at PACK_BYTES_A
 *
 *   "launches":     {"entry": "pack_a", "when": "PACK_A", "block": [256],
 *                   "grid": ["PACK_GRID_A", "min(BATCH, 65535)"]}, pack_b, then the product
 *
 *   "workspace":    PACK_BYTES_A + PACK_BYTES_B + what the template needs itself
 *
 * Tensor maps say "operand": "workspace" with those offsets, PACK_LDA * SIZE_IN for the stride of
 * rows and PACK_ROWS_A times that for the stride of matrices.  Templates that compute addresses
 * call gt_packed(args), use what it returns in the place of args, and GT_PACKED_TRANS_A, _B in the
 * place of GT_TRANS_A, _B.  Their own part of the workspace begins gt_packed_bytes(args) behind its
 * start.  Where alpha is 0 nothing is read and the copies are not written. */
#ifndef GT_PACK_CUH
#define GT_PACK_CUH

#include "pack/pack_tile.cuh"

/* The layout of the operands as the product finds them. */
#define GT_PACKED_TRANS_A (PACK_A == 2 ? !GT_TRANS_A : GT_TRANS_A)
#define GT_PACKED_TRANS_B (PACK_B == 2 ? !GT_TRANS_B : GT_TRANS_B)

/* Where the copy of an operand lies; lengths in elements. */
struct gt_packed_place {
    long long rows, ld, stride; /* of a copy; between rows and between matrices of the batch */
    long long bytes;            /* of all copies, up to where something else may begin */
};

GT_DEVICE gt_packed_place gt_packed_place_of(bool used, long long rows, long long cols,
                                             long long batch)
{
    constexpr int size = (int)sizeof(GT_IN), whole = 16 / size;
    gt_packed_place place;
    place.rows = rows;
    place.ld = gt_cdiv(cols, whole) * whole;
    place.stride = rows * place.ld;
    place.bytes = used ? gt_cdiv(batch * place.stride * size, 256) * 256 : 0;
    return place;
}

GT_DEVICE gt_packed_place gt_packed_a(const gt_args &args)
{
    return gt_packed_place_of(PACK_A, GT_PACKED_TRANS_A ? args.k : args.m,
                              GT_PACKED_TRANS_A ? args.m : args.k, args.batch);
}

GT_DEVICE gt_packed_place gt_packed_b(const gt_args &args)
{
    return gt_packed_place_of(PACK_B, GT_PACKED_TRANS_B ? args.n : args.k,
                              GT_PACKED_TRANS_B ? args.k : args.n, args.batch);
}

GT_DEVICE long long gt_packed_bytes(const gt_args &args)
{
    return gt_packed_a(args).bytes + gt_packed_b(args).bytes;
}

/* The argument with the copies in the place of the operands. */
GT_DEVICE gt_args gt_packed(const gt_args &args)
{
    const gt_packed_place a = gt_packed_a(args), b = gt_packed_b(args);
    char *workspace = static_cast<char *>(args.workspace);
    gt_args packed = args;
    if (PACK_A) {
        packed.a = workspace;
        packed.lda = a.ld;
        packed.stride_a = a.stride;
    }
    if (PACK_B) {
        packed.b = workspace + a.bytes;
        packed.ldb = b.ld;
        packed.stride_b = b.stride;
    }
    return packed;
}

/* One tile, from shared memory to the copy, by 16 bytes.  (row, column): the tile's place in the
 * stored matrix. */
template <class E, bool turn>
GT_DEVICE void gt_pack_store(const gt_pack_tile<E> &tile, E *to, const gt_packed_place &place,
                             long long row, long long column, int thread)
{
    constexpr int count = 16 / (int)sizeof(E);
    /* Lanes side by side: turned, as many as keep the banks apart; else a row of the tile. */
    typedef gt_pack_piece<count, turn ? 2 * (int)sizeof(E) : PACK_TILE / count> piece_type;

#pragma unroll 2
    for (int i = 0; i < piece_type::rounds; i++) {
        const piece_type piece(i, thread);
        const gt_run<E, count> run =
            turn ? tile.template get_turned<count>(tile.at + piece.column * tile.pitch + piece.row)
                 : tile.template get<count>(tile.at + piece.row * tile.pitch + piece.column);
        long long r = (turn ? column : row) + piece.row, c = (turn ? row : column) + piece.column;
        if (r < place.rows && c < place.ld)
            gt_store_run<E, count>(to + r * place.ld + c, run);
    }
}

/* Copies every matrix of the batch; a block copies one tile of each. */
template <class E, bool turn>
GT_DEVICE void gt_pack(gt_stored<E> from, long long stride, E *to, const gt_packed_place &place,
                       long long batch)
{
    GT_STATIC_SHARED(gt_pack_tile<E>, tile, );
    const unsigned across = (unsigned)gt_cdiv(from.cols, PACK_TILE);
    const unsigned down = (unsigned)gt_cdiv(from.rows, PACK_TILE);
    if (blockIdx.x >= across * down) /* the one block of an operand without elements */
        return;
    const long long row = (long long)(blockIdx.x / across) * PACK_TILE;
    const long long column = (long long)(blockIdx.x % across) * PACK_TILE;

    from.first += blockIdx.y * stride;
    to += blockIdx.y * place.stride;
    for (long long matrix = blockIdx.y; matrix < batch; matrix += gridDim.y) {
        tile.fill(from, row, column, threadIdx.x);
        gt_sync();
        gt_pack_store<E, turn>(tile, to, place, row, column, threadIdx.x);
        gt_sync();
        from.first += gridDim.y * stride;
        to += gridDim.y * place.stride;
    }
}

typedef typename gt_word<(int)sizeof(GT_IN)>::type gt_pack_element; /* only its bits matter */

/* What the entries do; every thread of their blocks takes part. */
GT_DEVICE void gt_pack_a(const gt_args &args)
{
    const gt_stored<gt_pack_element> from = {static_cast<const gt_pack_element *>(args.a),
                                             GT_TRANS_A ? args.k : args.m,
                                             GT_TRANS_A ? args.m : args.k, args.lda};
    if (args.alpha != 0.0f)
        gt_pack<gt_pack_element, PACK_A == 2>(from, args.stride_a,
                                              static_cast<gt_pack_element *>(args.workspace),
                                              gt_packed_a(args), args.batch);
}

GT_DEVICE void gt_pack_b(const gt_args &args)
{
    const gt_stored<gt_pack_element> from = {static_cast<const gt_pack_element *>(args.b),
                                             GT_TRANS_B ? args.n : args.k,
                                             GT_TRANS_B ? args.k : args.n, args.ldb};
    char *to = static_cast<char *>(args.workspace) + gt_packed_a(args).bytes;
    if (args.alpha != 0.0f)
        gt_pack<gt_pack_element, PACK_B == 2>(from, args.stride_b,
                                              reinterpret_cast<gt_pack_element *>(to),
                                              gt_packed_b(args), args.batch);
}

#endif
