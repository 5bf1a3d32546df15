/* gemm.cu - FP32 products on Hopper's tensor cores (sm_90a), as accurate as FP32 arithmetic.
 *
 *   A, B (float) --split--> high, mid, low (bfloat16) --gemm--> D (float)
 *
 *      BK of k                     BN
 *    +------+                +-------------+      `split` writes each operand as a sum of three
 *    | high |  three boxes   | consumer 0  | 64   bfloat16 numbers (split.cuh). In `gemm`, which is
 *    | mid  |  of A, three   +-------------+      persistent, a block has tile after tile of D.
 *    | low  |  of B: a stage | consumer 1  | 64   One thread fills a ring of STAGES stages by TMA,
 *    +------+                +-------------+      and the CONSUMERS warpgroups multiply.
 *
 * Six of the nine products of parts (PRODUCTS 6) are enough for FP32's last bit; high * high is 2^8
 * times as large as the others. Tensor cores truncate when they add. So after every PROMOTE values
 * of k (a window of WINDOW stages) their sums are promoted: FP32 additions, which round, take them
 * over. Within a stage the small products come first, while the sum is small.
 *
 * SPLIT 1 (split-K): the depth is divided over SPLITS blocks; the entry `reduce` adds their sums.
 *
 * Infinities: their parts would give inf - inf or inf * 0 where FP32 gives inf. Tiles of D that
 * depend on such an operand are computed again from A and B, by FP32 FMAs. */
#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/wgmma.cuh"

#ifndef CONSUMERS
#define CONSUMERS 2 /* warpgroups that multiply, 64 rows of D each; one more loads */
#endif
#ifndef BN
#define BN 128 /* columns of D per tile */
#endif
#ifndef BK
#define BK 64 /* depth of a stage */
#endif
#ifndef STAGES
#define STAGES 2 /* stages in the ring */
#endif
#ifndef PROMOTE
#define PROMOTE 64 /* values of k that the tensor cores add up; whole stages */
#endif
#ifndef VEC_C
#define VEC_C 2 /* elements of a store to D */
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1 /* blocks that share an SM */
#endif
#ifndef SPLIT
#define SPLIT 0 /* 1: the depth is divided over SPLITS blocks */
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

#define PACK_TILE 64 /* rows and columns of a tile of the launch `split` */
#include "f32acc/split.cuh"
#include "f32acc/schedule.cuh"
#include "hopper/ring.cuh"
#include "f32acc/produce.cuh"
#include "f32acc/products.cuh"
#include "f32acc/store.cuh"

GT_KERNEL_BOUNDS(split, GT_PACK_THREADS, 6)
{
    split_both(args);
}

/* All tiles of the block, by one of its consumers. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &, const Ring &ring, int consumer)
{
    const Schedule schedule(args);
    Position position;

    for (unsigned index = blockIdx.x; index < schedule.works; index += gridDim.x) {
        const Work work = schedule.work_of(args, index);
        float sum[BN / 2];
        multiply(ring, position, consumer, work.windows, sum);
        if (is_special(args, work, consumer))
            store_special(args, work, consumer);
        else
            store_sums(args, work, consumer, sum);
    }
}

#include "hopper/entry.cuh"

#if SPLIT
GT_KERNEL_BOUNDS(reduce, REDUCE_THREADS, 1)
{
    reduce_sums(args);
}
#endif
