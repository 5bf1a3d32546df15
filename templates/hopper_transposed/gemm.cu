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
 * workspace; the entry `reduce` adds them in the order of k. SPLIT 2: these blocks are a cluster,
 * which has one tile and adds the sums through shared memory.
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

#ifndef CONSUMERS
#define CONSUMERS 2 /* warpgroups that multiply; one more loads */
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* products of 64 rows that a consumer has */
#endif
#ifndef WIDTH
#define WIDTH 256 /* of a tile along the operand that is not transposed */
#endif
#ifndef STAGES
#define STAGES 4 /* tiles of A and B in flight */
#endif
#ifndef DEPTH
#define DEPTH 1 /* pieces of 32 of k in a stage */
#endif
#ifndef STEP
#define STEP 2 /* products of eight of k that a consumer asks for at a time */
#endif
#ifndef CLUSTER_M
#define CLUSTER_M 1 /* blocks of a cluster along m, which share their B */
#endif
#ifndef CLUSTER_N
#define CLUSTER_N 1 /* blocks of a cluster along n, which share their A */
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1 /* blocks that share an SM */
#endif
#ifndef SPLIT
#define SPLIT 0 /* 1: the depth is divided over SPLITS blocks, 2: which are a cluster */
#endif
#ifndef VEC_C
#define VEC_C 1 /* elements that a thread's store to D may have */
#endif
#ifndef READ_C
#define READ_C 0 /* 1: beta is not 0 (SPLIT: that is the entry reduce's concern) */
#endif
#ifndef GROUP
#define GROUP args.launch[0] /* tile rows (columns with ORDER 1) of a raster group */
#endif
#ifndef ORDER
#define ORDER args.launch[1] /* 0: groups are rows of tiles, 1: columns */
#endif
#ifndef SPLITS
#define SPLITS args.launch[2] /* parts of the depth */
#endif
#ifndef PACK_A
#define PACK_A 0 /* 1: A is first copied to the workspace as stored, 2: transposed */
#endif
#ifndef PACK_B
#define PACK_B 0 /* the same for B */
#endif
#ifndef ROW_PHASES
#define ROW_PHASES 1 /* row phases of A */
#endif

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
