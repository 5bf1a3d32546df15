/* split_three.cuh - of f32acc/gemm.cu: writes a tile's floats as three bfloat16 parts (parts.cuh).
 * The tile's word is 1 if one of its values has no parts, else 0. */
#ifndef GT_F32ACC_SPLIT_THREE_CUH
#define GT_F32ACC_SPLIT_THREE_CUH

#include "f32acc/parts.cuh"

template <int way> GT_DEVICE void split_store(const SplitTile &tile, int thread)
{
    typedef SplitPiece<way> piece_type;
    float largest = 0.0f;

#pragma unroll 1 /* not unrolled, because registers for more blocks are worth more */
    for (int i = 0; i < piece_type::rounds; i++) {
        const piece_type piece(i, thread);
        gt_vec<unsigned, 4> part[PARTS];
        float x[8];
        tile.load<way>(x, piece.row, piece.column);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            unsigned pair[PARTS];
            largest = max(largest, max(fabsf(x[2 * j]), fabsf(x[2 * j + 1])));
            split_pair(x[2 * j], x[2 * j + 1], pair);
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                part[p].at[j] = pair[p];
        }
        if (tile.has(piece.row))
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                tile.store(p, piece.row, piece.column, part[p]);
    }
    if (largest >= NO_PARTS)
        *tile.word = 1;
}

#endif
