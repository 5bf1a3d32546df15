/* wmma.cu - rung 8: tensor cores through wmma fragments, shared tiles padded by a skew.
 *
 *      D of a block, BM x BN          a warp's WM x WN: fragments of 16 x 16
 *      +------+------+                +----+----+----+----+
 *      |warp 0|warp 1|                | 16 |    |    |    |     for every 16 (tf32: 8) of BK the
 *    WM+------+------+                +----+----+----+----+     warp loads its fragments of A and B
 *      |warp 2|warp 3|                |    |    |    |    |     once and multiplies each with each
 *      +------+------+                +----+----+----+----+
 *         WN
 *
 * A tile of each operand, copied as it lies in memory (fragments are loaded by rows or by columns),
 * barrier, products, barrier. Without the SKEW at the end of its lines all rows of a fragment would
 * begin in the same bank of shared memory. */

#include "common/tensor.cuh"

#include "common/wmma.cuh"

#include "mma/lines.cuh"

typedef gt_element<GT_TYPE>::type Element;
constexpr int SIZE = (int)sizeof(Element);
constexpr int THREADS = BM / WM * (BN / WN) * 32;
constexpr bool ALONG_A = !GT_TRANS_A, ALONG_B = GT_TRANS_B; /* along k in memory */
constexpr int LD_A = (ALONG_A ? BK : BM) + SKEW, LD_B = (ALONG_B ? BK : BN) + SKEW;

typedef Lines<ALONG_A ? BM : BK, (ALONG_A ? BK : BM) * SIZE, LD_A * SIZE, COPY, THREADS> TileA;
typedef Lines<ALONG_B ? BN : BK, (ALONG_B ? BK : BN) * SIZE, LD_B * SIZE, COPY, THREADS> TileB;

/* Multiplies a tile: rows from `row` on of A, columns from `column` on of B. */
GT_DEVICE void multiply(gt_wmma_sum (&sum)[WM / 16][WN / 16], const Element *tile_a,
                        const Element *tile_b, int row, int column)
{
#pragma unroll
    for (int k = 0; k < BK; k += GT_WMMA_DEPTH) {
        gt_wmma_operand a[WM / 16], b[WN / 16];
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
            gt_wmma_load_a<ALONG_A>(
                a[i], tile_a + (ALONG_A ? (row + i * 16) * LD_A + k : k * LD_A + row + i * 16),
                LD_A);
#pragma unroll
        for (int j = 0; j < WN / 16; j++)
            gt_wmma_load_b<!ALONG_B>(
                b[j],
                tile_b + (ALONG_B ? (column + j * 16) * LD_B + k : k * LD_B + column + j * 16),
                LD_B);
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int j = 0; j < WN / 16; j++)
                gt_wmma_multiply<ALONG_A, !ALONG_B>(sum[i][j], a[i], b[j]);
    }
}

/* Stores 16 x 16 sums by way of `between`, 16 rows of BETWEEN floats of the warp's own. */
constexpr int BETWEEN = 24;
constexpr int VECTOR =
    COPY < (int)sizeof(gt_element<GT_OUT>::type) ? 1 : COPY / (int)sizeof(gt_element<GT_OUT>::type);

GT_DEVICE void store(const gt_typed_output &output, long long row, long long column, float *between,
                     const gt_wmma_sum &sum)
{
    gt_wmma_store(between, sum, BETWEEN);
    __syncwarp();
#pragma unroll 1
    for (int at = threadIdx.x % 32 * VECTOR; at < 256; at += 32 * VECTOR)
        gt_typed_output_store<VECTOR>(output, row + at / 16, column + at % 16,
                                      between + at / 16 * BETWEEN + at % 16);
    __syncwarp();
}

GT_KERNEL_BOUNDS(gemm, THREADS, 1)
{
    GT_DYNAMIC_SHARED(char, shared); /* A's tile, B's tile; at the end sums on their way to D */
    const Element *a = gt_typed_a(args, blockIdx.z), *b = gt_typed_b(args, blockIdx.z);
    const Element *tile_a = reinterpret_cast<const Element *>(shared);
    const Element *tile_b = reinterpret_cast<const Element *>(shared + TileA::BYTES);
    long long tiles_n = gt_cdiv(args.n, BN);
    long long first_row = blockIdx.x / tiles_n * BM, first_column = blockIdx.x % tiles_n * BN;
    long long left_m = args.m - first_row, left_n = args.n - first_column;
    long long depth = gt_depth(args);
    int warp = threadIdx.x / 32, row = warp / (BN / WN) * WM, column = warp % (BN / WN) * WN;
    gt_wmma_sum sum[WM / 16][WN / 16] = {};

    for (long long k = 0; k < depth; k += BK) {
        long long left = depth - k;
        TileA::fill(shared, a + gt_offset_a(args, first_row, k), args.lda, ALONG_A ? left_m : left,
                    ALONG_A ? left : left_m, a);
        TileB::fill(shared + TileA::BYTES, b + gt_offset_b(args, k, first_column), args.ldb,
                    ALONG_B ? left_n : left, ALONG_B ? left : left_n, b);
        gt_cp_async_commit();
        gt_cp_async_wait<0>();
        gt_sync();
        multiply(sum, tile_a, tile_b, row, column);
        gt_sync();
    }

    gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    float *between = reinterpret_cast<float *>(shared) + warp * 16 * BETWEEN;
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int j = 0; j < WN / 16; j++)
            store(output, first_row + row + i * 16, first_column + column + j * 16, between,
                  sum[i][j]);
}
