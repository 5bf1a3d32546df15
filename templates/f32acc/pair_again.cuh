/* pair_again.cuh - of f32acc/pair.cu: the launch `again`, which computes what `gemm` has left out
 * because it depends on tiles that have no pairs. It is fused.cu's kernel, of three bfloat16 parts
 * and six products, for such groups of columns only (pair_store.cuh); where nothing has been left
 * out, it ends at once.
 *
 * What it includes is written for one kernel. So it has a namespace and values of parameters of its
 * own, and nothing of `gemm` may follow it. */
#ifndef GT_F32ACC_PAIR_AGAIN_CUH
#define GT_F32ACC_PAIR_AGAIN_CUH

#include "f32acc/parts.cuh"

static_assert(128 == 4 * GROUP_COLUMNS, "a word for the groups of BN columns");
constexpr int LEAVERS = CONSUMERS; /* of a block of `gemm`; `again` has as many blocks */

/* The parts of the depth that `gemm` has marked one by one, but whose sums it has added up. */
GT_DEVICE int parts_together(const gt_args &args)
{
    return SPLIT == 2 ? SPLITS : 1;
}

#if SPLIT == 2 /* what is computed again has the whole depth */
#undef SPLIT
#define SPLIT 0
#endif

#undef CONSUMERS
#undef BN
#undef BK
#undef STAGES
#undef MIN_BLOCKS
#define SWAP_AB    0
#define OWN_ROWS   0
#define CONSUMERS  2
#define SPLITTERS  2
#define BN         128
#define BK         32
#define STAGES     4
#define BUFFERS    1
#define LATE_LOADS 1
#define MIN_BLOCKS 1
#undef GT_HOPPER_POSITION_CUH /* for this number of stages */

namespace left_out
{

#define Schedule TileSchedule
#include "f32acc/fused_layout.cuh"
#undef Schedule

/* The groups that are marked, as bits, of a consumer's rows of a work. */
GT_DEVICE unsigned marked_groups(const gt_args &args, const Work &work, int consumer)
{
    const int row = work.row + consumer * 64;
    unsigned marked = 0;

    if (row >= args.m)
        return 0;
    unsigned four = 0;
#pragma unroll 1 /* unrolled, with SPLIT 2, it made this launch spill 224 to 560 bytes */
    for (int part = 0; part < parts_together(args); part++)
        four |= *reinterpret_cast<const unsigned *>(
            group_byte(args, work.batch, work.split + part, row, work.column));
#pragma unroll
    for (int j = 0; j < BN / GROUP_COLUMNS; j++)
        if (work.column + j * GROUP_COLUMNS < args.n)
            marked |= (four >> 8 * j & 1) << j;
    return marked;
}

/* The works of fused.cu, with the parts of the depth that `gemm` has; without stages where nothing
 * is marked. */
struct Schedule : TileSchedule {
    GT_DEVICE Schedule(const gt_args &args) : TileSchedule(args)
    {
        part = (int)gt_cdiv(gt_cdiv(depth, PACK_TILE), SPLIT ? SPLITS : 1) * PACK_TILE;
    }

    GT_DEVICE Work work_of(const gt_args &args, unsigned index) const
    {
        Work work = TileSchedule::work_of(args, index);

        work.k = min(work.split * part, depth);
        work.k_end = min(work.k + part, depth);
        work.stages = (int)gt_cdiv(work.k_end - work.k, BK);
        if (!(marked_groups(args, work, 0) | marked_groups(args, work, 1)))
            work.stages = 0;
        return work;
    }
};

#include "f32acc/fused_split.cuh"
#include "f32acc/fused_products.cuh"

/* Whether a consumer of `gemm` has left something out; the same for all threads. */
GT_DEVICE bool is_left(const gt_args &args)
{
    int found = 0;
    for (int i = (int)threadIdx.x % 32; i < (int)gridDim.x * LEAVERS; i += 32)
        found |= left_words(args)[i];
    return any_lane(found);
}

/* Computes the marked groups of the warp's 16 rows from A and B themselves. */
GT_DEVICE void put_marked(const gt_args &args, const Work &work, const Target &target, int consumer,
                          unsigned marked)
{
    const int first = work.row + consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;

    for (int e = (int)threadIdx.x % 32; e < 16 * BN; e += 32) {
        const int row = first + e / BN, column = work.column + e % BN;
        if (row >= args.m || column >= args.n || !(marked >> e % BN / GROUP_COLUMNS & 1))
            continue;
        const float sum = exact_element<8>(args, work.batch, row, column, work.k, work.k_end);
        target.put<1>(row, column, &sum);
    }
}

/* What a consumer does. */
GT_DEVICE void consume_all(const gt_args &args, const Ring &ring, int consumer)
{
    const Schedule schedule(args);
    Position position;

    for (unsigned index = blockIdx.x; index < schedule.works; index += gridDim.x) {
        const Work work = schedule.work_of(args, index);
        float sum[BN / 2];
        if (work.stages == 0)
            continue;
        const unsigned marked = marked_groups(args, work, consumer);
        const Target target(args, work.batch, work.split);
        multiply<StagedRows>(args, ring, position, consumer, work, sum);
        if (is_beyond_float<BN / 2>(sum))
            put_marked(args, work, target, consumer, marked);
        else
            store_groups<BN>(args, target, work.row + consumer * 64, work.column, marked, sum);
    }
}

} // namespace left_out

GT_KERNEL_BOUNDS(again, left_out::THREADS, 1)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    const left_out::Ring ring(shared);
    const int group = (int)threadIdx.x / 128;

    gt_pdl_wait(); /* until `gemm` is complete */
    if (!left_out::is_left(args))
        return;
    if (threadIdx.x == 0)
        left_out::init_barriers(ring);
    gt_sync();
    if (group == 0 || group > CONSUMERS) {
        gt_setmaxnreg_dec<left_out::SPLITTER_REGISTERS>();
        left_out::split_all(args, ring, (int)threadIdx.x - (group == 0 ? 0 : CONSUMERS * 128));
    } else {
        gt_setmaxnreg_inc<left_out::CONSUMER_REGISTERS>();
        left_out::consume_all(args, ring, gt_warp_uniform(group - 1));
    }
}

#endif
