/* split_three.cuh - of f32acc/gemm.cu: writes a tile's floats as three bfloat16 parts (parts.cuh).
 * The tile's word is 1 if one of its values has no parts, else 0. */
#ifndef GT_F32ACC_SPLIT_THREE_CUH
#define GT_F32ACC_SPLIT_THREE_CUH

#include "f32acc/parts.cuh"

GT_DEVICE void split_begin(const SplitTile &tile)
{
    *tile.word = 0;
}

template <int way> GT_DEVICE void split_store(const SplitTile &tile, int thread)
{
    typedef SplitValues<way> values_type;
    const values_type values(tile, thread);
    const SplitStores<way> stores(tile, thread);
    float largest = 0.0f;

#pragma unroll
    for (int i = 0; i < values_type::ROUNDS; i++) {
        const float *const x = values.x[i];
        gt_vec<unsigned, 4> part[PARTS];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            unsigned pair[PARTS];
            largest = max(largest, max(fabsf(x[2 * j]), fabsf(x[2 * j + 1])));
            split_pair(x[2 * j], x[2 * j + 1], pair);
#pragma unroll
            for (int p = 0; p < PARTS; p++)
                part[p].at[j] = pair[p];
        }
        stores.store(i, part);
    }
    if (largest >= NO_PARTS)
        *tile.word = 1;
}

#endif
