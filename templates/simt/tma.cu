/* tma.cu - strict FP32 for CUDA cores of sm_90 and later: the products of gemm.cu, whose drawing
 * holds here, too, on operands that TMA brings to shared memory.
 *
 * Threads that copy operands themselves spend on it what they could multiply with: on an H100 the
 * tile of 128 x 256 takes a tenth more time with its copies than without. Here one thread asks for
 * the boxes of a stage, and all that multiply only wait for their bytes. It may be one of these, or
 * belong to a warpgroup of its own, which gives its registers to the others:
 *
 *       PRODUCER 0                                PRODUCER 1
 *       ----------                                ----------
 *       all threads: wait for full[s]             threads that multiply: wait for full[s]
 *       all threads: multiply stage s             multiply stage s
 *       all threads: barrier of the block         each warp: arrive at empty[s]
 *       thread 0: ask for what s holds next       the producer: wait for empty[s], ask
 *
 * An operand that is contiguous along m or n lies across k in shared memory, as gemm.cu wants it.
 * One that is contiguous along k stays so: rows of BK floats, whose pieces of 16 bytes TMA
 * permutes so that lanes which read the same piece of their rows use different banks. A lane then
 * reads four values of k at once, for which only small tiles have the registers. For others a launch
 * transposes the operand first (pack/pack.cuh), or copies it, if TMA cannot read its rows. Beyond the
 * edges of an operand TMA writes zeros, so that neither ragged sizes nor the end of k need masks.
 *
 * Split-K: SPLIT_MODE 1 and 3 of gemm.cu. */
#define GT_MAPS 4
#include "common/gemm.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/split_k.cuh"
#include "common/warp_tile.cuh"
#include "pack/pack.cuh"

constexpr int THREADS = (BM / WM) * (BN / WN) * WARPS_K * 32;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
constexpr int STEPS = BK / WARPS_K; /* k steps of a warp in a tile */

/* Steps in the loop body: a body that does not fit the instruction cache waits for instructions. */
constexpr int BODY = UNROLL ? UNROLL : STEPS;

static_assert(LANES_M * LANES_N == 32, "a warp tile is covered by 32 lanes");
static_assert(STEPS >= 2 && STAGES >= 2, "the pipeline overlaps at least two steps and two tiles");

#include "simt/tma_ring.cuh"
#include "simt/gemm_store.cuh"

/* The block starts with LAUNCH_REGISTERS for each thread; the producer's warpgroup, which needs few,
 * gives registers to the others. */
constexpr int ALL_THREADS = THREADS + 128 * PRODUCER, PRODUCER_REGISTERS = 40;
GT_DEVICE constexpr int at_most(int a, int b)
{
    return a < b ? a : b;
}
constexpr int LAUNCH_REGISTERS = at_most(65536 / (ALL_THREADS * MIN_BLOCKS) / 8 * 8, 240);
constexpr int OTHER_REGISTERS =
    at_most((LAUNCH_REGISTERS * ALL_THREADS - PRODUCER_REGISTERS * 128) / THREADS / 8 * 8, 240);
static_assert(!PRODUCER || LAUNCH_REGISTERS >= PRODUCER_REGISTERS, "there are registers to give");

/* All matrices of the block, by the threads that multiply. */
GT_DEVICE void multiply_all(const gt_args &args, const Work &work, float *shared, Ring &ring)
{
    Position p = position();
    if (WARPS_K == 1)
        p.slice = 0; /* as it is: a constant saves its arithmetic */
    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
        accumulate(ring, (int)batch, p, acc);
        if (WARPS_K > 1) {
            gt_sync(); /* the last tile has been read */
            gt_add_slices<TM * TN, THREADS / WARPS_K, WARPS_K>(
                &acc.sum[0][0], p.slice, shared, [](float x, float y) { return x + y; });
        }
        if constexpr (SPLIT_MODE == 3)
            store_part(args, work, batch, shared, p, acc);
        else if (p.slice == 0)
            store_tile(args, work, batch, p, acc);
        if (!PRODUCER) {
            if (WARPS_K > 1 || SPLIT_MODE == 3)
                gt_tma_fence(); /* sums have been written where TMA writes next */
            gt_sync();          /* the ring is filled again for the next matrix */
        }
    }
}

#if PACK_A || PACK_B
/* Where both operands are transposed, six blocks an SM would spill 8 bytes here (NVRTC 13.0). */
GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, PACK_A == 2 && PACK_B == 2 ? 5 : GT_PACK_BLOCKS)
{
    gt_pdl_trigger();
    gt_pack(args);
}
#endif

GT_KERNEL_MAPS_BOUNDS(gemm, ALL_THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(float, shared);
    const Work work = work_of(args);
    Ring ring(maps, work, shared);

    if (threadIdx.x == 0)
        ring.init();
    if (PACK_A || PACK_B)
        gt_pdl_wait(); /* until operands are packed, and workspace and D are free */
#if PRODUCER
    gt_sync(); /* the barriers are initialised */
    if (threadIdx.x < THREADS) {
        gt_setmaxnreg_inc<OTHER_REGISTERS>();
        multiply_all(args, work, shared, ring);
    } else {
        gt_setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == THREADS)
            for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z)
                ring.produce((int)batch);
    }
#else
    multiply_all(args, work, shared, ring);
#endif
}

#include "simt/reduce.cuh"
