/* thin_tma_finish.cuh - part of thin_tma.cu, whose parameters it uses: adds the sums of lanes and
 * stores them in D.
 *
 * A source is the sums of one ring. Each of the CLUSTER_K blocks that share k finishes BLOCK_N /
 * CLUSTER_K columns. Every warp sends its sums at once to the shared memory of the block that
 * finishes the column: the rings of that block may still be at work, and its barrier `arrived`
 * counts the bytes. Then the sources are added in their order, so that the bits are the same every
 * time. With SPLIT the result is a part of the sum, which goes to the workspace; a second launch
 * adds the parts. */
#ifndef GT_SKINNY_THIN_TMA_FINISH_CUH
#define GT_SKINNY_THIN_TMA_FINISH_CUH

#include "common/cluster_send.cuh"
#include "skinny/partial.cuh"

constexpr int SHARE_N = BLOCK_N / CLUSTER_K; /* columns that a block finishes */
constexpr int SOURCES = CLUSTER_K * WARPS_K;
constexpr int PITCH = ROWS + 2; /* of columns, so that neighbours lie in other banks */

static_assert(SHARE_N % (16 * MIXED) == 0, "tiles as a whole");

/* The block's sources, beside the rings if other blocks write there, else in their place; and the
 * barrier that counts the bytes that are sent. */
struct Sources {
    Sum *sums;
    gt_mbarrier *arrived;
};

GT_DEVICE Sources make_sources(char *shared)
{
    constexpr int beside = WARPS_K * RING * (SLOT + (int)sizeof(gt_mbarrier)) + 16;
    Sources sources;
    sources.sums = reinterpret_cast<Sum *>(shared + (CLUSTER_K > 1 ? beside : 0));
    sources.arrived = reinterpret_cast<gt_mbarrier *>(shared + beside - 16);
    return sources;
}

/* One thread announces the bytes that will be sent to the block, before the barrier of the cluster.
 */
GT_DEVICE void expect(const Sources &sources)
{
    gt_mbarrier_init(sources.arrived, 1);
    gt_mbarrier_publish();
    gt_mbarrier_arrive_expect_tx(sources.arrived, SOURCES * SHARE_N * ROWS * (int)sizeof(Sum));
}

/* Sends a lane's sums to the block that finishes them, and waits until this block has all of its
 * sources. */
GT_DEVICE void send_sums(const Accumulator &sum, const Sources &sources)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int source = (CLUSTER_K > 1 ? (int)gt_cluster_rank() : 0) * WARPS_K + warp / WARPS_N;

#pragma unroll
    for (int t = 0; t < TILES; t++) {
        const int column = warp % WARPS_N * WARP_N + t / MIXED * MIXED * 16;
        const unsigned rank = (unsigned)(column / SHARE_N);
        Sum *own = sources.sums + (source * SHARE_N + column % SHARE_N) * PITCH + lane % 4 * 2;
        const gt_cluster_address to = gt_cluster_address_of(own, rank);
        const gt_cluster_address arrived = gt_cluster_address_of(sources.arrived, rank);
#pragma unroll
        for (int x = 0; x < EIGHTS; x++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                gt_vec<Sum, 2> pair;
                pair.at[0] = sum[x][t][2 * half];
                pair.at[1] = sum[x][t][2 * half + 1];
                const int at = column_of(t, lane / 4, half) * PITCH + x * 8;
                if (CLUSTER_K > 1)
                    gt_cluster_send_pair(to, 4 * at, arrived, pair.word.x, pair.word.y);
                else
                    gt_store_vec<Sum, 2>(own + at, pair);
            }
    }
    if (CLUSTER_K > 1)
        gt_mbarrier_wait(sources.arrived, 0);
    else
        gt_sync();
}

/* Loads the arguments that `finish` needs, while the block waits for its first operands. */
GT_DEVICE void load_args(const gt_args &args)
{
#ifndef GT_EMULATE
    asm volatile("" ::"l"(args.d), "l"(args.m), "l"(args.n), "l"(args.ldc), "l"(args.batch),
                 "f"(args.alpha), "f"(args.beta));
#endif
}

/* Adds the block's complete sources into its columns of D; a thread finishes two rows of a column
 * at a time. */
GT_DEVICE void finish(const gt_args &args, const Sum *sums)
{
    const gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    const int rows = args.m < ROWS ? (int)args.m : ROWS;
    const int first = block_column() + (CLUSTER_K > 1 ? (int)gt_cluster_rank() : 0) * SHARE_N;

#pragma unroll 1 /* short code, because it is not in the instruction cache yet */
    for (int e = (int)threadIdx.x; e < (rows + 1) / 2 * SHARE_N; e += THREADS) {
        const int row = e / SHARE_N * 2, column = e % SHARE_N;
        Sum total[2] = {0, 0};
#pragma unroll 8
        for (int source = 0; source < SOURCES; source++) {
            const gt_vec<Sum, 2> pair =
                gt_load_vec<Sum, 2>(sums + (source * SHARE_N + column) * PITCH + row);
            total[0] += pair.at[0];
            total[1] += pair.at[1];
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (!SPLIT)
                gt_typed_output_store<1>(output, row + i, first + column, &total[i]);
            else if (first + column < args.n && row + i < rows)
                partial(args, blockIdx.y / CLUSTER_K, blockIdx.z, row + i)[first + column] =
                    total[i];
    }
}

/* Adds the parts of k in the workspace into D, an element a thread. */
GT_DEVICE void reduce_parts(const gt_args &args)
{
    constexpr int at_once = 16; /* loads in flight */
    const long long e = blockIdx.x * 128LL + threadIdx.x;
    const long long row = e / args.n, column = e % args.n, apart = args.batch * args.m * args.n;
    const Sum *from = partial(args, 0, blockIdx.z, 0) + e;
    Sum total = 0;

    gt_pdl_wait();
    if (row >= args.m)
        return;
    for (int part = 0; part < PARTS; part += at_once) {
        Sum value[at_once];
#pragma unroll
        for (int i = 0; i < at_once; i++)
            value[i] = part + i < PARTS ? from[(part + i) * apart] : (Sum)0;
#pragma unroll
        for (int i = 0; i < at_once; i++)
            total += value[i];
    }
    gt_typed_output_store<1>(gt_typed_output_of(args, blockIdx.z), row, column, &total);
}

#endif
