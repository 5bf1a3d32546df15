/* thin_tma.cu - products of up to 64 rows on tensor cores of sm_90 and later, every type: bound by the
 * one reading of B, which TMA brings to shared memory as it is stored.
 *
 *                     BLOCK_N columns
 *                 +----------+----------+
 *   k, 128 bytes  |  ring 0, slot 0     |   Ring r has the slots number r, r + WARPS_K, ... of the
 *   of it a piece +----------+----------+   block's k. WARPS_N warps side by side multiply what
 *   (DEPTH: of a  |  ring 1, slot 0     |   comes to it, 16 TILES columns each: warp 0 of them
 *   slot)         +----------+----------+   asks for it too, RING slots ahead. No ring waits for
 *                 |  ring 0, slot 1     |   another before its sums are complete.
 *                 +----------+----------+
 *
 * The product is the transposed one, as in thin_mma.cu: columns of D are the 16 rows of an mma, rows
 * of D its 8 columns. What TMA has brought goes to registers by ldmatrix (thin_tma_operand.cuh),
 * the same way round whether B lies along k or along n. Sums meet as thin_tma_finish.cuh says. */
#ifndef ROWS
#define ROWS 16 /* rows of D per block: a multiple of 8 */
#endif
#ifndef TILES
#define TILES 2 /* tiles of 16 columns per warp */
#endif
#ifndef WARPS_N
#define WARPS_N 1 /* warps side by side along the columns of D */
#endif
#ifndef WARPS_K
#define WARPS_K 8 /* rings, which share k */
#endif
#ifndef RING
#define RING 4 /* slots of a ring */
#endif
#ifndef DEPTH
#define DEPTH 1 /* pieces of 128 bytes of k in a slot */
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1 /* blocks of an SM that the registers must suffice for */
#endif
#ifndef CLUSTER_K
#define CLUSTER_K 1 /* blocks of a cluster, which share k */
#endif
#ifndef SPLIT
#define SPLIT 0 /* 1: k is divided over PARTS clusters, which leave their sums in the workspace */
#endif
#ifndef PARTS
#define PARTS args.launch[0]
#endif
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

/* Adds the products of a step, 32 bytes of k as stored, of a tile and an eight. */
GT_DEVICE void multiply(Sum (&sum)[4], const Taken &b, const Taken &a)
{
#pragma unroll
    for (int half = 0; half < 1 + WIDENED; half++) {
        const unsigned a_pair[2] = {a.word[half][0], a.word[half][1]};
        gt_mma<TAKEN_TYPE>(sum, b.word[half], a_pair);
    }
}

/* Adds the products of a piece. */
GT_DEVICE void multiply(const char *piece, const Places &places, Accumulator &sum)
{
#pragma unroll
    for (int pair = 0; pair < STEPS / 2; pair++) {
        Taken a[EIGHTS][2];
#pragma unroll
        for (int x = 0; x < EIGHTS; x++)
            load_a(piece, places, x, pair, a[x]);
#pragma unroll
        for (int s = 0; s < 2; s++)
#pragma unroll
            for (int t = 0; t < TILES; t++) {
                Taken b;
                load_b(piece + A_BYTES, places, 2 * pair + s, t, b);
#pragma unroll
                for (int x = 0; x < EIGHTS; x++)
                    multiply(sum[x][t], b, a[x][s]);
            }
    }
}

/* Adds the products of the ring's slots among those before `last` that come to it. */
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
        for (int piece = 0; piece < DEPTH; piece++)
            multiply(ring.slots + slot * SLOT + piece * PIECE_BYTES, places, sum);
        ring_sync(ring); /* all have read the slot */
        if (ring.asks && index + RING * WARPS_K < last)
            load(maps, ring, slot, index + RING * WARPS_K);
        slot = slot + 1 < RING ? slot + 1 : 0;
        parity ^= slot == 0;
    }
}

/* The first loads stand in front of everything else, because a block's code comes to it slowly:
 * in the time of half of the loads. */
GT_KERNEL_MAPS_BOUNDS(gemm, THREADS, MIN_BLOCKS)
{
    GT_DYNAMIC_SHARED(char, shared);
    const Ring ring = make_ring(shared);
    const Sources sources = make_sources(shared);
    /* The block's share of the slots that k is divided into. */
    const unsigned blocks = SPLIT ? gridDim.y : CLUSTER_K, block = blockIdx.y;
    const unsigned slots = (unsigned)gt_cdiv(gt_depth(args), SLOT_K), rest = slots % blocks;
    const int first = (int)(slots / blocks * block + min(block, rest)) + ring.number;
    const int last = (int)(slots / blocks * (block + 1) + min(block + 1, rest));
    Accumulator sum = {};

    if (ring.asks)
        begin(maps, ring, first, last);
    if (CLUSTER_K > 1) {
        if (threadIdx.x == THREADS - 1)
            expect(sources);
        gt_cluster_arrive();
    }
    if (SPLIT)
        gt_pdl_trigger();
    touch(args);
    ring_sync(ring);
    sum_slots(maps, ring, first, last, sum);
    if (CLUSTER_K > 1)
        gt_cluster_wait(); /* all have begun */
    else
        gt_sync(); /* sources take the place of the rings */
    hand_over(sum, sources);
    finish(args, sources.sums);
}

#if SPLIT
GT_KERNEL_BOUNDS(reduce, 128, 1)
{
    reduce_parts(args);
}
#endif
