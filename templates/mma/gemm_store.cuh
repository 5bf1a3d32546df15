/* gemm_store.cuh - part of gemm.cu, whose parameters it uses: from the sums in registers to D, to a
 * partial result in the workspace, or by atomics into D. */
#ifndef GT_MMA_GEMM_STORE_CUH
#define GT_MMA_GEMM_STORE_CUH

#include "mma/gemm_multiply.cuh"

typedef gt_element<GT_OUT>::type Result;
constexpr int OUT_RUN = COPY_C / (int)sizeof(Result); /* elements of an access to D */
constexpr int SUM_RUN = OUT_RUN < 4 ? OUT_RUN : 4;    /* sums of an access, at most 16 bytes */

/* Partial results lie behind the copies of the operands; their rows are whole runs of any width. */
GT_DEVICE long long partial_ld(const gt_args &args)
{
    return (args.n + 15) / 16 * 16;
}

GT_DEVICE Sum *partial_sums(const gt_args &args)
{
    return reinterpret_cast<Sum *>(static_cast<char *>(args.workspace) + gt_packed_bytes(args));
}

/* Where a block's sums go. */
struct Target {
    gt_typed_output output;
    Sum *partial; /* of this block's split and matrix */
    long long ld;

    GT_DEVICE Target(const gt_args &args, long long batch)
    {
        output = gt_typed_output_of(args, batch);
        if (SPLIT_MODE == 1) {
            ld = partial_ld(args);
            partial = partial_sums(args) + (blockIdx.y * args.batch + batch) * args.m * ld;
        }
    }

    /* `count` neighbours of a row, from a column that is a multiple of count; those outside of D
     * are left out. */
    template <int count> GT_DEVICE void put(long long row, long long column, const Sum *sum) const
    {
#if SPLIT_MODE == 0
        gt_typed_output_store<count>(output, row, column, sum);
#else
#pragma unroll
        for (int u = 0; u < count; u++)
            if (row < output.m && column + u < output.n)
                put_whole<1, false>(row, column + u, sum + u);
#endif
    }

    /* The same where all of them lie in D. */
    template <int count, bool READ_C>
    GT_DEVICE void put_whole(long long row, long long column, const Sum *sum) const
    {
#if SPLIT_MODE == 1
        gt_vec<Sum, count> run;
#pragma unroll
        for (int u = 0; u < count; u++)
            run.at[u] = sum[u];
        gt_store_vec<Sum, count>(partial + row * ld + column, run);
#elif SPLIT_MODE == 2
#pragma unroll
        for (int u = 0; u < count; u++)
            add(output.d + row * output.ldc + column + u, sum[u]);
#else
        gt_vec<Result, count> c, d;
        if (READ_C)
            c = gt_load_vec<Result, count>(output.c + row * output.ldc + column);
        else
            c.word = typename gt_vec<Result, count>::word_type();
#pragma unroll
        for (int u = 0; u < count; u++)
            d.at[u] = gt_typed_finish(output, sum[u], c.at[u], column + u);
        gt_store_vec<Result, count>(output.d + row * output.ldc + column, d);
#endif
    }
    GT_DEVICE void add(float *to, float sum) const
    {
        atomicAdd(to, output.alpha * sum);
    }
    GT_DEVICE void add(int *to, int sum) const
    {
        atomicAdd(to, __float2int_rn(output.alpha) * sum);
    }
};

/* The sums of a row that a lane has side by side, number `run` of RUNS: those of row group of the
 * half `half` of piece i. */
struct Lane {
    static constexpr bool BY_WORDS = Columns::BY_WORDS;
    static constexpr int RUN = BY_WORDS ? 4 : 2;
    static constexpr int RUNS = WN / 4 / RUN;

    static GT_DEVICE int column(const Position &p, int run)
    {
        return BY_WORDS ? Columns::at(run / 2 * 4, p.member * 2 + run % 2)
                        : Columns::at(run, p.member * 2);
    }
    static GT_DEVICE Sum get(const Accumulator &acc, int i, int half, int run, int u)
    {
        return BY_WORDS ? acc.get(i, run / 2 * 4 + u, half, run % 2) : acc.get(i, run, half, u);
    }
};

/* A tile that lies in D as a whole, straight from registers. */
template <bool READ_C>
GT_DEVICE void store_direct(const Target &target, const Work &work, const Position &p,
                            const Accumulator &acc)
{
    constexpr int N = SPLIT_MODE == 0 && OUT_RUN < Lane::RUN ? OUT_RUN : Lane::RUN;
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int run = 0; run < Lane::RUNS; run++) {
                long long row = work.row + p.row + Rows::at(i * 2 + half, p.group);
                long long column = work.column + p.column + Lane::column(p, run);
                Sum sum[Lane::RUN];
#pragma unroll
                for (int u = 0; u < Lane::RUN; u++)
                    sum[u] = Lane::get(acc, i, half, run, u);
#pragma unroll
                for (int u = 0; u < Lane::RUN; u += N)
                    target.put_whole<N, READ_C>(row, column + u, sum + u);
            }
}

/* A slab of 16 rows of a warp tile: its sums meet in shared memory, so that each lane stores the
 * widest run that D allows and a warp whole rows. Tiles at the edge go this way too: its loop over
 * runs, each masked, is short code. */
struct Slab {
    static constexpr int PITCH = WN + 8; /* 8 rows of pairs lie in different banks */
    static constexpr int PIECES = 16 * WN / OUT_RUN;

    static GT_DEVICE void fill(Sum *slab, const Position &p, const Accumulator &acc, int i)
    {
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int run = 0; run < Lane::RUNS; run++) {
                gt_vec<Sum, Lane::RUN> sums;
#pragma unroll
                for (int u = 0; u < Lane::RUN; u++)
                    sums.at[u] = Lane::get(acc, i, half, run, u);
                gt_store_vec<Sum, Lane::RUN>(
                    slab + (half * 8 + p.group) * PITCH + Lane::column(p, run), sums);
            }
    }
    /* Stores a run of the tile without what is another block's to store. */
    static GT_DEVICE void put(const Target &target, const Work &work, int row, int column,
                              const Sum *sum)
    {
        if (row < work.skip_rows)
            return;
        if (column >= work.skip_columns) {
            target.put<OUT_RUN>(work.row + row, work.column + column, sum);
            return;
        }
#pragma unroll
        for (int u = 0; u < OUT_RUN; u++)
            if (column + u >= work.skip_columns)
                target.put<1>(work.row + row, work.column + column + u, sum + u);
    }
    static GT_DEVICE void empty(const Sum *slab, const Target &target, const Work &work,
                                const Position &p, int i)
    {
#pragma unroll 1
        for (int first = 0; first < PIECES; first += 32) {
            int piece = first + p.group * 4 + p.member;
            int row = piece / (WN / OUT_RUN), column = piece % (WN / OUT_RUN) * OUT_RUN;
            Sum sum[OUT_RUN];
            if (PIECES % 32 && piece >= PIECES)
                break;
#pragma unroll
            for (int u = 0; u < OUT_RUN; u += SUM_RUN) {
                gt_vec<Sum, SUM_RUN> run =
                    gt_load_vec<Sum, SUM_RUN>(slab + row * PITCH + column + u);
#pragma unroll
                for (int v = 0; v < SUM_RUN; v++)
                    sum[u + v] = run.at[v];
            }
            put(target, work, p.row + Rows::at(i * 2 + row / 8, row % 8), p.column + column, sum);
        }
    }
};

GT_DEVICE void store_by_rows(const Target &target, const Work &work, char *shared,
                            const Position &p, const Accumulator &acc)
{
    Sum *slab = reinterpret_cast<Sum *>(shared) + threadIdx.x / 32 * (16 * Slab::PITCH);
#pragma unroll
    for (int i = 0; i < WM / 16; i++) {
        Slab::fill(slab, p, acc, i);
        __syncwarp();
        Slab::empty(slab, target, work, p, i);
        __syncwarp();
    }
}

/* Only the warps of slice 0 have something to store. */
GT_DEVICE void store_tile(const gt_args &args, const Work &work, long long batch, char *shared,
                          const Position &p, const Accumulator &acc)
{
    const Target target(args, batch);
    bool whole = work.row + BM <= args.m && work.column + BN <= args.n && work.skip_rows == 0 &&
                 work.skip_columns == 0;
    if (STORE == 1 || !whole)
        store_by_rows(target, work, shared, p, acc);
    else if (SPLIT_MODE == 0 && args.beta != 0.0f)
        store_direct<true>(target, work, p, acc);
    else
        store_direct<false>(target, work, p, acc);
}

#endif
