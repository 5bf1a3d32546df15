/* fused.cu - FP32 products on Hopper's tensor cores (sm_90a), as accurate as FP32 arithmetic, in
 * one launch: operands are split into parts on their way to shared memory.
 *
 *    A, B (float)                    a stage of the ring                          BN
 *   +------------+   SPLITTERS      +------+------+-----+                  +-------------+
 *   | global     |   warpgroups     | A    | A    | A   |   CONSUMERS      | consumer 0  | 64
 *   | memory     | ---------------> | high | mid  | low |  warpgroups      +-------------+
 *   |            |  load and split  +------+------+-----+ ---------------> | consumer 1  | 64
 *   +------------+                  | B    | B    | B   |    multiply      +-------------+
 *                                   +------+------+-----+
 *
 * The splitting warpgroups hold the floats of the next stage in registers. They split each into
 * three bfloat16 numbers (parts.cuh), which they store as wgmma reads them, in the order of global
 * memory: along k or along m or n. So any layout and alignment will do, nothing is written to
 * global memory and read again, and no launch comes before this one. Where a tile has many
 * neighbours each of them splits the same floats: large products are f32acc/gemm.cu's, which
 * splits them once.
 *
 * The consumers add six products of parts and promote their sums as gemm.cu does.
 *
 * OWN_ROWS 1: the consumers load and split A's rows themselves, to registers, and a stage holds
 * parts of B only. Less goes through shared memory, and more warps share the splitting.
 *
 * SWAP_AB 1: D^T is computed of B^T and A^T, for a D of few rows, because wgmma has 64 rows but 16
 * columns. SPLIT 1 (split-K): the depth is divided over SPLITS blocks; the entry `reduce` adds
 * their sums. SPLIT 2: these blocks are a cluster, and add the sums in its shared memory.
 *
 * Infinities have no parts, and make sums that are beyond float, as large values do (exact.cuh): 16
 * rows of a tile that have such sums are computed again from A and B, by FP32 FMAs. */
#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#define WGMMA_TYPE GT_BF16
#include "common/wgmma.cuh"

#include "f32acc/parts.cuh"
#include "f32acc/fused_layout.cuh"

/* The workspace holds nothing but the sums of parts of the depth. */
GT_DEVICE long long partial_begin(const gt_args &)
{
    return 0;
}

#include "f32acc/reduce.cuh"
#include "f32acc/store_sums.cuh"
#include "hopper/cluster_reduce.cuh"
#include "f32acc/fused_split.cuh"
#include "f32acc/fused_products.cuh"

#if OWN_ROWS
#include "f32acc/fused_rows.cuh"
typedef OwnRows Rows;
#else
typedef StagedRows Rows;
#endif

/* What a consumer does. */
GT_DEVICE void consume_all(const gt_args &args, const Ring &ring, int consumer)
{
    const Schedule schedule(args);
    Position position;

    for (unsigned index = blockIdx.x; index < schedule.works; index += gridDim.x) {
        const Work work = schedule.work_of(args, index);
        float sum[BN / 2];
        multiply<Rows>(args, ring, position, consumer, work, sum);
        if (SPLIT == 2) /* the other consumer reads stages until here, too */
            gt_named_barrier_sync(1, CONSUMERS * 128);
        if (is_beyond_float<BN / 2>(sum))
            put_special(args, ring, work, Target(args, work.batch, work.split), consumer);
        else if (SPLIT == 2 || SWAP_AB)
            put_sums(ring, work, Target(args, work.batch, work.split), consumer, sum);
        else
            store_sums<LANE_ROWS, HALF_ROWS>(args, work, consumer, sum);
        if (SPLIT == 2) {
            cluster_barrier();
            cluster_reduce(args, ring, work);
        }
    }
}

GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    const Ring ring(shared);
    const int group = (int)threadIdx.x / 128;

    if (threadIdx.x == 0)
        init_barriers(ring);
    gt_sync();
    if (group == 0 || group > CONSUMERS) {
        if constexpr (EXCHANGE > 0)
            gt_setmaxnreg_inc<SPLITTER_REGISTERS>();
        else if constexpr (EXCHANGE < 0)
            gt_setmaxnreg_dec<SPLITTER_REGISTERS>();
        split_all(args, ring, (int)threadIdx.x - (group == 0 ? 0 : CONSUMERS * 128));
        if (SPLIT == 2)
            cluster_barrier();
    } else {
        if constexpr (EXCHANGE < 0)
            gt_setmaxnreg_inc<CONSUMER_REGISTERS>();
        else if constexpr (EXCHANGE > 0)
            gt_setmaxnreg_dec<CONSUMER_REGISTERS>();
        consume_all(args, ring, gt_warp_uniform(group - 1));
    }
    if (SPLIT == 2) /* the others read this block's sums until they are done */
        gt_cluster_sync_relaxed();
}

#if SPLIT == 1
GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    reduce_sums(args);
}
#endif
