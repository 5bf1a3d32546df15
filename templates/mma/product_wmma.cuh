/* product_wmma.cuh - part of tile.cu, whose parameters it uses: the product of two tiles on tensor
 * cores. The warps divide the tile as evenly as a grid of warp tiles allows, taller than wide. */
#ifndef GT_MMA_PRODUCT_WMMA_CUH
#define GT_MMA_PRODUCT_WMMA_CUH

#include "common/wmma.cuh"

struct Product {
    static constexpr int DOWN = BM >= BN ? (WARPS >= 8   ? WARPS / 2
                                            : WARPS >= 2 ? 2
                                                         : 1)
                                         : (WARPS >= 4 ? 2 : 1); /* warps below each other */
    static constexpr int ACROSS = WARPS / DOWN;
    static constexpr int WM = BM / DOWN, WN = BN / ACROSS; /* of a warp */
    static constexpr int BETWEEN = 24; /* floats between rows of sums on their way to D */
    static_assert(WM % 16 == 0 && WN % 16 == 0, "fragments are 16 x 16");
    gt_wmma_sum sum[WM / 16][WN / 16];

    static GT_DEVICE int row()
    {
        return threadIdx.x / 32 / ACROSS * WM;
    }
    static GT_DEVICE int column()
    {
        return threadIdx.x / 32 % ACROSS * WN;
    }

    GT_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int j = 0; j < WN / 16; j++)
                sum[i][j] = gt_wmma_sum();
    }

    GT_DEVICE void add(const Element *tile_a, const Element *tile_b)
    {
#pragma unroll 1
        for (int k = 0; k < BK; k += GT_WMMA_DEPTH) {
            gt_wmma_operand b[WN / 16];
#pragma unroll
            for (int j = 0; j < WN / 16; j++)
                gt_wmma_load_b<!ALONG_B>(b[j],
                                         tile_b + (ALONG_B ? (column() + j * 16) * LD_B + k
                                                           : k * LD_B + column() + j * 16),
                                         LD_B);
#pragma unroll
            for (int i = 0; i < WM / 16; i++) {
                gt_wmma_operand a;
                gt_wmma_load_a<ALONG_A>(
                    a, tile_a + (ALONG_A ? (row() + i * 16) * LD_A + k : k * LD_A + row() + i * 16),
                    LD_A);
#pragma unroll
                for (int j = 0; j < WN / 16; j++)
                    gt_wmma_multiply<ALONG_A, !ALONG_B>(sum[i][j], a, b[j]);
            }
        }
    }

    GT_DEVICE void store(const gt_typed_output &output, long long first_row, long long first_column,
                         char *shared) const
    {
        float *between = reinterpret_cast<float *>(shared) + threadIdx.x / 32 * (16 * BETWEEN);
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int j = 0; j < WN / 16; j++) {
                gt_wmma_store(between, sum[i][j], BETWEEN);
                __syncwarp();
#pragma unroll 1
                for (int at = threadIdx.x % 32 * VECTOR; at < 256; at += 32 * VECTOR)
                    gt_typed_output_store<VECTOR>(output, first_row + row() + i * 16 + at / 16,
                                                  first_column + column() + j * 16 + at % 16,
                                                  between + at / 16 * BETWEEN + at % 16);
                __syncwarp();
            }
    }
};

#endif
