/* tile.cu - rung 9: a tile program. A block computes one tile of D, and the program speaks of tiles
 * only: which thread holds which elements follows from the tile's size.
 *
 *                     BN             sum = 0
 *              +-------------+       for each BK of k:
 *           BK |      B      |           load a tile of A and one of B, zeros beyond the edges
 *              +-------------+           sum += A B, in FP32
 *        BK    +-------------+       store the tile of D
 *      +----+  |             |
 *   BM | A  |  |      D      |       Blocks are numbered in swizzle groups of GROUP_M tile rows, so
 *      +----+  +-------------+       that neighbours share operands in L2 (raster.cuh).
 *
 * Operands of two bytes are multiplied by tensor cores (product_wmma.cuh), FP32 by CUDA cores
 * (product_fma.cuh). STAGES tiles are copied at the same time. */

#include "common/tensor.cuh"

#include "mma/lines.cuh"

typedef gt_element<GT_TYPE>::type Element;
constexpr int SIZE = (int)sizeof(Element), OUT_SIZE = (int)sizeof(gt_element<GT_OUT>::type);
constexpr int BK = BK_BYTES / SIZE, THREADS = WARPS * 32;
constexpr int VECTOR = COPY < OUT_SIZE ? 1 : COPY / OUT_SIZE; /* elements of an access to D */
constexpr bool ALONG_A = !GT_TRANS_A, ALONG_B = GT_TRANS_B;   /* along k in memory */
constexpr int SKEW = 32 / SIZE; /* unused elements at the end of a line, against bank conflicts */
constexpr int LD_A = (ALONG_A ? BK : BM) + SKEW, LD_B = (ALONG_B ? BK : BN) + SKEW;

typedef Lines<ALONG_A ? BM : BK, (ALONG_A ? BK : BM) * SIZE, LD_A * SIZE, COPY, THREADS> TileA;
typedef Lines<ALONG_B ? BN : BK, (ALONG_B ? BK : BN) * SIZE, LD_B * SIZE, COPY, THREADS> TileB;
constexpr int STAGE = TileA::BYTES + TileB::BYTES;

#if GT_TYPE == GT_F32
#include "mma/product_fma.cuh"
#else
#include "mma/product_wmma.cuh"
#endif

GT_KERNEL_BOUNDS(gemm, THREADS, 1)
{
    GT_DYNAMIC_SHARED(char, shared);
    const Element *a = gt_typed_a(args, blockIdx.z), *b = gt_typed_b(args, blockIdx.z);
    gt_tile place = gt_raster(blockIdx.x, (unsigned)gt_cdiv(args.m, BM),
                              (unsigned)gt_cdiv(args.n, BN), GROUP_M);
    long long first_row = place.row * BM, first_column = place.column * BN;
    long long left_m = args.m - first_row, left_n = args.n - first_column;
    long long depth = gt_depth(args), tiles = gt_cdiv(depth, BK);
    Product product;

    auto load = [&](long long tile) {
        long long k = tile * BK, left = depth - k;
        char *stage = shared + tile % STAGES * STAGE;
        if (left > 0) {
            TileA::fill(stage, a + gt_offset_a(args, first_row, k), args.lda,
                        ALONG_A ? left_m : left, ALONG_A ? left : left_m, a);
            TileB::fill(stage + TileA::BYTES, b + gt_offset_b(args, k, first_column), args.ldb,
                        ALONG_B ? left_n : left, ALONG_B ? left : left_n, b);
        }
        gt_cp_async_commit();
    };

    product.clear();
    for (int tile = 0; tile < STAGES - 1; tile++)
        load(tile);
    for (long long tile = 0; tile < tiles; tile++) {
        load(tile + STAGES - 1);
        gt_cp_async_wait<STAGES - 1>();
        gt_sync();
        const char *stage = shared + tile % STAGES * STAGE;
        product.add(reinterpret_cast<const Element *>(stage),
                    reinterpret_cast<const Element *>(stage + TileA::BYTES));
        gt_sync();
    }
    gt_cp_async_wait<0>();
    product.store(gt_typed_output_of(args, blockIdx.z), first_row, first_column, shared);
}
