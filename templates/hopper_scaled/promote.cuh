/* promote.cuh - of hopper_scaled/gemm.cu: promoted sums. The tensor cores of sm_90 add products of
 * 8-bit floats with few bits (13 behind the point). So they add up a group of products, 128 of k for
 * 64 rows, which a consumer's threads then add to sums in FP32.
 *
 *   MMA_PENDING 0     | products 0 | add 0 | products 1 | add 1 |    one set of registers for a group
 *                                    other consumer's products ...
 *
 *   MMA_PENDING 1     | products 0 | products 1 | products 2 | add 2 |    two sets: a group is added
 *                                  |   add 0    |   add 1    |            while the next is multiplied
 *
 * A stage has DEPTH slabs of 128 of k, and BLOCKS_64 groups for each of them. Factors that change
 * along k multiply a group's products when these are added (blocks.cuh). No products are pending when
 * a stage ends: of sums that the next turn of the loop reads the compiler would not know that they are
 * complete, and would make all products wait for each other (C7514). */
#ifndef GT_HOPPER_SCALED_PROMOTE_CUH
#define GT_HOPPER_SCALED_PROMOTE_CUH

#include "hopper_scaled/blocks.cuh"

enum {
    PROMOTED = GT_SUMS == GT_SUMS_PROMOTED,
    GROUPS = DEPTH * BLOCKS_64, /* of a stage */
    PARTS = MMA_PENDING + 1
};
static_assert(!PROMOTED || SLAB == 128, "a group has 128 of k");
static_assert(!PROMOTED || GROUPS >= PARTS, "two groups of a stage have registers of their own");

/* Begins the products of group `group` of a stage. */
GT_DEVICE void multiply_group(const Operands &stage, int group, Sum *part)
{
    const unsigned slab = group / BLOCKS_64 * (SLAB_BYTES / 16);
    const unsigned rows = group % BLOCKS_64 * (64 * 128 / 16);
    gt_wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
        gt_wgmma<GT_TYPE, BN, 0, 0>(part, gt_smem_descriptor_advance(stage.a, slab + rows + k * 2),
                                    gt_smem_descriptor_advance(stage.b, slab + k * 2), k > 0);
    gt_wgmma_commit();
}

/* Adds the products of group `group` of a stage, which are complete. */
GT_DEVICE void add_group(BlockFactors &factors, int group, const Sum (*part)[BN / 2],
                         Sum (*sum)[BN / 2])
{
    if (group % BLOCKS_64 == 0)
        factors.advance();
    factors.add(group % BLOCKS_64, part[group % PARTS], sum[group % BLOCKS_64]);
}

/* Adds up the consumer's rows of a tile over the tile's stages in the ring. */
GT_DEVICE void multiply_promoted(const Ring &ring, Position &position, int consumer,
                                 const Work &work, BlockFactors &factors, Sum (*sum)[BN / 2])
{
    const Operands operands(ring, consumer);
    const int rank = consumer_rank();

#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            sum[r][i] = 0;
#pragma unroll 1
    for (int i = 0; i < work.steps; i++) {
        const Operands stage = operands.at(position.stage * (STAGE_BYTES / 16));
        Sum part[PARTS][BN / 2];

        gt_mbarrier_wait(ring.full + position.stage, position.parity);
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            multiply_group(stage, group, part[group % PARTS]);
            if (group < GROUPS - 1 && group >= MMA_PENDING) {
                gt_wgmma_wait<MMA_PENDING>();
                add_group(factors, group - MMA_PENDING, part, sum);
            }
        }
        if (PARTS > 1 && GROUPS > 1) {
            gt_wgmma_wait<1>();
            add_group(factors, GROUPS - 2, part, sum);
        }
        finish_stage(ring, position, rank);
        add_group(factors, GROUPS - 1, part, sum);
    }
    if (PINGPONG && threadIdx.x % 32 == 0)
        gt_mbarrier_arrive(ring.turn + !consumer);
}

#endif
