/* thin_tma.cu - products of up to 64 rows on tensor cores of sm_90 and later, for every type. The
 * one reading of B, which TMA copies to shared memory as it is stored, bounds them.
 *
 *                     BLOCK_N columns
 *                 +----------+----------+
 *   k, blocks of  |  ring 0, slot 0     |   Ring r has the slots number r, r + WARPS_K, ... of the
 *   128 bytes     +----------+----------+   block's k. WARPS_N warps side by side multiply what is
 *   (DEPTH of     |  ring 1, slot 0     |   loaded to a ring, 16 TILES columns each; the first of
 *   them a slot)  +----------+----------+   them also starts the loads, RING slots ahead. No ring
 *                 |  ring 0, slot 1     |   waits for another before its sums are complete.
 *                 +----------+----------+
 *
 * The product is transposed, as in thin_mma.cu: columns of D are the 16 rows of an mma, rows of D
 * its 8 columns. ldmatrix loads the operands from shared memory (thin_tma_operand.cuh), in the same
 * orientation whether B lies along k or along n. thin_tma_finish.cuh says how the sums are added.
 */
#ifndef GT_TYPE
#define GT_TYPE 2 /* f16: there is no tensor core for the usual default */
#endif
#define GT_MAPS 2

#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/mma_typed.cuh"
#include "skinny/widen.cuh"
#include "skinny/thin_tma_operand.cuh"

#include "skinny/partial.cuh"

typedef Sum Accumulator[EIGHTS][TILES][4];

#include "skinny/thin_tma_finish.cuh"

/* Adds the products of a step, 32 bytes of k as stored: of a tile of B and eight rows of A. */
GT_DEVICE void multiply(Sum (&sum)[4], const Taken &b, const Taken &a)
{
#pragma unroll
    for (int half = 0; half < 1 + WIDENED; half++) {
        const unsigned a_pair[2] = {a.word[half][0], a.word[half][1]};
        gt_mma<TAKEN_TYPE>(sum, b.word[half], a_pair);
    }
}

/* Adds the products of a k block. */
GT_DEVICE void multiply(const char *k_block, const Places &places, Accumulator &sum)
{
#pragma unroll
    for (int pair = 0; pair < STEPS / 2; pair++) {
        Taken a[EIGHTS][2];
#pragma unroll
        for (int x = 0; x < EIGHTS; x++)
            load_a(k_block, places, x, pair, a[x]);
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int t = 0; t < TILES; t++) {
                Taken b;
                load_b(k_block + A_BYTES, places, 2 * pair + s, t, b);
#pragma unroll
                for (int x = 0; x < EIGHTS; x++)
                    multiply(sum[x][t], b, a[x][s]);
            }
    }
}

/* Adds the products of the slots that the ring loads, from `first` on and before `last`. */
GT_DEVICE void sum_slots(const gt_maps &maps, const Ring &ring, int first, int last,
                         Accumulator &sum)
{
    const Places places = make_places();
    int slot = 0;
    unsigned parity = 0;

#pragma unroll 1
    for (int index = first; index < last; index += WARPS_K) {
        gt_mbarrier_wait(ring.full + slot, parity);
#pragma unroll
        for (int k_block = 0; k_block < DEPTH; k_block++)
            multiply(ring.slots + slot * SLOT + k_block * K_BLOCK_BYTES, places, sum);
        if (WARPS_N > 1)
            gt_tma_fence(); /* other warps' loads may be under way, and TMA waits for none of them */
        ring_sync(ring); /* all have read the slot */
        if (ring.is_producer && index + RING * WARPS_K < last)
            load(maps, ring, slot, index + RING * WARPS_K);
        slot = slot + 1 < RING ? slot + 1 : 0;
        parity ^= slot == 0;
    }
}

/* The first loads are started before anything else, because a block's code arrives slowly: in about
 * half of the time that the loads take. */
GT_KERNEL_MAPS_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    const Ring ring = make_ring(shared);
    const Sources sources = make_sources(shared);
    /* The block's part of the slots that k is divided into. */
    const unsigned blocks = SPLIT ? gridDim.y : CLUSTER_K, block = blockIdx.y;
    const unsigned slots = (unsigned)gt_cdiv(gt_depth(args), SLOT_K), rest = slots % blocks;
    const int first = (int)(slots / blocks * block + min(block, rest)) + ring.number;
    const int last = (int)(slots / blocks * (block + 1) + min(block + 1, rest));
    Accumulator sum = {};

    if (ring.is_producer)
        begin(maps, ring, first, last);
    if (CLUSTER_K > 1) {
        if (threadIdx.x == THREADS - 1)
            expect(sources);
        gt_cluster_arrive();
    }
    if (SPLIT)
        gt_pdl_trigger();
    load_args(args);
    ring_sync(ring);
    sum_slots(maps, ring, first, last, sum);
    if (CLUSTER_K > 1)
        gt_cluster_wait(); /* all blocks have begun */
    else
        gt_sync(); /* the sources take the place of the rings */
    send_sums(sum, sources);
    finish(args, sources.sums);
}

#if SPLIT
GT_KERNEL_BOUNDS(reduce, 128, 1)
{
    reduce_parts(args);
}
#endif
