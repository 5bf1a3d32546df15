/* gemm.cu - the production kernel for tensor cores by warp (mma.sync), sm_75 and later: operands of
 * two, four or one bytes in any layout and of any alignment.
 *
 *                    BN                   A block computes BM x BN elements of D. It goes along k
 *           +-----------------+           in tiles of depth BK, which lie in a ring of STAGES tiles
 *        BK |        B        |           in shared memory.
 *           +-----------------+
 *      BK     WN                          A warp computes WM x WN of these elements. With WARPS_K
 *    +----+ +-----+-----+-----+           > 1 several warps share a warp tile, and each of them
 *    |    | | w0  | w1  | w2  | WM        has a slice of the depth BK.
 * BM | A  | +-----+-----+-----+
 *    |    | | w3  | w4  | w5  |           A step of a warp is 32 bytes of k. One ldmatrix loads 16
 *    +----+ +-----+-----+-----+           rows of A or 16 columns of B; for each pair of them two
 *                                         instructions multiply 16 x 8 elements of D each.
 *
 * An operand reaches shared memory in the layout of global memory, along k or along m and n, by
 * cp.async or through registers.
 *
 * Split-K: SPLIT_K blocks share a tile of D along k. SPLIT_MODE 1 sums their partial results from
 * the workspace in a second launch, always in the same order. SPLIT_MODE 2 adds them to D by
 * atomics, after a launch that wrote beta*C (+ bias). In SPLIT_MODE 3 the blocks are a cluster
 * (sm_90 and later): each of them finishes a part of the tile from the shared memory of all, in the
 * same order, too.
 *
 * EARLY, for short products: tile rows, tile columns and matrices are the dimensions of the grid, so
 * that no division comes before the first loads, and what only products and stores need is computed
 * behind these. */
#include "common/tensor.cuh"

#include "common/mma_typed.cuh"
#include "common/split_k.cuh"
#include "common/warp_tile.cuh"

typedef gt_element<GT_TYPE>::type Element;
constexpr int SIZE = (int)sizeof(Element);
constexpr int BK = BK_BYTES / SIZE;
constexpr int THREADS = (BM / WM) * (BN / WN) * WARPS_K * 32;
constexpr int STEPS = BK_BYTES / 32 / WARPS_K; /* of a warp in a tile */
/* Copies under masks, for tiny products: tile rows and columns are two dimensions of the grid. This
 * is no constant, since all constants become symbols of the cubin, whatever the point. */
#define MASKED (PATH_A == 3 || PATH_B == 3)

static_assert(WM % 16 == 0 && WN % 16 == 0, "a warp tile is made of 16 x 16 elements");
static_assert(STEPS >= 2 && STAGES >= 2, "the pipeline overlaps at least two steps and two tiles");

#include "pack/pack.cuh"

#include "mma/gemm_operand.cuh"
#include "mma/gemm_multiply.cuh"
#include "mma/gemm_store.cuh"

/* First row or column of a tile, shifted back inside if it would reach beyond the edge and its
 * operand can be read from there. The block then computes elements of its neighbour again instead
 * of elements outside of D, and none of its copies needs a mask. */
template <class OPERAND> GT_DEVICE long long shifted(long long first, int extent, long long end)
{
    bool aligned = OPERAND::ALONG_K || end * SIZE % OPERAND::WIDTH == 0;
    return first + extent > end && end >= extent && aligned ? end - extent : first;
}

/* The tile of this block and, with split-K, its part of the tiles along k. */
GT_DEVICE Work work_of(const gt_args &args)
{
    unsigned tile_rows = (unsigned)gt_cdiv(args.m, BM);
    unsigned tile_columns = (unsigned)gt_cdiv(args.n, BN);
    Work work;
    const gt_tile tile =
        MASKED || EARLY ? gt_tile{blockIdx.x, blockIdx.y}
                        : gt_raster_by(ORDER, blockIdx.x, tile_rows, tile_columns, GROUP_M);
    work.row = MASKED ? tile.row * BM : shifted<X>(tile.row * BM, BM, args.m);
    work.column = tile.column * BN;
    if (!MASKED && args.n % OUT_VECTOR == 0)
        work.column = shifted<Y>(work.column, BN, args.n);
    work.skip_rows = (int)(tile.row * BM - work.row);
    work.skip_columns = (int)(tile.column * BN - work.column);
    /* Known not to be negative, it is divided by a shift. */
    const long long depth = EARLY ? (long long)(unsigned)gt_depth(args) : gt_depth(args);
    work.k = SPLIT_MODE == 0 ? gt_k_range{0, depth} : gt_k_range_of(depth, SPLIT_K, blockIdx.y, BK);
    return work;
}

#if PACK_A || PACK_B
GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, GT_PACK_BLOCKS)
{
    gt_pack(args);
}
#endif

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    Position p;
    if (!EARLY) /* else behind the first loads */
        p = position(threadIdx.x);
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
#if PACK_A || PACK_B
        accumulate(gt_packed(args), work, batch, shared, p, acc);
#else
        accumulate(args, work, batch, shared, p, acc);
#endif
        gt_cp_async_wait<0>();
        gt_sync(); /* the last tile has been read */
        if (WARPS_K > 1) {
            gt_add_slices<SUMS, THREADS / WARPS_K, WARPS_K>(
                &acc.sum[0][0][0], p.slice, reinterpret_cast<SumRegister *>(shared), add_sums);
            gt_sync();
        }
#if SPLIT_MODE == 3
        store_part(args, work, batch, shared, p, acc);
#else
        if (p.slice == 0)
            store_tile(args, work, batch, shared, p, acc);
#endif
        if (EARLY)
            break; /* the grid has a block for every matrix */
        gt_sync(); /* the ring is filled again for the next matrix */
    }
}

#if SPLIT_MODE == 1
/* D from the partial results. */
GT_KERNEL(reduce)
{
    const Sum *parts = partial_sums(args);
    const long long ld = partial_ld(args);

    gt_each_vector<OUT_VECTOR>(args, ld / OUT_VECTOR, [&](long long row, long long column) {
        Sum sum[OUT_VECTOR];
        gt_sum_splits(sum, parts + row * ld + column, args.batch * args.m * ld, SPLIT_K);
        gt_typed_output_store<OUT_VECTOR>(gt_typed_output_of(args, row / args.m), row % args.m,
                                          column, sum);
    });
}
#endif

#if SPLIT_MODE == 2
/* D = beta*C (+ bias), which the splits then add to. */
GT_KERNEL(prepare)
{
    gt_each_vector<OUT_VECTOR>(
        args, gt_cdiv(args.n, OUT_VECTOR), [&](long long row, long long column) {
            const Sum zero[OUT_VECTOR] = {};
            gt_typed_output_store<OUT_VECTOR>(gt_typed_output_of(args, row / args.m), row % args.m,
                                              column, zero);
        });
}
#endif
