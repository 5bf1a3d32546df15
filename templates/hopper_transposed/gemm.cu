/* gemm.cu - TF32 for Hopper (sm_90a) where one operand lies along m or n: wgmma reads TF32 along k
 * only from shared memory, so that this operand goes through registers.
 *
 *    32 of k         WIDTH          wgmma can take its first operand from registers. So the operand
 * +---+---+---+   +----------+      that lies along m or n (the transposed operand) comes first. If
 * | 0 | 1 | 2 |   |consumer 0|      it is A, the kernel computes tiles of D; if it is B, it does
 * +---+---+---+   +----------+      so for D' = D transposed, as op(B) transposed times op(A)
 *  transposed     |consumer 1|      transposed. TMA brings the operand to shared memory as it is
 * +---+---+---+   +----------+      stored. Each thread of a consumer reads from there what wgmma
 * | 0 | 1 | 2 |      of D'          expects in its registers (consume.cuh).
 * +---+---+---+
 * other operand    a consumer has 64 * BLOCKS rows of D'
 *
 * The kernel is persistent: each block computes one tile after the other, in the order of
 * hopper/schedule.cuh. One thread, the producer, keeps a ring of STAGES stages filled by TMA; the
 * CONSUMERS warpgroups multiply and store (hopper/ring.cuh, hopper/entry.cuh). A cluster of
 * CLUSTER_M x CLUSTER_N blocks computes as many neighbouring tiles and shares their loads.
 *
 * SPLIT 1 (split-K): the depth is divided over SPLITS blocks, which leave their sums in the
 * workspace; the entry `reduce` adds them in the order of k. SPLIT 2: these blocks are in one
 * cluster, which has CLUSTER_M x CLUSTER_N blocks for each part of the depth and adds the sums
 * through shared memory.
 *
 * Where both operands lie along m and n, one of them is copied into the workspace first, and so are
 * operands whose rows TMA cannot read (PACK_A, PACK_B). An A along k can do without a copy, by row
 * phases (ROW_PHASES), as in hopper/gemm.cu. */
#if ROW_PHASES > 1
#define GT_MAPS (3 + ROW_PHASES)
#else
#define GT_MAPS 4
#endif
#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/wgmma_rs.cuh"

constexpr int VECTOR = 2 * BLOCKS; /* neighbours along the transposed operand that a thread has */

#include "pack/pack.cuh"
#include "hopper_transposed/layout.cuh"
#include "hopper/ring.cuh"
#include "hopper/schedule.cuh"
#include "hopper/produce.cuh"
#include "hopper/finish.cuh"
#include "hopper/reduce.cuh"
#include "hopper_transposed/consume.cuh"
#include "hopper_transposed/store.cuh"

/* All tiles of the block, by one of its consumers. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &, const Ring &ring, int consumer)
{
    const Schedule schedule(args);
    Position position;

    for (unsigned index = schedule.first; index < schedule.tiles; index += schedule.step) {
        const Work work = schedule.work_of(args, index);
        Sum sum[BLOCKS][WIDTH / 2];
        multiply(ring, position, consumer, work, sum);
        store(args, ring, consumer, work, sum);
        if (SPLIT == 2) {
            cluster_barrier();
            cluster_reduce(args, ring, work);
        }
    }
}

#include "hopper/entry.cuh"
